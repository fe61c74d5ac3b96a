//! Recognizes published data sets by their numbers of features and queries, and by their labels.

use std::ops::RangeInclusive;

use super::finding::{Finding, Kind, Level, SetReport, features_in_words};
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
    bounds: Bounds,
}

/// Known bounds of feature values.
#[derive(Debug)]
struct Bounds {
    /// The numbers of features whose values lie between 0 and 1.
    of: &'static [RangeInclusive<usize>],
    /// An explanation, for users, of why a value may lie outside.
    outside: &'static str,
}

const UNKNOWN: Bounds = Bounds { of: &[], outside: "" };
/// Features 6 to 10 are shares of query terms, and 96 to 100 say whether all terms occur.
const MSLR: Bounds =
    Bounds { of: &[6..=10, 96..=100], outside: "shares of query terms and the Boolean model lie between 0 and 1" };
const YAHOO: Bounds = Bounds { of: &[1..=usize::MAX], outside: "all its features lie between 0 and 1" };
const LETOR: Bounds = Bounds {
    of: &[1..=usize::MAX],
    outside: "of this set, only the files called QueryLevelNorm are normalized by query, and this file is not",
};

const fn set(
    name: &'static str,
    features: RangeInclusive<usize>,
    label: u32,
    queries: usize,
    documents: usize,
    bounds: Bounds,
) -> Published {
    Published { name, features, label, queries, documents, bounds }
}

/// The sets, each with its numbers of features, its largest label, and its numbers of queries and documents.
const PUBLISHED: [Published; 10] = [
    // Microsoft Research, "Microsoft Learning to Rank Datasets": 136 features and their list, labels 0 to 4, 10,000
    // queries. Documents: the files.
    set("MSLR-WEB10K", 136..=136, 4, 10_000, 1_200_192, MSLR),
    // The same page: "more than 30,000 queries". Both numbers: the files.
    set("MSLR-WEB30K", 136..=136, 4, 31_531, 3_771_125, MSLR),
    // Istella, README of "Istella LETOR": 33,018 queries, 220 features; the documents by TensorFlow Datasets,
    // `istella`.
    set("Istella", 219..=220, 4, 33_018, 10_454_629, UNKNOWN),
    // Istella, README of "Istella-S LETOR": 3,408,630 pairs, about 103 a query.
    set("Istella-S", 219..=220, 4, 33_018, 3_408_630, UNKNOWN),
    // Chapelle and Chang, "Yahoo! Learning to Rank Challenge Overview", JMLR W&CP 14, 2011, table 1: sums of the three
    // files; 700 features in [0, 1], of which set 1 has 519 and set 2 has 596.
    set("Yahoo C14 set 2", 699..=700, 4, 6_330, 172_870, YAHOO),
    set("Yahoo C14 set 1", 699..=700, 4, 29_921, 709_877, YAHOO),
    // Qin, Liu, Xu and Li, "LETOR: A benchmark collection for research on learning to rank for information retrieval",
    // Information Retrieval 13, 2010: 106 queries, 45 features, labels 0 to 2.
    set("OHSUMED of LETOR 3.0", 45..=45, 2, 106, 16_140, LETOR),
    // The same paper: 64 features, labels 0 and 1, at most 150 queries (HP2003, NP2003) with at most 1,000 documents.
    set("a .Gov set of LETOR 3.0", 64..=64, 1, 150, 150_000, LETOR),
    // Qin and Liu, "Introducing LETOR 4.0 datasets", arXiv:1306.2597, 2013: 46 features, labels 0 to 2.
    set("MQ2008 of LETOR 4.0", 46..=46, 2, 784, 15_211, LETOR),
    set("MQ2007 of LETOR 4.0", 46..=46, 2, 1_692, 69_623, LETOR),
];

/// Returns the names of the published sets that the data resemble, and the ways in which the data differ from them.
pub(super) fn recognize(sets: &[SetReport]) -> (Vec<String>, Vec<Finding>) {
    let features = sets.iter().map(|set| set.statistics.features).max().unwrap_or(0);
    let of_shape = PUBLISHED.iter().filter(|known| known.features.contains(&features));
    let mut nearest: Vec<(&Published, Vec<Finding>)> = of_shape.map(|known| (known, known.compare(sets))).collect();
    // With two things off they are not the set, but data of the same width.
    let fewest = nearest.iter().map(|(_, off)| off.len()).min().filter(|fewest| *fewest <= 1);
    nearest.retain(|(_, off)| Some(off.len()) == fewest);
    let names = nearest.iter().map(|(known, _)| known.name.to_owned()).collect();
    // A difference is reported once, for the last: the largest set.
    (names, nearest.pop().map(|(_, off)| off).unwrap_or_default())
}

impl Published {
    /// Returns every difference between this published set and the given sets, which may be parts of it.
    fn compare(&self, sets: &[SetReport]) -> Vec<Finding> {
        let mut off = Vec::new();
        let mut add = |of: &SetReport, count: usize, examples: Vec<String>, message: String| {
            let (level, kind, set) = (Level::Note, Kind::Published, of.name.clone());
            off.push(Finding { level, kind, set, count, examples, message });
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
                self.bounds.of.iter().any(|of| of.contains(feature)) && !(0.0 <= low && high <= 1.0)
            };
            let outside: Vec<usize> = (1..=set.ranges.len()).filter(outside).collect();
            if !outside.is_empty() {
                let names = features_in_words(&outside);
                let words =
                    format!("values of {names} lie outside the range of {}: {}", self.name, self.bounds.outside);
                add(set, outside.len(), outside.iter().map(usize::to_string).collect(), words);
                break;
            }
        }
        off
    }
}
