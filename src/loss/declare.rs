//! The list of losses, and the macro `declare!`, which creates the registry entry of a loss in the loss's own file.

/// Calls the macro `$then` with the folder, file, type and configuration of every loss.
#[doc(hidden)]
#[macro_export]
macro_rules! every_loss {
    ($then:ident) => {
        $then! {
            pairwise adr_mse AdrMse AdrMseConfig;
            surrogate approx_ap ApproxAp ApproxApConfig;
            surrogate approx_dcg ApproxDcg ApproxDcgConfig;
            pairwise approx_kendall_tau ApproxKendallTau ApproxKendallTauConfig;
            surrogate approx_ndcg ApproxNdcg ApproxNdcgConfig;
            surrogate approx_precision ApproxPrecision ApproxPrecisionConfig;
            surrogate approx_rr ApproxRr ApproxRrConfig;
            pointwise binary_cross_entropy BinaryCrossEntropy BinaryCrossEntropyConfig;
            pairwise fidelity Fidelity FidelityConfig;
            pairwise lambda_loss LambdaLoss LambdaLossConfig;
            pairwise lambda_measure LambdaMeasure LambdaMeasureConfig;
            pairwise lambda_ndcg LambdaNdcg LambdaNdcgConfig;
            listwise list_mle ListMle ListMleConfig;
            listwise list_net ListNet ListNetConfig;
            pairwise margin_mse MarginMse MarginMseConfig;
            pointwise mse_gain MseGain MseGainConfig;
            listwise neural_ndcg NeuralNdcg NeuralNdcgConfig;
            pairwise pairwise_exponential PairwiseExponential PairwiseExponentialConfig;
            pairwise pairwise_hinge PairwiseHinge PairwiseHingeConfig;
            pairwise pairwise_squared_hinge PairwiseSquaredHinge PairwiseSquaredHingeConfig;
            listwise plackett_luce_ndcg PlackettLuceNdcg PlackettLuceNdcgConfig;
            pairwise rank_net RankNet RankNetConfig;
            surrogate relaxed_measure RelaxedMeasure RelaxedMeasureConfig;
            surrogate smooth_ap_indicator SmoothApIndicator SmoothApIndicatorConfig;
            surrogate smooth_ap_rank SmoothApRank SmoothApRankConfig;
            surrogate smooth_dcg SmoothDcg SmoothDcgConfig;
            surrogate smooth_ndcg SmoothNdcg SmoothNdcgConfig;
            surrogate smooth_precision SmoothPrecision SmoothPrecisionConfig;
            surrogate smooth_rr SmoothRr SmoothRrConfig;
            surrogate soft_ap SoftAp SoftApConfig;
            surrogate soft_dcg SoftDcg SoftDcgConfig;
            surrogate soft_err SoftErr SoftErrConfig;
            surrogate soft_ndcg SoftNdcg SoftNdcgConfig;
            surrogate soft_precision SoftPrecision SoftPrecisionConfig;
            surrogate soft_rr SoftRr SoftRrConfig;
            listwise softmax_cross_entropy SoftmaxCrossEntropy SoftmaxCrossEntropyConfig;
            listwise stochastic_rank StochasticRank StochasticRankConfig;
            listwise teacher_kl TeacherKl TeacherKlConfig;
            pointwise teacher_mse TeacherMse TeacherMseConfig;
            listwise xe_ndcg XeNdcg XeNdcgConfig;
            pairwise yeti_loss YetiLoss YetiLossConfig;
        }
    };
}

/// Defines the constant `NAME` and the registry entry for the loss in the calling file. For a loss with a temperature,
/// the macro also defines a constructor with the paper's temperature. Optionally, it defines a setter named after the
/// paper's symbol.
macro_rules! declare {
    (
        $config:ident,
        name: $name:expr,
        summary: $summary:literal,
        formula: $formula:literal,
        cost: $cost:literal,
        paper: $paper:literal,
    ) => {
        declare! {
            @entry $config, entry, [$name, $summary, $formula, $cost, $paper],
            None, |_| $crate::loss::entry::parameters(&$config::new())
        }
    };
    (
        $config:ident,
        name: $name:expr,
        summary: $summary:literal,
        formula: $formula:literal,
        cost: $cost:literal,
        paper: $paper:literal,
        temperature: $symbol:literal, sharper: $sharper:ident, paper_value: $value:literal $(, setter: $with:ident)?,
    ) => {
        declare! {
            @entry $config, temperature, [$name, $summary, $formula, $cost, $paper],
            Some($crate::loss::about::Smoothing::$sharper($symbol)),
            |given| $crate::loss::temperature::defaults(&$config::new(), given)
        }

        impl $config {
            #[doc = concat!("The default with the temperature of the paper: `", $symbol, " = ", $value, "` in scores.")]
            pub fn paper() -> Self {
                Self::new().with_temperature(Temperature::scores($value))
            }

            $(
                #[doc = concat!("The same with a temperature in scores, as in the paper: `", $symbol, "`.")]
                pub fn $with(self, value: f64) -> Self {
                    self.with_temperature(Temperature::scores(value))
                }
            )?
        }

        impl $crate::loss::temperature::Tempered for $config {
            fn symbol(&self) -> &'static str {
                $symbol
            }

            fn temperature(&self) -> Temperature {
                self.temperature
            }

            fn paper_value(&self) -> f64 {
                $value
            }
        }
    };
    // `NAME` and `ENTRY`; `$parameters` is the module that reads parameters over the defaults.
    (
        @entry $config:ident, $parameters:ident,
        [$name:expr, $summary:literal, $formula:literal, $cost:literal, $paper:literal],
        $smoothing:expr, $defaults:expr
    ) => {
        const NAME: &str = $name;

        pub(in crate::loss) const ENTRY: $crate::loss::entry::LossEntry = $crate::loss::entry::LossEntry {
            name: NAME,
            summary: $summary,
            formula: $formula,
            cost: $cost,
            paper: $paper,
            smoothing: $smoothing,
            defaults: $defaults,
            forms: None,
            build: |params| {
                let config = $crate::loss::$parameters::configure(NAME, $config::new(), params)?;
                Ok($crate::loss::entry::boxed(config.init()?))
            },
        };
    };
}

pub(in crate::loss) use declare;
