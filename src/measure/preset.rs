//! The named conventions, and code that writes and reads conventions.

use std::fmt::Formatter;

use serde::de::value::MapAccessDeserializer;
use serde::de::{Error, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::convention::{
    AveragePrecisionDenominator, AveragePrecisionTies, Convention, EmptyQuery, KendallTau, NegativeLabel,
    PrecisionDenominator, Ties,
};
use super::{Discount, Gain, MeasureError};
use crate::text::nearest;

/// A named convention.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct Preset {
    /// The name of the preset on the command line and in files.
    pub name: &'static str,
    /// One-line description.
    pub description: &'static str,
    change: fn(&mut Convention),
}

impl Convention {
    /// All presets; each one states only the fields in which it differs from `standard`.
    pub const PRESETS: &'static [Preset] = &[
        Preset {
            name: "standard",
            description: "gain 2^y - 1, discount 1/log2(1+r), expectation over tied orders, queries without a relevant document excluded and counted",
            change: |_| {},
        },
        Preset {
            name: "letor",
            description: "the LETOR evaluation tool: discount 1, 1, then ln 2/ln r; ties in file order; empty queries 0",
            change: |c| {
                (c.ties, c.empty) = (Ties::FileOrder, EmptyQuery::Value(0.0));
                c.discount = Discount::Letor;
            },
        },
        Preset {
            name: "trec_eval",
            description: "trec_eval 10: gain y; ties broken by descending document id; judgments below 0 not relevant; empty queries 0",
            change: |c| {
                c.gain = Gain::Linear;
                c.ties = Ties::DocumentIdDescending;
                c.empty = EmptyQuery::Value(0.0);
                c.negative_label = NegativeLabel::Zero;
            },
        },
        Preset {
            name: "sklearn",
            description: "scikit-learn: gain y; tied orders averaged, but AP retrieves all documents with equal scores at once; tau-b as in SciPy; empty queries 0",
            change: |c| {
                c.gain = Gain::Linear;
                c.empty = EmptyQuery::Value(0.0);
                c.average_precision_ties = AveragePrecisionTies::GroupEnd;
                c.kendall_tau = KendallTau::TauB;
            },
        },
        Preset {
            name: "lightgbm",
            description: "LightGBM: ties in file order; AP@k divides by min(k, relevant); empty queries 1 where a measure is 0/0, such as NDCG and AP",
            change: |c| {
                (c.ties, c.empty) = (Ties::FileOrder, EmptyQuery::Value(1.0));
                c.average_precision_denominator = AveragePrecisionDenominator::CutoffOrRelevant;
            },
        },
        Preset {
            name: "xgboost",
            description: "XGBoost: ties in file order; AP@k divides by min(k, relevant), P@k by the documents retrieved; empty queries 1 where a measure is 0/0, such as NDCG and AP; XGBoost's plain ndcg and map are ndcg@32 and map@32",
            change: |c| {
                (c.ties, c.empty) = (Ties::FileOrder, EmptyQuery::Value(1.0));
                c.precision_denominator = PrecisionDenominator::Retrieved;
                c.average_precision_denominator = AveragePrecisionDenominator::CutoffOrRelevant;
            },
        },
        Preset {
            name: "rax",
            description: "google/rax: ties in file order; P@k divides by the documents retrieved; a score of -inf means not retrieved; empty queries 0",
            change: |c| {
                (c.ties, c.empty) = (Ties::FileOrder, EmptyQuery::Value(0.0));
                c.precision_denominator = PrecisionDenominator::Retrieved;
            },
        },
        Preset {
            name: "tfranking",
            description: "TensorFlow Ranking: as rax, and a judgment below 0 is padding",
            change: |c| {
                (c.ties, c.empty) = (Ties::FileOrder, EmptyQuery::Value(0.0));
                c.precision_denominator = PrecisionDenominator::Retrieved;
                c.negative_label = NegativeLabel::Absent;
            },
        },
    ];

    /// Returns the convention of the preset with a given name.
    ///
    /// # Errors
    /// Returns [`MeasureError::UnknownPreset`] if no preset has this name. The error lists all names and the nearest
    /// one.
    pub fn preset(name: &str) -> Result<Self, MeasureError> {
        let preset = Self::PRESETS.iter().find(|preset| preset.name == name).ok_or_else(|| {
            let names: Vec<&str> = Self::PRESETS.iter().map(|preset| preset.name).collect();
            MeasureError::UnknownPreset {
                found: name.to_string(),
                known: names.join(", "),
                nearest: nearest(name, names.iter().copied()),
            }
        })?;
        Ok(preset.convention())
    }
}

impl Preset {
    /// Returns the convention of this preset.
    pub fn convention(&self) -> Convention {
        let mut convention = Convention { name: self.name.to_string(), ..Convention::default() };
        (self.change)(&mut convention);
        convention
    }
}

impl Default for Convention {
    /// `standard`.
    fn default() -> Self {
        Self {
            name: "standard".to_string(),
            gain: Gain::Exp2,
            discount: Discount::Log2,
            ties: Ties::Average,
            empty: EmptyQuery::Exclude,
            relevant_from: 1.0,
            negative_label: NegativeLabel::Refuse,
            precision_denominator: PrecisionDenominator::Cutoff,
            average_precision_denominator: AveragePrecisionDenominator::Relevant,
            average_precision_ties: AveragePrecisionTies::AsOrdered,
            kendall_tau: KendallTau::LabelPairs,
            maximum_grade: 4.0,
        }
    }
}

/// Generates the code for writing and for reading a convention from one list of fields. Writing and reading use the
/// same list, so every field that is written is also read.
macro_rules! written_fields {
    ($($field:ident: $type:ty),* $(,)?) => {
        /// A convention in a file: either a preset with the fields that differ from it, or all fields.
        #[derive(Serialize, Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Fields {
            /// The name of the preset on which the convention is based; `standard` if absent.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            preset: Option<String>,
            #[serde(default, skip_serializing_if = "Option::is_none")]
            name: Option<String>,
            $(#[serde(default, skip_serializing_if = "Option::is_none")] $field: Option<$type>,)*
        }

        impl Fields {
            fn from_convention(convention: &Convention) -> Self {
                // A preset with changed fields must not appear under the name of the preset.
                let changed = Convention::preset(&convention.name).is_ok();
                Self {
                    preset: None,
                    name: Some(if changed { "custom".to_string() } else { convention.name.clone() }),
                    $($field: Some(convention.$field.clone()),)*
                }
            }

            fn resolve(self) -> Result<Convention, MeasureError> {
                let mut convention = match &self.preset {
                    Some(name) => Convention::preset(name)?,
                    None => Convention::default(),
                };
                let base = convention.clone();
                $(if let Some(value) = self.$field { convention.$field = value; })*
                if convention != base {
                    convention.name = self.name.unwrap_or_else(|| "custom".to_string());
                    if Convention::preset(&convention.name).is_ok() {
                        let expected = "a name that no preset has, since the convention differs from that preset";
                        return Err(MeasureError::convention("name", &convention.name, expected));
                    }
                }
                convention.check()?;
                // A convention that equals a preset is written as the preset's name.
                let named = |preset: &Preset| Convention { name: preset.name.to_string(), ..convention.clone() };
                let preset = Convention::PRESETS.iter().find(|preset| named(preset) == preset.convention());
                Ok(preset.map_or_else(|| convention.clone(), Preset::convention))
            }
        }
    };
}

written_fields! {
    gain: Gain,
    discount: Discount,
    ties: Ties,
    empty: EmptyQuery,
    relevant_from: f64,
    negative_label: NegativeLabel,
    precision_denominator: PrecisionDenominator,
    average_precision_denominator: AveragePrecisionDenominator,
    average_precision_ties: AveragePrecisionTies,
    kendall_tau: KendallTau,
    maximum_grade: f64,
}

impl Serialize for Convention {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match Convention::preset(&self.name) {
            Ok(preset) if preset == *self => serializer.serialize_str(&self.name),
            _ => Fields::from_convention(self).serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for Convention {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(WrittenConvention)
    }
}

/// Reads a convention from the name of a preset or from a map of fields.
struct WrittenConvention;

impl<'de> Visitor<'de> for WrittenConvention {
    type Value = Convention;

    fn expecting(&self, formatter: &mut Formatter) -> std::fmt::Result {
        formatter.write_str("the name of a convention, or its fields")
    }

    fn visit_str<E: Error>(self, name: &str) -> Result<Convention, E> {
        Convention::preset(name).map_err(E::custom)
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Convention, A::Error> {
        Fields::deserialize(MapAccessDeserializer::new(map))?.resolve().map_err(A::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_convention_equal_to_a_preset_is_that_preset() {
        let text = r#"{"preset": "sklearn", "gain": "exp2", "empty": "exclude", "average_precision_ties": "as_ordered",
            "kendall_tau": "label_pairs"}"#;
        let convention: Convention = serde_json::from_str(text).unwrap();
        assert_eq!(convention, Convention::default());
        assert_eq!(serde_json::to_string(&convention).unwrap(), r#""standard""#);
        let named = r#"{"preset": "sklearn", "gain": "exp2", "name": "rax"}"#;
        assert!(serde_json::from_str::<Convention>(named).unwrap_err().to_string().contains("no preset has"));
    }

    #[test]
    fn every_preset_is_valid_and_is_written_as_its_name() {
        for preset in Convention::PRESETS {
            let convention = preset.convention();
            convention.check().unwrap();
            let json = serde_json::to_string(&convention).unwrap();
            assert_eq!(json, format!("\"{}\"", preset.name));
            assert_eq!(serde_json::from_str::<Convention>(&json).unwrap(), convention);
        }
        assert_eq!(Convention::PRESETS[0].convention(), Convention::default());
    }

    #[test]
    fn a_custom_convention_survives_writing() {
        let mut convention = Convention::preset("letor").unwrap();
        convention.name = "mine".into();
        convention.gain = Gain::Table(vec![0.0, 1.0, 9.0]);
        convention.discount = Discount::Power { exponent: 0.5 };
        let json = serde_json::to_string(&convention).unwrap();
        assert_eq!(serde_json::from_str::<Convention>(&json).unwrap(), convention);
    }

    #[test]
    fn overrides_start_from_a_preset() {
        let convention: Convention = serde_json::from_str(r#"{"preset": "letor", "gain": "linear"}"#).unwrap();
        assert_eq!(convention.name, "custom");
        assert_eq!(convention.gain, Gain::Linear);
        assert_eq!(convention.discount, Discount::Letor);
        let unchanged: Convention = serde_json::from_str(r#"{"preset": "letor", "ties": "file_order"}"#).unwrap();
        assert_eq!(unchanged, Convention::preset("letor").unwrap());
    }

    #[test]
    fn misspelt_names_suggest_the_nearest() {
        let message = Convention::preset("leter").unwrap_err().to_string();
        assert!(message.contains("did you mean `letor`?"), "{message}");
        assert!(message.contains("trec_eval"), "{message}");
        let message = serde_json::from_str::<Convention>(r#"{"gian": "linear"}"#).unwrap_err().to_string();
        assert!(message.contains("unknown field `gian`"), "{message}");
        assert!(serde_json::from_str::<Convention>(r#"{"relevant_from": -1.0}"#).is_err());
    }
}
