//! Which column of a table is what.

use std::path::Path;

use arrow_schema::{DataType, Schema};

use super::unfit;
use crate::data::assembly::Assembly;
use crate::data::error::DataError;
use crate::data::text::options::Weights;
use crate::text::counted;

/// The places of the columns: in the file, and in its batches after [`Layout::project`].
#[derive(Debug)]
pub(super) struct Layout {
    pub label: usize,
    pub query: usize,
    pub document: Option<usize>,
    pub weight: Option<usize>,
    pub query_weight: Option<usize>,
    pub features: Features,
    /// Number of features, unless the first row says it.
    pub width: Option<usize>,
}

/// The columns of the features.
#[derive(Debug)]
pub(super) enum Features {
    /// One column of lists.
    List(usize),
    /// One column each.
    Each(Vec<usize>),
}

const LABEL: &[&str] = &["label"];
const QUERY: &[&str] = &["query", "qid"];
const DOCUMENT: &[&str] = &["document", "docid"];
const WEIGHT: &[&str] = &["weight"];
const QUERY_WEIGHT: &[&str] = &["query_weight"];
const FEATURES: &str = "features";

impl Layout {
    /// Finds the columns and checks their types.
    pub fn of(schema: &Schema, path: &Path, assembly: &Assembly) -> Result<Self, DataError> {
        let options = assembly.options;
        let columns = Columns { schema, path };
        let label = columns.required(LABEL, is_number, "numbers")?;
        let query = columns.required(QUERY, is_identifier, "text or integers")?;
        let document = columns.optional(DOCUMENT, is_identifier, "text or integers")?;
        let weight = columns.optional(WEIGHT, is_number, "numbers")?;
        let query_weight = columns.optional(QUERY_WEIGHT, is_number, "numbers")?;
        let asked = [
            ("document_weights", WEIGHT[0], options.document_weights, weight),
            ("query_weights", QUERY_WEIGHT[0], options.query_weights, query_weight),
        ];
        if let Some((option, name, ..)) =
            asked.iter().find(|(.., source, column)| *source == Weights::File && column.is_none())
        {
            return Err(unfit(path, "no such column", format!("a column `{name}` (option `{option}` = \"file\")")));
        }
        let (features, width) = columns.features(&[Some(label), Some(query), document, weight, query_weight])?;
        check_width(path, width, assembly)?;
        let weight = weight.filter(|_| options.document_weights == Weights::File);
        let query_weight = query_weight.filter(|_| options.query_weights == Weights::File);
        Ok(Self { label, query, document, weight, query_weight, features, width })
    }

    /// Returns the columns in use, in the order of the file, and counts among these from now on.
    pub fn project(&mut self) -> Vec<usize> {
        let mut places = vec![&mut self.label, &mut self.query];
        places.extend([&mut self.document, &mut self.weight, &mut self.query_weight].into_iter().flatten());
        match &mut self.features {
            Features::List(column) => places.push(column),
            Features::Each(columns) => places.extend(columns),
        }
        let mut used: Vec<usize> = places.iter().map(|place| **place).collect();
        used.sort_unstable();
        for place in places {
            *place = used.partition_point(|column| column < place);
        }
        used
    }
}

/// Refuses more features than the options allow.
pub(super) fn check_width(path: &Path, width: Option<usize>, assembly: &Assembly) -> Result<(), DataError> {
    let (most, limit) = match assembly.options.features {
        Some(features) => (features, assembly.features_from),
        None => (assembly.options.max_feature_index, " (option `max_feature_index`)"),
    };
    match width {
        Some(width) if width > most => Err(unfit(path, counted(width, "feature"), format!("at most {most}{limit}"))),
        _ => Ok(()),
    }
}

struct Columns<'a> {
    schema: &'a Schema,
    path: &'a Path,
}

impl Columns<'_> {
    fn required(&self, names: &[&str], fits: fn(&DataType) -> bool, expected: &str) -> Result<usize, DataError> {
        self.optional(names, fits, expected)?.ok_or_else(|| {
            let quoted = |names: &mut dyn Iterator<Item = &str>| {
                names.map(|name| format!("`{}`", name.escape_debug())).collect::<Vec<_>>().join(", ")
            };
            const SHOWN: usize = 8;
            let there = self.schema.fields();
            let more = if there.len() > SHOWN { format!(", ... ({} in all)", there.len()) } else { String::new() };
            let found = quoted(&mut there.iter().take(SHOWN).map(|field| field.name().as_str()));
            unfit(self.path, format!("columns {found}{more}"), format!("a column `{}`", names.join("` or `")))
        })
    }

    fn optional(
        &self,
        names: &[&str],
        fits: fn(&DataType) -> bool,
        expected: &str,
    ) -> Result<Option<usize>, DataError> {
        let fields = self.schema.fields();
        let mut there = (0..fields.len()).filter(|&column| names.contains(&fields[column].name().as_str()));
        let Some(column) = there.next() else { return Ok(None) };
        let field = &fields[column];
        if let Some(other) = there.next() {
            let found = format!("columns `{}` and `{}`", field.name(), fields[other].name());
            return Err(unfit(self.path, found, "one of them"));
        }
        if !fits(field.data_type()) {
            return Err(self.of_type(column, expected));
        }
        Ok(Some(column))
    }

    fn features(&self, others: &[Option<usize>]) -> Result<(Features, Option<usize>), DataError> {
        let fields = self.schema.fields();
        let lists = fields.iter().position(|field| field.name() == FEATURES && item(field.data_type()).is_some());
        if let Some(column) = lists {
            let data_type = fields[column].data_type();
            if !item(data_type).is_some_and(is_number) {
                return Err(self.of_type(column, "lists of numbers"));
            }
            let width = match data_type {
                DataType::FixedSizeList(_, width) => Some(usize::try_from(*width).unwrap_or(usize::MAX)),
                _ => None,
            };
            return Ok((Features::List(column), width));
        }
        let each: Vec<usize> = (0..fields.len()).filter(|&column| !others.contains(&Some(column))).collect();
        if each.is_empty() {
            return Err(unfit(self.path, "no features", "a column `features` of lists, or one column per feature"));
        }
        if let Some(&column) = each.iter().find(|&&column| !is_number(fields[column].data_type())) {
            return Err(self.of_type(column, "numbers, as every column of a feature has"));
        }
        let width = each.len();
        Ok((Features::Each(each), Some(width)))
    }

    fn of_type(&self, column: usize, expected: &str) -> DataError {
        let field = &self.schema.fields()[column];
        let found = format!("column `{}` of type {}", field.name().escape_debug(), field.data_type());
        unfit(self.path, found, expected)
    }
}

/// The type of the items, if a column holds lists.
fn item(data_type: &DataType) -> Option<&DataType> {
    match data_type {
        DataType::FixedSizeList(item, _) | DataType::List(item) | DataType::LargeList(item) => Some(item.data_type()),
        _ => None,
    }
}

/// Returns whether a column holds lists of 32-bit floats.
pub(super) fn is_list_of_float32(data_type: &DataType) -> bool {
    item(data_type) == Some(&DataType::Float32)
}

fn is_number(data_type: &DataType) -> bool {
    data_type.is_integer() || data_type.is_floating() || *data_type == DataType::Boolean
}

fn is_identifier(data_type: &DataType) -> bool {
    match data_type {
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => true,
        DataType::Dictionary(_, values) => is_identifier(values),
        other => other.is_integer(),
    }
}
