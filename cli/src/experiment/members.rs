//! Fits the members of `[[members]]` one after the other, each as a separate experiment, and joins their rankers.
//!
//! Each member keeps its state in a separate folder. A run that was stopped continues with the member that was being
//! fitted, because a finished fit ends at once when it is resumed.

use std::collections::BTreeMap;
use std::fs;

use burn_rank::learner::{Importance, PositionFactor, Round, StopReason};
use burn_rank::ranker::{Member, Members, Metadata, Ranker};
use burn_rank::refusal::Refusal;
use burn_rank::seed::seed_for;
use serde::{Deserialize, Serialize};

use super::config::{Experiment, Standardize};
use super::error::{ExperimentError, OutputError};
use super::fit::{Fit, FitOptions, check_measures, fit, measured, named};
use super::folder::MEMBER;
use super::split::Split;

/// The fit of one member, as reports have it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MemberReport {
    /// The name of the member.
    pub name: String,
    /// The weight of its standardized scores.
    pub weight: f64,
    /// The constant that its scores are divided by, with `standardize = "fixed"`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deviation: Option<f64>,
    /// The seed of its fit.
    pub seed: u64,
    /// The number of completed rounds.
    pub rounds: usize,
    /// The number of the best round, counted from 1.
    pub best_round: usize,
    /// The reason why its fit ended.
    pub stop: StopReason,
    /// Its measures by itself, under names such as `validation ndcg@10`.
    pub measures: BTreeMap<String, f64>,
    /// The importance of each feature in its trees.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub importance: Option<Importance>,
    /// Its factors of positions; empty if its training does not use positions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub positions: Vec<PositionFactor>,
    /// Every round.
    pub history: Vec<Round>,
}

/// Fits all members and joins them. A stopped fit joins the members that were fitted before it was stopped.
///
/// # Errors
/// As [`fit`]; the error of a member names it.
pub(super) fn fit_members(
    config: &Experiment,
    split: &Split,
    seed: u64,
    options: &FitOptions,
) -> Result<Fit, ExperimentError> {
    check_measures(config, split)?;
    if config.standardize == Standardize::Fixed && split.validation.is_none() {
        let expected = "\"query\", or validation queries, whose deviations are the constants";
        return Err(Refusal::new("standardize", "\"fixed\"", expected).into());
    }
    let mut resolved = config.config.clone();
    let (mut reports, mut members, mut stop) = (Vec::new(), Vec::new(), StopReason::Completed);
    for (number, (member, experiment)) in config.config.members.iter().zip(&*config.member_experiments).enumerate() {
        let seed = member_seed(seed, number);
        let of_member =
            |source| ExperimentError::Job { label: format!("member `{}`", member.name), source: Box::new(source) };
        let directory = options.directory.map(|folder| folder.join(format!("{MEMBER}{}", number + 1)));
        if let Some(folder) = &directory {
            fs::create_dir_all(folder).map_err(OutputError::unwritable(folder))?;
        }
        let interrupt = options.interrupt.clone();
        let own = FitOptions { directory: directory.as_deref(), interrupt, start: None, ..*options };
        let fitted = fit(experiment, split, seed, &own).map_err(of_member)?;
        resolved.members[number].normalizer = fitted.ranker.normalizer().kind();
        reports.push(MemberReport {
            name: member.name.clone(),
            weight: member.weight,
            deviation: None,
            seed,
            rounds: fitted.history.len(),
            best_round: fitted.best_round,
            stop: fitted.stop,
            measures: named(&fitted.evaluations),
            importance: fitted.importance,
            positions: fitted.positions,
            history: fitted.history,
        });
        members.push(Member { name: member.name.clone(), weight: member.weight, ranker: fitted.ranker });
        if fitted.stop == StopReason::Interrupted {
            stop = fitted.stop;
            // The best ranker so far needs a weight, even if the finished members have the weight 0.
            if members.iter().all(|member| member.weight == 0.0) {
                members.iter_mut().for_each(|member| member.weight = 1.0);
            }
            break;
        }
    }
    let mut members = Members::new(members)?;
    if let (Standardize::Fixed, Some(validation)) = (config.standardize, &split.validation) {
        members = members.with_fixed_deviations(validation, options.device)?;
        let deviations = members.fixed_deviations().into_iter().flatten();
        reports.iter_mut().zip(deviations).for_each(|(report, deviation)| report.deviation = Some(*deviation));
    }
    let ranker = Ranker::of_members(members)?;
    let (evaluations, extremes) = measured(config, split, |data| Ok(ranker.predict(data, options.device)?))?;
    let metadata = Metadata {
        config: resolved.resolved(),
        convention: config.measure.convention.clone(),
        measures: named(&evaluations),
        data_hash: split.train.data_hash(),
        seed,
        ..ranker.metadata().clone()
    };
    Ok(Fit {
        ranker: ranker.with_metadata(metadata)?,
        history: Vec::new(),
        best_round: 0,
        stop,
        importance: None,
        positions: Vec::new(),
        evaluations,
        extremes,
        approximation: None,
        members: reports,
    })
}

/// Returns the seed of a member. The first member has the seed of the run.
fn member_seed(seed: u64, number: usize) -> u64 {
    if number == 0 { seed } else { seed_for(seed, "members", number as u64) }
}
