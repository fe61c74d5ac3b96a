//! `RankingDataset` holds documents grouped by query, with flat row-major features. Offsets tell which range of
//! documents belongs to each query; there is no column of query identifiers.

use std::collections::HashSet;
use std::ops::Range;

use sha2::{Digest, Sha256};

use super::error::{DataError, check_count, inconsistent};
use super::features::{Features, hash_floats};
use super::positions::Positions;
use super::shards::{Parts, Shards};
use crate::distributed::ProcessGroup;
use crate::measure::Rankings;
use crate::memory::product;
use crate::refusal::Refusal;
use crate::text::{counted, hexadecimal, in_quotes};

/// A dataset of documents grouped by query.
///
/// Readers create datasets from files, and [`RankingDataset::builder`] creates one from values in memory. Changing a
/// field may make the fields contradict each other, which [`RankingDataset::check`] detects.
#[non_exhaustive]
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RankingDataset {
    /// The features, `[documents x features]`, row-major, with NaN for a missing value.
    pub features: Features,
    /// The number of features of each document.
    pub feature_count: usize,
    /// One label per document.
    pub labels: Vec<f32>,
    /// The `queries + 1` offsets into the documents; query `q` has the documents `offsets[q]..offsets[q + 1]`.
    pub offsets: Vec<usize>,
    /// The identifier of each query, as read.
    pub query_ids: Vec<String>,
    /// The identifier (or comment) of each document; empty if the source has none.
    pub document_ids: Vec<String>,
    /// The weight of each query in training, 0 or above; empty if all queries weigh the same. Measures ignore query
    /// weights.
    pub query_weights: Vec<f32>,
    /// The weight of each document in training, 0 or above; empty if all documents weigh the same. Measures ignore
    /// document weights.
    pub document_weights: Vec<f32>,
    /// The score that a teacher gives each document, with NaN for a document that it has not scored; empty without a
    /// teacher. Measures ignore a teacher.
    pub teacher: Vec<f32>,
    /// The position at which each document was shown; empty if positions are not known. Measures and rankers ignore
    /// positions.
    pub positions: Positions,
    /// The name of each feature; empty if the source has none.
    pub feature_names: Vec<String>,
    /// If documents were moved next to their query, the original place of each document, from 0; otherwise empty.
    pub read_order: Vec<usize>,
}

impl RankingDataset {
    /// Returns the queries as ranked by `scores`, which holds one score per document. The result is for use by
    /// [measures](crate::measure).
    pub fn rankings<'a>(&'a self, scores: &'a [f32]) -> Rankings<'a> {
        let Self { labels, offsets, document_ids, .. } = self;
        Rankings { scores, labels, offsets, document_ids }
    }

    /// Checks that the parts of the dataset do not contradict each other.
    ///
    /// # Errors
    /// Returns [`DataError::Refused`] if lengths do not match, or if offsets do not ascend from 0 to the number of
    /// documents. Also returns [`DataError::Refused`] for an empty query, two queries with the same identifier, or an
    /// infinite feature. Returns [`DataError::Label`] if a label is negative or not finite.
    pub fn check(&self) -> Result<(), DataError> {
        let documents = self.documents();
        if Some(self.features.len()) != documents.checked_mul(self.feature_count) {
            let expected = format!("{} x {}", counted(documents, "document"), counted(self.feature_count, "feature"));
            return Err(Refusal::new("features", counted(self.features.len(), "value"), expected).into());
        }
        if self.offsets.first() != Some(&0) || self.offsets.last() != Some(&documents) {
            let found = format!("{:?} to {:?}", self.offsets.first(), self.offsets.last());
            return Err(Refusal::new("offsets", found, format!("0 to {documents}, the documents")).into());
        }
        if let Some(at) = self.offsets.windows(2).position(|pair| pair[0] >= pair[1]) {
            let expected = format!("more than {}, the previous one", self.offsets[at]);
            return Err(Refusal::new(format!("offsets[{}]", at + 1), self.offsets[at + 1], expected).into());
        }
        let ids = |ids: &[String]| (ids.len(), "identifier");
        check_count("query_ids", ids(&self.query_ids), (self.queries(), "query"))?;
        if !self.document_ids.is_empty() {
            check_count("document_ids", ids(&self.document_ids), (documents, "document, or none"))?;
        }
        if !self.feature_names.is_empty() {
            let names = (self.feature_names.len(), "name");
            check_count("feature_names", names, (self.feature_count, "feature, or none"))?;
        }
        if !self.read_order.is_empty() {
            let mut places = self.read_order.clone();
            places.sort_unstable();
            if !places.into_iter().eq(0..documents) {
                let expected = format!("each place from 0 to {} once, or none", documents.saturating_sub(1));
                return Err(Refusal::new("read_order", "another order", expected).into());
            }
        }
        self.check_training()?;
        let mut seen = HashSet::new();
        if let Some(at) = self.query_ids.iter().position(|id| !seen.insert(id.as_str())) {
            let key = format!("query_ids[{at}]");
            return Err(Refusal::new(key, &self.query_ids[at], "an identifier that no other query has").into());
        }
        self.check_labels(|label| label >= 0.0 && label.is_finite(), "a finite number of at least 0")?;
        self.check_values()?;
        if let Some((at, found)) = self.features.first_infinite(self.feature_count) {
            let expected = "a finite number, or NaN for a missing value";
            return Err(Refusal::new(format!("features[{at}]"), found, expected).into());
        }
        Ok(())
    }

    /// Checks the values of features that stay in a file. The check happens at the first use by this crate's learners,
    /// rankers and writers, not during reading. A dataset and its clones are checked only once; values in memory were
    /// already checked during reading. If a group shares the reading, each process checks the values that it reads, and
    /// all of them return the same error.
    ///
    /// # Errors
    /// Returns [`DataError::Cell`] for the first value that is infinite, or that is missing when missing values are not
    /// allowed.
    pub fn check_values(&self) -> Result<(), DataError> {
        if self.features.window().is_some() && !self.features.is_known() {
            // Whoever streams data also wants their hash: one pass makes both.
            self.hash_with(|hash| self.features.hash_raw_into(self.feature_count, hash));
        }
        self.features.check(self.feature_count)
    }

    /// Shares the dataset with other processes, which hold the same data. Fits divide their work among the group. If
    /// features are streamed, each process reads only a part of them. Every process must then make the same calls in
    /// the same order, because a call may wait for the others.
    ///
    /// A clone or a [selection](Self::select) of queries is shared with the same group. All datasets of a fit must be
    /// shared with one group.
    pub(crate) fn share_with(&mut self, group: &ProcessGroup) {
        self.features.share_with(group);
    }

    /// Returns the group that the dataset is shared with.
    pub(crate) fn group(&self) -> &ProcessGroup {
        self.features.group()
    }

    /// Cuts the documents into parts: the documents in each shard (a range of consecutive queries) form a part. Each
    /// pass over the features works through the parts one after another. If a group shares the reading of streamed
    /// features, each process reads whole parts. Sums and hashes are computed for each part, and then combined for the
    /// whole dataset.
    pub(crate) fn cut(&mut self, shards: usize) {
        self.features.cut(Parts::new(&self.offsets, &Shards::new(self.queries(), shards)));
    }

    /// Returns the range of queries in each part.
    pub(crate) fn parts(&self) -> impl Iterator<Item = Range<usize>> {
        let shards = Shards::new(self.queries(), self.features.parts().count());
        (0..shards.count()).map(move |shard| shards.range(shard))
    }

    /// Streams the features of a mapped file: from now on, every use of the features reads them from the file. A
    /// [`Normalizer`](super::Normalizer) is then applied at each use, and the learner `gradient` shuffles queries
    /// within windows of `window` bytes of features. At most `memory` bytes of the file are in memory; a file that fits
    /// within this limit stays mapped. A call that returns all features as a slice still loads them all into memory.
    ///
    /// # Errors
    /// Returns [`DataError::Inconsistent`] if the features are in memory. Also returns [`DataError::Inconsistent`] if a
    /// query has weight 0, because removing this query would copy all features.
    pub fn stream(&mut self, memory: usize, window: usize) -> Result<(), DataError> {
        if self.query_weights.contains(&0.0) {
            return Err(inconsistent("the weight of a query", 0, "above 0 in data that are streamed"));
        }
        if self.features.stream(memory, window) {
            return Ok(());
        }
        let expected = "in one uncompressed Arrow file, as lists of 32-bit floats without nulls, with consecutive rows \
            for each query (`burn-rank convert` writes it)";
        Err(inconsistent("the place of the features", "memory", expected))
    }

    /// Returns the number of queries.
    pub fn queries(&self) -> usize {
        self.offsets.len().saturating_sub(1)
    }

    /// Returns the number of documents.
    pub fn documents(&self) -> usize {
        self.labels.len()
    }

    /// Returns the document and the feature of the first missing value, both counted from 0.
    pub fn first_missing(&self) -> Option<(usize, usize)> {
        let at = self.features.first_missing(self.feature_count)?;
        Some((at / self.feature_count, at % self.feature_count))
    }

    /// Returns the identifier of the query of document `d`, and the document's place in the query, from 0.
    pub(crate) fn place_of(&self, d: usize) -> (&str, usize) {
        let query = self.offsets.partition_point(|&offset| offset <= d).saturating_sub(1);
        (&self.query_ids[query], d - self.offsets[query])
    }

    /// Returns the number of documents that already belong to a query, while the dataset is being built.
    pub(crate) fn documents_grouped(&self) -> usize {
        self.offsets.last().copied().unwrap_or(0)
    }

    /// Returns the documents of query `q`.
    pub fn range(&self, q: usize) -> Range<usize> {
        self.offsets[q]..self.offsets[q + 1]
    }

    /// Returns the labels of query `q`.
    pub fn query_labels(&self, q: usize) -> &[f32] {
        &self.labels[self.range(q)]
    }

    /// Returns the features of document `d`; [`Features::to_slice`] first loads all features into memory.
    pub fn row(&self, d: usize) -> &[f32] {
        &self.features.to_slice()[d * self.feature_count..(d + 1) * self.feature_count]
    }

    /// Reorders one value per document, such as its score, into the order in which the documents were read.
    ///
    /// # Panics
    /// Panics if the documents were reordered and the numbers of values and documents differ.
    pub fn in_read_order<T: Copy + Default>(&self, values: &[T]) -> Vec<T> {
        if self.read_order.is_empty() {
            return values.to_vec();
        }
        let mut read = vec![T::default(); values.len()];
        self.read_order.iter().zip(values).for_each(|(&place, &value)| read[place] = value);
        read
    }

    /// Reorders one value per document from the order in which documents were read to the order of the dataset.
    ///
    /// # Panics
    /// Panics if the documents were reordered and there are fewer values than documents.
    pub fn from_read_order<T: Copy>(&self, read: &[T]) -> Vec<T> {
        match &self.read_order[..] {
            [] => read.to_vec(),
            places => places.iter().map(|&place| read[place]).collect(),
        }
    }

    /// Returns the number of documents that were moved because they did not follow the first documents of their query
    /// in the file.
    pub fn moved(&self) -> usize {
        let apart = |q: usize| {
            let places = &self.read_order[self.range(q)];
            let together = places.windows(2).take_while(|pair| pair[0] + 1 == pair[1]).count() + 1;
            places.len() - together
        };
        if self.read_order.is_empty() { 0 } else { (0..self.queries()).map(apart).sum() }
    }

    /// Returns the features of query `q` as row-major `[documents of the query x features]`; [`Features::to_slice`]
    /// first loads all features into memory.
    pub fn query_features(&self, q: usize) -> &[f32] {
        let range = self.range(q);
        &self.features.to_slice()[range.start * self.feature_count..range.end * self.feature_count]
    }

    /// Returns the number of documents of the longest query.
    pub fn longest_query(&self) -> usize {
        (0..self.queries()).map(|q| self.range(q).len()).max().unwrap_or(0)
    }

    /// Returns a dataset of the queries with the given indices, in the given order.
    ///
    /// # Panics
    /// Panics if an index is not below [`RankingDataset::queries`].
    pub fn select(&self, queries: &[usize]) -> RankingDataset {
        let documents: usize = queries.iter().map(|&q| self.range(q).len()).sum();
        let mut features = Vec::with_capacity(documents * self.feature_count);
        let mut out = RankingDataset {
            feature_count: self.feature_count,
            labels: Vec::with_capacity(documents),
            offsets: vec![0],
            feature_names: self.feature_names.clone(),
            ..RankingDataset::default()
        };
        for &q in queries {
            out.append(&mut features, self, q..q + 1);
        }
        out.features = features.into();
        out.share_with(self.group());
        out
    }

    /// Joins datasets whose documents have `feature_count` features. Unlike [`concat`](Self::concat), accepts a query
    /// again.
    #[cfg(feature = "train")]
    pub(crate) fn stacked<'a>(feature_count: usize, parts: impl Iterator<Item = &'a Self>) -> Self {
        let (mut out, mut features) = (Self { feature_count, offsets: vec![0], ..Self::default() }, Vec::new());
        parts.for_each(|part| out.append(&mut features, part, 0..part.queries()));
        out.features = features.into();
        out
    }

    /// Returns a copy whose features are the features at the given places, in this order. A feature at a place beyond
    /// the last feature is 0. The copy has no names of features.
    ///
    /// # Errors
    /// Returns [`Refusal`] if memory is lacking, because a ranker's file may state any number of features.
    pub(crate) fn with_columns(&self, places: &[usize]) -> Result<Self, Refusal> {
        let (documents, count) = (self.documents(), places.len());
        let what = format!("a table of {} of {}", counted(documents, "document"), counted(count, "feature"));
        let advice = "score fewer documents at a time";
        Refusal::ask_memory("data", what, product([documents, count, size_of::<f32>()]), advice)?;
        let mut features = vec![0.0; documents * count];
        if self.feature_count > 0 && count > 0 {
            let rows = self.features.to_slice().chunks_exact(self.feature_count);
            for (to, from) in features.chunks_exact_mut(count).zip(rows) {
                for (to, value) in to.iter_mut().zip(places.iter().map(|place| from.get(*place))) {
                    *to = value.copied().unwrap_or_default();
                }
            }
        }
        Ok(Self {
            features: features.into(),
            feature_count: count,
            labels: self.labels.clone(),
            offsets: self.offsets.clone(),
            query_ids: self.query_ids.clone(),
            document_ids: self.document_ids.clone(),
            query_weights: self.query_weights.clone(),
            document_weights: self.document_weights.clone(),
            teacher: self.teacher.clone(),
            positions: self.positions.clone(),
            feature_names: Vec::new(),
            read_order: self.read_order.clone(),
        })
    }

    /// Appends queries of another dataset. Their features are appended to `features`.
    fn append(&mut self, features: &mut Vec<f32>, from: &RankingDataset, queries: Range<usize>) {
        if queries.is_empty() {
            return;
        }
        let (before, documents) = (self.documents(), from.offsets[queries.start]..from.offsets[queries.end]);
        from.features.append_to(from.feature_count, documents.clone(), features);
        self.labels.extend_from_slice(&from.labels[documents.clone()]);
        let ends = &from.offsets[queries.start + 1..=queries.end];
        self.offsets.extend(ends.iter().map(|end| before + end - documents.start));
        self.query_ids.extend_from_slice(&from.query_ids[queries.clone()]);
        self.query_weights.extend_from_slice(from.query_weights.get(queries).unwrap_or_default());
        self.document_ids.extend_from_slice(from.document_ids.get(documents.clone()).unwrap_or_default());
        self.document_weights.extend_from_slice(from.document_weights.get(documents.clone()).unwrap_or_default());
        self.teacher.extend_from_slice(from.teacher.get(documents.clone()).unwrap_or_default());
        self.positions.append(&from.positions, documents);
    }

    /// Keeps at most this many bytes of features from a mapped file in memory; the system's cache may hold more.
    #[cfg(feature = "ranker")]
    pub fn keep_in_memory(&self, bytes: usize) {
        self.features.keep(bytes);
    }

    /// Cuts the queries into consecutive blocks. A block has at most `cells` values (documents x features), unless it
    /// consists of a single query.
    pub(crate) fn blocks(&self, cells: usize) -> Vec<Range<usize>> {
        self.blocks_of(0..self.queries(), cells)
    }

    /// Cuts a range of queries into blocks, as [`blocks`](Self::blocks) does.
    pub(crate) fn blocks_of(&self, queries: Range<usize>, cells: usize) -> Vec<Range<usize>> {
        let mut blocks: Vec<Range<usize>> = Vec::new();
        for q in queries {
            let cells_with =
                |block: &Range<usize>| (self.offsets[q + 1] - self.offsets[block.start]) * self.feature_count;
            match blocks.last_mut() {
                Some(block) if cells_with(block) <= cells => block.end = q + 1,
                _ => blocks.push(q..q + 1),
            }
        }
        blocks
    }

    /// Calls `of_block` with blocks of a range of queries, as [`blocks`](Self::blocks) cuts them, and with the features
    /// of their documents.
    pub(crate) fn each_block(
        &self,
        queries: Range<usize>,
        cells: usize,
        mut of_block: impl FnMut(Range<usize>, &[f32]),
    ) {
        let mut rows = Vec::new();
        for block in self.blocks_of(queries, cells) {
            let documents = self.offsets[block.start]..self.offsets[block.end];
            rows.resize(documents.len() * self.feature_count, 0.0);
            self.features.copy_rows(self.feature_count, documents, &mut rows);
            of_block(block, &rows);
        }
    }

    /// Joins the queries of several datasets, in order.
    ///
    /// # Errors
    /// Returns [`DataError::Inconsistent`] if the numbers or the names of features differ, a query identifier occurs
    /// twice, or only some of the datasets have positions. Datasets without names of features may join others.
    pub fn concat(parts: &[&RankingDataset]) -> Result<RankingDataset, DataError> {
        let mut out = RankingDataset { offsets: vec![0], ..RankingDataset::default() };
        let mut features = Vec::with_capacity(parts.iter().map(|part| part.features.len()).sum());
        out.feature_count = parts.first().map_or(0, |part| part.feature_count);
        let known = parts.iter().map(|part| &part.feature_names).find(|names| !names.is_empty());
        let has_names = parts.iter().all(|part| !part.feature_names.is_empty());
        out.feature_names = known.filter(|_| has_names).cloned().unwrap_or_default();
        let mut seen = HashSet::new();
        let some = |has: fn(&RankingDataset) -> bool| parts.iter().any(|part| has(part));
        let has_ids = some(|part| !part.document_ids.is_empty());
        let has_weights = some(|part| !part.query_weights.is_empty());
        let has_teacher = some(|part| !part.teacher.is_empty());
        let has_document_weights = some(|part| !part.document_weights.is_empty());
        let has_positions = some(|part| !part.positions.is_empty());
        for part in parts {
            if part.feature_count != out.feature_count {
                return Err(inconsistent("number of features of a part", part.feature_count, out.feature_count));
            }
            let mut names = part.feature_names.iter().zip(known.into_iter().flatten());
            if let Some((found, known)) = names.find(|(found, known)| found != known) {
                let expected = format!("{}, as another part has", in_quotes(known));
                return Err(inconsistent("name of a feature of a part", in_quotes(found), expected));
            }
            if has_positions && part.positions.is_empty() && part.documents() > 0 {
                return Err(inconsistent("positions of a part", "none", "positions in all parts, or in none"));
            }
            if let Some(id) = part.query_ids.iter().find(|id| !seen.insert(id.as_str())) {
                let expected = "one query with that identifier";
                return Err(inconsistent("a query identifier", format!("`{id}` again"), expected));
            }
            out.append(&mut features, part, 0..part.queries());
            let (queries, documents) = (out.queries(), out.documents());
            out.document_ids.resize(if has_ids { documents } else { 0 }, String::new());
            out.query_weights.resize(if has_weights { queries } else { 0 }, 1.0);
            out.document_weights.resize(if has_document_weights { documents } else { 0 }, 1.0);
            out.teacher.resize(if has_teacher { documents } else { 0 }, f32::NAN);
        }
        out.features = features.into();
        Ok(out)
    }

    /// Checks that labels are integers from 0 to `largest`, as measures and losses with the gain `2^y - 1` require.
    ///
    /// # Errors
    /// Returns [`DataError::Label`] for the first document with another label.
    pub fn check_integer_labels(&self, largest: u32) -> Result<(), DataError> {
        let allowed = |label: f32| label >= 0.0 && label.fract() == 0.0 && f64::from(label) <= f64::from(largest);
        self.check_labels(allowed, &format!("an integer from 0 to {largest}"))
    }

    fn check_labels(&self, allowed: impl Fn(f32) -> bool, expected: &str) -> Result<(), DataError> {
        for q in 0..self.queries() {
            if let Some(document) = self.query_labels(q).iter().position(|&label| !allowed(label)) {
                let (query, found) = (self.query_ids[q].clone(), self.query_labels(q)[document]);
                return Err(DataError::Label { query, document: document + 1, found, expected: expected.to_owned() });
            }
        }
        Ok(())
    }

    /// Returns the SHA-256 hash of the dataset's entire contents, in hexadecimal. The hash does not depend on file
    /// names, compression, line ends or the way in which numbers were written.
    pub fn data_hash(&self) -> String {
        self.hash_with(|hash| self.features.hash_into(self.feature_count, hash, ProcessGroup::ALONE))
    }

    /// Returns a hash that identifies the dataset, without another pass over a file whose values were already hashed.
    /// The hash is usually the [`data_hash`](Self::data_hash). If features are normalized at each use, the hash covers
    /// the raw values in the file and the normalizer.
    pub(crate) fn fingerprint(&self) -> String {
        self.hash_with(|hash| self.features.fingerprint_into(self.feature_count, hash))
    }

    /// Returns the hash of the dataset; the function `features` adds the feature values to the hash.
    fn hash_with(&self, features: impl FnOnce(&mut Sha256)) -> String {
        let mut hash = Sha256::new();
        let text = |text: &str, hash: &mut Sha256| {
            hash.update((text.len() as u64).to_le_bytes());
            hash.update(text.as_bytes());
        };
        for number in [self.feature_count, self.queries(), self.documents(), self.document_ids.len()] {
            hash.update((number as u64).to_le_bytes());
        }
        for q in 0..self.queries() {
            hash.update((self.range(q).len() as u64).to_le_bytes());
            text(&self.query_ids[q], &mut hash);
        }
        hash_floats(&self.labels, &mut hash);
        features(&mut hash);
        for id in &self.document_ids {
            text(id, &mut hash);
        }
        // Data without weights keep the hash that they had before there were any.
        hash_floats(&self.query_weights, &mut hash);
        if !self.document_weights.is_empty() {
            // Told apart from weights of as many queries.
            text("document_weights", &mut hash);
            hash_floats(&self.document_weights, &mut hash);
        }
        if !self.teacher.is_empty() {
            text("teacher", &mut hash);
            hash_floats(&self.teacher, &mut hash);
        }
        if !self.positions.is_empty() {
            text("positions", &mut hash);
            self.positions.of_each().for_each(|position| text(position, &mut hash));
        }
        hexadecimal(&hash.finalize())
    }
}

/// Returns the identifier of the document at `place`, from 0, in a query. A document without an identifier gets its
/// number, from 1.
pub fn document_name(data: &RankingDataset, query: usize, place: usize) -> String {
    let id = data.document_ids.get(data.offsets[query] + place).filter(|id| !id.is_empty());
    id.cloned().unwrap_or_else(|| (place + 1).to_string())
}

/// Returns the [hash](RankingDataset::data_hash) of the data that every process holds in full. If a group shares the
/// reading of the features, they are left out.
pub fn own_hash(data: &RankingDataset) -> String {
    match data.features.readers().count() {
        1 => data.data_hash(),
        _ => data.hash_with(|_| ()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn datasets_with_other_names_of_features_are_not_joined() {
        let of = |query: &str, names: &[&str]| {
            let data = RankingDataset::builder().features(vec![1.0, 2.0], 2).labels(vec![1.0]).query_sizes(&[1]);
            data.query_ids([query]).feature_names(names.iter().copied()).build().unwrap()
        };
        let (plain, named) = (of("1", &[]), of("2", &["a", "b"]));
        let joined = RankingDataset::concat(&[&named, &of("3", &["a", "b"])]).unwrap();
        assert_eq!(joined.feature_names, ["a", "b"]);
        assert!(RankingDataset::concat(&[&plain, &named]).unwrap().feature_names.is_empty());
        let message = RankingDataset::concat(&[&plain, &named, &of("3", &["b", "a"])]).unwrap_err().to_string();
        assert_eq!(message, "dataset: name of a feature of a part is `b`, expected `a`, as another part has");
    }
}
