//! Before several processes begin a fit, checks that they can share it and would all run the same fit.

use burn_rank::json::Value;
use burn_rank::op::Execution;
use burn_rank::refusal::Refusal;
use burn_rank::workbench::dataset::own_hash;
use burn_rank::workbench::distributed::ProcessGroup;
use burn_rank::workbench::registry::LEARNERS;
use burn_rank::workbench::text::hexadecimal;
use sha2::{Digest, Sha256};

use super::config::ExperimentConfig;
use super::error::ExperimentError;
use super::split::Split;

/// The name of the learner parameter that sets the number of shards.
const SHARDS: &str = "shards";

impl ExperimentConfig {
    /// Returns the number of shards into which the learner divides the queries.
    pub(crate) fn shards(&self) -> usize {
        let shards = self.learner.get(SHARDS).and_then(Value::as_u64);
        shards.and_then(|shards| usize::try_from(shards).ok()).unwrap_or(1)
    }

    /// Rejects a fit that `processes` processes cannot share, before any data are read.
    ///
    /// # Errors
    /// Returns a [`Refusal`] for the key `learner.kind` or `learner.shards`.
    pub(crate) fn check_processes(&self, processes: usize) -> Result<(), Refusal> {
        if processes == 1 {
            return Ok(());
        }
        if !self.members.is_empty() {
            return Err(Refusal::fault("members", format!("expected one process, found {processes}")));
        }
        let kind = self.learner_kind();
        let Some(entry) = self.learner_entry().filter(|entry| entry.shares_work) else {
            let with: Vec<&str> = LEARNERS.iter().filter(|entry| entry.shares_work).map(|entry| entry.name).collect();
            let expected = format!("a learner whose work {processes} processes can share: {}", with.join(", "));
            return Err(Refusal::new("learner.kind", format!("`{kind}`"), expected));
        };
        if entry.parameters().contains_key(SHARDS) && self.shards() < processes {
            let expected = format!("at least {processes}, the number of processes");
            return Err(Refusal::new("learner.shards", self.shards(), expected));
        }
        Ok(())
    }
}

/// Returns an error if a process differs from the first one in version, configuration, instructions or data.
///
/// # Errors
/// Returns the same [`ExperimentError::Process`] in every process.
pub(crate) fn agree(
    group: &ProcessGroup,
    config: &ExperimentConfig,
    split: Option<&Split>,
) -> Result<(), ExperimentError> {
    if group.count() == 1 {
        return Ok(());
    }
    let mut data = Sha256::new();
    for (set, queries) in split.into_iter().flat_map(Split::sets) {
        data.update(set);
        data.update(own_hash(queries));
    }
    let has = [
        ("version", env!("CARGO_PKG_VERSION").to_string()),
        ("configuration", short(Sha256::new_with_prefix(config.resolved().to_string()))),
        ("set of instructions", Execution::current().instructions().name().to_string()),
        ("data hash", short(data)),
    ];
    compare(group, &has)
}

/// Gathers the values in `has` from all processes, and returns an error if a process differs from the first one.
fn compare(group: &ProcessGroup, has: &[(&'static str, String)]) -> Result<(), ExperimentError> {
    let all = group.gather_all(has.iter().map(|(_, value)| value.clone().into_bytes()).collect());
    for (process, values) in all.chunks(has.len()).enumerate() {
        for ((what, _), (value, first)) in has.iter().zip(values.iter().zip(&all)) {
            if value != first {
                let [found, expected] = [value, first].map(|bytes| String::from_utf8_lossy(bytes).into_owned());
                return Err(ExperimentError::Process { process, what, found, expected });
            }
        }
    }
    Ok(())
}

/// Returns the first 16 digits of a hash, enough to tell two inputs apart.
fn short(hash: Sha256) -> String {
    hexadecimal(&hash.finalize())[..16].to_string()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::experiment::{Document, Experiment};
    use crate::testing::in_processes;

    fn config(learner: &str) -> Experiment {
        let loss = if learner.contains("permu_rank") { "" } else { "loss = { name = \"approx_ndcg\" }\n" };
        let text = format!("{loss}learner = {{ {learner} }}\n[data.synthetic]\n");
        let document = Document::parse(Path::new("a.toml"), text, &[]).unwrap();
        Experiment::from_document(&document).unwrap()
    }

    #[test]
    fn what_processes_cannot_share_is_refused_by_its_key() {
        let refused =
            |learner, processes| config(learner).check_processes(processes).map_err(|refusal| refusal.to_string());
        let gradient = "kind = \"gradient\"";
        assert_eq!(refused(gradient, 1), Ok(()));
        assert_eq!(refused("kind = \"gradient\", shards = 4", 4), Ok(()));
        let few = "learner.shards = 4: expected at least 5, the number of processes".to_string();
        assert_eq!(refused("kind = \"gradient\", shards = 4", 5), Err(few));
        let one = "learner.shards = 1: expected at least 2, the number of processes".to_string();
        assert_eq!(refused(gradient, 2), Err(one));
        assert_eq!(refused("kind = \"boosted_trees\"", 7), Ok(()));
        let expected = "learner.kind = `permu_rank`: expected a learner whose work 2 processes can share: ada_rank, boosted_trees, ";
        let refused = refused("kind = \"permu_rank\"", 2).unwrap_err();
        assert!(refused.starts_with(expected) && !refused[expected.len()..].contains("permu_rank"), "{refused}");
    }

    #[test]
    fn another_version_configuration_or_data_than_those_of_the_first_process_are_refused() {
        let compared = |odd: Option<usize>| {
            in_processes(3, move |group| {
                let data = if Some(group.rank()) == odd { "b" } else { "a" };
                let has = [("version", "1".to_string()), ("data hash", data.to_string())];
                compare(group, &has).map_err(|error| error.to_string())
            })
        };
        assert_eq!(compared(None), vec![Ok(()); 3]);
        let message = "process 2 has another data hash than process 0: found b, expected a".to_string();
        assert_eq!(compared(Some(2)), vec![Err(message); 3]);
        let message = "process 1 has another data hash than process 0: found a, expected b".to_string();
        assert_eq!(compared(Some(0)), vec![Err(message); 3]);
    }
}
