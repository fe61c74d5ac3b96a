//! TREC files are read as trec_eval reads its own: `expected/trec_eval`.

use burn_rank::data::DataError;
use burn_rank::data::trec::{Qrels, read_run};

use crate::common::expected;

#[test]
fn trec_eval_judgments_and_runs() {
    let folder = expected("trec_eval");
    let qrels = Qrels::read(&folder.join("qrels.test")).unwrap();
    // Comments fill whole lines; the `#` in one document's name does not begin a comment.
    let commented = Qrels::read(&folder.join("qrels.test.with-comments")).unwrap();
    for query in &qrels.queries {
        let mut judgments: Vec<(String, i32)> =
            commented.judgments(query).iter().map(|(id, relevance)| (id.replace('#', ""), *relevance)).collect();
        judgments.sort_unstable();
        let plain: Vec<(String, i32)> =
            qrels.judgments(query).iter().map(|(id, relevance)| (id.to_string(), *relevance)).collect();
        assert!(judgments == plain, "query {query}");
    }
    assert_eq!(commented.relevance("301", "CR#93E-1860"), Some(0));
    let text = std::fs::read_to_string(folder.join("qrels.test")).unwrap();
    for line in text.lines() {
        let fields: Vec<&str> = line.split_whitespace().collect();
        assert_eq!(qrels.relevance(fields[0], fields[2]), fields[3].parse().ok());
    }
    // In `results.trunc` the lines of two queries are mixed, and text follows the tag.
    for name in ["results.test", "results.trunc"] {
        let documents = |_: &str, documents: &[(&str, f32)]| {
            Ok::<_, DataError>(documents.iter().map(|&(id, score)| (id.to_owned(), score)).collect::<Vec<_>>())
        };
        let run = read_run(&folder.join(name), documents).unwrap();
        assert_eq!(run.tag, "STANDARD");
        let text = std::fs::read_to_string(folder.join(name)).unwrap();
        for (query, documents) in &run.queries {
            let fields = text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
            let expected = fields.filter(|fields| fields[0] == query);
            let expected: Vec<_> = expected.map(|fields| (fields[2].to_owned(), fields[4].parse().unwrap())).collect();
            assert_eq!(*documents, expected, "{name}, query {query}");
        }
        assert_eq!(run.queries.iter().map(|(_, documents)| documents.len()).sum::<usize>(), text.lines().count());
    }
}
