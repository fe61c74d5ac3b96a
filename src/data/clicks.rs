//! Generates clicks on rankings with a position-based model, for unbiased learning to rank.
//!
//! In a session, the documents of a query are shown in the order of their scores. The document at rank `r` is examined
//! with probability `r^-eta`, its *propensity*, whichever document it is. An examined document with label `y` is
//! clicked with probability `noise + (1 - noise) (2^y - 1) / (2^m - 1)`, where `m` is the largest label of the data.
//! This model is from Ai et al., Unbiased learning to rank with unbiased propensity estimation. All draws are
//! independent.
//!
//! Each session with a click becomes a query whose labels are its clicks, 0 or 1. A clicked document has the weight
//! `min(r^eta, max_weight)`, the clipped inverse of its propensity; other documents have weight 1. Consider a loss that
//! is a weighted sum of one term per clicked document, in which no term depends on other clicks. If no weight is
//! clipped, the expectation of such a loss does not depend on the ranks at which the documents were shown (Joachims,
//! Swaminathan and Schnabel, Unbiased learning-to-rank with biased feedback).

use rand::RngExt;
use rand::seq::SliceRandom;

use super::dataset::RankingDataset;
use super::error::{DataError, inconsistent};
use super::positions::Positions;
use crate::refusal::Refusal;
use crate::seed::random_for;
use crate::text::counted;

/// A position-based model of clicks.
///
/// ```
/// use burn_rank::data::{ClickModel, SynthConfig};
///
/// let data = SynthConfig { queries: 20, features: 5, median_length: 10.0, ..SynthConfig::default() }.generate()?;
/// // Documents were shown in the order of the first feature.
/// let shown_by: Vec<f32> = (0..data.documents()).map(|document| data.row(document)[0]).collect();
/// let clicks = ClickModel::default().sessions(&data, &shown_by)?;
/// assert_eq!(clicks.data.document_weights.len(), clicks.data.documents());
/// # Ok::<(), burn_rank::data::DataError>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct ClickModel {
    /// The position bias `eta`, from 0 (no bias) to 10. Rank `r` is examined with probability `r^-eta`. Default: 1.
    pub eta: f64,
    /// The probability of a click on an examined document with label 0, from 0 to 1. Default: 0.1.
    pub noise: f64,
    /// The number of sessions of each query, at least 1. Default: 10.
    pub sessions: usize,
    /// The largest weight, at least 1; clipped weights reduce variance and add some bias. Default: 100.
    pub max_weight: f64,
    /// The share of sessions in which documents are shown in a random order, from 0 to 1. Without such sessions, the
    /// position of a document never varies, so that its effect cannot be told from relevance. Default: 0.
    pub shuffle: f64,
    /// The seed of all random draws. Default: 1.
    pub seed: u64,
}

impl Default for ClickModel {
    fn default() -> Self {
        Self { eta: 1.0, noise: 0.1, sessions: 10, max_weight: 100.0, shuffle: 0.0, seed: 1 }
    }
}

/// Sessions with clicks, as [`ClickModel::sessions`] returns them.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Clicks {
    /// The sessions in which at least one document was clicked. Session `s` of query `ID` becomes the query `ID-s`.
    /// Sessions are counted from 1. Labels are clicks, and weights of documents are inverse propensities.
    /// Positions are the ranks at which documents were shown, or `none` for a document that was not shown.
    pub data: RankingDataset,
    /// The number of sessions, with or without a click.
    pub sessions: usize,
    /// The number of clicks.
    pub clicks: usize,
    /// The number of clicks whose weight was clipped.
    pub clipped: usize,
}

impl ClickModel {
    /// Checks that every parameter is in its range.
    ///
    /// # Errors
    /// Returns [`Refusal`] for the first parameter that is out of range.
    pub fn check(&self) -> Result<(), Refusal> {
        let ranges = [("eta", self.eta, 10.0), ("noise", self.noise, 1.0), ("shuffle", self.shuffle, 1.0)];
        if let Some((key, value, most)) = ranges.into_iter().find(|(_, value, most)| !(0.0..=*most).contains(value)) {
            return Err(Refusal::new(key, value, format!("from 0 to {most}")));
        }
        if self.sessions == 0 {
            return Err(Refusal::new("sessions", 0, "at least 1"));
        }
        if !(self.max_weight >= 1.0 && self.max_weight <= f64::from(f32::MAX)) {
            return Err(Refusal::new("max_weight", self.max_weight, "a finite number of at least 1"));
        }
        Ok(())
    }

    /// Generates sessions for every query, with the documents shown in order of descending score. `scores` holds one
    /// score per document. Ties keep the order of the dataset; a document with the score `-inf` is not shown, so it is
    /// not clicked. Each query has a separate seed. Sessions without a click teach nothing and are left out.
    ///
    /// # Errors
    /// Returns the same errors as [`check`](ClickModel::check). Returns [`DataError::Inconsistent`] if the numbers of
    /// scores and documents differ, if a score is NaN, if a label is 1024 or above, or if there is no click at all.
    pub fn sessions(&self, data: &RankingDataset, scores: &[f32]) -> Result<Clicks, DataError> {
        self.check()?;
        if scores.len() != data.documents() {
            return Err(inconsistent("number of scores", scores.len(), data.documents()));
        }
        if let Some(document) = scores.iter().position(|score| score.is_nan()) {
            return Err(inconsistent(format!("the score of document {}", document + 1), "NaN", "a number"));
        }
        let highest = data.labels.iter().copied().fold(0.0, f32::max);
        if highest >= 1024.0 {
            return Err(inconsistent(
                "highest label",
                highest,
                "a grade below 1024, of which 2 to the power is a number",
            ));
        }
        self.ask_memory(data, scores, highest)?;
        let (mut kept, mut numbers) = (Vec::new(), Vec::new());
        let (mut labels, mut weights, mut positions) = (Vec::new(), Vec::new(), Vec::new());
        let (mut sessions, mut clicks, mut clipped) = (0, 0, 0);
        for query in 0..data.queries() {
            let logged = shown(&scores[data.range(query)]);
            if logged.is_empty() {
                continue;
            }
            sessions = self.sessions.saturating_add(sessions);
            let chances: Vec<f64> = data.query_labels(query).iter().map(|&y| self.attraction(y, highest)).collect();
            if chances.iter().all(|&chance| chance == 0.0) {
                continue;
            }
            let mut random = random_for(self.seed, "clicks", query as u64);
            for session in 1..=self.sessions {
                let (mut clicked, mut weight) = (vec![0.0f32; chances.len()], vec![1.0f32; chances.len()]);
                let before = clicks;
                let mut order = logged.clone();
                if self.shuffle > 0.0 && random.random::<f64>() < self.shuffle {
                    order.shuffle(&mut random);
                }
                for (rank, &document) in (1..).zip(&order) {
                    let inverse = f64::from(rank).powf(self.eta);
                    if random.random::<f64>() * inverse < chances[document] {
                        clicked[document] = 1.0;
                        weight[document] = inverse.min(self.max_weight) as f32;
                        clicks += 1;
                        clipped += usize::from(inverse > self.max_weight);
                    }
                }
                if clicks > before {
                    kept.push(query);
                    let mut places = vec![None; clicked.len()];
                    (1..).zip(&order).for_each(|(rank, &document)| places[document] = Some(rank));
                    positions.extend(places);
                    numbers.push(session);
                    labels.append(&mut clicked);
                    weights.append(&mut weight);
                }
            }
        }
        if sessions == 0 {
            return Err(inconsistent("number of queries with scores", 0, "at least 1"));
        }
        if clicks == 0 {
            return Err(inconsistent("number of clicks", 0, format!("a click in one of {sessions} sessions")));
        }
        let mut shown = data.select(&kept);
        shown.query_ids.iter_mut().zip(numbers).for_each(|(id, number)| *id = format!("{id}-{number}"));
        shown.labels = labels;
        shown.document_weights.clear();
        let name = |rank: Option<i32>| rank.map_or_else(|| "none".to_owned(), |rank| rank.to_string());
        let positions = Positions::new(positions.into_iter().map(name));
        let data = shown.with_document_weights(weights)?.with_positions(positions)?;
        Ok(Clicks { data, sessions, clicks, clipped })
    }

    /// Checks that enough memory is free for the expected sessions with a click.
    fn ask_memory(&self, data: &RankingDataset, scores: &[f32], highest: f32) -> Result<(), Refusal> {
        let mut documents = 0.0;
        for query in 0..data.queries() {
            let labels = data.query_labels(query);
            let shown = shown(&scores[data.range(query)]);
            let clicked = |(rank, document): (i32, usize)| {
                self.attraction(labels[document], highest) / f64::from(rank).powf(self.eta)
            };
            let none: f64 = (1..).zip(shown).map(|ranked| 1.0 - clicked(ranked)).product();
            documents += (1.0 - none) * labels.len() as f64;
        }
        let documents = documents * self.sessions as f64;
        // Features, label, weight and position; the last three are held twice for a moment.
        let bytes = documents * (size_of::<f32>() * (data.feature_count + 7)) as f64;
        let what = format!("a set of {} of {}", counted(self.sessions, "session"), counted(data.queries(), "query"));
        Refusal::ask_memory("sessions", what, bytes as u64, "lower the number of sessions")
    }

    /// Returns the probability of a click on an examined document with this label.
    fn attraction(&self, label: f32, highest: f32) -> f64 {
        let gain = |label: f32| f64::from(label).exp2() - 1.0;
        let relevance = if highest > 0.0 { gain(label) / gain(highest) } else { 0.0 };
        self.noise + (1.0 - self.noise) * relevance
    }
}

/// Returns the documents of a query that are shown to users, with the highest score first.
fn shown(scores: &[f32]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..scores.len()).filter(|&document| scores[document] > f32::NEG_INFINITY).collect();
    order.sort_by(|&a, &b| scores[b].total_cmp(&scores[a]));
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns one query with labels 2, 0, 1, 2, shown in the order third, first, second; the last document is not
    /// shown.
    fn one() -> (RankingDataset, Vec<f32>) {
        let labels = vec![2.0, 0.0, 1.0, 2.0];
        let data = RankingDataset::builder()
            .features(vec![1.0, 2.0, 3.0, 4.0], 1)
            .labels(labels)
            .query_sizes(&[4])
            .build()
            .unwrap();
        (data, vec![0.5, 0.1, 0.9, f32::NEG_INFINITY])
    }

    /// Returns the share of sessions in which each document is clicked.
    fn rates(model: &ClickModel) -> Vec<f64> {
        let (data, scores) = one();
        let clicks = model.sessions(&data, &scores).unwrap();
        let of = |document: usize| clicks.data.labels.iter().skip(document).step_by(4).sum::<f32>();
        (0..4).map(|document| f64::from(of(document)) / clicks.sessions as f64).collect()
    }

    #[test]
    fn documents_are_clicked_with_their_chances() {
        let model = ClickModel { eta: 1.0, noise: 0.1, sessions: 40_000, ..ClickModel::default() };
        // Gains 3, 0, 1 of at most 3; ranks 2, 3, 1.
        let expected = [1.0 / 2.0, 0.1 / 3.0, 0.1 + 0.9 / 3.0, 0.0];
        for (found, expected) in rates(&model).iter().zip(expected) {
            // Five standard deviations.
            let tolerance = 5.0 * (0.25f64 / 40_000.0).sqrt();
            assert!((found - expected).abs() < tolerance, "{found} {expected}");
        }
        assert_eq!(rates(&ClickModel { noise: 0.0, eta: 0.0, ..model })[..2], [1.0, 0.0]);
    }

    #[test]
    fn clicks_have_inverse_propensities_and_others_weigh_one() {
        let (data, scores) = one();
        let model =
            ClickModel { eta: 2.0, noise: 1.0, sessions: 200, max_weight: 5.0, seed: 3, ..ClickModel::default() };
        let clicks = model.sessions(&data, &scores).unwrap();
        let weights = [4.0, 5.0, 1.0, 1.0];
        let mut clipped = 0;
        for (place, (&label, &weight)) in clicks.data.labels.iter().zip(&clicks.data.document_weights).enumerate() {
            assert_eq!(weight, if label > 0.0 { weights[place % 4] } else { 1.0 });
            clipped += usize::from(label > 0.0 && place % 4 == 1);
        }
        assert!(clipped > 0 && clicks.clipped == clipped && clicks.sessions == 200);
        assert_eq!(clicks.clicks as f32, clicks.data.labels.iter().sum::<f32>());
    }

    #[test]
    fn sessions_without_a_click_are_left_out() {
        let (data, scores) = one();
        let model = ClickModel { noise: 0.0, sessions: 50, ..ClickModel::default() };
        let clicks = model.sessions(&data, &scores).unwrap();
        assert!(clicks.data.queries() < 50, "{}", clicks.data.queries());
        for query in 0..clicks.data.queries() {
            assert!(clicks.data.query_labels(query).contains(&1.0));
            assert!(clicks.data.query_ids[query].starts_with("1-"));
            assert_eq!(data.features.to_slice(), clicks.data.query_features(query));
        }
        clicks.data.check().unwrap();
        assert_eq!(model.sessions(&data, &scores).unwrap(), clicks, "the seed decides");
        assert_ne!(ClickModel { seed: 2, ..model }.sessions(&data, &scores).unwrap(), clicks);
    }

    #[test]
    fn positions_are_ranks_and_vary_only_in_shuffled_sessions() {
        let (data, scores) = one();
        let model = ClickModel { noise: 1.0, eta: 0.0, sessions: 6000, ..ClickModel::default() };
        let plain = model.sessions(&data, &scores).unwrap();
        let each = |clicks: &Clicks| clicks.data.positions.of_each().map(str::to_owned).collect::<Vec<_>>();
        assert!(each(&plain).chunks(4).all(|session| session == ["2", "3", "1", "none"]));
        let shuffled = each(&ClickModel { shuffle: 0.5, ..model }.sessions(&data, &scores).unwrap());
        let logged = shuffled.chunks(4).filter(|session| *session == ["2", "3", "1", "none"]).count();
        // Half of the sessions, and a sixth of the others; five standard deviations of a binomial.
        let (expected, tolerance) = (6000.0 * (0.5 + 0.5 / 6.0), 5.0 * (6000.0f64 * 0.25).sqrt());
        assert!((logged as f64 - expected).abs() < tolerance, "{logged} {expected}");
        assert!(shuffled.chunks(4).all(|session| session[3] == "none" && !session[..3].contains(&session[3])));
    }

    #[test]
    fn what_cannot_be_is_refused() {
        let (data, scores) = one();
        let refused = |model: ClickModel| model.sessions(&data, &scores).unwrap_err().to_string();
        let default = ClickModel::default;
        assert_eq!(refused(ClickModel { eta: -1.0, ..default() }), "eta = -1: expected from 0 to 10");
        assert_eq!(refused(ClickModel { noise: f64::NAN, ..default() }), "noise = NaN: expected from 0 to 1");
        assert_eq!(refused(ClickModel { shuffle: 1.5, ..default() }), "shuffle = 1.5: expected from 0 to 1");
        assert_eq!(refused(ClickModel { sessions: 0, ..default() }), "sessions = 0: expected at least 1");
        let weight = refused(ClickModel { max_weight: 0.5, ..default() });
        assert_eq!(weight, "max_weight = 0.5: expected a finite number of at least 1");
        let short = default().sessions(&data, &scores[..3]).unwrap_err().to_string();
        assert_eq!(short, "dataset: number of scores is 3, expected 4");
        let irrelevant =
            RankingDataset::builder().features(vec![1.0; 2], 1).labels(vec![0.0; 2]).query_sizes(&[2]).build().unwrap();
        let none = ClickModel { noise: 0.0, ..default() }.sessions(&irrelevant, &[0.0, 1.0]).unwrap_err().to_string();
        assert_eq!(none, "dataset: number of clicks is 0, expected a click in one of 10 sessions");
    }
}
