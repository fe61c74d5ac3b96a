//! Finds the role of each column of a table.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use arrow_schema::{DataType, Field, Schema};

use super::values::is_text;
use crate::data::assembly::Assembly;
use crate::data::error::{DataError, comma_in_words, quoted, unfit};
use crate::data::options::{Columns, KeyColumn, Like, NUMBERED, Weights, letters};
use crate::foreign_names::ours;
use crate::text::{counted, did_you_mean, first_of, in_quotes as shown, nearest, plural};

/// The role of each column, as an index into the columns of the file or, after [`Layout::project`], of its batches.
#[derive(Debug)]
pub(super) struct Layout {
    /// The index of the label column; `None` if labels are not needed.
    pub label: Option<usize>,
    pub query: usize,
    pub document: Option<usize>,
    pub weight: Option<usize>,
    pub query_weight: Option<usize>,
    /// The column of a teacher's scores.
    pub teacher: Option<usize>,
    /// The column of the positions of documents.
    pub position: Option<usize>,
    /// The column used to split the queries into folds or sets.
    pub key: Option<usize>,
    pub features: Features,
    /// The number of features; `None` if it is known only from the list in the first row.
    pub width: Option<usize>,
    /// The names of the features, if each feature has a column or the lists of features have names.
    pub names: Option<Vec<String>>,
}

/// The columns that hold the features.
#[derive(Debug)]
pub(super) enum Features {
    /// One column of lists, each with all features of a document.
    List(usize),
    /// One column for each feature.
    Each(Vec<usize>),
}

/// A role that columns can have, with the option that names the column and the usual names for the role.
pub(super) struct Role {
    option: &'static str,
    named: fn(&Columns) -> &Option<String>,
    usual: &'static [&'static str],
}

const LABEL: Role = Role { option: "label", named: |columns| &columns.label, usual: &["label"] };
const QUERY: Role = Role { option: "query", named: |columns| &columns.query, usual: &["query", "qid"] };
const DOCUMENT: Role = Role { option: "id", named: |columns| &columns.id, usual: &["document", "docid"] };
const WEIGHT: Role = Role { option: "weight", named: |columns| &columns.weight, usual: &["weight"] };
const QUERY_WEIGHT: Role = Role { option: "query_weight", named: |_| &None, usual: &["query_weight"] };
const TEACHER: Role = Role { option: "teacher", named: |columns| &columns.teacher, usual: &[] };
const POSITION: Role = Role { option: "position", named: |columns| &columns.position, usual: &[] };
pub(super) const ROLES: [Role; 7] = [LABEL, QUERY, DOCUMENT, WEIGHT, QUERY_WEIGHT, TEACHER, POSITION];
const FEATURES: &str = "features";

/// The key under which the column of lists says the names of the features, as an array in JSON.
pub(super) const NAMES: &str = "feature_names";

impl Role {
    /// Returns the name that the option gives to the column of this role.
    fn named<'a>(&self, columns: &'a Columns) -> Option<&'a str> {
        (self.named)(columns).as_deref()
    }

    /// Returns whether the column with this name has this role.
    fn is_of(&self, columns: &Columns, name: &str) -> bool {
        self.named(columns).map_or(self.usual.contains(&name), |named| named == name)
    }
}

/// Returns whether the column with this name has a role, so that it is no feature.
pub fn has_role(columns: &Columns, name: &str) -> bool {
    ROLES.iter().any(|role| role.is_of(columns, name))
}

/// Returns whether the column with this name is read as text even if all its values look like numbers.
pub(super) fn is_read_as_text(name: &str, assembly: &Assembly) -> bool {
    let ranker = assembly.like.ranker.as_ref();
    let is_of = |role: Role| {
        let of_ranker = ranker.and_then(|columns| role.named(columns));
        role.is_of(&assembly.options.columns, name) || of_ranker == Some(name)
    };
    is_of(QUERY) || is_of(DOCUMENT) || is_of(POSITION) || assembly.like.key.is_some_and(|key| key.name() == name)
}

impl Layout {
    /// Finds the columns of each role and checks their types.
    pub fn of(schema: &Schema, path: &Path, assembly: &Assembly) -> Result<Self, DataError> {
        let (options, like) = (assembly.options, assembly.like);
        let known = match (like.feature_names, &assembly.feature_columns) {
            ([], before) => before.as_deref().unwrap_or_default(),
            (known, _) => known,
        };
        let columns = Table { schema, path, options: &options.columns, like, known };
        columns.check_dropped()?;
        columns.check_names()?;
        let label = match like.ignores_labels {
            true => columns.optional(&LABEL, |_| true, "numbers")?,
            false => Some(columns.required(&LABEL, is_number, "numbers: map words to grades, such as 0, 1, 2")?),
        };
        let is_query = |data_type: &DataType| is_identifier(data_type) || data_type.is_floating();
        let query = columns.required(&QUERY, is_query, "text or whole numbers")?;
        let document = columns.optional(&DOCUMENT, is_identifier, "text or integers")?;
        let query_weight = columns.optional(&QUERY_WEIGHT, is_number, "numbers")?;
        // A column that is not read is no feature either.
        let of_training = |role: &Role, fits, expected| {
            let is_absent = role.named(&options.columns).is_some_and(|name| columns.place(name).is_none());
            let may_lack = like.ignores_teacher_and_positions && is_absent;
            if may_lack { Ok(None) } else { columns.optional(role, fits, expected) }
        };
        let weight = of_training(&WEIGHT, is_number, "numbers")?;
        let teacher = of_training(&TEACHER, is_number, "numbers")?;
        let position = of_training(&POSITION, is_query, "text or whole numbers")?;
        let key = like.key.map(|key| columns.key(key)).transpose()?;
        let asked = [
            ("document_weights", WEIGHT.usual[0], options.document_weights, weight),
            ("query_weights", QUERY_WEIGHT.usual[0], options.query_weights, query_weight),
        ];
        if let Some((option, name, ..)) =
            asked.iter().find(|(.., source, column)| *source == Weights::File && column.is_none())
        {
            return Err(unfit(path, "no such column", format!("a column `{name}` (option `{option}` = \"file\")")));
        }
        if options.positions && options.columns.position.is_none() && !like.ignores_teacher_and_positions {
            return Err(unfit(path, "no column of positions", "one by option `columns.position`".to_owned()));
        }
        let taken = [label, Some(query), document, weight, query_weight, teacher, position, key];
        let (features, width, names) = columns.features(&taken)?;
        check_width(path, width, assembly)?;
        let weight = weight.filter(|_| options.document_weights == Weights::File);
        let query_weight = query_weight.filter(|_| options.query_weights == Weights::File);
        let teacher = teacher.filter(|_| options.columns.teacher.is_some() && !like.ignores_teacher_and_positions);
        let position = position.filter(|_| options.positions && !like.ignores_teacher_and_positions);
        let label = label.filter(|_| !like.ignores_labels);
        Ok(Self { label, query, document, weight, query_weight, teacher, position, key, features, width, names })
    }

    /// Returns the columns in use, in the order of the file. After this call, the indices in the layout count only the
    /// columns in use.
    pub fn project(&mut self) -> Vec<usize> {
        let Self { label, query, document, weight, query_weight, teacher, position, key, features, .. } = self;
        let mut places = vec![query];
        places.extend([label, document, weight, query_weight, teacher, position, key].into_iter().flatten());
        match features {
            Features::List(column) => places.push(column),
            Features::Each(columns) => places.extend(columns),
        }
        let mut used: Vec<usize> = places.iter().map(|place| **place).collect();
        used.sort_unstable();
        // One column may have two uses.
        used.dedup();
        for place in places {
            *place = used.partition_point(|column| column < place);
        }
        used
    }
}

/// Rejects more features than the options allow, and fewer than the ranker has.
pub(super) fn check_width(path: &Path, width: Option<usize>, assembly: &Assembly) -> Result<(), DataError> {
    let (most, limit) = match assembly.options.features {
        Some(features) => (features, assembly.features_from),
        None => (assembly.options.max_feature_index, " (option `max_feature_index`)"),
    };
    let least = assembly.like.least_features;
    match width {
        Some(width) if width > most => Err(unfit(path, counted(width, "feature"), format!("at most {most}{limit}"))),
        Some(width) if width < least => {
            Err(unfit(path, counted(width, "feature"), format!("{least}, as many as the ranker has")))
        }
        _ => Ok(()),
    }
}

/// A table's columns, with the options and the shared properties that they must satisfy.
struct Table<'a> {
    schema: &'a Schema,
    path: &'a Path,
    options: &'a Columns,
    like: &'a Like<'a>,
    /// The names that the features must have; empty if they are not known.
    known: &'a [String],
}

impl Table<'_> {
    fn names(&self) -> impl ExactSizeIterator<Item = &str> {
        self.schema.fields().iter().map(|field| field.name().as_str())
    }

    fn name(&self, column: usize) -> &str {
        self.schema.field(column).name()
    }

    fn place(&self, name: &str) -> Option<usize> {
        self.names().position(|other| other == name)
    }

    /// Returns whether a column is not read. Columns that were dropped when the ranker was trained are not read either.
    fn is_dropped(&self, name: &str) -> bool {
        let of_ranker = self.like.ranker.iter().flat_map(|columns| &columns.drop);
        self.like.unread == Some(name) || self.options.drop.iter().chain(of_ranker).any(|dropped| dropped == name)
    }

    /// Rejects an option that drops a missing column: the name may be misspelled, and the intended column would become
    /// a feature. If the feature names are known, nothing is checked, because then no column becomes a feature by
    /// mistake.
    fn check_dropped(&self) -> Result<(), DataError> {
        if !self.like.feature_names.is_empty() {
            return Ok(());
        }
        match self.options.drop.iter().find(|name| self.place(name).is_none()) {
            Some(name) => {
                Err(self.lacks(self.near(name), &format!("a column {} (option `columns.drop`)", shown(name))))
            }
            None => Ok(()),
        }
    }

    /// Rejects two columns of one name, because one of them would be read for the other.
    fn check_names(&self) -> Result<(), DataError> {
        let mut seen = HashSet::new();
        match self.names().find(|&name| !self.is_dropped(name) && !seen.insert(name)) {
            Some(name) => Err(unfit(self.path, format!("two columns {}", shown(name)), "a different name for each")),
            None => Ok(()),
        }
    }

    /// Returns the columns that hold the index of a frame of pandas, as the file says.
    fn index(&self) -> Vec<String> {
        let of_pandas = self.schema.metadata().get("pandas");
        let about = of_pandas.and_then(|text| serde_json::from_str::<serde_json::Value>(text).ok()).unwrap_or_default();
        let columns = about["index_columns"].as_array().into_iter().flatten();
        columns.filter_map(|name| Some(name.as_str()?.to_owned())).collect()
    }

    fn required(&self, role: &Role, fits: fn(&DataType) -> bool, expected: &str) -> Result<usize, DataError> {
        self.optional(role, fits, expected)?.ok_or_else(|| {
            let of_ranker = self.like.ranker.as_ref().and_then(|columns| role.named(columns));
            let usual: Vec<String> = role.usual.iter().map(|name| shown(name)).collect();
            let known = match of_ranker {
                Some(name) => format!("{}, which the ranker was trained with", shown(name)),
                None => usual.join(" or "),
            };
            let expected = format!("a column {known}, or another named by option `columns.{}`", role.option);
            // A column that other tools would read in this role is likelier than one of a similar name.
            let is_role = |name: &&str| of_ranker.is_none() && ours(name).any(|ours| ours == role.option);
            let near = self.names().find(is_role).map(str::to_owned);
            self.lacks(near.or_else(|| self.near(of_ranker.unwrap_or(role.usual[0]))), &expected)
        })
    }

    fn optional(&self, role: &Role, fits: fn(&DataType) -> bool, expected: &str) -> Result<Option<usize>, DataError> {
        if let Some(name) = role.named(self.options) {
            // An option of the command outweighs what the ranker dropped.
            let place = self.place(name).filter(|_| !self.options.drop.iter().any(|dropped| dropped == name));
            let expected_name = || format!("a column {} (option `columns.{}`)", shown(name), role.option);
            let column = place.ok_or_else(|| self.lacks(self.near(name), &expected_name()))?;
            return self.fitting(column, fits, expected).map(Some);
        }
        let of_ranker = self.like.ranker.as_ref().and_then(|columns| role.named(columns));
        if let Some(column) = of_ranker.and_then(|name| self.place(name)) {
            return self.fitting(column, fits, expected).map(Some);
        }
        let is_one = |(_, name): &(usize, &str)| role.usual.contains(name) && !self.is_dropped(name);
        let mut there = self.names().enumerate().filter(is_one);
        let Some((column, name)) = there.next() else { return Ok(None) };
        if let Some((_, other)) = there.next() {
            return Err(unfit(self.path, format!("columns `{name}` and `{other}`"), "one of them"));
        }
        self.fitting(column, fits, expected).map(Some)
    }

    fn key(&self, key: &KeyColumn) -> Result<usize, DataError> {
        let name = key.name();
        let expected = || format!("a column {}, by which the data are split", shown(name));
        let column = self.place(name).ok_or_else(|| self.lacks(self.near(name), &expected()))?;
        match key {
            KeyColumn::Group(_) => self.fitting(column, is_identifier, "text or integers, as groups have"),
            KeyColumn::Time(_) => self.fitting(column, is_time, "numbers, dates, times, or text with these"),
        }
    }

    fn fitting(&self, column: usize, fits: fn(&DataType) -> bool, expected: &str) -> Result<usize, DataError> {
        if fits(self.schema.field(column).data_type()) { Ok(column) } else { Err(self.of_type(column, expected)) }
    }

    /// Returns the name of a column that is most similar to the name of one that the table lacks.
    fn near(&self, name: &str) -> Option<String> {
        nearest(name, self.names()).filter(|near| near != name)
    }

    /// Returns the error for a table that lacks a column, and may have a similar one.
    fn lacks(&self, near: Option<String>, expected: &str) -> DataError {
        let found = format!("columns {}", first_of(self.names()));
        unfit(self.path, found, format!("{expected}{}", did_you_mean(&near)))
    }

    /// Returns the feature columns, with the number and the names of the features.
    #[allow(clippy::type_complexity)]
    fn features(&self, taken: &[Option<usize>]) -> Result<(Features, Option<usize>, Option<Vec<String>>), DataError> {
        let fields = self.schema.fields();
        let lists = |column: &usize| self.name(*column) == FEATURES && item(fields[*column].data_type()).is_some();
        if let Some(column) = (0..fields.len()).find(lists).filter(|_| !self.is_dropped(FEATURES)) {
            let data_type = fields[column].data_type();
            if !item(data_type).is_some_and(is_number) {
                return Err(self.of_type(column, "lists of numbers"));
            }
            let width = match data_type {
                DataType::FixedSizeList(_, width) => Some(usize::try_from(*width).unwrap_or(usize::MAX)),
                _ => None,
            };
            return Ok((Features::List(column), width, self.names_of_lists(column, width)?));
        }
        let is_other = |column: &usize| !taken.contains(&Some(*column)) && !self.is_dropped(self.name(*column));
        let mut each: Vec<usize> = (0..fields.len()).filter(is_other).collect();
        self.leave_out_index(&mut each);
        if each.is_empty() {
            return Err(unfit(self.path, "no features", "a column `features` of lists, or one column per feature"));
        }
        if self.known.is_empty() {
            self.check_features(&each)?;
        } else {
            each = self.in_order(&each)?;
        }
        let names: Vec<String> = each.iter().map(|&column| self.name(column).to_owned()).collect();
        Ok((Features::Each(each), Some(names.len()), Some(names)))
    }

    /// Says where the known names come from.
    fn knower(&self) -> &'static str {
        match self.like.feature_names {
            [] => "the files before",
            _ if self.like.ranker.is_some() => "the ranker",
            _ => "the training data",
        }
    }

    /// Returns the names of the features that the column of lists states, if it states one for each. Names in another
    /// order than the known names are refused, because a list gives features by their places.
    fn names_of_lists(&self, column: usize, width: Option<usize>) -> Result<Option<Vec<String>>, DataError> {
        let stated = self.schema.field(column).metadata().get(NAMES);
        let names: Option<Vec<String>> = stated.and_then(|text| serde_json::from_str(text).ok());
        let Some(names) = names.filter(|names| Some(names.len()) == width) else { return Ok(None) };
        let known = self.known;
        let is_free = known.iter().any(String::is_empty) || are_numbers(known) || self.like.has_changed_names;
        match names.iter().zip(known).position(|(name, known)| name != known) {
            Some(at) if !is_free => Err(unfit(
                self.path,
                format!("{} as feature {} of the column `{FEATURES}`", shown(&names[at]), at + 1),
                format!("{}, as in {}", shown(&known[at]), self.knower()),
            )),
            _ => Ok(Some(names)),
        }
    }

    /// Leaves out the index of a frame of pandas, which is no feature unless a known feature has its name.
    fn leave_out_index(&self, each: &mut Vec<usize>) {
        let index = self.index();
        each.retain(|&column| {
            let name = self.name(column);
            let is_index = index.iter().any(|other| other == name) && !self.known.iter().any(|other| other == name);
            if is_index && self.like.ranker.is_none() {
                log::warn!(
                    "{}: column {} is left out: it is the index of a pandas frame, and `reset_index` would make it \
                     a feature",
                    self.path.display(),
                    shown(name)
                );
            }
            !is_index
        });
    }

    /// Rejects a feature column that holds no numbers, or whose name usually stands for another role.
    fn check_features(&self, each: &[usize]) -> Result<(), DataError> {
        let no_numbers = |column: &usize| !is_number(self.schema.field(*column).data_type());
        let without: Vec<usize> = each.iter().copied().filter(no_numbers).collect();
        if let Some(&column) = without.first() {
            let names: Vec<&str> = without.iter().map(|&column| self.name(column)).collect();
            let expected = format!("numbers, as every column of a feature has {}", self.to_drop(&names));
            return Err(self.of_type(column, &expected));
        }
        for &column in each {
            let name = self.name(column);
            if name.is_empty() {
                let found = format!("column {} without a name", column + 1);
                return Err(unfit(self.path, found, format!("a name for each feature {}", self.to_drop(&[name]))));
            }
            if let Some(role) = ROLES.iter().find(|role| role.usual.contains(&name)) {
                let found = format!("column {}, although `columns.{}` names another", shown(name), role.option);
                return Err(unfit(self.path, found, format!("no feature of that name {}", self.to_drop(&[name]))));
            }
        }
        Ok(())
    }

    /// Returns a hint for an error message: a value of the option `columns.drop` that also drops the columns `names`.
    fn to_drop(&self, names: &[&str]) -> String {
        let dropped = self.options.drop.iter().map(String::as_str).chain(names.iter().copied());
        let quoted: Vec<String> = dropped.map(|name| format!("{name:?}")).collect();
        format!("(option `columns.drop` = [{}] leaves it out)", quoted.join(", "))
    }

    /// Returns the columns of features in the order of the known feature names.
    fn in_order(&self, each: &[usize]) -> Result<Vec<usize>, DataError> {
        let (known, of) = (self.known, self.knower());
        if known.iter().any(String::is_empty) {
            return Ok(each.to_vec());
        }
        let places: HashMap<&str, usize> = each.iter().map(|&column| (self.name(column), column)).collect();
        let has_numbers = !self.like.feature_names.is_empty() && are_numbers(known);
        let is_short = has_numbers && !places.contains_key(known[0].as_str());
        let changed = self.changed_names(each);
        let named = |name: &String| {
            let name = if is_short { name.trim_start_matches(NUMBERED) } else { name };
            places.get(name).copied().or_else(|| changed.get(&letters(name)).copied().flatten())
        };
        let lacking: Vec<&str> = known.iter().filter(|name| named(name).is_none()).map(String::as_str).collect();
        if has_numbers && lacking.len() == known.len() {
            return Err(self.lacks_numbers(each, known.len()));
        }
        if let Some(first) = lacking.first() {
            let what = format!("no {} {}", plural(lacking.len(), "column"), first_of(lacking.iter().copied()));
            let found = format!("{what} among {} of features", counted(each.len(), "column"));
            let near = nearest(first, each.iter().map(|&column| self.name(column)));
            let expected = format!("one for each feature of {of}{}", did_you_mean(&near));
            return Err(unfit(self.path, found, expected));
        }
        if has_numbers {
            self.check_numbers(each, if is_short { "" } else { NUMBERED }, known.len())?;
        }
        let ordered: Vec<usize> = known.iter().filter_map(named).collect();
        let known_columns: HashSet<usize> = ordered.iter().copied().collect();
        let other = each.iter().find(|column| !known_columns.contains(column));
        if let Some(&other) = other.filter(|_| self.like.ranker.is_none()) {
            let name = self.name(other);
            let found = format!("column {} among {} of features", shown(name), counted(each.len(), "column"));
            let expected = format!("{}, one for each feature of {of} {}", known.len(), self.to_drop(&[name]));
            return Err(unfit(self.path, found, expected));
        }
        match ordered.iter().find(|&&column| !is_number(self.schema.field(column).data_type())) {
            Some(&column) => Err(self.of_type(column, "numbers, as every column of a feature has")),
            None => Ok(ordered),
        }
    }

    /// Returns the error for a table without features that are known only by numbers.
    fn lacks_numbers(&self, each: &[usize], last: usize) -> DataError {
        let found =
            format!("{} {}", plural(each.len(), "column"), first_of(each.iter().map(|&column| self.name(column))));
        let of = if self.like.ranker.is_some() { "a ranker that knows" } else { "training data with" };
        let expected = format!(
            "the features 1 to {last} of {of} no names: a column `{FEATURES}` of lists, or columns called \
             `{NUMBERED}1` or `1` and so on"
        );
        unfit(self.path, found, expected)
    }

    /// Rejects a column of a feature with a number above `last`.
    fn check_numbers(&self, each: &[usize], prefix: &str, last: usize) -> Result<(), DataError> {
        let beyond = |name: &&str| {
            let number = name.strip_prefix(prefix).and_then(|number| number.parse::<usize>().ok());
            number.is_some_and(|number| number > last)
        };
        each.iter().map(|&column| self.name(column)).find(beyond).map_or(Ok(()), |name| {
            let expected = format!("the features 1 to {last} of {}", self.knower());
            Err(unfit(self.path, format!("column {}", shown(name)), expected))
        })
    }

    /// Returns the columns by the letters and digits of their names, if the ranker is from a system that replaces other
    /// characters. A name that several columns then have is of none of them.
    fn changed_names(&self, each: &[usize]) -> HashMap<String, Option<usize>> {
        let mut places = HashMap::new();
        for &column in each.iter().filter(|_| self.like.has_changed_names) {
            let name = letters(self.name(column));
            places.entry(name).and_modify(|place| *place = None).or_insert(Some(column));
        }
        places
    }

    fn of_type(&self, column: usize, expected: &str) -> DataError {
        let field = &self.schema.fields()[column];
        let example = [ROW, TEXT].map(|key| field.metadata().get(key));
        if let [Some(row), Some(text)] = example
            && let Ok(row) = row.parse()
        {
            let (path, column) = (self.path.to_path_buf(), field.name().clone());
            let expected = match comma_in_words(text.trim_matches('`')) {
                "" => expected.to_owned(),
                comma => format!("numbers{comma}"),
            };
            return DataError::Cell { path, row, column, found: text.clone(), expected };
        }
        let found = format!("column {} of type {}", shown(field.name()), field.data_type());
        unfit(self.path, found, expected)
    }
}

/// Returns whether names are only numbers: `feature_1`, `feature_2` and so on.
fn are_numbers(names: &[String]) -> bool {
    names.iter().enumerate().all(|(at, name)| name.strip_prefix(NUMBERED) == Some(&(at + 1).to_string()))
}

/// Keys of a field's metadata: the row (from 1) of the first text value in the column, and this value in quotes.
const ROW: &str = "row";
const TEXT: &str = "text";

/// Records an example of the text in a column of a file without column types. The example is in row `row`, counted from
/// 1.
pub(super) fn with_example(field: Field, row: usize, text: &str) -> Field {
    field.with_metadata([(ROW, row.to_string()), (TEXT, quoted(text.as_bytes()))])
}

/// Returns the type of the items if a column holds lists.
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
        DataType::Dictionary(_, values) => is_identifier(values),
        other => is_text(other) || other.is_integer(),
    }
}

fn is_time(data_type: &DataType) -> bool {
    is_number(data_type) || data_type.is_temporal() || is_identifier(data_type)
}
