//! `Segments` tells which documents in a flat list of documents belong to the same query.

use std::ops::Range;
use std::sync::Arc;

/// The reason why documents do not form valid queries. Fields count queries from 0, but messages count them from 1.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SegmentsError {
    /// No query at all.
    #[error("no query, expected one query of one document or more")]
    NoQuery,
    /// A query has no document.
    #[error("query {}: no document, expected one or more", .query + 1)]
    Empty {
        /// The query.
        query: usize,
    },
    /// An offset is below the one before it, or the first offset is not 0.
    #[error("query {}: offset {found}, expected {expected}", .query + 1)]
    Offset {
        /// The query that starts or ends at the wrong offset.
        query: usize,
        /// The offset.
        found: usize,
        /// The valid values.
        expected: String,
    },
    /// A query number below the largest one is missing.
    #[error("query {}: no document has the id {query}, expected every number from 0 to the largest id, {largest}", .query + 1)]
    Hole {
        /// The query number that is missing.
        query: usize,
        /// The largest query number.
        largest: usize,
    },
    /// The numbers of documents and values differ.
    #[error("{}", documents_in_words(*.query, *.found, what, *.expected))]
    Documents {
        /// The first query with a document that has no value, or the number of queries if there are more values than
        /// documents.
        query: usize,
        /// The number of documents in all queries.
        found: usize,
        /// The name of the values, such as `scores`.
        what: &'static str,
        /// The number of values.
        expected: usize,
    },
}

fn documents_in_words(query: usize, found: usize, what: &str, expected: usize) -> String {
    let sum = format!("queries have {found} documents in all, {what} are [{expected}]");
    match found > expected {
        true => format!("{sum}: query {} ends beyond the {what}", query + 1),
        false => format!("{sum}: {} are left over after query {query}", expected - found),
    }
}

/// Assigns each document of a flat tensor of values, `[documents]`, to a query. Each query has at least one document.
///
/// ```
/// use burn_rank::data::Segments;
///
/// let lengths = Segments::from_lengths(&[3, 2])?;
/// assert_eq!(lengths, Segments::from_offsets(&[0, 3, 5])?);
/// assert_eq!(lengths, Segments::from_ids(&[0, 0, 0, 1, 1])?);
/// let mixed = Segments::from_ids(&[1, 0, 0, 1, 0])?;
/// assert_eq!(mixed.lengths().collect::<Vec<_>>(), [3, 2]);
/// assert_eq!(mixed.rows_of(1).collect::<Vec<_>>(), [0, 3]);
/// # Ok::<(), burn_rank::data::SegmentsError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Segments {
    /// The index at which each query starts among the documents sorted by query, followed by the total number of
    /// documents.
    offsets: Arc<[usize]>,
    /// For documents sorted by query, the row of each document in the tensors; `None` if the rows are already sorted.
    rows: Option<Arc<[usize]>>,
}

impl Segments {
    /// Creates segments of consecutive queries from their numbers of documents.
    ///
    /// # Errors
    /// Returns [`SegmentsError::NoQuery`] if there are no queries, and [`SegmentsError::Empty`] if a length is 0.
    pub fn from_lengths(lengths: &[usize]) -> Result<Self, SegmentsError> {
        if let Some(query) = lengths.iter().position(|&length| length == 0) {
            return Err(SegmentsError::Empty { query });
        }
        Self::new(offsets_of(lengths).collect(), None)
    }

    /// Creates segments of consecutive queries from their starts, followed by the end of the last one. Query `q` has
    /// the rows `offsets[q]..offsets[q + 1]`.
    ///
    /// # Errors
    /// Returns [`SegmentsError::NoQuery`] if there are no queries, and [`SegmentsError::Empty`] if two consecutive
    /// offsets are equal. Returns [`SegmentsError::Offset`] if the first offset is not 0 or an offset is below the one
    /// before.
    pub fn from_offsets(offsets: &[usize]) -> Result<Self, SegmentsError> {
        if let Some(&found) = offsets.first().filter(|first| **first != 0) {
            return Err(SegmentsError::Offset { query: 0, found, expected: "0".into() });
        }
        for (query, two) in offsets.windows(2).enumerate() {
            if two[0] == two[1] {
                return Err(SegmentsError::Empty { query });
            }
            if two[0] > two[1] {
                let expected = format!("more than {}, where the query begins", two[0]);
                return Err(SegmentsError::Offset { query, found: two[1], expected });
            }
        }
        Self::new(offsets.into(), None)
    }

    /// Creates segments from the query number of each row. Query numbers start at 0, and rows may be in any order. The
    /// documents of a query keep the order of the rows. This order breaks ties in score.
    ///
    /// # Errors
    /// Returns [`SegmentsError::NoQuery`] if there are no rows, and [`SegmentsError::Hole`] if a query number below the
    /// largest one is missing.
    pub fn from_ids(ids: &[usize]) -> Result<Self, SegmentsError> {
        let Some(&largest) = ids.iter().max() else { return Err(SegmentsError::NoQuery) };
        // As many numbers as rows have no hole, so that an id beyond takes no memory.
        let mut counts = vec![0; largest.saturating_add(1).min(ids.len())];
        for &id in ids {
            if let Some(count) = counts.get_mut(id) {
                *count += 1;
            }
        }
        if let Some(query) = counts.iter().position(|&count| count == 0) {
            return Err(SegmentsError::Hole { query, largest });
        }
        let segments = Self::from_lengths(&counts)?;
        if ids.is_sorted() {
            return Ok(segments);
        }
        let mut next: Vec<usize> = segments.offsets[..counts.len()].into();
        let mut rows = vec![0; ids.len()];
        for (row, &id) in ids.iter().enumerate() {
            rows[next[id]] = row;
            next[id] += 1;
        }
        Self::new(segments.offsets, Some(rows.into()))
    }

    fn new(offsets: Arc<[usize]>, rows: Option<Arc<[usize]>>) -> Result<Self, SegmentsError> {
        if offsets.len() < 2 { Err(SegmentsError::NoQuery) } else { Ok(Self { offsets, rows }) }
    }

    /// Returns the number of queries.
    pub fn queries(&self) -> usize {
        self.offsets.len() - 1
    }

    /// Returns the number of documents in all queries.
    pub fn documents(&self) -> usize {
        self.offsets[self.queries()]
    }

    /// Returns the number of documents of each query.
    pub fn lengths(&self) -> impl ExactSizeIterator<Item = usize> {
        self.offsets.windows(2).map(|two| two[1] - two[0])
    }

    /// Returns the rows of a query's documents, in the order of the rows.
    ///
    /// # Panics
    /// Panics if `query` is not below [`Segments::queries`].
    pub fn rows_of(&self, query: usize) -> impl ExactSizeIterator<Item = usize> {
        self.range(query).map(|position| self.row(position))
    }

    /// Returns the index at which each query starts among the documents sorted by query, followed by the total number
    /// of documents.
    pub(crate) fn offsets(&self) -> &[usize] {
        &self.offsets
    }

    /// Returns the row of each document, sorted by query.
    pub(crate) fn rows(&self) -> impl Iterator<Item = usize> {
        (0..self.documents()).map(|position| self.row(position))
    }

    /// Returns the row of the document at this position in the documents sorted by query.
    fn row(&self, position: usize) -> usize {
        self.rows.as_deref().map_or(position, |rows| rows[position])
    }

    /// Returns the positions of a query's documents in the documents sorted by query.
    pub(crate) fn range(&self, query: usize) -> Range<usize> {
        self.offsets[query]..self.offsets[query + 1]
    }

    /// Sorts values by query, where `values` holds one value for each row.
    pub(crate) fn in_order<T: Copy>(&self, values: Vec<T>) -> Vec<T> {
        if self.rows.is_none() { values } else { self.rows().map(|row| values[row]).collect() }
    }

    /// Checks that there is one value for each document.
    pub(crate) fn check(&self, what: &'static str, values: usize) -> Result<(), SegmentsError> {
        let found = self.documents();
        if found == values {
            return Ok(());
        }
        let query = self.offsets[1..].partition_point(|&end| end <= values);
        Err(SegmentsError::Documents { query, found, what, expected: values })
    }

    /// Divides the queries into at most [`RECTANGLES`] groups of similar length. The groups are chosen to minimize
    /// padding when each list is padded to the longest list of its group. A group keeps the order of its queries.
    pub(crate) fn rectangles(&self) -> Vec<Vec<usize>> {
        let mut sorted: Vec<usize> = self.lengths().collect();
        sorted.sort_unstable();
        let tops = tops(&sorted);
        let mut groups = vec![Vec::new(); tops.len()];
        for (query, length) in self.lengths().enumerate() {
            groups[tops.partition_point(|&top| top < length)].push(query);
        }
        groups
    }
}

/// Returns the index at which each query starts, followed by the number of documents, from the numbers of documents of
/// consecutive queries.
pub(super) fn offsets_of(lengths: &[usize]) -> impl Iterator<Item = usize> {
    let ends = lengths.iter().scan(0usize, |end, &length| {
        *end = end.saturating_add(length);
        Some(*end)
    });
    std::iter::once(0).chain(ends)
}

/// The largest number of groups of queries.
const RECTANGLES: usize = 4;

/// The cost of one more group, in padded documents. Each group costs time, because every operation of a loss is
/// launched once more for it.
const LAUNCHES: usize = 4096;

/// Divides the lists into groups in the cheapest way. Returns the length of the longest list in each group, in
/// ascending order. `sorted` holds the lengths of all lists in ascending order.
fn tops(sorted: &[usize]) -> Vec<usize> {
    // The distinct lengths, each with the number of lists up to it.
    let up_to = |lists: &mut usize, same: &[usize]| {
        *lists += same.len();
        Some((same[0], *lists))
    };
    let lengths: Vec<(usize, usize)> = sorted.chunk_by(|a, b| a == b).scan(0, up_to).collect();
    let cost = |from: usize, to: usize| {
        let before = from.checked_sub(1).map_or(0, |from| lengths[from].1);
        (lengths[to].1 - before).saturating_mul(lengths[to].0).saturating_add(LAUNCHES)
    };
    // The cost of the lists up to each length in so many groups, and the longest list of each group.
    let mut best: Vec<(usize, Vec<usize>)> = (0..lengths.len()).map(|to| (cost(0, to), vec![lengths[to].0])).collect();
    let last = lengths.len() - 1;
    let mut cheapest = best[last].clone();
    for _ in 1..RECTANGLES.min(lengths.len()) {
        let with_one_more = |to: usize| {
            let cuts = (1..=to).map(|from| (best[from - 1].0.saturating_add(cost(from, to)), from));
            let (cost, from) = cuts.min().unwrap_or((usize::MAX, 1));
            (cost, [&best[from - 1].1[..], &[lengths[to].0]].concat())
        };
        best = (0..lengths.len()).map(with_one_more).collect();
        if best[last].0 < cheapest.0 {
            cheapest.clone_from(&best[last]);
        }
    }
    cheapest.1
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn message(found: Result<Segments, SegmentsError>) -> String {
        found.unwrap_err().to_string()
    }

    #[test]
    fn documents_that_do_not_fall_into_queries_are_refused_with_the_query() {
        let none = "no query, expected one query of one document or more";
        assert_eq!(message(Segments::from_lengths(&[])), none);
        assert_eq!(message(Segments::from_offsets(&[])), none);
        assert_eq!(message(Segments::from_offsets(&[0])), none);
        assert_eq!(message(Segments::from_ids(&[])), none);
        let empty = "query 2: no document, expected one or more";
        assert_eq!(message(Segments::from_lengths(&[3, 0, 1])), empty);
        assert_eq!(message(Segments::from_offsets(&[0, 3, 3, 4])), empty);
        assert_eq!(message(Segments::from_offsets(&[1, 3])), "query 1: offset 1, expected 0");
        assert_eq!(
            message(Segments::from_offsets(&[0, 3, 2])),
            "query 2: offset 2, expected more than 3, where the query begins"
        );
        assert_eq!(
            message(Segments::from_ids(&[0, 2, 0, 3])),
            "query 2: no document has the id 1, expected every number from 0 to the largest id, 3"
        );
        assert!(message(Segments::from_ids(&[0, usize::MAX])).starts_with("query 2: no document has the id 1,"));
    }

    #[test]
    fn lengths_that_do_not_add_up_are_refused_with_the_query() {
        let segments = Segments::from_lengths(&[3, 2, 4]).unwrap();
        assert_eq!(segments.check("scores", 9), Ok(()));
        let of = |values| segments.check("scores", values).unwrap_err().to_string();
        assert_eq!(of(4), "queries have 9 documents in all, scores are [4]: query 2 ends beyond the scores");
        assert_eq!(of(11), "queries have 9 documents in all, scores are [11]: 2 are left over after query 3");
    }

    #[test]
    fn one_long_list_does_not_pad_the_short_ones() {
        let lengths: Vec<usize> = std::iter::repeat_n(10, 1000).chain([10_000]).collect();
        let rectangles = Segments::from_lengths(&lengths).unwrap().rectangles();
        assert_eq!(rectangles, [(0..1000).collect(), vec![1000]]);
        // The lists of tests/properties/packed.rs, which is to see more than one.
        let lengths = [vec![2, 100, 5, 9, 17, 3, 1, 4, 1], vec![3; 60]].concat();
        let rectangles = Segments::from_lengths(&lengths).unwrap().rectangles();
        assert_eq!(rectangles, [[vec![0, 2], (5..69).collect()].concat(), vec![1, 3, 4]]);
        // Launching an operation once more costs more than the places that it saves.
        assert_eq!(Segments::from_lengths(&[1, 9, 4]).unwrap().rectangles(), [[0, 1, 2]]);
    }

    /// Returns the smallest cost among all ways to cut the distinct lengths into groups.
    fn cheapest(sorted: &[usize], groups: usize) -> usize {
        let whole = sorted.len() * sorted.last().copied().unwrap_or(0) + LAUNCHES;
        let cuts = (1..sorted.len()).filter(|&cut| groups > 1 && sorted[cut - 1] < sorted[cut]);
        let cut = cuts.map(|cut| {
            let (short, long) = sorted.split_at(cut);
            cheapest(short, groups - 1) + long.len() * long[long.len() - 1] + LAUNCHES
        });
        cut.min().map_or(whole, |cost| cost.min(whole))
    }

    proptest! {
        #[test]
        fn rectangles_hold_every_query_once_at_the_least_cost(
            mut lengths in prop::collection::vec(prop_oneof![1usize..30, 1000usize..4000], 1..9)
        ) {
            let segments = Segments::from_lengths(&lengths).unwrap();
            let rectangles = segments.rectangles();
            prop_assert!(rectangles.len() <= RECTANGLES && rectangles.iter().all(|group| group.is_sorted()));
            let mut all = rectangles.concat();
            all.sort_unstable();
            prop_assert_eq!(all, (0..lengths.len()).collect::<Vec<_>>());
            let places = |group: &Vec<usize>| {
                group.len() * group.iter().map(|&query| lengths[query]).max().unwrap() + LAUNCHES
            };
            let found: usize = rectangles.iter().map(places).sum();
            lengths.sort_unstable();
            prop_assert_eq!(found, cheapest(&lengths, RECTANGLES));
        }

        #[test]
        fn rows_of_a_query_are_those_with_its_id(ids in prop::collection::vec(0usize..4, 1..20)) {
            let has_hole = (0..*ids.iter().max().unwrap()).any(|id| !ids.contains(&id));
            let segments = Segments::from_ids(&ids);
            prop_assert_eq!(segments.is_err(), has_hole);
            if let Ok(segments) = segments {
                for query in 0..segments.queries() {
                    let rows: Vec<usize> = (0..ids.len()).filter(|&row| ids[row] == query).collect();
                    prop_assert_eq!(segments.rows_of(query).collect::<Vec<_>>(), rows);
                }
                let ordered = segments.in_order(ids.clone());
                prop_assert!(ordered.is_sorted());
            }
        }
    }
}
