//! Losses of a teacher's scores, and sums of a loss of labels and a loss of a teacher: value and gradient compared with
//! the definitions, which are written out in double precision.

use burn::tensor::{DType, Device, Tensor, TensorData};
use burn_rank::json::Value;
use burn_rank::loss::{Lists, LossSpec, RankingLoss, Reduction, explain, explain_taught};
use burn_rank::seed::seed_for;
use chacha20::ChaCha8Rng;
use rand::{RngExt, SeedableRng};
use serde_json::json;

/// A loss and its gradient.
type Found = (f64, Vec<f64>);

/// A loss of scores and of what it reads.
type Definition = fn(&[f64], &[f64]) -> Found;

fn sigmoid(t: f64) -> f64 {
    1.0 / (1.0 + (-t).exp())
}

fn softmax(values: &[f64]) -> Vec<f64> {
    let highest = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let powers: Vec<f64> = values.iter().map(|value| (value - highest).exp()).collect();
    powers.iter().map(|power| power / powers.iter().sum::<f64>()).collect()
}

fn binary_cross_entropy(s: &[f64], y: &[f64], w: f64) -> Found {
    let n = s.len() as f64;
    let of = |(s, y): (&f64, &f64)| -(w * y * sigmoid(*s).ln() + (1.0 - y) * sigmoid(-s).ln()) / n;
    let slope = |(s, y): (&f64, &f64)| ((1.0 - y) * sigmoid(*s) - w * y * sigmoid(-s)) / n;
    (s.iter().zip(y).map(of).sum(), s.iter().zip(y).map(slope).collect())
}

fn teacher_mse(s: &[f64], t: &[f64]) -> Found {
    let n = s.len() as f64;
    let errors = || s.iter().zip(t).map(|(s, t)| s - t);
    (errors().map(|error| error * error / n).sum(), errors().map(|error| 2.0 * error / n).collect())
}

fn margin_mse(s: &[f64], t: &[f64]) -> Found {
    let (mut pairs, mut sum, mut gradient) = (0.0, 0.0, vec![0.0; s.len()]);
    for i in 0..s.len() {
        for j in (0..i).filter(|&j| t[i] != t[j]) {
            let error = (s[i] - s[j]) - (t[i] - t[j]);
            pairs += 1.0;
            sum += error * error;
            gradient[i] += 2.0 * error;
            gradient[j] -= 2.0 * error;
        }
    }
    let pairs = f64::max(pairs, 1.0);
    (sum / pairs, gradient.into_iter().map(|slope| slope / pairs).collect())
}

fn teacher_kl(s: &[f64], t: &[f64], temperature: f64) -> Found {
    let over = |values: &[f64]| softmax(&values.iter().map(|value| value / temperature).collect::<Vec<_>>());
    let (p, q) = (over(t), over(s));
    if t.iter().all(|score| *score == t[0]) {
        return (0.0, vec![0.0; s.len()]);
    }
    let sum: f64 = p.iter().zip(&q).map(|(p, q)| p * (p.ln() - q.ln())).sum();
    (temperature * temperature * sum, p.iter().zip(&q).map(|(p, q)| temperature * (q - p)).collect())
}

fn adr_mse(s: &[f64], t: &[f64], alpha: f64) -> Found {
    let n = s.len();
    let (mut sum, mut gradient) = (0.0, vec![0.0; n]);
    if t.iter().all(|score| *score == t[0]) {
        return (sum, gradient);
    }
    for i in 0..n {
        let (above, equal) = (t.iter().filter(|&&other| other > t[i]), t.iter().filter(|&&other| other == t[i]));
        let rank = 1.0 + above.count() as f64 + (equal.count() - 1) as f64 / 2.0;
        let others = || (0..n).filter(|&j| j != i).map(|j| (j, sigmoid(alpha * (s[j] - s[i]))));
        let error = 1.0 + others().map(|(_, step)| step).sum::<f64>() - rank;
        let share = 1.0 / (n as f64 * (1.0 + rank).log2());
        sum += error * error * share;
        for (j, step) in others() {
            let slope = 2.0 * error * share * alpha * step * (1.0 - step);
            gradient[j] += slope;
            gradient[i] -= slope;
        }
    }
    (sum, gradient)
}

/// `list_net`, the cross entropy of two softmaxes, which is 0 where the labels are equal.
fn list_net(s: &[f64], y: &[f64]) -> Found {
    let (p, q) = (softmax(y), softmax(s));
    match y.iter().all(|label| *label == y[0]) {
        true => (0.0, vec![0.0; s.len()]),
        false => {
            (-p.iter().zip(&q).map(|(p, q)| p * q.ln()).sum::<f64>(), q.iter().zip(&p).map(|(q, p)| q - p).collect())
        }
    }
}

/// The losses that read a teacher's scores, with their parameters and definitions.
fn readers() -> Vec<(LossSpec, Definition)> {
    let spec = LossSpec::new;
    vec![
        (spec("teacher_mse"), teacher_mse),
        (spec("margin_mse"), margin_mse),
        (spec("teacher_kl"), |s, t| teacher_kl(s, t, 1.0)),
        (spec("teacher_kl").with("temperature", 2.5), |s, t| teacher_kl(s, t, 2.5)),
        (spec("adr_mse"), |s, t| adr_mse(s, t, 1.0)),
        (spec("adr_mse").with("alpha", 4.0), |s, t| adr_mse(s, t, 4.0)),
    ]
}

/// Scores, labels from 0 to 1, and a teacher's scores, with ties in all three.
struct List {
    scores: Vec<f64>,
    labels: Vec<f64>,
    teacher: Vec<f64>,
}

fn lists(purpose: &str) -> Vec<List> {
    let mut random = ChaCha8Rng::seed_from_u64(seed_for(54, purpose, 0));
    let mut list = |n: usize| {
        let mut column = |most: i32, size: f64| -> Vec<f64> {
            (0..n).map(|_| f64::from(random.random_range(-most..=most)) * size).collect()
        };
        let (scores, teacher) = (column(12, 0.25), column(n as i32 / 2 + 1, 0.375));
        List { labels: column(2, 0.25).iter().map(|label| label + 0.5).collect(), scores, teacher }
    };
    (0..60).map(|number| list(number % 30 + 2)).collect()
}

/// Returns the largest deviation of a loss and its gradient, relative where the expected value exceeds 1.
fn deviation(found: &Found, expected: &Found) -> f64 {
    let off = |found: f64, expected: f64| (found - expected).abs() / expected.abs().max(1.0);
    let gradient = found.1.iter().zip(&expected.1).map(|(found, expected)| off(*found, *expected));
    gradient.fold(off(found.0, expected.0), f64::max)
}

#[test]
fn losses_of_rerankers_are_their_definitions() {
    let mut cases = readers();
    cases.push((LossSpec::new("binary_cross_entropy"), |s, y| binary_cross_entropy(s, y, 1.0)));
    let weighted = LossSpec::new("binary_cross_entropy").with("positive_weight", 3.5);
    cases.push((weighted, |s, y| binary_cross_entropy(s, y, 3.5)));
    for (spec, definition) in cases {
        let loss = spec.build().unwrap();
        let mut largest = 0.0f64;
        for List { scores, labels, teacher } in lists(&spec.name) {
            let read = if spec.name == "binary_cross_entropy" { labels } else { teacher };
            let found = explain(&*loss, &scores, &read, DType::F64).unwrap();
            largest = largest.max(deviation(&(found.loss, found.grad), &definition(&scores, &read)));
        }
        println!("{} {:?}: off by at most {largest:e}", spec.name, spec.params);
        assert!(largest < 1e-12, "{spec:?}: {largest:e}");
    }
}

/// The definition of a sum: a loss of the labels, plus a weight times the loss of the teacher's scores, scaled, over
/// the documents that have one.
fn summed(list: &List, own: &Found, weight: f64, factor: Option<f64>, part: Definition) -> Found {
    let places: Vec<usize> = (0..list.scores.len()).filter(|&place| !list.teacher[place].is_nan()).collect();
    let of = |values: &[f64]| -> Vec<f64> { places.iter().map(|&place| values[place]).collect() };
    let (scores, mut teacher) = (of(&list.scores), of(&list.teacher));
    let (mut sum, mut gradient) = own.clone();
    if places.is_empty() {
        return (sum, gradient);
    }
    if let Some(factor) = factor {
        let n = teacher.len() as f64;
        let mean = teacher.iter().sum::<f64>() / n;
        let deviation = (teacher.iter().map(|score| (score - mean).powi(2)).sum::<f64>() / n).sqrt();
        let is_constant = teacher.iter().all(|score| *score == teacher[0]);
        let scaled = |score: &f64| if is_constant { 0.0 } else { factor * (score - mean) / deviation };
        teacher = teacher.iter().map(scaled).collect();
    }
    let part = part(&scores, &teacher);
    sum += weight * part.0;
    places.iter().zip(part.1).for_each(|(&place, slope)| gradient[place] += weight * slope);
    (sum, gradient)
}

/// Lists in which some documents, or all, lack a teacher's score, and in which labels or the teacher's scores are
/// equal.
fn taught_lists() -> Vec<List> {
    let mut lists = lists("taught");
    for (number, list) in lists.iter_mut().enumerate() {
        match number % 6 {
            0 => {}
            1 => list.teacher.fill(0.75),
            2 => list.labels.fill(0.5),
            3 => list.teacher.fill(f64::NAN),
            _ => list.teacher.iter_mut().skip(number % 3).step_by(3).for_each(|score| *score = f64::NAN),
        }
    }
    lists
}

/// Returns the mean loss of a padded batch, and its gradient at each document of each list.
fn of_batch(loss: &dyn RankingLoss, lists: &[List]) -> Found {
    let device = Device::flex().autodiff();
    let width = lists.iter().map(|list| list.scores.len()).max().unwrap();
    let padded = |values: &dyn Fn(&List) -> Vec<f64>| {
        let row = |list| {
            let mut row = values(list);
            row.resize(width, 0.0);
            row
        };
        let rows: Vec<f64> = lists.iter().flat_map(row).collect();
        Tensor::<2>::from_data(TensorData::new(rows, [lists.len(), width]), (&device, DType::F64))
    };
    let has = |score: &f64| f64::from(u8::from(!score.is_nan()));
    let scores = padded(&|list| list.scores.clone()).require_grad();
    let mask = padded(&|list| vec![1.0; list.scores.len()]).greater_elem(0.0);
    let teacher = padded(&|list| list.teacher.iter().map(|score| if score.is_nan() { 9.0 } else { *score }).collect());
    let scored = padded(&|list| list.teacher.iter().map(has).collect()).greater_elem(0.0);
    let batch = Lists::padded(scores.clone(), padded(&|list| list.labels.clone()), mask);
    let mean = loss.try_forward(&batch.with_teacher_where(teacher, scored), Reduction::Mean).unwrap();
    let slopes: Vec<f64> = scores.grad(&mean.backward()).unwrap().into_data().iter().collect();
    let of_documents = lists.iter().zip(slopes.chunks(width)).flat_map(|(list, row)| &row[..list.scores.len()]);
    (mean.into_data().iter::<f64>().sum(), of_documents.copied().collect())
}

#[test]
fn a_loss_of_both_is_the_weighted_sum_over_the_documents_with_a_score() {
    let own: [(&str, Definition); 2] =
        [("list_net", list_net), ("binary_cross_entropy", |s, y| binary_cross_entropy(s, y, 1.0))];
    let scales = [(1.0, None), (0.25, None), (1.0, Some(1.0)), (0.5, Some(2.0))];
    let (lists, mut largest) = (taught_lists(), 0.0f64);
    let cases = own.iter().flat_map(|own| readers().into_iter().map(move |reader| (own, reader)));
    for ((&(name, of_labels), (part, definition)), (weight, factor)) in
        cases.flat_map(|case| scales.map(|scale| (case.clone(), scale)))
    {
        let mut keys = part.params.clone();
        keys.extend([("name".to_owned(), json!(part.name)), ("weight".to_owned(), json!(weight))]);
        if let Some(factor) = factor {
            keys.extend([("scale".to_owned(), json!("query")), ("factor".to_owned(), json!(factor))]);
        }
        let loss = LossSpec::new(name).with("teacher", Value::Object(keys.clone())).build().unwrap();
        let sum = |list: &List| summed(list, &of_labels(&list.scores, &list.labels), weight, factor, definition);
        let expected: Vec<Found> = lists.iter().map(sum).collect();
        let mut check = |off: f64, what: &str| {
            assert!(off < 1e-12, "{name} {keys:?}, {what}: off by {off:e}");
            largest = largest.max(off);
        };
        for (List { scores, labels, teacher }, expected) in lists.iter().zip(&expected) {
            let found = explain_taught(&*loss, scores, labels, Some(teacher), DType::F64, &Device::flex()).unwrap();
            check(deviation(&(found.loss, found.grad), expected), "a list");
        }
        let count = lists.len() as f64;
        let slopes = expected.iter().flat_map(|(_, gradient)| gradient).map(|slope| slope / count).collect();
        let mean = expected.iter().map(|(sum, _)| sum / count).sum();
        check(deviation(&of_batch(&*loss, &lists), &(mean, slopes)), "a batch");
    }
    println!("off by at most {largest:e}");
}
