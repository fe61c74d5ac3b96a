//! Rankers saved in version 1 of the format give the same scores to the bit on processors whose bits are recorded. With
//! other instructions, burn's matrix product adds in another order or rounds once less.

use std::collections::BTreeMap;

use crate::common::format_1::{EVERY, bits, recorded, scores};

/// Returns the widest instructions that burn's matrix product finds here, if `bits.json` has them.
fn instruction_set() -> Result<&'static str, String> {
    #[cfg(target_arch = "x86_64")]
    {
        let avx512 = [
            is_x86_feature_detected!("avx512f"),
            is_x86_feature_detected!("avx512bw"),
            is_x86_feature_detected!("avx512cd"),
            is_x86_feature_detected!("avx512dq"),
            is_x86_feature_detected!("avx512vl"),
        ];
        let avx2 = [is_x86_feature_detected!("avx2"), is_x86_feature_detected!("fma")];
        if avx512 == [true; 5] && avx2 == [true; 2] {
            Ok("avx512")
        } else if avx512.contains(&true) {
            Err("no recorded bits for a processor with a part of AVX-512".into())
        } else if avx2 == [true; 2] {
            Ok("avx2")
        } else if avx2 == [false; 2] {
            Ok("baseline")
        } else {
            Err("no recorded bits for a processor with one of AVX2 and FMA".into())
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    Err(format!("no recorded bits for {}", std::env::consts::ARCH))
}

pub fn recorded_here() -> Result<(), String> {
    instruction_set().map(drop)
}

pub fn every_ranker_scores_to_the_bit() {
    let recorded = recorded();
    let found: BTreeMap<&str, Vec<String>> = recorded.keys().map(|name| (name.as_str(), bits(&scores(name)))).collect();
    let set =
        instruction_set().unwrap_or_else(|lacking| panic!("{lacking}:\n{}", serde_json::to_string(&found).unwrap()));
    for (name, by_set) in &recorded {
        assert_eq!(Some(&found[name.as_str()]), by_set.get(set).or_else(|| by_set.get(EVERY)), "{name}, {set}");
    }
}
