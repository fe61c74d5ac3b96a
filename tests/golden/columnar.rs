//! Tables that pyarrow and polars wrote, read as the same data as the text next to them.

use std::path::PathBuf;

use burn_rank::data::letor::ReadOptions;
use burn_rank::data::{RankingDataset, read};

use super::common::expected;

fn of(path: PathBuf) -> RankingDataset {
    read(&[path], &ReadOptions::default()).unwrap()
}

#[test]
fn files_of_pyarrow_and_polars_hold_the_data_of_the_text() {
    let folder = expected("columnar");
    let text = of(folder.join("data.txt"));
    assert_eq!((text.queries(), text.documents(), text.feature_count), (2, 5, 3));
    let mut tables = 0;
    for entry in std::fs::read_dir(&folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "arrow" || extension == "parquet") {
            // Text has no names of features.
            let mut table = of(path.clone());
            table.feature_names.clear();
            assert_eq!(table, text, "{}", path.display());
            assert_eq!(table.data_hash(), text.data_hash(), "{}", path.display());
            tables += 1;
        }
    }
    assert_eq!(tables, 9);
}
