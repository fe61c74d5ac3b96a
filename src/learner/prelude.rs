//! The names that most files of learners import: from this folder, and from data, losses and rankers.

pub(super) use std::borrow::Cow;

pub(super) use serde::{Deserialize, Serialize};

pub(super) use super::entry::{LearnerConfig, LearnerEntry, Parts, RankingLearner};
pub(super) use super::error::{LearnerError, Result};
pub(super) use super::shared::checks;
pub(super) use super::shared::context::{Fitted, Job, StopReason};
pub(super) use super::shared::cost_path::Candidates;
pub(super) use super::shared::rounds::{Additive, History, Iterative, Made, Recorded, Rounds, Set, Step};
pub(super) use super::shared::share::{Share, linear_model};
pub(super) use super::solver::{Solved, add_scaled, dot};
pub(super) use crate::data::RankingDataset;
pub(super) use crate::data::shards::own;
pub(super) use crate::loss::{BuiltLoss, RankingLoss};
pub(super) use crate::parallel;
pub(super) use crate::ranker::Model;
pub(super) use crate::refusal::Refusal;
pub(super) use crate::scorer::{Scorer, ScorerConfig};
pub(super) use crate::seed::{random_for, seed_for};
