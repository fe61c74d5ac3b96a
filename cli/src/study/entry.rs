//! A study's entry on the command line: its name, inputs and parameters.

use burn_rank::refusal::Refusal;
use burn_rank::workbench::ranker::Versions;
use burn_rank::workbench::text::{did_you_mean, nearest};

use super::findings::StudyReport;
use super::{Findings, Result, Source, Subject};
use crate::experiment::ExperimentError;

/// One study.
#[derive(Debug, Clone, Copy)]
pub struct StudyEntry {
    /// The name of the study on the command line.
    pub name: &'static str,
    /// The subject of the study, in one line.
    pub summary: &'static str,
    /// The paper, with the figures and theorems that the study checks.
    pub paper: &'static str,
    /// The parameters that the study varies. On the command line, values without a parameter name apply to the first
    /// parameter.
    pub parameters: &'static [Parameter],
    /// The kinds of input that the study accepts, in words.
    pub takes: &'static [&'static str],
    pub(super) run: fn(&Setting) -> Result<Findings>,
}

/// A parameter for which a study tries several values.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Parameter {
    /// The name of the parameter on the command line, in tables and on axes.
    pub name: &'static str,
    /// The default values.
    pub values: &'static [f64],
    /// Which values are valid for the parameter.
    pub domain: Domain,
}

/// Which values are valid for a parameter.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Domain {
    /// Finite numbers above 0.
    Positive,
    /// Whole numbers from the first to the second.
    Whole(u32, u32),
}

/// Values that replace the defaults of a parameter, with its name. Values without a name apply to the first parameter.
pub type Over = (Option<String>, Vec<f64>);

/// A function that is told the next step, the number of finished steps, and the number of all steps.
pub type Progress<'a> = &'a dyn Fn(&str, usize, usize);

/// The input and parameter values of a study run.
pub(super) struct Setting<'a> {
    pub(super) source: &'a Source,
    pub(super) quick: bool,
    values: Vec<(&'static str, Vec<f64>)>,
    progress: Progress<'a>,
}

impl Setting<'_> {
    /// Returns the values to try for one of the study's parameters.
    pub(super) fn values(&self, parameter: &str) -> &[f64] {
        let found = self.values.iter().find(|(name, _)| *name == parameter);
        &found.expect("a parameter of the study").1
    }

    /// Returns the scored queries from the source, or generated queries if there is no ranking. If the source has
    /// several runs, prefers the first run that was trained with one of `losses`.
    pub(super) fn subject(&self, losses: &[&str]) -> Subject {
        match self.source {
            Source::Ranking(subject) | Source::Rankings(subject, _) => subject.clone(),
            Source::Runs(runs) => runs.trained_by(losses).subject.clone(),
            Source::Generated { queries, seed } => {
                Subject::generated(if self.quick { (*queries).min(40) } else { *queries }, *seed)
            }
            Source::Training(_) => Subject { origin: String::new(), queries: Vec::new() },
        }
    }

    /// Computes a result for each value of a parameter, and reports each value as a step.
    pub(super) fn each<T>(&self, name: &str, values: &[f64], of: impl Fn(f64) -> Result<T>) -> Result<Vec<T>> {
        let step = |(at, &value): (usize, &f64)| {
            self.step(&format!("{name} = {value}"), at, values.len());
            of(value)
        };
        values.iter().enumerate().map(step).collect()
    }

    /// Reports progress.
    pub(super) fn step(&self, what: &str, done: usize, all: usize) {
        (self.progress)(what, done, all);
    }
}

impl StudyEntry {
    /// Returns whether the study can examine this source.
    pub fn accepts(&self, source: &Source) -> bool {
        self.takes.contains(&source.kind())
    }

    /// Runs the study, and returns its report. A `quick` study has fewer values, epochs and samples.
    ///
    /// # Errors
    /// Returns an error if the study does not accept the source or a parameter. Also returns one if values are invalid
    /// or not in ascending order. Also returns an error if no query can be ranked, a score is not finite, or a ranker
    /// cannot be trained.
    pub fn run(&self, source: &Source, over: &[Over], quick: bool, progress: Progress) -> Result<StudyReport> {
        let values = self.values(over)?;
        if !self.accepts(source) {
            let (found, expected) = (source.kind(), self.takes.join(" or "));
            return Err(ExperimentError::Input(format!("{}: found {found}, expected {expected}", self.name)));
        }
        source.check()?;
        let setting = Setting { source, quick, values, progress };
        Ok(StudyReport {
            study: self.name.to_string(),
            summary: self.summary.to_string(),
            paper: self.paper.to_string(),
            quick,
            findings: (self.run)(&setting)?,
            versions: Versions::current(),
        })
    }

    fn values(&self, over: &[Over]) -> Result<Vec<(&'static str, Vec<f64>)>> {
        let mut values: Vec<_> = self.parameters.iter().map(|of| (of.name, of.values.to_vec())).collect();
        for (name, given) in over {
            let at = match name {
                None => (!values.is_empty()).then_some(0),
                Some(name) => self.parameters.iter().position(|parameter| parameter.name == name),
            };
            let at = at.ok_or_else(|| self.unknown(name.as_deref().unwrap_or_default()))?;
            self.parameters[at].check(given)?;
            values[at].1.clone_from(given);
        }
        Ok(values)
    }

    fn unknown(&self, found: &str) -> ExperimentError {
        let names: Vec<&str> = self.parameters.iter().map(|parameter| parameter.name).collect();
        let known = if names.is_empty() { "none".to_string() } else { names.join(", ") };
        let near = did_you_mean(&nearest(found, names));
        ExperimentError::Input(format!("{} has no parameter `{found}`, expected {known}{near}", self.name))
    }
}

impl Parameter {
    /// Rejects values that are invalid or not ascending.
    fn check(&self, values: &[f64]) -> Result<(), Refusal> {
        let inside = |value: &f64| match self.domain {
            Domain::Positive => value.is_finite() && *value > 0.0,
            Domain::Whole(from, to) => value.fract() == 0.0 && (f64::from(from)..=f64::from(to)).contains(value),
        };
        let beyond = values.iter().find(|value| !inside(value));
        let not_after = || values.windows(2).find(|two| two[0] >= two[1]).map(|two| &two[1]);
        let Some(found) = beyond.or_else(not_after) else { return Ok(()) };
        let number = match self.domain {
            Domain::Positive => "a finite number above 0".to_string(),
            Domain::Whole(from, to) => format!("a whole number from {from} to {to}"),
        };
        Err(Refusal::new(self.name, found, format!("{number}, each once and in ascending order")))
    }
}
