//! Pages whose commands run Python: every file is written, and every command in `sh` and `bash` runs.

use crate::common::root;
use crate::follow::follow;

fn runs(page: &str, left_out: Option<&str>) {
    let admitted = |line: &str| !left_out.is_some_and(|word| line.contains(word));
    let commands = follow(&root().join(page), &["sh", "bash"], admitted);
    assert!(commands > 3, "{page}: {commands} commands");
}

pub fn text_and_categories_as_features_with_pandas() {
    runs("docs/how-to/categories.md", Some("polars"));
}

pub fn text_and_categories_as_features_with_polars() {
    runs("docs/how-to/categories.md", None);
}

pub fn grades_from_clicks_and_purchases() {
    runs("docs/how-to/grades.md", None);
}

pub fn a_new_ranker_every_night() {
    runs("docs/how-to/nightly.md", None);
}

pub fn a_ranker_in_onnx_runtime() {
    runs("docs/how-to/deploy.md", None);
}

pub fn a_table_and_a_figure_for_a_paper() {
    runs("docs/how-to/paper.md", None);
}
