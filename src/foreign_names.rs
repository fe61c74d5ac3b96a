//! Names that other tools for ranking use, each with the name that burn-rank uses for the same thing. Messages about an
//! unknown name suggest it.
//!
//! The names come from LightGBM, XGBoost, CatBoost, RankLib, Keras, PyTorch, sentence-transformers, allRank and
//! TF-Ranking.

/// Names of other tools, in small letters and without separators, and the names here. The first name that is valid in
/// the same place is suggested.
const NAMES: &[(&[&str], &[&str])] = &[
    // Keys of learners.
    (
        &["nestimators", "numiterations", "numiteration", "iterations", "niter", "numtrees", "ntrees", "numtree"],
        &["rounds", "epochs"],
    ),
    (&["numrounds", "numboostround", "maxiter", "maxiters", "trees", "tree", "round"], &["rounds", "epochs"]),
    (&["numepochs", "numtrainepochs", "nepochs", "maxepochs", "epoch"], &["epochs", "rounds"]),
    (&["numleaves", "maxleaves", "maxleafnodes", "leaf"], &["leaves"]),
    (&["mindatainleaf", "minchildsamples", "minsamplesleaf", "mindata", "mls"], &["min_documents"]),
    (&["minsumhessianinleaf", "minchildweight"], &["min_curvature"]),
    (&["mingaintosplit", "minsplitgain", "minsplitloss", "gamma"], &["min_gain"]),
    (&["lambdal2", "reglambda", "l2leafreg", "l2regularization", "lambda"], &["l2", "lambda"]),
    (&["lambdal1", "regalpha", "alpha"], &["l1"]),
    (&["maxbin", "maxbins", "bordercount", "tc"], &["bins", "thresholds"]),
    (&["baggingfraction", "rowsample"], &["subsample"]),
    (&["featurefraction", "colsamplebytree"], &["colsample"]),
    (&["featurefractionbynode"], &["colsample_by_node"]),
    (&["depth"], &["max_depth"]),
    (&["growpolicy"], &["growth"]),
    (&["monotoneconstraints"], &["increasing"]),
    (&["earlystoppinground", "earlystoppingrounds", "earlystoppingpatience"], &["patience"]),
    (&["earlystopping", "odwait", "estop"], &["patience"]),
    (&["eta", "lr", "shrinkage", "stepsize"], &["learning_rate"]),
    (&["batchsize", "batch", "perdevicetrainbatchsize", "trainbatchsize"], &["batch_queries"]),
    (&["minibatchsize"], &["batch_cells"]),
    (&["warmupsteps", "warmupratio", "warmupepochs"], &["warmup"]),
    (&["scheduler", "lrscheduler", "lrschedulertype", "learningrateschedule"], &["schedule"]),
    (&["maxgradnorm", "gradientclipping", "gradclip", "clipnorm", "clipvalue"], &["clip"]),
    (&["ema", "emadecay"], &["average"]),
    (&["fp16", "bf16", "amp", "mixedprecision", "dtype"], &["precision"]),
    (&["optim"], &["optimizer"]),
    // Keys of losses.
    (&["lambdaranktruncationlevel", "lambdaranknumpairpersample", "truncationlevel"], &["truncation"]),
    (&["lambdaranknorm"], &["score_normalization"]),
    (&["sigmoid"], &["sigma"]),
    (&["tau", "temp"], &["temperature", "sigma"]),
    (&["labelgain"], &["gain"]),
    // Keys of scorers.
    (&["hiddenlayersizes", "hiddensizes", "hiddenlayers", "hiddenunits", "fcsizes", "units", "layers"], &["hidden"]),
    (&["dropoutrate", "dropoutprob"], &["dropout"]),
    (&["activationfn"], &["activation"]),
    (&["batchnorm", "layernorm"], &["norm"]),
    (&["numheads", "nheads"], &["heads"]),
    (&["numlayers", "nlayers"], &["blocks"]),
    (&["dmodel", "hiddensize", "embeddingdim"], &["width"]),
    (&["dff", "dimfeedforward", "intermediatesize"], &["feed_forward"]),
    // Other keys and sections.
    (&["randomstate", "randomseed"], &["seed"]),
    (&["objective", "lossfunction", "criterion"], &["loss", "name"]),
    (&["algorithm", "ranker", "boosting", "boostingtype", "booster", "trainer", "training"], &["learner", "kind"]),
    (&["model", "network"], &["scorer", "mlp", "gradient"]),
    (&["metric", "metrics", "evalmetric", "metric2t", "evaluation"], &["measure", "select"]),
    (&["evalat"], &["report"]),
    (&["scaler", "scaling", "normalization", "standardize"], &["normalizer"]),
    (&["kcv", "nfold", "nfolds"], &["split"]),
    (&["val", "validationdata"], &["validation"]),
    (&["usemissing"], &["missing"]),
    (&["group", "groupid", "groupcolumn", "qid", "queryid", "session", "sessionid", "searchid"], &["query"]),
    (&["target", "y", "relevance", "grade", "rating", "labelcolumn"], &["label"]),
    (&["ignorecolumn", "ignore", "exclude"], &["drop"]),
    (&["docid", "documentid", "itemid"], &["id"]),
    // Losses and learners.
    (&["lambdamart", "lambdarank", "rankndcg"], &["lambda_ndcg", "boosted_trees"]),
    (&["rankxendcg", "xendcgmart"], &["xe_ndcg"]),
    (&["rankpairwise", "pairwiselogistic", "pairwiselogisticloss", "ranknetloss", "bpr"], &["rank_net"]),
    (&["ranknet", "listnet", "listmle", "approxndcg", "sgd", "adam", "nn", "dnn"], &["gradient", "mlp"]),
    (&["softmax", "softmaxloss", "crossentropy", "infonce", "querysoftmax"], &["softmax_cross_entropy"]),
    (&["multiplenegativesrankingloss", "mnrl"], &["softmax_cross_entropy"]),
    (&["listnetloss"], &["list_net"]),
    (
        &["binarycrossentropyloss", "binarycrossentropy", "bce", "bceloss", "bcewithlogitsloss", "binary", "logloss"],
        &["binary_cross_entropy"],
    ),
    (&["marginmseloss", "marginmse"], &["margin_mse"]),
    (&["adrmseloss", "adrmse"], &["adr_mse"]),
    (&["distillkldivloss", "kldivloss", "kldiv", "distillation"], &["teacher_kl"]),
    (&["listmleloss", "plistmle", "plistmleloss", "plackettluce"], &["list_mle"]),
    (&["ndcgloss2pp", "ndcgloss2"], &["lambda_loss"]),
    (&["rankmap"], &["lambda_measure"]),
    (&["yetirank", "yetirankpairwise"], &["yeti_loss"]),
    (&["approxndcgloss", "gumbelapproxndcgloss"], &["approx_ndcg"]),
    (&["approxmap"], &["approx_ap"]),
    (&["approxmrr", "approxmrrloss"], &["approx_rr"]),
    (&["neuralsort", "neuralndcgloss"], &["neural_ndcg"]),
    (&["softrank"], &["soft_ndcg"]),
    (&["smoothrank"], &["smooth_rank", "smooth_ndcg"]),
    (&["smoothap"], &["smooth_ap_rank"]),
    (&["plrank"], &["plackett_luce_ndcg"]),
    (&["hinge", "pairwisehingeloss", "marginranking", "marginrankingloss"], &["pairwise_hinge"]),
    (&["mse", "mseloss", "pointwise", "queryrmse"], &["mse_gain"]),
    (&["rankboost"], &["rank_boost", "pairwise_exponential"]),
    (&["mart", "gbdt", "gbrt", "gbm", "gbtree", "gradientboosting", "randomforest"], &["boosted_trees"]),
    (&["lightgbm", "lgbm", "lgbmranker"], &["boosted_trees", "lightgbm"]),
    (&["xgboost", "xgb", "xgbranker", "catboost"], &["boosted_trees", "xgboost"]),
    (&["svmrank"], &["rank_svm"]),
    (&["linearregression", "ridge", "linear"], &["regression"]),
    // Scorers.
    (&["transformer", "selfattention", "encoder"], &["attention"]),
    (&["neuralnetwork", "neural", "ffn", "perceptron", "dense", "multilayerperceptron"], &["mlp", "gradient"]),
    (&["dasalc"], &["latent_cross"]),
    // Measures, conventions and normalizers.
    (&["averageprecision", "meanaverageprecision"], &["map"]),
    (&["meanreciprocalrank", "reciprank", "reciprocalrank"], &["mrr"]),
    (&["ndcgcut", "ndcgscore", "normalizeddiscountedcumulativegain"], &["ndcg"]),
    (&["hitrate", "hitratio", "hit", "hr", "accuracy"], &["success"]),
    (&["prec"], &["precision"]),
    (&["auc"], &["pair_accuracy"]),
    (&["scikitlearn"], &["sklearn"]),
    (&["tensorflowranking", "tfr"], &["tfranking"]),
    (&["standard", "standardscaler"], &["z_score"]),
    (&["minmax", "minmaxscaler"], &["query_min_max"]),
    (&["quantiletransformer"], &["quantile"]),
    (&["rankgauss", "gaussrank"], &["gauss"]),
    (&["log"], &["log1p"]),
];

/// Returns a name in small letters and without separators.
pub(crate) fn plain(name: &str) -> String {
    name.chars().filter(|c| !matches!(c, '_' | '-' | ':' | '.' | ' ')).flat_map(char::to_lowercase).collect()
}

/// Returns the names here for a name of another tool, the likeliest first; none if the name is not in the table.
pub(crate) fn ours(name: &str) -> impl Iterator<Item = &'static str> {
    let name = plain(name);
    let those = NAMES.iter().filter(move |(foreign, _)| foreign.iter().any(|one| *one == name));
    those.flat_map(|(_, ours)| ours.iter().copied())
}

#[cfg(all(test, feature = "learners"))]
mod tests {
    use std::collections::HashSet;

    use super::*;
    use crate::learner::entry::LEARNERS;
    use crate::loss::registry::LOSSES;
    use crate::workbench::CONFIGURATION;

    #[test]
    fn every_name_is_written_plainly_and_stands_once() {
        let mut seen = HashSet::new();
        for name in NAMES.iter().flat_map(|(foreign, _)| *foreign) {
            assert_eq!(plain(name), *name);
            assert!(seen.insert(name), "{name}");
        }
    }

    #[test]
    fn every_suggested_name_of_a_loss_or_a_learner_is_registered() {
        let losses = LOSSES.iter().map(|entry| entry.name);
        let known: HashSet<&str> = losses.chain(LEARNERS.iter().map(|entry| entry.name)).collect();
        let first = NAMES.iter().position(|(foreign, _)| foreign.contains(&"lambdamart")).unwrap();
        let end = NAMES.iter().position(|(foreign, _)| foreign.contains(&"transformer")).unwrap();
        for name in NAMES[first..end].iter().flat_map(|(_, ours)| *ours) {
            assert!(known.contains(name) || ["mlp", "lightgbm", "xgboost"].contains(name), "{name}");
        }
    }

    #[test]
    fn every_suggested_key_of_a_learner_is_on_the_page() {
        let end = NAMES.iter().position(|(foreign, _)| foreign.contains(&"optim")).unwrap();
        for name in NAMES[..=end].iter().flat_map(|(_, ours)| *ours) {
            let row = format!("| `{name}` |");
            assert!(CONFIGURATION.iter().any(|page| page.contains(&row)), "{name}");
        }
    }
}
