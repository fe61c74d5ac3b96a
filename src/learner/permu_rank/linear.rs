//! The bound of a linear scorer: `F` is linear in the weights, so that a round is a convex problem, solved by cutting planes
//! over a quadratic programme to a duality gap.

use rayon::prelude::*;

use super::PermuRankConfig;
use super::working_sets::{Query, WorkingSets};
use crate::data::Dataset;
use crate::learner::cost_grid::Solved;
use crate::learner::cutting_plane::{CuttingPlanes, Risk};
use crate::learner::products::{add_scaled, dot};
use crate::learner::{FitContext, linear};
use crate::loss::score_coefficients;
use crate::ranker::Model;

/// A linear scorer, with the features of all permutations in the working sets.
pub(super) struct LinearBound<'a> {
    data: &'a Dataset,
    config: &'a PermuRankConfig,
    context: &'a FitContext<'a>,
    queries: Vec<Features>,
}

/// `Phi` of the permutations of one query, by feature.
#[derive(Default)]
struct Features {
    perfect: Vec<Vec<f64>>,
    imperfect: Vec<Vec<f64>>,
}

impl<'a> LinearBound<'a> {
    pub(super) fn new(data: &'a Dataset, config: &'a PermuRankConfig, context: &'a FitContext<'a>) -> Self {
        Self { data, config, context, queries: Vec::new() }
    }

    /// The mean over queries of their risks.
    fn risk(&self, sets: &WorkingSets, weights: &[f64]) -> Risk {
        let of = |(features, query): (&Features, &Query)| features.risk(query.set.measure_losses(), weights);
        let parts: Vec<Risk> = self.queries.par_iter().zip(&sets.queries).map(of).collect();
        let share = 1.0 / parts.len() as f64;
        let mut mean = Risk { value: 0.0, slope: vec![0.0; weights.len()] };
        for part in parts {
            mean.value += share * part.value;
            add_scaled(&mut mean.slope, share, &part.slope);
        }
        mean
    }
}

impl super::Bound for LinearBound<'_> {
    fn start(&self) -> Vec<f64> {
        vec![0.0; self.data.feature_count]
    }

    fn begin(&mut self, sets: &WorkingSets) {
        self.queries.clear();
        self.queries.resize_with(sets.queries.len(), Features::default);
    }

    fn minimise(&mut self, sets: &WorkingSets, cost: f64, start: &[f64]) -> Result<Solved, String> {
        let data = self.data;
        self.queries.par_iter_mut().zip(&sets.queries).for_each(|(features, query)| features.extend(data, query));
        let risk = |weights: &[f64]| self.risk(sets, weights);
        let PermuRankConfig { tolerance, max_steps, .. } = *self.config;
        CuttingPlanes::new(cost).minimise(start, &risk, tolerance, max_steps, &self.context.interrupt)
    }

    fn scores(&self, weights: &[f64], data: &Dataset) -> Vec<f64> {
        linear::scores(data, weights)
    }

    fn model(&self, weights: &[f64]) -> Model {
        linear::model(weights, 0.0, &self.context.device)
    }
}

impl Features {
    /// Adds the permutations that came since the last call.
    fn extend(&mut self, data: &Dataset, query: &Query) {
        let features = |order: &Vec<u32>| {
            let mut sum = vec![0.0; data.feature_count];
            for (document, coefficient) in score_coefficients(order).into_iter().enumerate() {
                let row = data.row(query.first + document);
                sum.iter_mut().zip(row).for_each(|(s, &x)| *s += coefficient * f64::from(x));
            }
            sum
        };
        self.perfect.extend(query.set.perfect()[self.perfect.len()..].iter().map(features));
        self.imperfect.extend(query.set.imperfect()[self.imperfect.len()..].iter().map(features));
    }

    /// `1 / |B| sum_b sum_r d_r max(0, 1 - w . Phi_b + w . Phi_r)` and its slope, `d_r` the `losses`.
    fn risk(&self, losses: impl Iterator<Item = f64>, weights: &[f64]) -> Risk {
        let score = |phi: &Vec<f64>| dot(phi, weights);
        let perfect: Vec<f64> = self.perfect.iter().map(score).collect();
        let mut raise = vec![0.0; perfect.len()];
        let mut slope = vec![0.0; weights.len()];
        let share = 1.0 / perfect.len() as f64;
        let mut value = 0.0;
        for (phi, d) in self.imperfect.iter().zip(losses) {
            let own = score(phi);
            let mut lower = 0.0;
            for (place, f) in perfect.iter().enumerate() {
                let missing = 1.0 - f + own;
                if missing > 0.0 {
                    value += share * d * missing;
                    raise[place] += share * d;
                    lower += share * d;
                }
            }
            add_scaled(&mut slope, lower, phi);
        }
        self.perfect.iter().zip(raise).for_each(|(phi, factor)| add_scaled(&mut slope, -factor, phi));
        Risk { value, slope }
    }
}
