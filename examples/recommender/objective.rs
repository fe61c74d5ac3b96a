//! The objective of a step of training: a loss of burn-rank over the whole catalog, over a sample of it, or over pairs.

use burn::tensor::{Bool, Device, Tensor, TensorData};
use burn_rank::loss::{LossError, LossSpec, RankingLoss, Reduction};
use chacha20::ChaCha8Rng;
use rand::RngExt;

use super::data::Catalog;
use super::model::{TwoTowers, rows};

/// Items that the users of a batch share as a sample of the catalog.
const SAMPLE: usize = 2_000;

/// Which items meet the ones that a user took.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Against {
    /// All others.
    Catalog,
    /// A sample.
    Sample,
    /// One drawn for each.
    One,
}

/// A way to train.
pub struct Objective {
    pub name: &'static str,
    against: Against,
    loss: Box<dyn RankingLoss>,
}

/// Every way to train, by name.
pub const NAMES: [&str; 4] = ["approx_ndcg", "full_softmax", "sampled_softmax", "bpr"];

impl Objective {
    /// The way of this name; none if there is no such way.
    pub fn new(name: &str) -> Result<Option<Self>, LossError> {
        let softmax = || LossSpec::new("softmax_cross_entropy").with("normalize", true).build();
        let Some(&name) = NAMES.iter().find(|known| **known == name) else { return Ok(None) };
        let (against, loss) = match name {
            // The temperature divides the scores of every objective, so the steepness is 1.
            "approx_ndcg" => (Against::Catalog, LossSpec::new(name).with("alpha", 1.0).build()?),
            "full_softmax" => (Against::Catalog, softmax()?),
            "sampled_softmax" => (Against::Sample, softmax()?),
            // RankNet of two items is Bayesian personalized ranking.
            _ => (Against::One, LossSpec::new("rank_net").build()?),
        };
        Ok(Some(Self { name, against, loss }))
    }

    /// The mean loss of some users, `[1]`.
    pub fn loss(&self, step: Step) -> Tensor<1> {
        let lists = match self.against {
            Against::Catalog => step.of_catalog(),
            Against::Sample => step.of_sample(),
            Against::One => step.of_pairs(),
        };
        self.loss.forward(lists.scores * (1.0 / step.temperature), lists.labels, lists.mask, Reduction::Mean)
    }
}

/// Scores, labels and mask, `[lists, items]`.
struct Lists {
    scores: Tensor<2>,
    labels: Tensor<2>,
    mask: Tensor<2, Bool>,
}

/// One step of training.
#[derive(Clone, Copy)]
pub struct Step<'a> {
    pub model: &'a TwoTowers,
    pub catalog: &'a Catalog,
    /// Features of all items.
    pub items: &'a Tensor<2>,
    pub users: &'a [usize],
    pub temperature: f64,
    /// Source of samples.
    pub random: &'a std::cell::RefCell<ChaCha8Rng>,
}

impl Step<'_> {
    fn device(&self) -> Device {
        self.items.device()
    }

    fn user_features(&self) -> Tensor<2> {
        rows(&self.catalog.user_features, self.users, &self.device())
    }

    fn draw(&self, count: usize) -> Vec<usize> {
        let mut random = self.random.borrow_mut();
        (0..count).map(|_| random.random_range(0..self.catalog.size.items)).collect()
    }

    /// Every item of the catalog; what a user took has label 1.
    fn of_catalog(self) -> Lists {
        let scores = self.model.forward(self.user_features(), self.items.clone());
        let items = self.catalog.size.items;
        let mut labels = vec![0f32; self.users.len() * items];
        for (labels, &user) in labels.chunks_mut(items).zip(self.users) {
            self.catalog.users[user].train.iter().for_each(|&item| labels[item] = 1.0);
        }
        let labels = Tensor::from_data(TensorData::new(labels, [self.users.len(), items]), &self.device());
        let mask = Tensor::full(labels.dims(), true, &self.device());
        Lists { scores, labels, mask }
    }

    /// The lists of items that the users of the batch took, then a sample. A user does not meet the items of the
    /// others.
    fn of_sample(self) -> Lists {
        let taken: Vec<usize> =
            self.users.iter().flat_map(|&user| self.catalog.users[user].train.iter().copied()).collect();
        let sample = self.draw(SAMPLE.min(self.catalog.size.items / 2));
        let width = taken.len() + sample.len();
        let mut labels = vec![0f32; self.users.len() * width];
        let mut kept = vec![false; labels.len()];
        let mut start = 0;
        for ((labels, kept), &user) in labels.chunks_mut(width).zip(kept.chunks_mut(width)).zip(self.users) {
            let own = &self.catalog.users[user].train;
            labels[start..start + own.len()].fill(1.0);
            kept[start..start + own.len()].fill(true);
            for (kept, item) in kept[taken.len()..].iter_mut().zip(&sample) {
                *kept = !own.contains(item);
            }
            start += own.len();
        }
        let numbers = [taken, sample].concat();
        let items = rows(&self.catalog.item_features, &numbers, &self.device());
        let shape = [self.users.len(), width];
        Lists {
            scores: self.model.forward(self.user_features(), items),
            labels: Tensor::from_data(TensorData::new(labels, shape), &self.device()),
            mask: Tensor::from_data(TensorData::new(kept, shape), &self.device()),
        }
    }

    /// A list of two for each item that a user took: this one, and one that the user did not take.
    fn of_pairs(self) -> Lists {
        let taken = |user: usize| self.catalog.users[user].train.iter();
        let pairs: Vec<(usize, usize)> =
            self.users.iter().flat_map(|&user| taken(user).map(move |&item| (user, item))).collect();
        let mut items = Vec::with_capacity(2 * pairs.len());
        for &(user, item) in &pairs {
            let other = loop {
                let [other] = self.draw(1)[..] else { unreachable!("one item is drawn") };
                if !self.catalog.users[user].train.contains(&other) {
                    break other;
                }
            };
            items.extend([item, other]);
        }
        let users: Vec<usize> = pairs.iter().flat_map(|&(user, _)| [user, user]).collect();
        let users = self.model.user.forward(rows(&self.catalog.user_features, &users, &self.device()));
        let items = self.model.item.forward(rows(&self.catalog.item_features, &items, &self.device()));
        let scores = (users * items).sum_dim(1).reshape([pairs.len(), 2]);
        let labels = TensorData::new([1f32, 0.0].repeat(pairs.len()), [pairs.len(), 2]);
        let labels = Tensor::<2>::from_data(labels, &self.device());
        let mask = Tensor::full(labels.dims(), true, &self.device());
        Lists { scores, labels, mask }
    }
}
