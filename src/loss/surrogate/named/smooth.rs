//! Surrogates with sigmoid ranks or soft rank indicators (smoothrank). With indicators, losses are not differentiable
//! where scores tie; ties are broken by position.

use super::*;

named! {
    temperature: "sigma", sharper: sharper_if_smaller, paper_value: 1.0, setter: with_sigma;

    /// The SmoothAP loss from indicators, the average precision with soft indicators of "document i is at rank j".
    ///
    /// `P_j` is the soft relevance of rank `j`. The surrogate combines the two approximations from section 4.2, and
    /// tends to average precision as `sigma` tends to 0. The loss is not differentiable where scores tie; ties are
    /// broken by position. A query whose documents are all relevant or all irrelevant has loss 0.
    #[doc(alias = "MAP")]
    #[doc(alias = "SmoothAP")]
    smooth_ap_indicator SmoothApIndicator SmoothApIndicatorConfig: Ap through RankIndicators {
        summary: "average precision with soft indicators of the document at each rank",
        formula: "1 - 1/|l| sum_j P_j 1/j sum_{t <= j} P_t, P_j = sum_i l_i h_ij",
        cost: "O(n^2); long lists in float32 on the CPU O(n log n)",
        paper: "Chapelle and Wu, Gradient descent optimization of smoothed information retrieval metrics, section 4.2",
    }

    /// The SmoothAP loss from ranks, the average precision at sigmoid ranks (equations 4, 5 and 9).
    ///
    /// The paper prints `T_ii = 1/2`, although the indicator `1(r(i) <= r(i))` that it approximates is 1. With
    /// `T_ii = 1/2`, the surrogate does not tend to average precision as `sigma` tends to 0. The default here is
    /// `diagonal = 1`; `diagonal = 0.5` gives the form printed in the paper.
    ///
    /// With `diagonal = 1`, the surrogate is Smooth-AP (Brown et al., Smooth-AP: smoothing the path towards large-scale
    /// image retrieval). In Smooth-AP, a document's rank is one plus a sum of sigmoids over the other documents. Its
    /// rank among the relevant documents is defined in the same way. Smooth-AP calls `sigma` the temperature.
    ///
    /// A query whose documents are all relevant or all irrelevant has loss 0.
    #[doc(alias = "MAP")]
    #[doc(alias = "SmoothAP")]
    smooth_ap_rank SmoothApRank SmoothApRankConfig: Ap through SigmoidRanks {
        summary: "average precision at sigmoid ranks",
        formula: "1 - 1/|l| sum_ij l_i l_j T_ij / r_i, T_ij = sigmoid((s_j - s_i) / sigma), T_ii = diagonal, r_i = 1 + sum_{j != i} T_ij",
        cost: "O(n^2); long lists in float32 on the CPU O(n log n)",
        paper: "Chapelle and Wu, Gradient descent optimization of smoothed information retrieval metrics, eq. (9)",
        /// A document's own term `T_ii`, from 0 to 1. With 1, the indicator is exact; 0.5 is the value in the paper.
        diagonal: f64 = 1.0,
    }

    /// The SmoothDCG loss, the DCG at sigmoid ranks.
    ///
    /// The surrogate tends to DCG as `sigma` tends to 0. A query whose labels are all equal has loss 0.
    #[doc(alias = "SmoothDCG")]
    smooth_dcg SmoothDcg SmoothDcgConfig: Dcg through SigmoidRanks {
        summary: "DCG at sigmoid ranks",
        formula: "- sum_i G(y_i) / log2(1 + r_i), r_i = 1 + sum_{j != i} sigmoid((s_j - s_i) / sigma)",
        cost: "O(n^2); long lists in float32 on the CPU O(n log n)",
        paper: "Chapelle and Wu, Gradient descent optimization of smoothed information retrieval metrics, eq. (5)",
        /// The function that maps a label to its gain.
        gain: Gain = "Gain::Exp2",
    }

    /// The SmoothNDCG loss, the NDCG with soft indicators of "document i is at rank j".
    ///
    /// Here `d(j)` is the document at rank `j`, and `D(j) = 1 / log2(1 + j)` is 0 beyond the cut-off `k`. The surrogate
    /// is computed as a sum over documents `d` at their ranks `r(d)`. The ranks are counted by comparison, so no sort
    /// is needed. The surrogate tends to NDCG@k as `sigma` tends to 0. The error is `O(exp(-mu / sigma))`, where `mu`
    /// is the smallest squared difference of two scores (section 5.1).
    ///
    /// A document whose score is far from all others, compared with `sqrt(sigma)`, has no gradient and keeps a wrong
    /// place. So start from a trained scorer, as the paper does, or train from random weights with
    /// [`ApproxNdcg`](crate::loss::ApproxNdcg).
    ///
    /// The loss is not differentiable where scores tie; ties are broken by position. A query whose labels are all equal
    /// has loss 0.
    #[doc(alias = "SmoothNDCG")]
    #[doc(alias = "SmoothRank")]
    smooth_ndcg SmoothNdcg SmoothNdcgConfig: Ndcg through RankIndicators {
        summary: "NDCG with soft indicators of the document at each rank",
        formula: "1 - 1/Z sum_ij G(y_i) D(j) h_ij, h_ij = softmax_i(-(s_i - s_d(j))^2 / sigma)",
        cost: "O(n^2); long lists in float32 on the CPU O(n log n)",
        paper: "Chapelle and Wu, Gradient descent optimization of smoothed information retrieval metrics, eq. (7), (8)",
        /// The number of top ranks that count; `None` counts all ranks.
        k: Option<usize>,
        /// The function that maps a label to its gain.
        gain: Gain = "Gain::Exp2",
    }

    /// The SmoothPrecision loss, the precision at `k` with soft indicators of "document i is at rank j".
    ///
    /// The surrogate tends to precision at `k` as `sigma` tends to 0. The loss is not differentiable where scores tie;
    /// ties are broken by position. A query whose documents are all relevant or all irrelevant has loss 0.
    #[doc(alias = "P@k")]
    smooth_precision SmoothPrecision SmoothPrecisionConfig in ".with_k(1)": Precision through RankIndicators {
        summary: "precision at k with soft indicators of the document at each rank",
        formula: "1 - 1/k sum_{j <= k} sum_i l_i h_ij, h_ij = softmax_i(-(s_i - s_d(j))^2 / sigma)",
        cost: "O(n^2); long lists in float32 on the CPU O(n log n)",
        paper: "Chapelle and Wu, Gradient descent optimization of smoothed information retrieval metrics, section 4.2",
        /// The number of top ranks that count, 1 or more.
        k: usize = 5,
    }

    /// The SmoothRR loss, the reciprocal rank with soft indicators of "document i is at rank j".
    ///
    /// `P_j` is the soft relevance of rank `j`. With `linear = true`, the surrogate leaves out the product, as in the
    /// paper (section 4.1, equation 7). It is then the reciprocal rank only for queries with one relevant document. The
    /// general form tends to the reciprocal rank of the first relevant document as `sigma` tends to 0.
    ///
    /// The loss takes no n x n tensor. It is not differentiable where scores tie; ties are broken by position. A query
    /// whose documents are all relevant or all irrelevant has loss 0.
    #[doc(alias = "MRR")]
    #[doc(alias = "SmoothMRR")]
    #[doc(alias = "reciprocal rank")]
    smooth_rr SmoothRr SmoothRrConfig: Rr through RankIndicators {
        summary: "reciprocal rank with soft indicators of the document at each rank",
        formula: "1 - sum_j P_j / j prod_{t < j} (1 - P_t), P_j = sum_i l_i h_ij; linear: 1 - sum_j P_j / j",
        cost: "O(n^2); long lists in float32 on the CPU O(n log n)",
        paper: "Chapelle and Wu, Gradient descent optimization of smoothed information retrieval metrics, section 4.1",
        /// Whether to use the paper's form, which is exact only for queries with one relevant document.
        linear: bool = false,
    }
}
