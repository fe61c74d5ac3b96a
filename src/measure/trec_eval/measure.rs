//! The supported measures of trec_eval, and their names as trec_eval's `-m` accepts them, such as `map`, `P.5,10`,
//! `official` or `all_trec`.

use std::fmt;

use super::query::PERSISTENCE;
use crate::measure::{Measure, MeasureError};
use crate::text::nearest;

/// The cut-offs that trec_eval uses by default.
const CUTOFFS: &[f64] = &[5.0, 10.0, 15.0, 20.0, 30.0, 100.0, 200.0, 500.0, 1000.0];
const RECALL_LEVELS: &[f64] = &[0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0];
const MULTIPLES: &[f64] = &[0.2, 0.4, 0.6, 0.8, 1.0, 1.2, 1.4, 1.6, 1.8, 2.0];

/// A measure of trec_eval 10.0, with the name that trec_eval prints.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum TrecMeasure {
    /// The identifier of the run.
    RunId,
    /// Number of queries.
    NumQ,
    /// Number of documents retrieved.
    NumRet,
    /// Number of relevant documents.
    NumRel,
    /// The number of relevant documents that were retrieved.
    NumRelRet,
    /// The number of retrieved documents that were judged not relevant.
    NumNonrelJudgedRet,
    /// Average precision.
    Map,
    /// The geometric mean of average precision.
    GmMap,
    /// Precision at rank R, where R is the number of relevant documents.
    Rprec,
    /// Bpref: the share of the documents judged irrelevant that rank below the relevant ones.
    Bpref,
    /// Geometric mean of bpref.
    GmBpref,
    /// Reciprocal rank.
    RecipRank,
    /// Interpolated precision at a recall level in 0..=1.
    IprecAtRecall(f64),
    /// The mean of interpolated precision at eleven recall levels.
    ElevenPointAverage,
    /// Precision at a cut-off.
    P(usize),
    /// Precision at a cut-off, divided by the largest possible precision.
    RelativeP(usize),
    /// Recall at a cut-off.
    Recall(usize),
    /// Precision at a cut-off that is a multiple of the number of relevant documents.
    RprecMult(f64),
    /// NDCG with gains equal to the relevance levels.
    Ndcg,
    /// NDCG at a cut-off.
    NdcgCut(usize),
    /// Average precision at a cut-off.
    MapCut(usize),
    /// Whether a relevant document ranks within a cut-off.
    Success(usize),
    /// Precision of all retrieved documents.
    SetP,
    /// Recall of all retrieved documents.
    SetRecall,
    /// The product of precision and recall over all retrieved documents.
    SetMap,
    /// The harmonic mean of precision and recall over all retrieved documents.
    SetF,
    /// Precision of all retrieved documents, divided by the largest possible precision.
    SetRelativeP,
    /// The number of relevant documents retrieved, minus the number of other documents retrieved.
    Utility,
    /// Rank-biased precision with persistence 0.9.
    Rbp,
    /// The largest amount that unjudged documents, and documents beyond the run, could add to rank-biased precision.
    RbpResidual,
    /// The share of unjudged documents within a cut-off.
    Unjudged(usize),
}

/// A measure's name in trec_eval, its default parameters, and the function that creates the measure from a parameter.
struct Named {
    name: &'static str,
    parameters: &'static [f64],
    measure: fn(f64) -> TrecMeasure,
    /// Whether trec_eval prints the measure by default.
    official: bool,
}

const fn named(name: &'static str, official: bool, measure: fn(f64) -> TrecMeasure) -> Named {
    Named { name, parameters: &[], measure, official }
}

/// All supported measures, in the order in which trec_eval prints `all_trec`.
const NAMED: &[Named] = &[
    named("runid", true, |_| TrecMeasure::RunId),
    named("num_q", true, |_| TrecMeasure::NumQ),
    named("num_ret", true, |_| TrecMeasure::NumRet),
    named("num_rel", true, |_| TrecMeasure::NumRel),
    named("num_rel_ret", true, |_| TrecMeasure::NumRelRet),
    named("map", true, |_| TrecMeasure::Map),
    named("gm_map", true, |_| TrecMeasure::GmMap),
    named("Rprec", true, |_| TrecMeasure::Rprec),
    named("bpref", true, |_| TrecMeasure::Bpref),
    named("recip_rank", true, |_| TrecMeasure::RecipRank),
    Named { parameters: RECALL_LEVELS, ..named("iprec_at_recall", true, TrecMeasure::IprecAtRecall) },
    Named { parameters: CUTOFFS, ..named("P", true, |k| TrecMeasure::P(k as usize)) },
    Named { parameters: CUTOFFS, ..named("recall", false, |k| TrecMeasure::Recall(k as usize)) },
    named("gm_bpref", false, |_| TrecMeasure::GmBpref),
    Named { parameters: MULTIPLES, ..named("Rprec_mult", false, TrecMeasure::RprecMult) },
    named("utility", false, |_| TrecMeasure::Utility),
    named("11pt_avg", false, |_| TrecMeasure::ElevenPointAverage),
    named("ndcg", false, |_| TrecMeasure::Ndcg),
    Named { parameters: CUTOFFS, ..named("ndcg_cut", false, |k| TrecMeasure::NdcgCut(k as usize)) },
    Named { parameters: CUTOFFS, ..named("map_cut", false, |k| TrecMeasure::MapCut(k as usize)) },
    Named { parameters: CUTOFFS, ..named("relative_P", false, |k| TrecMeasure::RelativeP(k as usize)) },
    Named { parameters: &[1.0, 5.0, 10.0], ..named("success", false, |k| TrecMeasure::Success(k as usize)) },
    named("set_P", false, |_| TrecMeasure::SetP),
    named("set_relative_P", false, |_| TrecMeasure::SetRelativeP),
    named("set_recall", false, |_| TrecMeasure::SetRecall),
    named("set_map", false, |_| TrecMeasure::SetMap),
    named("set_F", false, |_| TrecMeasure::SetF),
    named("num_nonrel_judged_ret", false, |_| TrecMeasure::NumNonrelJudgedRet),
    named("rbp", false, |_| TrecMeasure::Rbp),
    named("rbp_resid", false, |_| TrecMeasure::RbpResidual),
    Named { parameters: &[5.0, 10.0, 20.0], ..named("unj", false, |k| TrecMeasure::Unjudged(k as usize)) },
];

impl Named {
    fn measures(&self, parameters: &[f64]) -> Vec<TrecMeasure> {
        match parameters {
            [] => vec![(self.measure)(0.0)],
            parameters => parameters.iter().map(|&parameter| (self.measure)(parameter)).collect(),
        }
    }

    /// Reads parameters such as `5,10` and sorts them like trec_eval, which truncates cut-offs to whole numbers.
    /// Returns `None` if a parameter is out of range or the measure has no parameter.
    fn read(&self, written: &str) -> Option<Vec<TrecMeasure>> {
        let fractions = matches!((self.measure)(1.0), TrecMeasure::IprecAtRecall(_) | TrecMeasure::RprecMult(_));
        let parameter = |text: &str| text.parse().ok().map(|given: f64| if fractions { given } else { given.trunc() });
        let mut parameters: Vec<f64> = written.split(',').map(parameter).collect::<Option<_>>()?;
        parameters.sort_by(f64::total_cmp);
        let valid = |&parameter: &f64| match (self.measure)(parameter) {
            TrecMeasure::IprecAtRecall(level) => (0.0..=1.0).contains(&level),
            TrecMeasure::RprecMult(multiple) => multiple > 0.0 && multiple.is_finite(),
            _ => (1.0..1e9).contains(&parameter),
        };
        (!self.parameters.is_empty() && parameters.iter().all(valid)).then(|| self.measures(&parameters))
    }
}

impl TrecMeasure {
    /// Returns the measures of trec_eval's default output.
    pub fn official() -> Vec<Self> {
        NAMED.iter().filter(|named| named.official).flat_map(|named| named.measures(named.parameters)).collect()
    }

    /// Returns all supported measures, in the order of `-m all_trec`.
    pub fn all_trec() -> Vec<Self> {
        NAMED.iter().flat_map(|named| named.measures(named.parameters)).collect()
    }

    /// Reads names separated by commas and returns their measures in order. An item is a further parameter of the
    /// previous name if it begins with a digit, a decimal point or a minus sign. Items that are names themselves, such
    /// as `11pt_avg`, are exceptions. For example, `map,P.5,10` means MAP and precision at two cut-offs.
    ///
    /// # Errors
    /// Returns the error from [`TrecMeasure::parse`] for the first invalid name.
    pub fn parse_list(names: &str) -> Result<Vec<Self>, MeasureError> {
        let is_parameter = |item: &str| {
            let name = item.split('.').next().unwrap_or(item);
            item.starts_with(|c: char| c.is_ascii_digit() || c == '.' || c == '-')
                && NAMED.iter().all(|named| named.name != name)
        };
        let mut asked: Vec<String> = Vec::new();
        for item in names.split(',') {
            match asked.last_mut() {
                Some(name) if is_parameter(item) => *name += &format!(",{item}"),
                _ => asked.push(item.trim().to_string()),
            }
        }
        let measures = asked.iter().map(|name| Self::parse(name)).collect::<Result<Vec<_>, _>>()?;
        Ok(measures.concat())
    }

    /// Reads a name as trec_eval's `-m` accepts it. The name is a measure with default parameters (`P`) or with given
    /// ones (`P.5,10`), or a set of measures (`official`, `all_trec`). A [`Measure`] may also be given by its name in
    /// this crate, such as `ndcg@10` or `mrr`, where trec_eval uses another name.
    ///
    /// # Errors
    /// Returns [`MeasureError::UnknownMeasure`] if trec_eval has no measure of this name. The error lists all names and
    /// the nearest one. Returns [`MeasureError::MeasureParameter`] for a parameter that is out of range or that the
    /// measure does not have.
    pub fn parse(found: &str) -> Result<Vec<Self>, MeasureError> {
        match found {
            "official" => return Ok(Self::official()),
            "all_trec" => return Ok(Self::all_trec()),
            _ => {}
        }
        let (name, parameters) = match found.split_once('.') {
            Some((name, parameters)) => (name, Some(parameters)),
            None => (found, None),
        };
        let names = || NAMED.iter().map(|named| named.name).chain(["official", "all_trec"]);
        let Some(named) = NAMED.iter().find(|named| named.name == name) else {
            let elsewhere = found.parse().ok().and_then(Self::from_measure);
            return elsewhere.map(|measure| vec![measure]).ok_or_else(|| MeasureError::UnknownMeasure {
                found: found.to_string(),
                known: names().collect::<Vec<_>>().join(", "),
                nearest: nearest(name, names()),
            });
        };
        let Some(parameters) = parameters else { return Ok(named.measures(named.parameters)) };
        named.read(parameters).ok_or_else(|| MeasureError::MeasureParameter {
            found: found.to_string(),
            expected: match named.parameters {
                [] => format!("`{name}`, which takes no parameter"),
                _ => format!("`{name}` or `{name}.x,y,...` with parameters in its range"),
            },
        })
    }

    /// Returns trec_eval's counterpart of a measure in the `trec_eval` convention, or `None` if there is none.
    fn from_measure(measure: Measure) -> Option<Self> {
        Some(match measure {
            Measure::Ndcg(k) => k.map_or(TrecMeasure::Ndcg, TrecMeasure::NdcgCut),
            Measure::Ap(k) => k.map_or(TrecMeasure::Map, TrecMeasure::MapCut),
            Measure::Precision(Some(k)) => TrecMeasure::P(k),
            Measure::Recall(k) => k.map_or(TrecMeasure::SetRecall, TrecMeasure::Recall),
            Measure::ReciprocalRank(None) => TrecMeasure::RecipRank,
            Measure::Success(Some(k)) => TrecMeasure::Success(k),
            Measure::Wta => TrecMeasure::Success(1),
            Measure::RPrecision => TrecMeasure::Rprec,
            Measure::Rbp { persistence } if persistence == PERSISTENCE => TrecMeasure::Rbp,
            _ => return None,
        })
    }

    /// Returns whether the measure is a count, which is summed over queries.
    pub fn is_count(&self) -> bool {
        use TrecMeasure::*;
        matches!(self, NumQ | NumRet | NumRel | NumRelRet | NumNonrelJudgedRet)
    }

    /// Returns whether the mean over queries is geometric.
    pub(super) fn is_geometric(&self) -> bool {
        matches!(self, TrecMeasure::GmMap | TrecMeasure::GmBpref)
    }

    /// Returns whether trec_eval prints the measure only for all queries together.
    pub(super) fn in_summary_only(&self) -> bool {
        matches!(self, TrecMeasure::RunId | TrecMeasure::NumQ) || self.is_geometric()
    }
}

impl fmt::Display for TrecMeasure {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        use TrecMeasure::*;
        match *self {
            IprecAtRecall(level) => write!(formatter, "iprec_at_recall_{level:.2}"),
            RprecMult(multiple) => write!(formatter, "Rprec_mult_{multiple:.2}"),
            P(k) => write!(formatter, "P_{k}"),
            RelativeP(k) => write!(formatter, "relative_P_{k}"),
            Recall(k) => write!(formatter, "recall_{k}"),
            NdcgCut(k) => write!(formatter, "ndcg_cut_{k}"),
            MapCut(k) => write!(formatter, "map_cut_{k}"),
            Success(k) => write!(formatter, "success_{k}"),
            Unjudged(k) => write!(formatter, "unj_{k}"),
            plain => {
                let named = NAMED.iter().find(|named| named.parameters.is_empty() && (named.measure)(0.0) == plain);
                formatter.write_str(named.map_or("", |named| named.name))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_as_trec_eval_reads_them() {
        assert_eq!(TrecMeasure::parse("P.10,5").unwrap(), [TrecMeasure::P(5), TrecMeasure::P(10)]);
        assert_eq!(TrecMeasure::parse("success").unwrap().len(), 3);
        assert_eq!(TrecMeasure::parse("map").unwrap(), [TrecMeasure::Map]);
        assert_eq!(TrecMeasure::parse("official").unwrap(), TrecMeasure::official());
        assert_eq!(TrecMeasure::parse("iprec_at_recall.0.5").unwrap()[0].to_string(), "iprec_at_recall_0.50");
        assert_eq!(TrecMeasure::parse("Rprec_mult..25").unwrap(), [TrecMeasure::RprecMult(0.25)]);
    }

    #[test]
    fn lists_of_names_keep_their_parameters() {
        use TrecMeasure::*;
        let read = |names| TrecMeasure::parse_list(names).unwrap();
        assert_eq!(read("map, P.10,5,recall.20"), [Map, P(5), P(10), Recall(20)]);
        assert_eq!(read("ndcg_cut.10,20,23.4"), [NdcgCut(10), NdcgCut(20), NdcgCut(23)]);
        assert_eq!(read("map,11pt_avg,P.5"), [Map, ElevenPointAverage, P(5)]);
        let message = TrecMeasure::parse_list("utility.2,-1,0,0").unwrap_err().to_string();
        assert!(message.starts_with("measure `utility.2,-1,0,0`: expected `utility`"), "{message}");
        assert_eq!(read("iprec_at_recall..10,.20,bpref"), [IprecAtRecall(0.1), IprecAtRecall(0.2), Bpref]);
        assert_eq!(read("ndcg@10,mrr,rbp@p=0.9,wta"), [NdcgCut(10), RecipRank, Rbp, Success(1)]);
        for wrong in ["err@10", "mrr@10", "map,5", "", "map,,bpref"] {
            assert!(TrecMeasure::parse_list(wrong).unwrap_err().to_string().contains("unknown measure"), "{wrong}");
        }
    }

    #[test]
    fn every_measure_has_a_name() {
        for measure in TrecMeasure::all_trec() {
            assert!(!measure.to_string().is_empty(), "{measure:?}");
        }
    }

    #[test]
    fn errors_for_wrong_names_say_what_is_expected() {
        let message = |found| TrecMeasure::parse(found).unwrap_err().to_string();
        assert!(message("ndcg_cutt.10").contains("did you mean `ndcg_cut`?"));
        assert!(message("map.5").contains("takes no parameter"));
        assert!(message("P.0").contains("parameters in its range"));
        assert!(message("iprec_at_recall.2").contains("parameters in its range"));
    }
}
