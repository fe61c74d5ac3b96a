//! Surrogates at approximate positions (approximation-framework).

use super::*;

named! {
    temperature: "alpha", sharper: sharper_if_larger, paper_value: 10.0, setter: with_alpha;

    /// The ApproxAP loss, the average precision at approximate positions.
    ///
    /// The second sigmoid is the truncation function from section 4.3. The surrogate tends to AP as `alpha` and `beta`
    /// grow (Theorem 5). A query whose documents are all relevant or all irrelevant has loss 0.
    #[doc(alias = "MAP")]
    #[doc(alias = "ApproxMAP")]
    #[doc(alias = "mean average precision")]
    approx_ap ApproxAp ApproxApConfig: Ap through ApproximatePositions {
        summary: "average precision at approximate positions",
        formula: "1 - 1/|l| sum_i l_i / p_i (1 + sum_{j != i} l_j sigmoid(beta (p_i - p_j))), p_i = 1 + sum_{j != i} phi(alpha (s_j - s_i))",
        cost: "O(n^2); long lists in float32 on the CPU O(n log n)",
        paper: "Qin, Liu and Li, A general approximation framework for direct optimization of IR measures, eq. (22)",
        /// The steepness of the truncation function; must be above 0.
        beta: f64 = 10.0,
        /// The smooth step function `phi` of the approximate positions.
        step: Step = "Step::Logistic",
    }

    /// The ApproxDCG loss, the unnormalized DCG at approximate positions.
    ///
    /// Unlike ApproxNDCG, ApproxDCG gives more weight to queries with larger gains. A query whose labels are all equal
    /// has loss 0.
    approx_dcg ApproxDcg ApproxDcgConfig: Dcg through ApproximatePositions {
        summary: "DCG at approximate positions",
        formula: "-sum_i G(y_i) / log2(1 + p_i), p_i = 1 + sum_{j != i} phi(alpha (s_j - s_i))",
        cost: "O(n^2); long lists in float32 on the CPU O(n log n)",
        paper: "Qin, Liu and Li, A general approximation framework for direct optimization of IR measures, eq. (20), (21)",
        /// The function that maps a label to its gain.
        gain: Gain = "Gain::Exp2",
        /// The smooth step function `phi` of the approximate positions.
        step: Step = "Step::Logistic",
    }

    /// The ApproxNDCG loss, the NDCG at approximate positions.
    ///
    /// With a cut-off `k`, each term is multiplied by `sigmoid(beta (k + 1/2 - p_i))`, and `Z` is the ideal DCG at `k`.
    /// The cut-off follows equation 16, smoothed as in section 4.3. The surrogate tends to NDCG@k as `alpha` and `beta`
    /// grow, at the rate of Theorems 3 and 6. A query whose labels are all equal has loss 0.
    #[doc(alias = "ApproxNDCG")]
    approx_ndcg ApproxNdcg ApproxNdcgConfig: Ndcg through ApproximatePositions {
        summary: "NDCG at approximate positions",
        formula: "1 - 1/Z sum_i G(y_i) / log2(1 + p_i) [sigmoid(beta (k + 1/2 - p_i))], p_i = 1 + sum_{j != i} phi(alpha (s_j - s_i))",
        cost: "O(n^2); long lists in float32 on the CPU O(n log n)",
        paper: "Qin, Liu and Li, A general approximation framework for direct optimization of IR measures, eq. (20), (21), (16)",
        /// The steepness of the smooth cut-off, above 0; ignored unless `k` is set.
        beta: f64 = 10.0,
        /// The number of top ranks that count; `None` counts all ranks.
        k: Option<usize>,
        /// The function that maps a label to its gain.
        gain: Gain = "Gain::Exp2",
        /// The smooth step function `phi` of the approximate positions.
        step: Step = "Step::Logistic",
    }

    /// The ApproxPrecision loss, the precision at a cut-off, computed from approximate positions.
    ///
    /// Equation 13 defines the measure and equation 20 the positions. The sigmoid is the truncation function from
    /// section 4.3. A query whose documents are all relevant or all irrelevant has loss 0.
    #[doc(alias = "P@k")]
    approx_precision ApproxPrecision ApproxPrecisionConfig in ".with_k(1)": Precision through ApproximatePositions {
        summary: "precision at k at approximate positions",
        formula: "1 - 1/k sum_i l_i sigmoid(beta (k + 1/2 - p_i)), p_i = 1 + sum_{j != i} phi(alpha (s_j - s_i))",
        cost: "O(n^2); long lists in float32 on the CPU O(n log n)",
        paper: "Qin, Liu and Li, A general approximation framework for direct optimization of IR measures, eq. (13), (20)",
        /// The steepness of the smooth cut-off; must be above 0.
        beta: f64 = 10.0,
        /// The number of top ranks that count, 1 or more.
        k: usize = 5,
        /// The smooth step function `phi` of the approximate positions.
        step: Step = "Step::Logistic",
    }

    /// The ApproxRR loss, the reciprocal rank at approximate positions.
    ///
    /// The product uses the truncation function from section 4.3 to approximate "no relevant document is above i". The
    /// product is computed as the exponential of a sum of `-log(1 + exp(beta (p_i - p_j)))` over the relevant
    /// documents, so no factor underflows to 0. A query whose documents are all relevant or all irrelevant has loss 0.
    #[doc(alias = "MRR")]
    #[doc(alias = "ApproxMRR")]
    #[doc(alias = "reciprocal rank")]
    approx_rr ApproxRr ApproxRrConfig: Rr through ApproximatePositions {
        summary: "reciprocal rank at approximate positions",
        formula: "1 - sum_i l_i / p_i prod_{j != i} (1 - l_j sigmoid(beta (p_i - p_j))), p_i = 1 + sum_{j != i} phi(alpha (s_j - s_i))",
        cost: "O(n^2)",
        paper: "Qin, Liu and Li, A general approximation framework for direct optimization of IR measures, eq. (20), section 4.3",
        /// The steepness of the truncation function; must be above 0.
        beta: f64 = 10.0,
        /// The smooth step function `phi` of the approximate positions.
        step: Step = "Step::Logistic",
    }
}
