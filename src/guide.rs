//! The guide for users, as in the book.
//!
//! # Other pages
//!
//! The guide links to pages that are not part of this documentation. These pages are files of the repository:
//!
//! | file | contents |
//! |---|---|
//! | `docs/start/first_ranker.md` | one command, and how to read its page |
//! | `docs/start/how_long.md` | seconds of training, by rows and learner |
//! | `docs/start/when_not.md` | tasks for which other tools are better |
//! | `docs/reference/configuration` | every key of a configuration file, with its default |
//! | `docs/explanation/formulas.md` | the formula of each loss |
//! | `docs/how-to/export.md`, `docs/how-to/import.md` | rankers in other systems, and from them |
//! | `docs/how-to/categories.md`, `docs/how-to/grades.md` | text columns as features, clicks as labels |
//! | `docs/how-to/select_by.md` | which measure selects a round |
//! | `docs/how-to/migrate.md` | options of RankLib, XGBoost, allRank and TF-Ranking, and ours |
//! | `docs/how-to/baseline.md`, `docs/how-to/paper.md` | a formula as a system, a table and a figure for a paper |
//! | `docs/how-to/nightly.md`, `docs/how-to/deploy.md` | a new ranker every night, a ranker behind HTTP |
//! | `docs/how-to/ensemble.md` | several rankers as one |
//! | `docs/how-to/large_data.md` | data larger than memory |
//! | `docs/how-to/teacher.md` | learning from the scores of another ranker |
//! | `docs/tutorials/text.md` | rerankers of texts, in another package |
//! | `docs/tutorials/python.md` | the Python package |
//! | `docs/explanation/reproducibility.md` | which bytes come back where |
//! | `docs/reference/limits.md` | what takes more time or memory than one may expect |
//! | `docs/reference/compatibility.md` | what later versions read |
//! | `docs/reference/cite.md` | how to cite |
//! | `docs/results.md` | accuracy, speed and scale, each in a sentence |
//! | `benchmarks/backends.md` | how far backends are from the definitions |
//! | `benchmarks/papers.md` | the papers, and what came back |
//! | `benchmarks/losses.md` | every loss on the same data, and which to choose |
//! | `benchmarks/published.md` | published tables, computed again |
//! | `benchmarks/trees.md` | boosted trees next to other libraries |
//! | `benchmarks/performance.md` | speed, and what rounds where |
//! | `benchmarks/recommender.md` | losses over a whole catalog of items |
//! | `benchmarks/scale.md` | large data and several processes |
//! | `benchmarks/texts.md` | rerankers of texts |
//! | `benchmarks/studies.md` | claims of papers, judged on data |
//! | `examples` | programs, each with its command in `examples/README.md` |
//! | `CONTRIBUTING.md` | how to add a loss, a measure or a learner |

/// Defines a module whose documentation is a page in the folder `docs`. If a page defines a link twice, Markdown uses
/// the first definition. The definitions in `guide_links.txt` precede the definitions of the page, and link to modules
/// of the crate instead of files.
macro_rules! page {
    ($folder:literal, $name:ident, $about:literal) => {
        #[doc = $about]
        #[doc = ""]
        #[doc = include_str!("guide_links.txt")]
        #[doc = ""]
        #[doc = include_str!(concat!("../docs/", $folder, "/", stringify!($name), ".md"))]
        pub mod $name {}
    };
}

page!("start", install, "The command, the library, and platforms.");
page!("tutorials", train, "From a LETOR file to a ranker.");
page!("tutorials", model, "From an empty project to your own model, trained on NDCG.");
page!("tutorials", table, "From a table to a ranker.");
#[cfg(any(not(doctest), feature = "train"))]
page!("tutorials", rerank, "A reranker, from flat scores to the best checkpoint.");
page!("tutorials", hardware, "Other hardware, and what differs there.");
page!("how-to", choose_a_loss, "Which loss to start with.");
page!("how-to", clicks, "Learning from clicks without position bias.");
page!("how-to", compare, "Tests between systems on the same queries.");
page!("how-to", data, "Text and tables.");
page!("how-to", lightgbm, "Parameters of LightGBM, and models in both directions.");
page!("how-to", machines, "Fits of a scheduler, and one fit in several processes.");
page!("how-to", positions, "Factors of the positions at which documents were shown.");
page!("how-to", serving, "Latencies, and scores over HTTP.");
page!("how-to", sets, "The published sets, file by file.");
page!("how-to", splitting, "Queries to train, to select and to test on.");
page!("how-to", troubleshooting, "Results that surprise without an error.");
page!("how-to", extend, "Your own loss or measure.");
page!("how-to", folds, "Folds, grids, searches, and the winner as a ranker.");
page!("how-to", hyperparameters, "What to change first.");
page!("how-to", inspect, "What a loss does to a list, and what a ranker looks at.");
page!("how-to", sentence_transformers, "Names of sentence-transformers, and ours.");
#[cfg(any(not(doctest), feature = "train"))]
page!("how-to", training_loop, "burn's training, long lists, and speed.");
page!("reference", glossary, "Terms of the field, and of this crate.");
page!("reference", runs, "The folder of a run, and runs in scripts.");
page!("explanation", conventions, "The meaning of a measure's value.");
page!("explanation", temperatures, "How smooth a loss is, and in which unit.");
page!("explanation", studies, "What the papers claim, checked on data at hand.");
