//! Recognizes published data sets by their numbers of features and queries, and by their labels.

use std::ops::RangeInclusive;

use super::{Finding, Kind, Level, SetReport, features_in_words};
use crate::text::counted;

/// The number that marks a missing value in the files of Istella: the largest 64-bit float.
pub const ISTELLA_MISSING: f64 = f64::MAX;

/// A published set.
#[derive(Debug)]
struct Published {
    name: &'static str,
    /// The numbers of features that a file of this set may have; files may leave out trailing features that are 0.
    features: RangeInclusive<usize>,
    /// The largest label; labels are whole numbers from 0 to this one.
    label: u32,
    /// The number of queries in all files of the set.
    queries: usize,
    documents: usize,
    /// Known bounds of feature values: a range of feature numbers, with the smallest and the largest possible value.
    ranges: &'static [(RangeInclusive<usize>, f32, f32)],
    /// An explanation, for users, of why a value may lie outside the range of its feature.
    outside: &'static str,
}

/// Bounds of features in MSLR: features 6 to 10 are shares of query terms, and 96 to 100 say whether all terms occur.
const MSLR: &[(RangeInclusive<usize>, f32, f32)] = &[(6..=10, 0.0, 1.0), (96..=100, 0.0, 1.0)];
const NORMALIZED: &str = "of this set, only the files called QueryLevelNorm are normalized by query, and this file is \
    not";

const PUBLISHED: [Published; 10] = [
    // Microsoft Research, "Microsoft Learning to Rank Datasets": 136 features and their list, labels 0 to 4, 10,000
    // queries. Documents: the files.
    Published {
        name: "MSLR-WEB10K",
        features: 136..=136,
        label: 4,
        queries: 10_000,
        documents: 1_200_192,
        ranges: MSLR,
        outside: "shares of query terms and the Boolean model lie between 0 and 1",
    },
    // The same page: "more than 30,000 queries". Both numbers: the files.
    Published {
        name: "MSLR-WEB30K",
        features: 136..=136,
        label: 4,
        queries: 31_531,
        documents: 3_771_125,
        ranges: MSLR,
        outside: "shares of query terms and the Boolean model lie between 0 and 1",
    },
    // Istella, README of "Istella LETOR": 33,018 queries, 220 features; the documents by TensorFlow Datasets, `istella`.
    Published {
        name: "Istella",
        features: 219..=220,
        label: 4,
        queries: 33_018,
        documents: 10_454_629,
        ranges: &[],
        outside: "",
    },
    // Istella, README of "Istella-S LETOR": 3,408,630 pairs, about 103 a query.
    Published {
        name: "Istella-S",
        features: 219..=220,
        label: 4,
        queries: 33_018,
        documents: 3_408_630,
        ranges: &[],
        outside: "",
    },
    // Chapelle and Chang, "Yahoo! Learning to Rank Challenge Overview", JMLR W&CP 14, 2011, table 1: sums of the three
    // files; 700 features in [0, 1], of which set 1 has 519 and set 2 has 596.
    Published {
        name: "Yahoo C14 set 2",
        features: 699..=700,
        label: 4,
        queries: 6_330,
        documents: 172_870,
        ranges: &[(1..=700, 0.0, 1.0)],
        outside: "all its features lie between 0 and 1",
    },
    Published {
        name: "Yahoo C14 set 1",
        features: 699..=700,
        label: 4,
        queries: 29_921,
        documents: 709_877,
        ranges: &[(1..=700, 0.0, 1.0)],
        outside: "all its features lie between 0 and 1",
    },
    // Qin, Liu, Xu and Li, "LETOR: A benchmark collection for research on learning to rank for information retrieval",
    // Information Retrieval 13, 2010: 106 queries, 45 features, labels 0 to 2.
    Published {
        name: "OHSUMED of LETOR 3.0",
        features: 45..=45,
        label: 2,
        queries: 106,
        documents: 16_140,
        ranges: &[(1..=45, 0.0, 1.0)],
        outside: NORMALIZED,
    },
    // The same paper: 64 features, labels 0 and 1, at most 150 queries (HP2003, NP2003) with at most 1,000 documents.
    Published {
        name: "a .Gov set of LETOR 3.0",
        features: 64..=64,
        label: 1,
        queries: 150,
        documents: 150_000,
        ranges: &[(1..=64, 0.0, 1.0)],
        outside: NORMALIZED,
    },
    // Qin and Liu, "Introducing LETOR 4.0 datasets", arXiv:1306.2597, 2013: 46 features, labels 0 to 2.
    Published {
        name: "MQ2008 of LETOR 4.0",
        features: 46..=46,
        label: 2,
        queries: 784,
        documents: 15_211,
        ranges: &[(1..=46, 0.0, 1.0)],
        outside: NORMALIZED,
    },
    Published {
        name: "MQ2007 of LETOR 4.0",
        features: 46..=46,
        label: 2,
        queries: 1_692,
        documents: 69_623,
        ranges: &[(1..=46, 0.0, 1.0)],
        outside: NORMALIZED,
    },
];

/// Returns the names of the published sets that the data resemble, and the ways in which the data differ from them.
pub(super) fn recognize(sets: &[SetReport]) -> (Vec<String>, Vec<Finding>) {
    let features = sets.iter().map(|set| set.statistics.features).max().unwrap_or(0);
    let of_shape: Vec<&Published> = PUBLISHED.iter().filter(|known| known.features.contains(&features)).collect();
    let compared: Vec<(&Published, Vec<Finding>)> =
        of_shape.into_iter().map(|known| (known, known.compare(sets))).collect();
    // With two things off they are not the set, but data of the same width.
    let fewest = compared.iter().map(|(_, off)| off.len()).min().filter(|fewest| *fewest <= 1);
    let mut nearest = compared.into_iter().filter(|(_, off)| Some(off.len()) == fewest).peekable();
    // A difference is reported once, for the last: the largest set.
    let mut off = Vec::new();
    let mut names = Vec::new();
    while let Some((known, findings)) = nearest.next() {
        names.push(known.name.to_string());
        if nearest.peek().is_none() {
            off = findings;
        }
    }
    (names, off)
}

impl Published {
    /// Returns every difference between this published set and the given sets, which may be parts of it.
    fn compare(&self, sets: &[SetReport]) -> Vec<Finding> {
        let mut off = Vec::new();
        let mut add = |of: &SetReport, count: usize, examples: Vec<String>, words: String| {
            off.push(Finding {
                level: Level::Note,
                kind: Kind::Published,
                set: of.name.clone(),
                count,
                examples,
                message: words,
            });
        };
        let Some(last) = sets.last() else { return off };
        let queries: usize = sets.iter().map(|set| set.statistics.queries).sum();
        let documents: usize = sets.iter().map(|set| set.statistics.documents).sum();
        if queries > self.queries || documents > self.documents {
            let found = format!("{} and {}", counted(queries, "query"), counted(documents, "document"));
            let whole = format!("{} has {} and {}", self.name, self.queries, self.documents);
            add(last, queries, Vec::new(), format!("{found} are more than there are: {whole}"));
        }
        let fits = |label: &f32| label.fract() == 0.0 && f64::from(*label) <= f64::from(self.label);
        if let Some((set, label)) = sets.iter().find_map(|set| Some((set, set.labels().find(|l| !fits(l))?))) {
            let words = format!("label {label}; labels of {} are whole numbers from 0 to {}", self.name, self.label);
            add(set, 1, vec![label.to_string()], words);
        }
        for set in sets {
            let outside = |feature: &usize| {
                let (low, high) = set.ranges[feature - 1];
                self.ranges.iter().any(|(of, least, most)| of.contains(feature) && !(*least <= low && high <= *most))
            };
            let outside: Vec<usize> = (1..=set.ranges.len()).filter(outside).collect();
            if !outside.is_empty() {
                let names = features_in_words(&outside);
                let words = format!("values of {names} lie outside the range of {}: {}", self.name, self.outside);
                add(set, outside.len(), outside.iter().map(usize::to_string).collect(), words);
                break;
            }
        }
        off
    }
}
