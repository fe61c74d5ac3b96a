//! Training lists made from a batch of queries and documents. A document that is relevant to one query is a negative
//! example for the other queries.

use burn::tensor::{Bool, Tensor, TensorData};

use super::error::{LossError, positive};
use super::lists::in_float32_or_wider;

/// Options of [`in_batch`]. By default, scores are dot products, and each query's list contains all documents in the
/// batch.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct InBatchOptions {
    /// The divisor of the dot products, which must be above 0; 1 by default.
    pub temperature: f64,
    /// The logarithm of the probability with which the sampler draws each document into a batch, `[M]`. A document that
    /// is a negative of another query must have a probability above 0.
    pub log_q: Option<Tensor<1>>,
    /// For the reverse direction of a symmetric batch, the logarithm of the probability with which the sampler draws
    /// each query, `[B]`.
    pub log_q_of_queries: Option<Tensor<1>>,
    /// The hard negatives for each query, hidden from all other queries; empty by default.
    pub own_hard_negatives: Vec<Vec<usize>>,
    /// Whether to add lists in the reverse direction, in which each document ranks the queries.
    pub symmetric: bool,
}

impl Default for InBatchOptions {
    fn default() -> Self {
        Self { temperature: 1.0, log_q: None, log_q_of_queries: None, own_hard_negatives: Vec::new(), symmetric: false }
    }
}

impl InBatchOptions {
    /// Creates the default options.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the temperature by which the dot products are divided. It must be above 0.
    pub fn with_temperature(self, temperature: f64) -> Self {
        Self { temperature, ..self }
    }

    /// Corrects for a sampler that draws some documents more often than others. The log probabilities of the documents,
    /// `[M]`, are subtracted from the scores.
    pub fn with_log_q(self, log_q: Tensor<1>) -> Self {
        Self { log_q: Some(log_q), ..self }
    }

    /// In the reverse direction of a symmetric batch, corrects for a sampler that draws some queries more often than
    /// others. `log_q` contains the log probability of each query, `[B]`.
    pub fn with_log_q_of_queries(self, log_q: Tensor<1>) -> Self {
        Self { log_q_of_queries: Some(log_q), ..self }
    }

    /// Hides the hard negatives of each query from all other queries. For each query, the argument lists the rows of
    /// `documents` that are its hard negatives. Without this call, every query's list contains the hard negatives of
    /// all queries.
    pub fn with_own_hard_negatives(self, own_hard_negatives: Vec<Vec<usize>>) -> Self {
        Self { own_hard_negatives, ..self }
    }

    /// Adds one list for each document, in which that document ranks all queries. The mean loss over all lists then
    /// averages the two directions. There must be as many documents as queries. Each document must be the first
    /// relevant document of exactly one query.
    pub fn symmetric(self) -> Self {
        Self { symmetric: true, ..self }
    }
}

/// Creates one list per query from a batch; each list ranks all documents in the batch. With
/// [`SoftmaxCrossEntropy`](super::SoftmaxCrossEntropy), the loss of these lists is InfoNCE; any other loss becomes a
/// contrastive loss too.
///
/// The score of document `j` for query `i` is `q_i . d_j / temperature - log Q_j` (Yi et al., Sampling-bias-corrected
/// neural modeling for large corpus item recommendations, 2019). For the query's own positive, `log Q_j` is left out.
/// The first document of `positives[i]` is the query's own positive. The query's own positive has label 1, and every
/// other document has label 0. The other documents in `positives[i]` are relevant too, so the mask hides them from
/// query `i`.
///
/// # Shapes
/// - `queries`: `[B, d]`; `documents`: `[M, d]`; `positives`: `B` lists of row numbers in `documents`
/// - output: scores, labels and mask (true for a document), `[B, M]`, or `[2 B, B]` for a symmetric batch; for vectors
///   in half precision, scores and labels are in `f32`
///
/// # Errors
/// Returns an error that names the query if a query has no positive or lists a row that does not exist. A document that
/// is both a positive and a hard negative is an error too. Also returns an error if shapes differ or the temperature is
/// out of range. In a symmetric batch, each document must be the first relevant document of exactly one query.
///
/// ```
/// use burn::tensor::{Device, Distribution, Tensor};
/// use burn_rank::loss::{InBatchOptions, in_batch};
/// use burn_rank::prelude::*;
///
/// let device = Device::flex().autodiff();
/// let queries = Tensor::<2>::random([3, 8], Distribution::Default, &device).require_grad();
/// let documents = Tensor::<2>::random([4, 8], Distribution::Default, &device).require_grad();
/// // Document 3 is a hard negative; document 0 is relevant to the third query too.
/// let positives = [vec![0], vec![1], vec![2, 0]];
/// let options = InBatchOptions::new().with_temperature(0.05);
/// let (scores, labels, mask) = in_batch(queries, documents, &positives, &options)?;
/// let info_nce = SoftmaxCrossEntropyConfig::new().init()?.forward(scores, labels, mask, Reduction::Mean);
/// let _gradients = info_nce.backward();
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn in_batch(
    queries: Tensor<2>,
    documents: Tensor<2>,
    positives: &[Vec<usize>],
    options: &InBatchOptions,
) -> Result<(Tensor<2>, Tensor<2>, Tensor<2, Bool>), LossError> {
    let ([b, _], [m, _]) = (queries.dims(), documents.dims());
    check_shapes(queries.dims(), documents.dims(), positives, options)?;
    let temperature = positive("in_batch", "temperature", options.temperature)?;
    check_rows(positives, m, options)?;

    let (labels, mask) = labels_and_mask(m, positives, options);
    let device = queries.device();
    let mask = Tensor::<2, Bool>::from_data(TensorData::new(mask, [b, m]), &device);

    let products = queries.matmul(documents.transpose());
    // Divided by a small temperature, a product would overflow in half precision.
    let products = in_float32_or_wider(products) / temperature;
    let labels = Tensor::<2>::from_data(TensorData::new(labels, [b, m]), (&device, products.dtype()));
    let corrected = |products: Tensor<2>, labels: &Tensor<2>, log_q: &Option<Tensor<1>>| match log_q {
        Some(log_q) => {
            let log_q = log_q.clone().detach().cast(labels.dtype()).unsqueeze::<2>().expand(labels.dims());
            products - log_q.mask_fill(labels.clone().equal_elem(1.0), 0.0)
        }
        None => products,
    };
    let scores = corrected(products.clone(), &labels, &options.log_q);
    if !options.symmetric {
        return Ok((scores, labels, mask));
    }
    let exchanged = labels.clone().transpose();
    let of_documents = corrected(products.transpose(), &exchanged, &options.log_q_of_queries);
    Ok((
        Tensor::cat(vec![scores, of_documents], 0),
        Tensor::cat(vec![labels, exchanged], 0),
        Tensor::cat(vec![mask.clone(), mask.transpose()], 0),
    ))
}

/// Checks the shapes of all inputs for queries of shape `[b, d]` and documents of shape `[m, width]`.
fn check_shapes(
    [b, d]: [usize; 2],
    [m, width]: [usize; 2],
    positives: &[Vec<usize>],
    options: &InBatchOptions,
) -> Result<(), LossError> {
    if b * m == 0 {
        return Err(LossError::Empty { found: vec![b, m] });
    }
    let shape = |what, found: Vec<usize>, other, expected: [usize; 2]| {
        Err(LossError::Shape { what, found, other, expected: expected.into() })
    };
    if d != width {
        return shape("documents", vec![m, width], "queries", [b, d]);
    }
    for (what, found) in [
        ("positives", Some(positives.len())),
        ("own_hard_negatives", Some(options.own_hard_negatives.len()).filter(|&count| count > 0)),
        ("log_q_of_queries", options.log_q_of_queries.as_ref().map(|log_q| log_q.dims()[0])),
    ] {
        if let Some(found) = found.filter(|&found| found != b) {
            return shape(what, vec![found], "queries", [b, d]);
        }
    }
    match options.log_q.as_ref().map(Tensor::dims).filter(|&[found]| found != m) {
        Some([found]) => shape("log_q", vec![found], "documents", [m, d]),
        None => Ok(()),
    }
}

/// Returns the labels and the mask for the scores `[B, M]`, row by row. Each query's own positive has
/// label 1. The mask hides the query's other positives and the hard negatives of other queries.
fn labels_and_mask(m: usize, positives: &[Vec<usize>], options: &InBatchOptions) -> (Vec<f32>, Vec<bool>) {
    let b = positives.len();
    let (mut labels, mut mask) = (vec![0.0; b * m], vec![true; b * m]);
    for (query, positives) in positives.iter().enumerate() {
        positives.iter().for_each(|row| mask[query * m + row] = false);
    }
    for (owner, rows) in options.own_hard_negatives.iter().enumerate() {
        for row in rows {
            let owns = |query: usize| query == owner || options.own_hard_negatives[query].contains(row);
            (0..b).filter(|&query| !owns(query)).for_each(|query| mask[query * m + row] = false);
        }
    }
    for (query, positives) in positives.iter().enumerate() {
        let own = query * m + positives[0];
        (labels[own], mask[own]) = (1.0, true);
    }
    (labels, mask)
}

/// Checks that every query has a positive, that every given row exists, and that no document has conflicting roles.
fn check_rows(positives: &[Vec<usize>], documents: usize, options: &InBatchOptions) -> Result<(), LossError> {
    let refused = |query: usize, found: String, expected: String| Err(LossError::InBatch { query, found, expected });
    let mut owner = vec![None; documents];
    for (query, positives) in positives.iter().enumerate() {
        let Some(&own) = positives.first() else {
            return refused(query, "no positive".into(), "the row of one or more".into());
        };
        let negatives = options.own_hard_negatives.get(query).map_or(&[][..], |rows| rows);
        if let Some(row) = positives.iter().chain(negatives).find(|row| **row >= documents) {
            return refused(query, format!("document {row}"), format!("a row from 0 to {}", documents - 1));
        }
        if let Some(row) = negatives.iter().find(|row| positives.contains(row)) {
            return refused(query, format!("document {row} as positive and as hard negative"), "one of the two".into());
        }
        let before = owner[own].replace(query);
        if let Some(before) = before.filter(|_| options.symmetric) {
            let found = format!("document {own}, the own positive of query {} too", before + 1);
            return refused(query, found, "another one in a symmetric batch".into());
        }
    }
    if options.symmetric && documents != positives.len() {
        let expected = vec![positives.len()];
        return Err(LossError::Shape { what: "documents", found: vec![documents], other: "queries", expected });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use burn::tensor::{DType, Device};

    use super::*;
    use crate::loss::Lists;
    use crate::loss::registry::LOSSES;
    use crate::loss::{LossSpec, RankingLoss, Reduction, SoftmaxCrossEntropyConfig};
    use crate::testing::values;

    const QUERIES: [[f64; 2]; 3] = [[1.0, 0.5], [-0.25, 2.0], [0.5, -1.0]];
    const DOCUMENTS: [[f64; 2]; 5] = [[0.5, 0.5], [1.0, -1.0], [0.0, 2.0], [-1.5, 0.25], [2.0, 1.0]];
    /// The queries' own positives are the documents 2, 0 and 1. Document 4 is relevant to the first query too.
    fn positives() -> Vec<Vec<usize>> {
        vec![vec![2, 4], vec![0], vec![1]]
    }

    fn matrix<const R: usize, const C: usize>(values: [[f64; C]; R]) -> Tensor<2> {
        Tensor::from_data(values, (&Device::flex(), DType::F64))
    }

    fn vector(values: &[f64]) -> Tensor<1> {
        Tensor::from_data(TensorData::new(values.to_vec(), [values.len()]), (&Device::flex(), DType::F64))
    }

    fn product(i: usize, j: usize) -> f64 {
        QUERIES[i].iter().zip(DOCUMENTS[j]).map(|(q, d)| q * d).sum()
    }

    fn truths(mask: Tensor<2, Bool>) -> Vec<bool> {
        mask.into_data().iter::<bool>().collect()
    }

    #[test]
    fn scores_labels_and_mask_are_those_of_the_definition() {
        let log_q = [-1.0, -2.5, -0.5, -4.0, -3.0];
        let options = InBatchOptions::new().with_temperature(0.5).with_log_q(vector(&log_q));
        let (scores, labels, mask) = in_batch(matrix(QUERIES), matrix(DOCUMENTS), &positives(), &options).unwrap();
        let (scores, labels, mask) = (values(scores), values(labels), truths(mask));
        for (i, own) in [2, 0, 1].into_iter().enumerate() {
            for j in 0..5 {
                let expected = product(i, j) / 0.5 - if j == own { 0.0 } else { log_q[j] };
                assert!((scores[i * 5 + j] - expected).abs() < 1e-12, "{i}, {j}");
                assert_eq!(labels[i * 5 + j], f64::from(u8::from(j == own)), "{i}, {j}");
                assert_eq!(mask[i * 5 + j], (i, j) != (0, 4), "{i}, {j}");
            }
        }
    }

    #[test]
    fn a_document_that_was_never_drawn_may_be_its_own_positive() {
        let log_q = [-1.0, -2.5, f64::NEG_INFINITY, -4.0, -3.0];
        let options = InBatchOptions::new().with_log_q(vector(&log_q));
        let (scores, ..) = in_batch(matrix(QUERIES), matrix(DOCUMENTS), &positives(), &options).unwrap();
        assert_eq!(values(scores)[2], product(0, 2));
    }

    #[test]
    fn scores_of_half_precision_are_divided_in_single_precision() {
        let half = |tensor: Tensor<2>| tensor.cast(DType::F16);
        let options = InBatchOptions::new().with_temperature(1e-5);
        let (scores, labels, _) =
            in_batch(half(matrix(QUERIES)), half(matrix(DOCUMENTS)), &positives(), &options).unwrap();
        assert_eq!([scores.dtype(), labels.dtype()], [DType::F32; 2]);
        let expected = product(1, 2) / 1e-5;
        assert!((values(scores)[7] - expected).abs() < 1e-6 * expected, "{expected}");
    }

    #[test]
    fn softmax_cross_entropy_of_a_batch_is_info_nce() {
        let (scores, labels, mask) =
            in_batch(matrix(QUERIES), matrix(DOCUMENTS), &positives(), &InBatchOptions::new()).unwrap();
        let loss = SoftmaxCrossEntropyConfig::new().init().unwrap();
        let found = values(loss.forward_no_reduction(scores, labels, mask));
        for (i, own) in [2, 0, 1].into_iter().enumerate() {
            let seen = (0..5).filter(|&j| (i, j) != (0, 4));
            let expected = seen.map(|j| product(i, j).exp()).sum::<f64>().ln() - product(i, own);
            assert!((found[i] - expected).abs() < 1e-12, "{i}: {} {expected}", found[i]);
        }
    }

    #[test]
    fn own_hard_negatives_are_seen_by_their_queries_alone() {
        // Document 3 belongs to the second query, document 1 to the first and, as its positive, to the third.
        let options = InBatchOptions::new().with_own_hard_negatives(vec![vec![1], vec![3], vec![]]);
        let (_, _, mask) = in_batch(matrix(QUERIES), matrix(DOCUMENTS), &positives(), &options).unwrap();
        let expected = [
            [true, true, true, false, false], // 4 is a known positive
            [true, false, true, true, true],
            [true, true, true, false, true],
        ];
        assert_eq!(truths(mask), expected.concat());
        let shared = InBatchOptions::new().with_own_hard_negatives(vec![vec![3], vec![3], vec![]]);
        let (_, _, mask) = in_batch(matrix(QUERIES), matrix(DOCUMENTS), &positives(), &shared).unwrap();
        assert_eq!([0, 1, 2].map(|i| truths(mask.clone())[i * 5 + 3]), [true, true, false]);
    }

    #[test]
    fn a_symmetric_batch_is_the_mean_with_roles_exchanged() {
        let three = || matrix(DOCUMENTS).narrow(0, 0, 3);
        let positives = [vec![2], vec![0, 1], vec![1]];
        let (log_q, of_queries) = ([-1.0, -2.0, -0.5], [-0.25, -3.0, -1.5]);
        let options =
            InBatchOptions::new().with_log_q(vector(&log_q)).with_log_q_of_queries(vector(&of_queries)).symmetric();
        let (scores, labels, mask) = in_batch(matrix(QUERIES), three(), &positives, &options).unwrap();
        let loss = SoftmaxCrossEntropyConfig::new().init().unwrap();
        let found = values(loss.forward(scores, labels, mask, Reduction::Mean))[0];

        let one = InBatchOptions::new().with_log_q(vector(&log_q));
        let (s, y, m) = in_batch(matrix(QUERIES), three(), &positives, &one).unwrap();
        let forth = values(loss.forward(s, y, m, Reduction::Mean))[0];
        // The own positives of the documents, and the document of which the second query is another positive.
        let exchanged = [vec![1], vec![2, 1], vec![0]];
        let other = InBatchOptions::new().with_log_q(vector(&of_queries));
        let (s, y, m) = in_batch(three(), matrix(QUERIES), &exchanged, &other).unwrap();
        let back = values(loss.forward(s, y, m, Reduction::Mean))[0];
        assert!((found - (forth + back) / 2.0).abs() < 1e-12, "{found} {forth} {back}");
    }

    #[test]
    fn every_loss_is_contrastive() {
        let mut learned = 0;
        for entry in LOSSES {
            let queries = matrix(QUERIES).autodiff().require_grad();
            let (scores, labels, mask) =
                in_batch(queries.clone(), matrix(DOCUMENTS), &positives(), &InBatchOptions::new()).unwrap();
            let loss = LossSpec::new(entry.name).build().unwrap();
            let value = loss.try_forward(&Lists::padded(scores, labels, mask), Reduction::Mean).unwrap();
            let gradient = queries.grad(&value.backward()).map(values).unwrap_or_default();
            assert!(gradient.iter().all(|g| g.is_finite()), "{}", entry.name);
            learned += usize::from(gradient.iter().any(|g| *g != 0.0));
        }
        // Precision within ten ranks is the precision of five documents in any order.
        assert!(learned + 4 >= LOSSES.len(), "{learned} of {}", LOSSES.len());
    }

    #[test]
    fn what_makes_no_list_is_refused_with_its_query() {
        let refused = |positives: &[Vec<usize>], options: InBatchOptions| {
            in_batch(matrix(QUERIES), matrix(DOCUMENTS), positives, &options).map(|_| ()).unwrap_err().to_string()
        };
        let plain = InBatchOptions::new;
        assert_eq!(
            refused(&[vec![0], vec![], vec![1]], plain()),
            "query 2: found no positive, expected the row of one or more"
        );
        assert_eq!(
            refused(&[vec![0], vec![1], vec![5]], plain()),
            "query 3: found document 5, expected a row from 0 to 4"
        );
        let negatives = plain().with_own_hard_negatives(vec![vec![], vec![3, 1], vec![]]);
        assert_eq!(
            refused(&[vec![0], vec![1], vec![2]], negatives),
            "query 2: found document 1 as positive and as hard negative, expected one of the two"
        );
        assert_eq!(refused(&[vec![0]], plain()), "positives are [1], queries [3, 2]");
        assert_eq!(
            refused(&positives(), plain().with_temperature(0.0)),
            "in_batch.temperature = 0: expected a finite number above 0"
        );
        assert_eq!(refused(&positives(), plain().with_log_q(vector(&[0.0]))), "log_q is [1], documents [5, 2]");
        assert_eq!(refused(&positives(), plain().symmetric()), "documents are [5], queries [3]");
        let narrow = matrix([[1.0], [2.0]]);
        let found = in_batch(matrix(QUERIES), narrow, &positives(), &plain()).map(|_| ()).unwrap_err();
        assert_eq!(found.to_string(), "documents are [2, 1], queries [3, 2]");
        let three = matrix(DOCUMENTS).narrow(0, 0, 3);
        let twice = [vec![0], vec![0], vec![1]];
        let found = in_batch(matrix(QUERIES), three, &twice, &plain().symmetric()).map(|_| ()).unwrap_err();
        assert_eq!(
            found.to_string(),
            "query 2: found document 0, the own positive of query 1 too, expected another one in a symmetric batch"
        );
    }
}
