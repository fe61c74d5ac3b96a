//! The settings among which a cross-validation chooses: the points of a grid or the trials of a search.

use burn_rank::json::Value;
use burn_rank::refusal::Refusal;

use super::document::{ConfigError, Document};
use super::experiment::{Experiment, ExperimentConfig, learners_that, refusal_of};
use super::grid::{self, Point};
use super::search::{Rung, SearchConfig, rungs};

/// The names of the configuration tables that hold a grid and a search space.
const GRID: &str = "grid";
const SPACE: &str = "search.space";

/// A setting that a cross-validation tries.
#[derive(Debug, Clone)]
pub(in crate::experiment) struct Candidate {
    /// The value that the setting gives to each configuration key.
    pub(in crate::experiment) point: Point,
    /// A short name that distinguishes the setting from the others, such as `depth 6`.
    pub(in crate::experiment) label: String,
    /// The configuration with the setting's values filled in.
    pub(in crate::experiment) config: Experiment,
}

impl Experiment {
    /// Rejects a grid with an invalid point, before any data are read.
    pub(super) fn check_grid(&self, document: &Document) -> Result<(), ConfigError> {
        // Points are checked one at a time, because a grid may be large.
        let mut points = self.points_of_grid(document)?.into_iter().filter(|point| !point.is_empty());
        points.try_for_each(|point| self.at_point(document, GRID, &point).map(|_| ()))
    }

    /// Rejects a search with an invalid trial, before any data are read.
    pub(super) fn check_trials(&self, document: &Document) -> Result<(), ConfigError> {
        let Some(search) = &self.search else { return Ok(()) };
        let folds = match (self.cv.folds.as_slice(), &self.cv.split) {
            ([], None) => vec![1],
            ([], Some(split)) => (1..=split.folds).collect(),
            (folds, _) => folds.to_vec(),
        };
        for fold in folds {
            let trials = self.trials(document, search, fold)?;
            // The ends of a range are hardly ever drawn, but a range that leaves the valid values usually does so
            // there.
            for point in search.extremes(&trials[0].point).map_err(|refusal| document.place(&refusal))? {
                self.at_point(document, SPACE, &point)?;
            }
        }
        Ok(())
    }

    fn points_of_grid(&self, document: &Document) -> Result<Vec<Point>, ConfigError> {
        let keys = grid::check_keys(&self.grid).map_err(|refusal| refusal.under(GRID));
        keys.and_then(|()| grid::points(&self.grid)).map_err(|refusal| document.place(&refusal))
    }

    /// Returns a candidate for each grid point; without a grid, the only candidate is the configuration itself.
    pub(in crate::experiment) fn grid_candidates(&self, document: &Document) -> Result<Vec<Candidate>, ConfigError> {
        let candidate = |(point, label): (Point, String)| {
            let config = if point.is_empty() { self.clone() } else { self.at_point(document, GRID, &point)? };
            Ok(Candidate { label, point, config })
        };
        let points = self.points_of_grid(document)?;
        let names = grid::names(&points, &self.resolved());
        points.into_iter().zip(names).map(candidate).collect()
    }

    /// Returns the trials that a search draws for a fold, in the order in which they are drawn. With successive
    /// halving, the learner's number of rounds is set to the budget in every trial.
    pub(in crate::experiment) fn trials(
        &self,
        document: &Document,
        search: &SearchConfig,
        fold: usize,
    ) -> Result<Vec<Candidate>, ConfigError> {
        let place = |refusal: Refusal| document.place(&refusal);
        let candidate = |(index, point): (usize, Point)| {
            let mut config = self.at_point(document, SPACE, &point)?;
            if let SearchConfig::SuccessiveHalving { budget, .. } = search {
                config = config.with_budget(*budget).map_err(place)?;
            }
            Ok(Candidate { label: format!("trial {}, {}", index + 1, grid::in_words(&point)), point, config })
        };
        let points = search.points(self.seed, fold).map_err(place)?;
        let trials = points.into_iter().enumerate().map(candidate).collect::<Result<Vec<_>, _>>()?;
        if let SearchConfig::SuccessiveHalving { reduction, .. } = search {
            check_rounds(&trials, *reduction).map_err(place)?;
        }
        Ok(trials)
    }

    /// Returns the experiment of the grid point, or of the trial of a fold, with this label.
    pub(in crate::experiment) fn at_label(
        &self,
        document: &Document,
        fold: usize,
        label: &str,
    ) -> Result<Option<Self>, ConfigError> {
        let candidates = match &self.search {
            Some(search) => self.trials(document, search, fold)?,
            None => self.grid_candidates(document)?,
        };
        Ok(candidates.into_iter().find(|of| grid::label(&of.point) == label).map(|of| of.config))
    }

    /// Returns the configuration with the values of a grid point or trial applied. `from` is the table that lists the
    /// values: either `grid` or `search.space`.
    fn at_point(&self, document: &Document, from: &str, point: &Point) -> Result<Self, ConfigError> {
        let at_point = document.at_point(from, point)?;
        self.changed(&at_point).map_err(|refusal| {
            let ConfigError { place, message } = at_point.place(&refusal);
            let table = from.split('.').next().unwrap_or_default();
            ConfigError { place, message: format!("{table}, at {}: {message}", grid::label(point)) }
        })
    }

    /// If successive halving has a `budget`, makes it the learner's number of rounds. Rejects a learner that has no
    /// number of rounds.
    fn with_budget(self, budget: Option<usize>) -> Result<Self, Refusal> {
        let Some(key) = self.learner_entry().and_then(|entry| entry.rounds_key) else {
            let (kind, with) = (self.learner_kind(), learners_that(|entry| entry.rounds_key.is_some()).join(", "));
            let expected =
                format!("\"random\": the learner `{kind}` has no rounds to divide among trials; these have: {with}");
            return Err(Refusal::new("search.kind", "\"successive_halving\"", expected));
        };
        let dotted = format!("learner.{key}");
        if self.search.as_ref().is_some_and(|search| search.space().contains_key(&dotted)) {
            let fault = "expected `search.budget` instead: successive halving divides the rounds among trials";
            return Err(Refusal::fault(format!("{SPACE}.{dotted}"), fault));
        }
        let Some(budget) = budget else { return Ok(self) };
        let Self { mut config, written, .. } = self;
        config.learner.insert(key.to_string(), Value::from(budget));
        Self::build(config, written).map_err(refusal_of)
    }
}

impl ExperimentConfig {
    /// Returns the rungs of successive halving, or none for any other kind of search.
    pub(in crate::experiment) fn rungs(&self) -> Vec<Rung> {
        match (&self.search, self.rounds()) {
            (Some(SearchConfig::SuccessiveHalving { trials, reduction, .. }), Some(rounds)) => {
                rungs(*trials, rounds, *reduction)
            }
            _ => Vec::new(),
        }
    }

    /// Returns the learner's number of rounds, if it has one.
    fn rounds(&self) -> Option<usize> {
        let entry = self.learner_entry()?;
        let key = entry.rounds_key?;
        let default = || entry.defaults().get(key).and_then(Value::as_u64);
        self.learner.get(key).and_then(Value::as_u64).or_else(default).map(|rounds| rounds as usize)
    }
}

/// Rejects trials with different numbers of rounds, because a rung could not compare them. Also rejects trials with
/// fewer rounds than `reduction`.
fn check_rounds(trials: &[Candidate], reduction: usize) -> Result<(), Refusal> {
    let mut rounds = trials.iter().filter_map(|trial| trial.config.rounds());
    let Some(first) = rounds.next() else { return Ok(()) };
    if let Some(other) = rounds.find(|rounds| *rounds != first) {
        let fault = format!("missing; expected a number, since trials have learners of {first} and of {other} rounds");
        return Err(Refusal::fault("search.budget", fault));
    }
    if first < reduction {
        let key = trials[0].config.learner_entry().and_then(|entry| entry.rounds_key).unwrap_or_default();
        let expected = format!("at least {reduction}, the reduction of [search]");
        return Err(Refusal::new(format!("learner.{key}"), first, expected));
    }
    Ok(())
}
