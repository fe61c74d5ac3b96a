//! Lists without padding: every registered loss has the same losses and gradients as for padded lists.

use burn::tensor::{DType, Device, Tensor, TensorData};
use burn_rank::loss::{
    About, Change, Lists, LossError, PackedLists, RankingLoss, Reduction, UnitGradients, reduce_weighted,
};
use burn_rank::prelude::Segments;
use burn_rank::seed::seed_for;
use chacha20::ChaCha8Rng;
use rand::{RngExt, SeedableRng};

use crate::devices::devices;
use crate::loss_contract::{Query, close, degenerate, longest, panic_of, queries, subjects, tensors_on};

/// The queries of the contract, those with nothing to learn, many short lists, and one so long that it stands apart.
fn lists() -> Vec<Query> {
    let mut random = ChaCha8Rng::seed_from_u64(seed_for(3, "packed", 0));
    let mut list = |n: usize| -> Query {
        let scores = (0..n).map(|_| f64::from(random.random_range(-2.0f32..2.0))).collect();
        (scores, (0..n).map(|_| f64::from(random.random_range(0..5u8))).collect())
    };
    let mut lists = queries();
    lists.insert(1, list(100));
    lists.extend(degenerate().into_iter().filter(|(scores, _)| !scores.is_empty()));
    lists.extend((0..60).map(|_| list(3)));
    lists
}

/// Returns the query of each row: the documents of one query after another, or of all queries in turn.
fn ids(lists: &[Query], in_turn: bool) -> Vec<usize> {
    let places = lists.iter().enumerate().flat_map(|(query, (scores, _))| (0..scores.len()).map(move |d| (d, query)));
    let mut places: Vec<(usize, usize)> = places.collect();
    if in_turn {
        places.sort_unstable();
    }
    places.into_iter().map(|(_, query)| query).collect()
}

/// Values of documents as rows, `[documents]`.
fn rows(device: &Device, dtype: DType, ids: &[usize], values: &[&Vec<f64>]) -> Tensor<1> {
    let mut next = vec![0; values.len()];
    let rows = ids.iter().map(|&query| {
        next[query] += 1;
        values[query][next[query] - 1]
    });
    let rows = TensorData::new(rows.collect::<Vec<f64>>(), [ids.len()]).convert_dtype(dtype);
    Tensor::from_data(rows, (&device.clone().autodiff(), dtype))
}

fn values<const D: usize>(x: Tensor<D>) -> Vec<f64> {
    x.into_data().iter::<f64>().collect()
}

/// A loss of lists that are packed in a batch or padded, and the gradient of their sum at each row.
type Found = (Vec<f64>, Vec<f64>);

fn found(losses: Tensor<1>, scores: &Tensor<1>) -> Found {
    let gradients = losses.clone().sum().backward();
    let gradient = scores.grad(&gradients).map_or_else(|| vec![0.0; scores.dims()[0]], values);
    (values(losses), gradient)
}

/// Packed and padded lists of the same scores.
fn both(
    device: &Device,
    dtype: DType,
    ids: &[usize],
    lists: &[Query],
    weights: Option<&[Vec<f64>]>,
    loss: &dyn RankingLoss,
) -> [Found; 2] {
    let scores: Vec<&Vec<f64>> = lists.iter().map(|(scores, _)| scores).collect();
    let labels: Vec<&Vec<f64>> = lists.iter().map(|(_, labels)| labels).collect();
    let flat = rows(device, dtype, ids, &scores).require_grad();
    let labels = rows(device, dtype, ids, &labels);
    let segments = Segments::from_ids(ids).unwrap();
    let mut packed: PackedLists = Lists::packed(flat.clone(), labels, &segments);
    let width = longest(lists);
    let (matrix, labels, mask) = tensors_on(device, lists, width, f64::NAN, dtype);
    let matrix = matrix.require_grad();
    let mut padded = Lists::padded(matrix.clone(), labels, mask);
    if let Some(weights) = weights {
        packed = packed.with_document_weights(rows(device, dtype, ids, &weights.iter().collect::<Vec<_>>()));
        let of_lists: Vec<Query> = weights.iter().map(|of_list| (of_list.clone(), of_list.clone())).collect();
        padded = padded.with_document_weights(tensors_on(device, &of_lists, width, f64::NAN, dtype).0);
    }
    let found_packed = found(packed.losses(loss), &flat);
    let losses = padded.losses(loss);
    let gradients = losses.clone().sum().backward();
    let gradient = matrix.grad(&gradients).map_or_else(|| vec![0.0; lists.len() * width], values);
    let mut next = vec![0; lists.len()];
    let by_row = ids.iter().map(|&query| {
        next[query] += 1;
        gradient[query * width + next[query] - 1]
    });
    [found_packed, (values(losses), by_row.collect())]
}

/// A gradient is compared relative to its largest component: sums over documents are rounded at that size, in an order
/// that follows the padding.
fn assert_same(name: &str, [packed, padded]: &[Found; 2], tolerance: f64) {
    for (query, (found, expected)) in packed.0.iter().zip(&padded.0).enumerate() {
        assert!(close(*found, *expected, tolerance), "{name}: query {query}: {found} packed, {expected} padded");
    }
    let largest = padded.1.iter().fold(1.0, |largest: f64, slope| largest.max(slope.abs()));
    for (row, (found, expected)) in packed.1.iter().zip(&padded.1).enumerate() {
        let is_same = (found - expected).abs() <= tolerance * (1.0 + largest);
        assert!(is_same, "{name}: row {row}: {found} packed, {expected} padded, the largest is {largest}");
    }
}

const TOLERANCES: [(DType, f64); 2] = [(DType::F32, 1e-6), (DType::F64, 1e-12)];

#[test]
fn packed_lists_have_the_values_and_gradients_of_padded_ones() {
    let lists = lists();
    for (index, subject) in subjects().into_iter().enumerate() {
        for present in devices().iter().filter(|present| present.runs(index)) {
            let types = TOLERANCES.into_iter().filter(|(dtype, _)| present.types.contains(dtype));
            for (dtype, tolerance) in types {
                let name = format!("{} on {} in {dtype:?}", subject.name, present.name);
                let ids = ids(&lists, index % 2 == 0);
                assert_same(&name, &both(&present.device, dtype, &ids, &lists, None, &*subject.loss), tolerance);
            }
        }
    }
}

/// Noise that each list has to itself goes with the number of the list, wherever it stands inside.
#[test]
fn the_noise_of_packed_lists_is_that_of_padded_ones() {
    let lists = lists();
    let mut noisy = 0;
    for subject in subjects() {
        let Some(loss) = subject.loss.changed(Change::Noise(&|seed| seed + 11)).unwrap() else { continue };
        noisy += 1;
        for (dtype, tolerance) in TOLERANCES {
            let found = both(&Device::flex(), dtype, &ids(&lists, true), &lists, None, &*loss);
            assert_same(&subject.name, &found, tolerance);
        }
    }
    assert!(noisy > 5, "{noisy}");
}

#[test]
fn weights_of_packed_documents_are_those_of_padded_ones() {
    let lists = lists();
    let weights: Vec<Vec<f64>> =
        lists.iter().map(|(scores, _)| (0..scores.len()).map(|d| ((d * 7 + 3) % 9) as f64 / 2.0).collect()).collect();
    for subject in subjects().into_iter().filter(|subject| subject.loss.about().check_document_weights().is_ok()) {
        for (dtype, tolerance) in TOLERANCES {
            let of = |weights| both(&Device::flex(), dtype, &ids(&lists, true), &lists, weights, &*subject.loss);
            assert_same(&subject.name, &of(Some(&weights)), tolerance);
        }
    }
}

/// The losses and gradients of lists whose labels are the teacher's scores, where other labels were given first.
fn with_teacher(dtype: DType, ids: &[usize], lists: &[Query], loss: &dyn RankingLoss) -> [Found; 2] {
    let device = Device::flex();
    let scores: Vec<&Vec<f64>> = lists.iter().map(|(scores, _)| scores).collect();
    let teacher: Vec<&Vec<f64>> = lists.iter().map(|(_, teacher)| teacher).collect();
    let flat = rows(&device, dtype, ids, &scores).require_grad();
    let packed = Lists::packed(flat.clone(), flat.ones_like(), &Segments::from_ids(ids).unwrap());
    let packed = found(packed.with_teacher(rows(&device, dtype, ids, &teacher)).losses(loss), &flat);
    let width = longest(lists);
    let (matrix, teacher, mask) = tensors_on(&device, lists, width, f64::NAN, dtype);
    let matrix = matrix.require_grad();
    let padded = Lists::padded(matrix.clone(), matrix.ones_like(), mask).with_teacher(teacher);
    let losses = padded.losses(loss);
    let gradient = values(matrix.grad(&losses.clone().sum().backward()).unwrap());
    let mut next = vec![0; lists.len()];
    let by_row = ids.iter().map(|&query| {
        next[query] += 1;
        gradient[query * width + next[query] - 1]
    });
    [packed, (values(losses), by_row.collect())]
}

/// The scores of another model as labels, which may be below 0: `list_net` takes the softmax to the teacher's.
#[test]
fn scores_of_a_teacher_are_learned_by_list_net() {
    let lists: Vec<Query> =
        lists().into_iter().map(|(scores, labels)| (labels.iter().map(|y| 0.5 - y).collect(), scores)).collect();
    let loss = burn_rank::prelude::ListNetConfig::new().init().unwrap();
    let ids = ids(&lists, true);
    for (dtype, tolerance) in TOLERANCES {
        let found = both(&Device::flex(), dtype, &ids, &lists, None, &loss);
        assert_same("teacher", &found, tolerance);
        assert_eq!(with_teacher(dtype, &ids, &lists, &loss), found, "a teacher's scores stand in place of labels");
        let softmax = |x: &[f64]| {
            let total: f64 = x.iter().map(|x| x.exp()).sum();
            x.iter().map(|x| x.exp() / total).collect::<Vec<f64>>()
        };
        let slopes: Vec<Vec<f64>> = lists
            .iter()
            .map(|(scores, teacher)| {
                let is_constant = teacher.iter().all(|score| *score == teacher[0]);
                let [of_scores, of_teacher] = [scores, teacher].map(|x| softmax(x));
                of_scores.iter().zip(of_teacher).map(|(p, q)| if is_constant { 0.0 } else { p - q }).collect()
            })
            .collect();
        let expected = values(rows(&Device::flex(), DType::F64, &ids, &slopes.iter().collect::<Vec<_>>()));
        for (row, (found, expected)) in found[0].1.iter().zip(expected).enumerate() {
            assert!((found - expected).abs() < 10.0 * tolerance, "{dtype:?}, row {row}: {found} {expected}");
        }
    }
}

#[test]
fn reductions_and_weights_of_queries_are_those_of_padded_lists() {
    let device = Device::flex();
    let lists = queries();
    let (scores, labels, mask) = tensors_on(&device, &lists, longest(&lists), f64::NAN, DType::F64);
    let ids = ids(&lists, true);
    let of =
        |part: fn(&Query) -> &Vec<f64>| rows(&device, DType::F64, &ids, &lists.iter().map(part).collect::<Vec<_>>());
    let (flat, of_rows) = (of(|query| &query.0), of(|query| &query.1));
    let segments = Segments::from_ids(&ids).unwrap();
    let weights = Tensor::<1>::from_data([0.5, 2.0, 0.0, 1.0], &device);
    for subject in subjects().iter().step_by(9) {
        let loss = &subject.loss;
        for reduction in [Reduction::Mean, Reduction::Sum] {
            let of = |weights: Option<Tensor<1>>| {
                let lists = Lists::packed(flat.clone(), of_rows.clone(), &segments);
                let lists = match weights {
                    Some(weights) => lists.with_query_weights(weights),
                    None => lists,
                };
                values(loss.try_forward(&lists, reduction.clone()).unwrap())[0]
            };
            let plain = loss.forward(scores.clone(), labels.clone(), mask.clone(), reduction.clone());
            assert!(close(of(None), values(plain)[0], 1e-12), "{}", subject.name);
            let unchecked = loss.forward_packed(flat.clone(), of_rows.clone(), &segments, reduction.clone());
            assert_eq!(values(unchecked)[0], of(None), "{}", subject.name);
            let losses = loss.forward_no_reduction(scores.clone(), labels.clone(), mask.clone());
            let weighted = reduce_weighted(losses, weights.clone(), reduction.clone());
            assert!(close(of(Some(weights.clone())), values(weighted)[0], 1e-12), "{}", subject.name);
        }
    }
}

/// A loss around another one, as a wrapper is written.
#[derive(Debug)]
struct Doubled<L>(L);

impl<L: RankingLoss> RankingLoss for Doubled<L> {
    fn about(&self) -> About<'_> {
        let mut about = self.0.about();
        about.name = "doubled";
        about
    }

    fn query_losses(&self, lists: &Lists) -> Tensor<1> {
        self.0.query_losses(lists) * 2.0
    }

    fn learnable(&self, lists: &Lists) -> Tensor<1, burn::tensor::Bool> {
        self.0.learnable(lists)
    }
}

#[test]
fn a_wrapper_takes_packed_lists_without_a_method_of_its_own() {
    let lists = lists();
    let loss = burn_rank::prelude::SoftmaxCrossEntropyConfig::new().with_gumbel_samples(2).init().unwrap();
    let of = |loss: &dyn RankingLoss| both(&Device::flex(), DType::F64, &ids(&lists, true), &lists, None, loss);
    let (plain, doubled) = (of(&loss), of(&Doubled(loss.clone())));
    assert_same("doubled", &doubled, 1e-12);
    assert_same("unit gradients", &of(&UnitGradients::new(loss)), 1e-12);
    for (doubled, plain) in doubled[0].0.iter().zip(&plain[0].0) {
        assert!(close(*doubled, 2.0 * plain, 1e-12));
    }
}

#[test]
fn bad_packed_input_is_refused_with_its_query() {
    let device = Device::flex();
    let flat = |values: &[f32]| Tensor::<1>::from_data(TensorData::new(values.to_vec(), [values.len()]), &device);
    let segments = Segments::from_lengths(&[2, 3]).unwrap();
    for subject in subjects().iter().filter(|subject| !subject.learns_values()).step_by(5) {
        let (name, loss) = (&subject.name, &subject.loss);
        let attempt = |scores: &[f32], labels: &[f32], segments: &Segments, weights: Option<Tensor<1>>| {
            let lists = Lists::try_packed(flat(scores), flat(labels), segments)?;
            let lists = match weights {
                Some(weights) => lists.with_query_weights(weights),
                None => lists,
            };
            loss.try_forward(&lists, Reduction::Mean)
        };
        let refused = |scores: &[f32], labels: &[f32]| attempt(scores, labels, &segments, None).unwrap_err();
        let (scores, labels) = ([0.5, 0.25, -1.0, 2.0, 0.0], [1.0, 0.0, 0.0, 2.0, 1.0]);
        assert!(attempt(&scores, &labels, &segments, None).is_ok(), "{name}");

        let nan = refused(&[0.5, 0.25, -1.0, f32::NAN, 0.0], &labels).to_string();
        assert_eq!(nan, "query 2, document 2: score NaN, expected a finite number", "{name}");
        let in_turn = Segments::from_ids(&[1, 0, 1, 1, 0]).unwrap();
        let nan = attempt(&[0.5, 0.25, -1.0, f32::NAN, 0.0], &labels, &in_turn, None).unwrap_err().to_string();
        assert_eq!(nan, "query 2, document 3: score NaN, expected a finite number", "{name}");
        let label = refused(&scores, &[1.0, 0.0, 0.0, 2.0, f32::INFINITY]);
        assert!(matches!(label, LossError::Label { query: 1, document: 2, .. }), "{name}: {label}");

        let short = refused(&scores[..4], &labels[..4]).to_string();
        assert_eq!(short, "queries have 5 documents in all, scores are [4]: query 2 ends beyond the scores", "{name}");
        let narrow = refused(&scores, &labels[..4]).to_string();
        assert_eq!(narrow, "labels are [4], scores [5]", "{name}");
        let nothing = refused(&scores, &[0.0; 5]);
        assert_eq!(nothing, LossError::NothingToLearn { queries: 2, inverted: 0 }, "{name}");
        let weights = attempt(&scores, &labels, &segments, Some(flat(&[1.0]))).unwrap_err().to_string();
        assert_eq!(weights, "weights are [1], queries [2]", "{name}");
        let weight = attempt(&scores, &labels, &segments, Some(flat(&[1.0, -1.0]))).unwrap_err();
        assert_eq!(weight, LossError::Weight { query: 1, found: -1.0 }, "{name}");

        let panic =
            panic_of(|| loss.forward_packed(flat(&scores[..4]), flat(&labels[..4]), &segments, Reduction::Mean));
        assert_eq!(panic, short, "{name}");
        let panic = panic_of(|| Lists::packed(flat(&scores), flat(&labels[..4]), &segments));
        assert_eq!(panic, narrow, "{name}");
    }
    let lists = Lists::packed(flat(&[0.0; 5]), flat(&[0.0; 5]), &segments);
    let panic = panic_of(|| lists.clone().with_document_weights(flat(&[1.0; 4])));
    assert_eq!(panic, "with_document_weights: weights are [4], scores [5]");
    let panic = panic_of(|| lists.clone().with_teacher(flat(&[1.0; 4])));
    assert_eq!(panic, "with_teacher: the teacher's scores are [4], scores [5]");
    let loss = burn_rank::prelude::ListNetConfig::new().init().unwrap();
    let teacher = lists.clone().with_teacher(flat(&[0.5, f32::NAN, 1.0, 2.0, 0.0]));
    let refused = loss.try_forward(&teacher, Reduction::Mean).unwrap_err();
    assert!(matches!(refused, LossError::Label { query: 0, document: 1, .. }), "{refused}");
    let padded = Tensor::<2>::from_floats([[0.5, 0.25, 0.0], [-1.0, 2.0, 0.0]], &device);
    let mask = Tensor::<2>::from_floats([[1.0, 1.0, 0.0], [1.0, 1.0, 1.0]], &device).greater_elem(0.5);
    let padded = Lists::padded(padded.clone(), padded, mask);
    for (weight, bad) in [(-0.5, "-0.5"), (f32::INFINITY, "inf")] {
        let expected = format!("query 2, document 1: weight {bad}, expected a finite number >= 0");
        let packed = lists.clone().with_teacher(flat(&[0.0, 1.0, 2.0, 0.0, 1.0]));
        let packed = packed.with_document_weights(flat(&[1.0, 1.0, weight, 1.0, 1.0]));
        assert_eq!(loss.try_forward(&packed, Reduction::Mean).unwrap_err().to_string(), expected);
        let weights = Tensor::from_floats([[1.0, 1.0, f32::NAN], [weight, 1.0, 1.0]], &device);
        let padded = padded.clone().with_document_weights(weights);
        assert_eq!(loss.try_forward(&padded, Reduction::Mean).unwrap_err().to_string(), expected);
    }
    let weights = lists.with_document_weights(flat(&[1.0; 5]));
    let no_weights = burn_rank::prelude::ApproxRrConfig::new().init().unwrap();
    let weights = weights.with_teacher(flat(&[0.0, 1.0, 2.0, 0.0, 1.0]));
    let refused = no_weights.try_forward(&weights, Reduction::Mean).unwrap_err();
    assert!(matches!(refused, LossError::DocumentWeights { loss: "approx_rr", .. }), "{refused}");
}
