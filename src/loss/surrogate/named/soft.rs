//! Surrogates that are expectations over noisy scores, as in SoftRank (softrank-directness, section III). `M` is the
//! number of exponentials, about 14 in float32.

use super::*;

named! {
    temperature: "sigma", sharper: sharper_if_smaller, paper_value: 1.0, setter: with_sigma;

    /// The SoftAP loss, the expected average precision of noisy scores.
    ///
    /// Let `z_m` and `c_m` be the bases and coefficients of `1 / r = sum_m c_m z_m^(r - 1)`, and let `pi_ji` be the
    /// probability that `j` beats `i`. With `f_jm = 1 + pi_ji (z_m - 1)`, the expectation is
    /// `sum_m c_m (1 + sum_j l_j pi_ji z_m / f_jm) prod_j f_jm`. The sum and the product over `j` leave out `j = i`.
    /// The surrogate tends to AP as `sigma` tends to 0.
    ///
    /// By default, SoftAP uses SoftRank's model, in which the other documents beat a given document independently. With
    /// `model = "exact"`, the expectation is averaged over the noise on the document's own score (see [`RankModel`]).
    /// This changes the result only slightly. A query whose documents are all relevant or all irrelevant has loss 0.
    #[doc(alias = "SoftRank")]
    #[doc(alias = "MAP")]
    #[doc(alias = "mean average precision")]
    soft_ap SoftAp SoftApConfig: Ap through ExpectedRanks where evaluation = RankExpectationMethod::Exponentials {
        summary: "expectation of average precision under Gaussian scores (SoftRank)",
        formula: "1 - 1/|l| sum_i l_i E[(1 + sum of l_j over j above i) / (1 + R_i)], R_i = number of j above i, P(j above i) = (1 + erf((s_j - s_i) / (2 sigma))) / 2",
        cost: "O(M n^2), M = 14; O(M n log n) in the exact model",
        paper: "the model of He and Liu, Are algorithms directly optimizing IR measures really direct?, section III, for AP",
        /// The model for the distribution of ranks.
        model: RankModel = "RankModel::Independent",
    }

    /// The SoftDCG loss, the expected DCG of noisy scores, with any gain and discount.
    ///
    /// The rank `R_j`, counted from 0, is a sum of independent trials "i beats j". The expected DCG is not divided by
    /// the ideal DCG. The surrogate tends to DCG@k as `sigma` tends to 0. With `model = "exact"`, the trials are
    /// independent only when the noise on the document's own score is fixed (see [`RankModel`]). A query whose labels
    /// are all equal has loss 0.
    #[doc(alias = "SoftRank")]
    soft_dcg SoftDcg SoftDcgConfig: Dcg through ExpectedRanks {
        summary: "expectation of DCG under Gaussian scores (SoftRank)",
        formula: "- sum_j G(y_j) E[D(1 + R_j)], R_j = sum of Bernoulli((1 + erf((s_k - s_j) / (2 sigma))) / 2) over k != j",
        cost: "O(M n^2), M = 14; O(k n^2) with a cut-off; O(n^3) for other discounts",
        paper: "He and Liu, Are algorithms directly optimizing IR measures really direct?, section III",
        /// The number of top ranks that count; `None` counts all ranks.
        k: Option<usize>,
        /// The function that maps a label to its gain.
        gain: Gain = "Gain::Exp2",
        /// The function that maps a rank to its discount.
        discount: DiscountShape = "DiscountShape::Log2",
        /// The exponent of the power discount, 0 or above; other discounts ignore it.
        exponent: f64 = 1.0,
        /// How to compute expectations of functions of the rank.
        evaluation: RankExpectationMethod = "RankExpectationMethod::Auto",
        /// The model for the distribution of ranks.
        model: RankModel = "RankModel::Independent",
    }

    /// The SoftERR loss, the expected reciprocal rank (ERR) averaged over noisy scores.
    ///
    /// A reader stops at a document with the probability `g`. The rank `R_i`, counted from 0, is the number of
    /// documents above `i`. The expectation is computed as in [`SoftRr`](super::soft_rr::SoftRr), with `g` in place of
    /// the relevance. The surrogate tends to ERR as `sigma` tends to 0. SoftRank's model, `model = "independent"`,
    /// costs less. With SoftRank's model, however, tied documents lower each other's value if readers may stop at them.
    /// A query whose labels are all equal has loss 0.
    #[doc(alias = "SoftRank")]
    #[doc(alias = "ERR")]
    #[doc(alias = "expected reciprocal rank")]
    soft_err SoftErr SoftErrConfig: Err through ExpectedRanks where evaluation = RankExpectationMethod::Exponentials {
        summary: "expectation of expected reciprocal rank under Gaussian scores (SoftRank)",
        formula: "1 - sum_i g_i E[prod of (1 - g_j) over j above i / (1 + R_i)], g = (2^y - 1) / 2^maximum_grade, R_i = number of j above i, P(j above i | x) = Phi((s_j - s_i) / sigma - x), x normal",
        cost: "O(M n log n), M = 14; O(M n^2) with independent trials",
        paper: "the noise of He and Liu, Are algorithms directly optimizing IR measures really direct?, section III, for the measure of Chapelle et al., Expected reciprocal rank for graded relevance",
        /// The label of a perfect document, from 1 to 30; no larger label is allowed.
        maximum_grade: u32 = 4,
        /// The model for the distribution of ranks.
        model: RankModel = "RankModel::Exact",
    }

    /// The SoftNDCG loss, the expected NDCG of noisy scores.
    ///
    /// The rank `R_j`, counted from 0, is a sum of independent trials "i beats j". SoftNDCG uses the expectation of the
    /// discount; the discount of the expected rank would be smaller, by Jensen's inequality. The surrogate tends to
    /// NDCG@k as `sigma` tends to 0, within the bound of Theorem 2.
    ///
    /// For log2, natural, power, Zipf and exponential discounts, the discount is a sum of `M` exponentials. With a
    /// cut-off or the recursion, the cost differs (see [`RankExpectationMethod`]). With `model = "exact"`, the trials
    /// are independent only when the noise on the document's own score is fixed. In the exact model, the whole list
    /// takes O(M n log n), or O(k n log n) with a cut-off (see [`RankModel`]). A query whose labels are all equal has
    /// loss 0.
    #[doc(alias = "SoftRank")]
    #[doc(alias = "SoftNDCG")]
    soft_ndcg SoftNdcg SoftNdcgConfig: Ndcg through ExpectedRanks {
        summary: "expectation of NDCG under Gaussian scores (SoftRank)",
        formula: "1 - 1/Z sum_j G(y_j) E[D(1 + R_j)], R_j = sum of Bernoulli((1 + erf((s_k - s_j) / (2 sigma))) / 2) over k != j",
        cost: "O(M n^2), M = 14; O(k n^2) with a cut-off; O(n^3) for other discounts",
        paper: "He and Liu, Are algorithms directly optimizing IR measures really direct?, section III",
        /// The number of top ranks that count; `None` counts all ranks.
        k: Option<usize>,
        /// The function that maps a label to its gain.
        gain: Gain = "Gain::Exp2",
        /// The function that maps a rank to its discount.
        discount: DiscountShape = "DiscountShape::Log2",
        /// The exponent of the power discount, 0 or above; other discounts ignore it.
        exponent: f64 = 1.0,
        /// How to compute expectations of functions of the rank.
        evaluation: RankExpectationMethod = "RankExpectationMethod::Auto",
        /// The model for the distribution of ranks.
        model: RankModel = "RankModel::Independent",
    }

    /// The SoftPrecision loss, the expected precision at `k` of noisy scores.
    ///
    /// The rank `R_j`, counted from 0, is a sum of independent trials "i beats j". The surrogate tends to precision at
    /// `k` as `sigma` tends to 0. With `model = "exact"`, the trials are independent only when the noise on the
    /// document's own score is fixed. The cost is then O(k n log n) (see [`RankModel`]). A query whose documents are
    /// all relevant or all irrelevant has loss 0.
    #[doc(alias = "SoftRank")]
    #[doc(alias = "P@k")]
    soft_precision SoftPrecision SoftPrecisionConfig in ".with_k(1)": Precision through ExpectedRanks
        where evaluation = RankExpectationMethod::Cutoff {
        summary: "expectation of precision at k under Gaussian scores (SoftRank)",
        formula: "1 - 1/k sum_j l_j P(R_j < k), R_j = sum of Bernoulli((1 + erf((s_k - s_j) / (2 sigma))) / 2) over k != j",
        cost: "O(k n^2)",
        paper: "He and Liu, Are algorithms directly optimizing IR measures really direct?, section III",
        /// The number of top ranks that count, 1 or more.
        k: usize = 5,
        /// The model for the distribution of ranks.
        model: RankModel = "RankModel::Independent",
    }

    /// The SoftRR loss, the expected reciprocal rank of the first relevant document for noisy scores.
    ///
    /// Let `x` be the noise of document `i`, in standard deviations. Given `x`, each document `j` is above `i`
    /// independently, with probability `pi_ji(x) = Phi((s_j - s_i) / sigma - x)`. Let `z_m` and `c_m` be the bases and
    /// coefficients of `1 / r = sum_m c_m z_m^(r - 1)`. Given `x`, the expectation is
    /// `sum_m c_m prod_j (1 + pi_ji(x) (z_m (1 - l_j) - 1))` over `j != i`. This expectation is then averaged over `x`.
    /// The surrogate tends to the reciprocal rank as `sigma` tends to 0.
    ///
    /// In SoftRank's model, `model = "independent"`, document `j` beats document `i` with probability
    /// `pi_ji = Phi((s_j - s_i) / (sigma sqrt(2)))`, without an average over `x`. The independent model costs less, but
    /// tied relevant documents lower each other's value. With `R` tied relevant documents at the top, the value is
    /// `R 2^(1 - R)` instead of 1. A query whose documents are all relevant or all irrelevant has loss 0.
    #[doc(alias = "SoftRank")]
    #[doc(alias = "MRR")]
    #[doc(alias = "reciprocal rank")]
    soft_rr SoftRr SoftRrConfig: Rr through ExpectedRanks where evaluation = RankExpectationMethod::Exponentials {
        summary: "expectation of the reciprocal rank under Gaussian scores (SoftRank)",
        formula: "1 - sum_i l_i E[prod of (1 - l_j) over j above i / (1 + R_i)], R_i = number of j above i, P(j above i | x) = Phi((s_j - s_i) / sigma - x), x normal",
        cost: "O(M n log n), M = 14; O(M n^2) with independent trials",
        paper: "the noise of He and Liu, Are algorithms directly optimizing IR measures really direct?, section III, for the reciprocal rank",
        /// The model for the distribution of ranks.
        model: RankModel = "RankModel::Exact",
    }
}
