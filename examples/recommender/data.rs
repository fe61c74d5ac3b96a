//! A generated catalog: items, users, and what each user took.
//!
//! Users and items have tastes, and a user takes item `i` with a probability proportional to `exp(z . q_i)`, each item
//! once. Models see noisy features of both, of which the tastes are a linear function, apart from the noise.

use burn_rank::seed::seed_for;
use chacha20::ChaCha8Rng;
use rand::{RngExt, SeedableRng};

/// Numbers that describe a user or an item to a model.
pub const FEATURES: usize = 16;

/// Numbers of a taste.
const TASTES: usize = 8;

/// Standard deviation of the noise of a feature.
const NOISE: f64 = 0.3;

/// Interactions of each user that are held out for validation, and as many for the test.
pub const HELD_OUT: usize = 5;

/// The size of the generated data.
#[derive(Clone, Copy)]
pub struct Size {
    pub users: usize,
    pub items: usize,
    /// Interactions of each user.
    pub interactions: usize,
}

/// 100,000 interactions.
pub const FULL: Size = Size { users: 2_000, items: 200_000, interactions: 50 };

/// A few seconds.
pub const SMALL: Size = Size { users: 64, items: 2_000, interactions: 30 };

/// The items that a user took.
pub struct User {
    pub train: Vec<usize>,
    pub validation: Vec<usize>,
    pub test: Vec<usize>,
}

pub struct Catalog {
    pub size: Size,
    /// `[items, FEATURES]`
    pub item_features: Vec<f32>,
    /// `[users, FEATURES]`
    pub user_features: Vec<f32>,
    pub users: Vec<User>,
}

impl Catalog {
    pub fn generate(size: Size, seed: u64) -> Self {
        let mut random = ChaCha8Rng::seed_from_u64(seed_for(seed, "recommender", 0));
        let tastes = |random: &mut ChaCha8Rng, count: usize| -> Vec<[f64; TASTES]> {
            (0..count).map(|_| std::array::from_fn(|_| normal(random))).collect()
        };
        let (items, users) = (tastes(&mut random, size.items), tastes(&mut random, size.users));
        let item_features = features(&items, &mut random);
        let user_features = features(&users, &mut random);
        let users = users.iter().map(|taste| taken(taste, &items, size.interactions, &mut random)).collect();
        Self { size, item_features, user_features, users }
    }
}

/// A random linear function of the tastes, and noise.
fn features(tastes: &[[f64; TASTES]], random: &mut ChaCha8Rng) -> Vec<f32> {
    let scale = (TASTES as f64).sqrt().recip();
    let directions: Vec<[f64; TASTES]> =
        (0..FEATURES).map(|_| std::array::from_fn(|_| scale * normal(random))).collect();
    let cells = tastes.iter().flat_map(|taste| directions.iter().map(move |direction| dot(taste, direction)));
    cells.map(|value| (value + NOISE * normal(random)) as f32).collect()
}

/// Items that a user takes one after the other, cut into those to train on and those held out.
fn taken(taste: &[f64; TASTES], items: &[[f64; TASTES]], count: usize, random: &mut ChaCha8Rng) -> User {
    let mut total = 0.0;
    let sums: Vec<f64> = items
        .iter()
        .map(|item| {
            total += dot(taste, item).exp();
            total
        })
        .collect();
    let mut taken = Vec::with_capacity(count);
    while taken.len() < count {
        let at = random.random::<f64>() * total;
        let item = sums.partition_point(|&sum| sum <= at).min(items.len() - 1);
        if !taken.contains(&item) {
            taken.push(item);
        }
    }
    // The items taken first are the most likely ones: without an order, none of the three parts is easier.
    for place in (1..taken.len()).rev() {
        taken.swap(place, random.random_range(0..=place));
    }
    let test = taken.split_off(count - HELD_OUT);
    let validation = taken.split_off(count - 2 * HELD_OUT);
    User { train: taken, validation, test }
}

fn dot(a: &[f64; TASTES], b: &[f64; TASTES]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// Draws a standard normal number (Box and Muller).
fn normal(random: &mut ChaCha8Rng) -> f64 {
    let radius = (-2.0 * (1.0 - random.random::<f64>()).ln()).sqrt();
    radius * (std::f64::consts::TAU * random.random::<f64>()).cos()
}
