//! The Python blocks of docs/how-to/export.md read what `convert` wrote.

use std::fs;
use std::process::Command;

use crate::bench::{Bench, SMALL};
use crate::common::pages::{blocks, page};

pub fn the_python_of_the_page_on_exports_reads_exports() {
    let bench = Bench::default();
    let data = SMALL.split("[scorer]").next().unwrap();
    let linear =
        "[scorer]\nkind = \"linear\"\n[loss]\nname = \"list_net\"\n[learner]\nkind = \"gradient\"\nepochs = 2\n";
    let trees = "[loss]\nname = \"lambda_ndcg\"\n[learner]\nkind = \"boosted_trees\"\nrounds = 3\n";
    for (name, rest) in [("linear", linear), ("trees", trees)] {
        bench.write(&format!("{name}.toml"), &format!("normalizer = \"z_score\"\n{data}\n{rest}"));
        bench.output(&["train", &format!("{name}.toml"), "--out", name]);
    }
    bench.done("convert linear/ranker.safetensors ranker.onnx");
    bench.done("convert trees/ranker.safetensors ranker.txt");
    bench.done("convert trees/ranker.safetensors ranker.json --format xgboost");
    fs::copy(bench.path("linear/ranker.safetensors"), bench.path("ranker.safetensors")).unwrap();
    let blocks = blocks(&page("docs/how-to/export.md"), "python");
    assert_eq!(blocks.len(), 4);
    // The blocks run one after the other, and the scores so far are kept. The first and the last read the same ranker,
    // and the third explains the scores of the second.
    let mut script = String::from("found = []\n");
    for block in blocks {
        script += &format!("{block}found.append(numpy.ravel(scores))\n");
    }
    script += "assert [len(scores) for scores in found] == [20] * 4, found\n";
    script += "assert numpy.allclose(found[0], found[3], rtol=1e-5, atol=1e-5), found\n";
    script += "assert numpy.allclose(contributions.sum(axis=1), found[1], rtol=1e-5, atol=1e-5), contributions\n";
    bench.write("blocks.py", &script);
    let output = Command::new("python3").arg("blocks.py").current_dir(bench.path("")).output().unwrap();
    assert!(output.status.success(), "{script}\n{}", String::from_utf8_lossy(&output.stderr));
}
