//! The supported measures of trec_eval, and their names as trec_eval's `-m` accepts them, such as `map`, `P.5,10`,
//! `official` or `all_trec`.

use std::fmt;

use super::query::{Judged, PERSISTENCE, ratio};
use crate::measure::{Measure, MeasureError};
use crate::text::nearest;

/// The cut-offs that trec_eval uses by default.
const CUTOFFS: &[f64] = &[5.0, 10.0, 15.0, 20.0, 30.0, 100.0, 200.0, 500.0, 1000.0];
const RECALL_LEVELS: &[f64] = &[0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0];
const MULTIPLES: &[f64] = &[0.2, 0.4, 0.6, 0.8, 1.0, 1.2, 1.4, 1.6, 1.8, 2.0];

/// A measure of trec_eval 10.0, with its parameter if it has one. It is displayed as trec_eval prints it.
#[derive(Clone, Copy)]
pub struct TrecMeasure {
    row: &'static Row,
    /// The cut-off, recall level or multiple; 0 if the measure has no parameter.
    parameter: f64,
}

impl PartialEq for TrecMeasure {
    fn eq(&self, other: &Self) -> bool {
        (self.row.name, self.parameter) == (other.row.name, other.parameter)
    }
}

impl fmt::Debug for TrecMeasure {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        fmt::Display::fmt(self, formatter)
    }
}

/// What trec_eval prints of a measure, for each query and for all of them.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Kind {
    /// A value, and its mean.
    Mean,
    /// A value for all queries, their geometric mean.
    GeometricMean,
    /// A count, and its sum.
    Count,
    /// The number of queries.
    Queries,
    /// The identifier of the run.
    RunId,
}

/// A measure's name in trec_eval, its default parameters, and its value for a query and a parameter.
struct Row {
    name: &'static str,
    parameters: &'static [f64],
    kind: Kind,
    /// Whether trec_eval prints the measure by default.
    official: bool,
    value: Value,
}

type Value = fn(&Judged, f64) -> Result<f64, MeasureError>;

const fn mean(name: &'static str, parameters: &'static [f64], value: Value) -> Row {
    Row { name, parameters, kind: Kind::Mean, official: false, value }
}

const fn count(name: &'static str, value: Value) -> Row {
    Row { kind: Kind::Count, ..mean(name, &[], value) }
}

const fn official(row: Row) -> Row {
    Row { official: true, ..row }
}

/// All supported measures, in the order in which trec_eval prints `all_trec`.
static ROWS: &[Row] = &[
    official(Row { kind: Kind::RunId, ..mean("runid", &[], |_, _| Ok(0.0)) }),
    official(Row { kind: Kind::Queries, ..mean("num_q", &[], |_, _| Ok(1.0)) }),
    official(count("num_ret", |of, _| Ok(of.retrieved() as f64))),
    official(count("num_rel", |of, _| Ok(of.list.relevant as f64))),
    official(count("num_rel_ret", |of, _| Ok(of.hits(of.retrieved())))),
    official(mean("map", &[], |of, _| of.measure(Measure::Ap(None)))),
    official(Row { kind: Kind::GeometricMean, ..mean("gm_map", &[], |of, _| of.measure(Measure::Ap(None))) }),
    official(mean("Rprec", &[], |of, _| of.measure(Measure::RPrecision))),
    official(mean("bpref", &[], |of, _| Ok(of.bpref()))),
    official(mean("recip_rank", &[], |of, _| of.measure(Measure::ReciprocalRank(None)))),
    official(mean(RECALL, RECALL_LEVELS, |of, level| Ok(of.interpolated_precision(level)))),
    official(mean("P", CUTOFFS, |of, k| of.measure(Measure::Precision(Some(k as usize))))),
    mean("recall", CUTOFFS, |of, k| of.measure(Measure::Recall(Some(k as usize)))),
    Row { kind: Kind::GeometricMean, ..mean("gm_bpref", &[], |of, _| Ok(of.bpref())) },
    mean(MULTIPLE, MULTIPLES, |of, multiple| {
        // Rounds like trec_eval, up from a fraction of one tenth.
        let k = (multiple * of.list.relevant as f64 + 0.9) as usize;
        Ok(ratio(of.hits(k), k))
    }),
    mean("utility", &[], |of, _| Ok(2.0 * of.hits(of.retrieved()) - of.retrieved() as f64)),
    mean("11pt_avg", &[], |of, _| {
        Ok((0..=10).map(|level| of.interpolated_precision(f64::from(level) / 10.0)).sum::<f64>() / 11.0)
    }),
    mean("ndcg", &[], |of, _| of.measure(Measure::Ndcg(None))),
    mean("ndcg_cut", CUTOFFS, |of, k| of.measure(Measure::Ndcg(Some(k as usize)))),
    mean("map_cut", CUTOFFS, |of, k| of.measure(Measure::Ap(Some(k as usize)))),
    mean("relative_P", CUTOFFS, |of, k| Ok(ratio(of.hits(k as usize), (k as usize).min(of.list.relevant)))),
    mean("success", &[1.0, 5.0, 10.0], |of, k| of.measure(Measure::Success(Some(k as usize)))),
    mean("set_P", &[], |of, _| Ok(of.set_precision())),
    mean("set_relative_P", &[], |of, _| Ok(ratio(of.hits(of.retrieved()), of.retrieved().min(of.list.relevant)))),
    mean("set_recall", &[], |of, _| Ok(of.set_recall())),
    mean("set_map", &[], |of, _| Ok(of.set_precision() * of.set_recall())),
    mean("set_F", &[], |of, _| {
        let (precision, recall) = (of.set_precision(), of.set_recall());
        Ok(if precision + recall == 0.0 { 0.0 } else { 2.0 * precision * recall / (precision + recall) })
    }),
    count("num_nonrel_judged_ret", |of, _| {
        Ok(of.relevance.iter().flatten().filter(|relevance| **relevance < of.level).count() as f64)
    }),
    mean("rbp", &[], |of, _| of.measure(Measure::Rbp { persistence: PERSISTENCE })),
    mean("rbp_resid", &[], |of, _| Ok(of.rank_biased_residual())),
    mean("unj", &[5.0, 10.0, 20.0], |of, k| {
        Ok(of.relevance.iter().take(k as usize).filter(|judged| judged.is_none()).count() as f64 / k)
    }),
];

/// The two measures whose parameters are fractions.
const RECALL: &str = "iprec_at_recall";
const MULTIPLE: &str = "Rprec_mult";

impl Row {
    fn measures(&'static self, parameters: &[f64]) -> Vec<TrecMeasure> {
        let parameters = if self.parameters.is_empty() { &[0.0] } else { parameters };
        parameters.iter().map(|&parameter| TrecMeasure { row: self, parameter }).collect()
    }

    /// Reads parameters such as `5,10` and sorts them like trec_eval, which truncates cut-offs to whole numbers.
    /// Returns `None` if a parameter is out of range or the measure has no parameter.
    fn read(&'static self, written: &str) -> Option<Vec<TrecMeasure>> {
        let fractions = [RECALL, MULTIPLE].contains(&self.name);
        let parameter = |text: &str| text.parse().ok().map(|given: f64| if fractions { given } else { given.trunc() });
        let mut parameters: Vec<f64> = written.split(',').map(parameter).collect::<Option<_>>()?;
        parameters.sort_by(f64::total_cmp);
        let valid = |&parameter: &f64| match self.name {
            RECALL => (0.0..=1.0).contains(&parameter),
            MULTIPLE => parameter > 0.0 && parameter.is_finite(),
            _ => (1.0..1e9).contains(&parameter),
        };
        (!self.parameters.is_empty() && parameters.iter().all(valid)).then(|| self.measures(&parameters))
    }
}

impl TrecMeasure {
    /// Returns the measures of trec_eval's default output.
    pub fn official() -> Vec<Self> {
        ROWS.iter().filter(|row| row.official).flat_map(|row| row.measures(row.parameters)).collect()
    }

    /// Returns all supported measures, in the order of `-m all_trec`.
    pub fn all_trec() -> Vec<Self> {
        ROWS.iter().flat_map(|row| row.measures(row.parameters)).collect()
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
                && ROWS.iter().all(|row| row.name != name)
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
        let names = || ROWS.iter().map(|row| row.name).chain(["official", "all_trec"]);
        let Some(row) = ROWS.iter().find(|row| row.name == name) else {
            let elsewhere = found.parse().ok().and_then(Self::from_measure);
            return elsewhere.map(|measure| vec![measure]).ok_or_else(|| MeasureError::UnknownMeasure {
                found: found.to_string(),
                known: names().collect::<Vec<_>>().join(", "),
                nearest: nearest(name, names()),
            });
        };
        let Some(parameters) = parameters else { return Ok(row.measures(row.parameters)) };
        row.read(parameters).ok_or_else(|| MeasureError::MeasureParameter {
            found: found.to_string(),
            expected: match row.parameters {
                [] => format!("`{name}`, which takes no parameter"),
                _ => format!("`{name}` or `{name}.x,y,...` with parameters in its range"),
            },
        })
    }

    /// Returns trec_eval's counterpart of a measure in the `trec_eval` convention, or `None` if there is none.
    fn from_measure(measure: Measure) -> Option<Self> {
        let (name, k) = match measure {
            Measure::Ndcg(k) => (if k.is_some() { "ndcg_cut" } else { "ndcg" }, k),
            Measure::Ap(k) => (if k.is_some() { "map_cut" } else { "map" }, k),
            Measure::Precision(k @ Some(_)) => ("P", k),
            Measure::Recall(k) => (if k.is_some() { "recall" } else { "set_recall" }, k),
            Measure::ReciprocalRank(None) => ("recip_rank", None),
            Measure::Success(k @ Some(_)) => ("success", k),
            Measure::Wta => ("success", Some(1)),
            Measure::RPrecision => ("Rprec", None),
            Measure::Rbp { persistence } if persistence == PERSISTENCE => ("rbp", None),
            _ => return None,
        };
        let row = ROWS.iter().find(|row| row.name == name)?;
        Some(Self { row, parameter: k.unwrap_or(0) as f64 })
    }

    /// Returns what trec_eval prints of the measure.
    pub(super) fn kind(self) -> Kind {
        self.row.kind
    }

    /// Computes the measure of one query.
    pub(super) fn value(self, query: &Judged) -> Result<f64, MeasureError> {
        (self.row.value)(query, self.parameter)
    }
}

impl fmt::Display for TrecMeasure {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        let Row { name, parameters, .. } = self.row;
        match *name {
            RECALL | MULTIPLE => write!(formatter, "{name}_{:.2}", self.parameter),
            _ if parameters.is_empty() => formatter.write_str(name),
            _ => write!(formatter, "{name}_{}", self.parameter),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(names: &str) -> Vec<String> {
        TrecMeasure::parse_list(names).unwrap().iter().map(TrecMeasure::to_string).collect()
    }

    #[test]
    fn names_are_read_as_trec_eval_reads_them() {
        assert_eq!(read("P.10,5"), ["P_5", "P_10"]);
        assert_eq!(TrecMeasure::parse("success").unwrap().len(), 3);
        assert_eq!(read("map"), ["map"]);
        assert_eq!(TrecMeasure::parse("official").unwrap(), TrecMeasure::official());
        assert_eq!(TrecMeasure::parse("iprec_at_recall.0.5").unwrap()[0].to_string(), "iprec_at_recall_0.50");
        assert_eq!(TrecMeasure::parse("Rprec_mult..25").unwrap()[0].parameter, 0.25);
    }

    #[test]
    fn lists_of_names_keep_their_parameters() {
        assert_eq!(read("map, P.10,5,recall.20"), ["map", "P_5", "P_10", "recall_20"]);
        assert_eq!(read("ndcg_cut.10,20,23.4"), ["ndcg_cut_10", "ndcg_cut_20", "ndcg_cut_23"]);
        assert_eq!(read("map,11pt_avg,P.5"), ["map", "11pt_avg", "P_5"]);
        let message = TrecMeasure::parse_list("utility.2,-1,0,0").unwrap_err().to_string();
        assert!(message.starts_with("measure `utility.2,-1,0,0`: expected `utility`"), "{message}");
        let recall = ["iprec_at_recall_0.10", "iprec_at_recall_0.20", "bpref"];
        assert_eq!(read("iprec_at_recall..10,.20,bpref"), recall);
        assert_eq!(read("ndcg@10,mrr,rbp@p=0.9,wta"), ["ndcg_cut_10", "recip_rank", "rbp", "success_1"]);
        assert_eq!(TrecMeasure::parse("ndcg@10").unwrap(), TrecMeasure::parse("ndcg_cut.10").unwrap());
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
