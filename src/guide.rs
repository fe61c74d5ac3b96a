//! The guide, as in the book.
//!
//! # Other pages
//!
//! The guide links to pages that are not part of this documentation. They are files of the repository, and most of them
//! also of the package:
//!
//! | file | contents |
//! |---|---|
//! | `docs/CONFIG.md` | every key of a configuration file, with its default |
//! | `docs/LOSSES.md` | every loss on the same data, and which to choose |
//! | `docs/FORMULAS.md` | the formula of each loss |
//! | `docs/PUBLISHED.md` | published tables, computed again |
//! | `docs/EXPORT.md`, `docs/IMPORT.md` | rankers in other systems, and from them |
//! | `docs/TREES.md` | boosted trees next to other libraries |
//! | `docs/BACKENDS.md` | what has run on which backend |
//! | `docs/PERFORMANCE.md` | speed, and what rounds where |
//! | `docs/SCALE.md`, `docs/FAST_SUMS.md` | data larger than memory, and long lists |
//! | `docs/guide/python.md` | the Python package |
//! | `examples` | programs, each with its command in `examples/README.md` |
//! | `CONTRIBUTING.md` | how to add a loss, a measure or a learner |

/// A page of `docs/guide`. Of two definitions of a link the first one counts: these lead to other modules in place of
/// files, which this documentation does not have.
macro_rules! page {
    ($name:ident, $about:literal) => {
        #[doc = $about]
        #[doc = ""]
        #[doc = "[choose_a_loss.md]: crate::guide::choose_a_loss"]
        #[doc = "[clicks.md]: crate::guide::clicks"]
        #[doc = "[compare.md]: crate::guide::compare"]
        #[doc = "[conventions.md]: crate::guide::conventions"]
        #[doc = "[cookbook.md]: crate::guide::cookbook"]
        #[doc = "[data.md]: crate::guide::data"]
        #[doc = "[glossary.md]: crate::guide::glossary"]
        #[doc = "[hardware.md]: crate::guide::hardware"]
        #[doc = "[install.md]: crate::guide::install"]
        #[doc = "[lightgbm.md]: crate::guide::lightgbm"]
        #[doc = "[machines.md]: crate::guide::machines"]
        #[doc = "[model.md]: crate::guide::model"]
        #[doc = "[recommender.md]: crate::guide::recommender"]
        #[doc = "[rerank.md]: crate::guide::rerank"]
        #[doc = "[runs.md]: crate::guide::runs"]
        #[doc = "[splitting.md]: crate::guide::splitting"]
        #[doc = "[studies.md]: crate::guide::studies"]
        #[doc = "[table.md]: crate::guide::table"]
        #[doc = "[troubleshooting.md]: crate::guide::troubleshooting"]
        #[doc = "[tutorial.md]: crate::guide::tutorial"]
        #[doc = "[CONFIG.md]: crate::guide#other-pages"]
        #[doc = "[LOSSES.md]: crate::guide#other-pages"]
        #[doc = "[FORMULAS.md]: crate::guide#other-pages"]
        #[doc = "[PUBLISHED.md]: crate::guide#other-pages"]
        #[doc = "[EXPORT.md]: crate::guide#other-pages"]
        #[doc = "[IMPORT.md]: crate::guide#other-pages"]
        #[doc = "[BACKENDS.md]: crate::guide#other-pages"]
        #[doc = "[PERFORMANCE.md]: crate::guide#other-pages"]
        #[doc = "[TREES.md]: crate::guide#other-pages"]
        #[doc = "[SCALE.md]: crate::guide#other-pages"]
        #[doc = "[FAST_SUMS.md]: crate::guide#other-pages"]
        #[doc = "[python.md]: crate::guide#other-pages"]
        #[doc = "[CONTRIBUTING.md]: crate::guide#other-pages"]
        #[doc = "[examples]: crate::guide#other-pages"]
        #[doc = ""]
        #[doc = include_str!(concat!("../docs/guide/", stringify!($name), ".md"))]
        pub mod $name {}
    };
}

page!(tutorial, "From a LETOR file to a ranker.");
page!(model, "From an empty project to your own model, trained on NDCG.");
page!(install, "The command, the library, and platforms.");
page!(choose_a_loss, "Which loss to start with.");
page!(rerank, "A reranker, from flat scores to the best checkpoint.");
page!(hardware, "The same ranker on other hardware.");
page!(cookbook, "Short answers to common tasks.");
page!(conventions, "The meaning of a measure's value.");
page!(runs, "The folder of a run, and runs in scripts.");
page!(compare, "Tests between systems on the same queries.");
page!(studies, "What the papers claim, checked on data at hand.");
page!(clicks, "Learning from clicks without position bias.");
page!(data, "Text and tables.");
page!(table, "From a table to a ranker.");
page!(splitting, "Queries to train, to select and to test on.");
page!(machines, "Fits of a scheduler, and one fit in several processes.");
page!(recommender, "A recommender over the whole catalog.");
page!(lightgbm, "Parameters of LightGBM, and models in both directions.");
page!(troubleshooting, "Results that surprise without an error.");
page!(glossary, "Terms of the field, and of this crate.");
