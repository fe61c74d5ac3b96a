//! NDCG@10 over the whole catalog: what a user took in training is left out, and what is held out is relevant.

use burn::tensor::Tensor;
use burn_rank::measure::{Convention, Measure, MeasureError, Ranking};

use super::data::{Catalog, User};
use super::model::{TwoTowers, rows};

const TOP: usize = 10;

/// Users that are scored at once.
const TOGETHER: usize = 16;

/// Which interactions are held out.
#[derive(Clone, Copy)]
pub enum Part {
    Validation,
    Test,
}

impl Part {
    fn of(self, user: &User) -> &[usize] {
        match self {
            Part::Validation => &user.validation,
            Part::Test => &user.test,
        }
    }
}

/// NDCG@10 of each user. `model` and `items` track no gradient.
pub fn ndcg(
    model: &TwoTowers,
    items: &Tensor<2>,
    catalog: &Catalog,
    part: Part,
    users: &[usize],
) -> Result<Vec<f64>, MeasureError> {
    let convention = Convention::preset("standard")?;
    let vectors = model.item.forward(items.clone()).transpose();
    let mut values = Vec::with_capacity(users.len());
    for together in users.chunks(TOGETHER) {
        let features = rows(&catalog.user_features, together, &items.device());
        let scores: Vec<f32> = model.user.forward(features).matmul(vectors.clone()).into_data().iter::<f32>().collect();
        for (scores, &user) in scores.chunks(catalog.size.items).zip(together) {
            let user = &catalog.users[user];
            values.push(of_user(scores.to_vec(), user, part.of(user), &convention)?);
        }
    }
    Ok(values)
}

fn of_user(
    mut scores: Vec<f32>,
    user: &User,
    relevant: &[usize],
    convention: &Convention,
) -> Result<f64, MeasureError> {
    // Nobody is told again what they took; of the two held-out parts, the other one is not relevant, but may be found.
    user.train.iter().for_each(|&item| scores[item] = f32::NEG_INFINITY);
    // Ranks from 11 on do not count: the first ten and the relevant items have the NDCG@10 of the whole catalog.
    let mut order: Vec<usize> = (0..scores.len()).collect();
    order.select_nth_unstable_by(TOP - 1, |&a, &b| scores[b].total_cmp(&scores[a]).then(a.cmp(&b)));
    order.truncate(TOP);
    order.extend(relevant.iter().filter(|item| !order[..TOP].contains(item)).copied().collect::<Vec<_>>());
    let labels: Vec<f32> = order.iter().map(|item| f32::from(u8::from(relevant.contains(item)))).collect();
    let scores: Vec<f32> = order.iter().map(|&item| scores[item]).collect();
    let ranking = Ranking { scores: &scores, labels: &labels, ids: None };
    Ok(Measure::Ndcg(Some(TOP)).query(&ranking, convention)?.unwrap_or(0.0))
}
