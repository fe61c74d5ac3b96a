//! Names of measures, written `NAME`, `NAME@CUTOFF` or `NAME@p=PERSISTENCE`.

use std::fmt;
use std::mem::discriminant;
use std::str::FromStr;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{Measure, MeasureError};
use crate::text::nearest;

/// The persistence of `rbp` if its name gives none.
const PERSISTENCE: f64 = 0.8;

/// The parameter that may follow the name of a measure.
#[derive(Debug, Clone, Copy)]
enum Parameter {
    /// Nothing.
    None(Measure),
    /// An optional cut-off `@k`, with k = 1, 2, ...
    Cutoff(fn(Option<usize>) -> Measure),
    /// An optional persistence `@p=persistence`, with 0 < p < 1.
    Persistence,
}

/// A family of measures that share a name and differ in their parameter.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct MeasureFamily {
    /// The name as printed.
    pub name: &'static str,
    /// Other names that are accepted for the family.
    pub aliases: &'static [&'static str],
    /// One-line description.
    pub description: &'static str,
    parameter: Parameter,
}

impl MeasureFamily {
    /// Returns how a measure of the family is written, such as `ndcg[@k]`.
    pub fn form(&self) -> String {
        match self.parameter {
            Parameter::None(_) => self.name.to_string(),
            Parameter::Cutoff(_) => format!("{}[@k]", self.name),
            Parameter::Persistence => format!("{}[@p=persistence]", self.name),
        }
    }

    /// Returns the measure without a parameter in its name.
    fn plain(&self) -> Measure {
        match self.parameter {
            Parameter::None(measure) => measure,
            Parameter::Cutoff(measure) => measure(None),
            Parameter::Persistence => Measure::Rbp { persistence: PERSISTENCE },
        }
    }

    /// Returns the measure with `parameter` after the `@`, or `None` if `parameter` is not valid.
    fn with(&self, parameter: Option<&str>) -> Option<Measure> {
        let Some(parameter) = parameter else { return Some(self.plain()) };
        match self.parameter {
            Parameter::None(_) => None,
            Parameter::Cutoff(measure) => parameter.parse().ok().filter(|&k: &usize| k > 0).map(|k| measure(Some(k))),
            Parameter::Persistence => {
                let persistence = parameter.strip_prefix("p=").unwrap_or(parameter).parse().ok()?;
                (persistence > 0.0 && persistence < 1.0).then_some(Measure::Rbp { persistence })
            }
        }
    }
}

type Aliases = &'static [&'static str];

const fn plain(name: &'static str, aliases: Aliases, measure: Measure, description: &'static str) -> MeasureFamily {
    MeasureFamily { name, aliases, description, parameter: Parameter::None(measure) }
}

const fn cut(
    name: &'static str,
    aliases: Aliases,
    measure: fn(Option<usize>) -> Measure,
    description: &'static str,
) -> MeasureFamily {
    MeasureFamily { name, aliases, description, parameter: Parameter::Cutoff(measure) }
}

/// All families of measures.
pub static FAMILIES: &[MeasureFamily] = &[
    cut("ndcg", &[], Measure::Ndcg, "normalized discounted cumulative gain"),
    cut("dcg", &[], Measure::Dcg, "discounted cumulative gain"),
    cut("map", &["ap"], Measure::Ap, "average precision; its mean is MAP"),
    cut("p", &["precision"], Measure::Precision, "precision"),
    cut("recall", &[], Measure::Recall, "recall"),
    cut("mrr", &["rr"], Measure::ReciprocalRank, "reciprocal rank of the first relevant document; its mean is MRR"),
    plain("wta", &[], Measure::Wta, "winner takes all: whether the first document is relevant"),
    cut("success", &["hits"], Measure::Success, "whether a relevant document is among the first"),
    plain("r_precision", &["rprec"], Measure::RPrecision, "precision at the number of relevant documents"),
    cut("err", &[], Measure::Err, "expected reciprocal rank"),
    MeasureFamily {
        name: "rbp",
        aliases: &[],
        description: "rank-biased precision, persistence 0.8 if not given",
        parameter: Parameter::Persistence,
    },
    plain("kendall_tau", &["tau"], Measure::KendallTau, "Kendall's rank correlation of scores and labels"),
    plain(
        "pair_accuracy",
        &["opa"],
        Measure::PairAccuracy,
        "ordered pair accuracy: share of the pairs with different labels in the right order",
    ),
];

impl Measure {
    /// Returns the name of the measure's family without a parameter, or the full name of a user-defined measure.
    pub fn family(&self) -> &'static str {
        if let Measure::Own(own) = self {
            return own.name();
        }
        let is_of = |family: &&MeasureFamily| discriminant(&family.plain()) == discriminant(self);
        FAMILIES.iter().find(is_of).map_or("", |family| family.name)
    }

    /// Returns an error unless a cut-off is at least 1 and a persistence lies between 0 and 1. A user-defined measure
    /// must not have the name of a measure of this crate.
    pub(super) fn check(&self) -> Result<(), MeasureError> {
        // A parameter is valid if the measure's name can be read back.
        let read = self.to_string().parse::<Measure>();
        match self {
            Measure::Own(own) if own.name().is_empty() || read.is_ok() => {
                let expected = "a name that no measure of this crate has".to_string();
                Err(MeasureError::MeasureParameter { found: own.name().to_string(), expected })
            }
            Measure::Own(_) => Ok(()),
            _ => read.map(drop),
        }
    }

    /// Returns the cut-off, if the measure has one.
    pub fn cutoff(&self) -> Option<usize> {
        match *self {
            Measure::Ndcg(k)
            | Measure::Dcg(k)
            | Measure::Ap(k)
            | Measure::Precision(k)
            | Measure::Recall(k)
            | Measure::ReciprocalRank(k)
            | Measure::Success(k)
            | Measure::Err(k) => k,
            Measure::Wta => Some(1),
            _ => None,
        }
    }
}

impl fmt::Display for Measure {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        formatter.write_str(self.family())?;
        match self {
            Measure::Rbp { persistence } => write!(formatter, "@p={persistence}"),
            Measure::Wta => Ok(()),
            _ => self.cutoff().map_or(Ok(()), |k| write!(formatter, "@{k}")),
        }
    }
}

impl FromStr for Measure {
    type Err = MeasureError;

    fn from_str(found: &str) -> Result<Self, MeasureError> {
        let written = found.trim().to_lowercase();
        let (name, parameter) = match written.split_once('@') {
            Some((name, parameter)) => (name, Some(parameter)),
            None => (written.as_str(), None),
        };
        let name = name.replace('-', "_");
        let family = FAMILIES
            .iter()
            .find(|family| family.name == name || family.aliases.contains(&name.as_str()))
            .ok_or_else(|| unknown(found, &name))?;
        family
            .with(parameter)
            .ok_or_else(|| MeasureError::MeasureParameter { found: found.to_string(), expected: expected(family) })
    }
}

fn unknown(found: &str, name: &str) -> MeasureError {
    let known: Vec<String> = FAMILIES.iter().map(MeasureFamily::form).collect();
    let names = FAMILIES.iter().flat_map(|family| family.aliases.iter().chain([&family.name]).copied());
    MeasureError::UnknownMeasure { found: found.to_string(), known: known.join(", "), nearest: nearest(name, names) }
}

fn expected(family: &MeasureFamily) -> String {
    let name = family.name;
    match family.parameter {
        Parameter::None(_) => format!("`{name}`, which takes no cut-off"),
        Parameter::Cutoff(_) => format!("`{name}` or `{name}@k` with a cut-off k of 1 or more"),
        Parameter::Persistence => format!("`{name}` or `{name}@p=x` with a persistence 0 < x < 1"),
    }
}

impl Serialize for Measure {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Measure {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(name: &str) -> Measure {
        name.parse().unwrap()
    }

    #[test]
    fn names_are_read_and_printed() {
        assert_eq!(parse("ndcg@10"), Measure::Ndcg(Some(10)));
        assert_eq!(parse("dcg"), Measure::Dcg(None));
        assert_eq!(parse("AP@100"), Measure::Ap(Some(100)));
        assert_eq!(parse("rr@10"), Measure::ReciprocalRank(Some(10)));
        assert_eq!(parse("kendall-tau"), Measure::KendallTau);
        assert_eq!(parse("rbp"), Measure::Rbp { persistence: 0.8 });
        assert_eq!(parse("rbp@p=0.95"), Measure::Rbp { persistence: 0.95 });
        let canonical =
            "ndcg@10 dcg@5 map map@100 p@5 recall@20 mrr mrr@10 wta err@10 kendall_tau rbp@p=0.8 r_precision success@1";
        for name in canonical.split(' ') {
            assert_eq!(parse(name).to_string(), name);
        }
    }

    #[test]
    fn every_family_reads_its_own_names() {
        for family in FAMILIES {
            for name in family.aliases.iter().chain([&family.name]) {
                assert_eq!(parse(name).family(), family.name);
            }
            assert!(family.form().starts_with(family.name));
        }
    }

    #[test]
    fn errors_for_wrong_names_and_parameters_say_what_is_expected() {
        let message = |name: &str| name.parse::<Measure>().unwrap_err().to_string();
        assert!(message("ndgc@10").contains("did you mean `ndcg`?"));
        assert!(message("recal@3").contains("did you mean `recall`?"));
        assert!(message("ndcg@0").contains("cut-off k of 1 or more"));
        assert!(message("ndcg@ten").contains("cut-off k of 1 or more"));
        assert!(message("wta@3").contains("takes no cut-off"));
        assert!(message("rbp@1.5").contains("0 < x < 1"));
        assert!(message("").contains("unknown measure"));
    }

    #[test]
    fn measures_made_by_hand_are_checked() {
        assert!(FAMILIES.iter().all(|family| parse(family.name).check().is_ok()));
        assert!(Measure::Ap(Some(0)).check().unwrap_err().to_string().contains("`map@0`"));
        assert!(Measure::Rbp { persistence: f64::NAN }.check().is_err());
        assert!(Measure::Rbp { persistence: 1.0 }.check().is_err());
    }

    #[test]
    fn measures_are_written_as_strings() {
        assert_eq!(serde_json::to_string(&Measure::Ndcg(Some(10))).unwrap(), "\"ndcg@10\"");
        assert_eq!(serde_json::from_str::<Vec<Measure>>(r#"["p@5", "map"]"#).unwrap()[1], Measure::Ap(None));
        assert!(serde_json::from_str::<Measure>("\"ndgc\"").is_err());
    }
}
