//! Generates data in the shape of MSLR-WEB, for tests, benchmarks and first steps at any scale.
//!
//! Every document has hidden traits, which it partly shares with the other documents of its query. The label of a
//! document is a non-linear score of its traits plus noise, graded by thresholds. A linear ranker therefore beats
//! chance, and a non-linear ranker beats a linear one. The features of a document are noisy views of its traits on the
//! scales of real web features (see `traits`), so normalizers matter. List lengths are log-normal. The labels 0 to 4
//! have the shares 0.52, 0.23, 0.19, 0.04 and 0.02.
//!
//! [`HiddenScorer`] offers two other scorers. One of them gives few distinct scores; with the other, a label also
//! depends on the other documents of the list.
//!
//! Each query has its own seed, so the same configuration gives the same bytes on any number of threads. A larger set
//! begins with the queries of a smaller one. Features are decimal numbers with at most six decimal places.
//! [`generate`](SynthConfig::generate) gives the same dataset as reading the text of [`write`](SynthConfig::write).
//! Bytes may differ between platforms whose mathematical functions round differently.

mod config;
mod traits;

use std::io::Write;
use std::ops::Range;

use chacha20::ChaCha8Rng;

#[cfg(feature = "columnar")]
use super::columnar::TableWriter;
use super::dataset::RankingDataset;
use super::error::DataError;
use super::letor::from_millionths;
use crate::memory::product;
use crate::parallel;
use crate::refusal::Refusal;
use crate::seed::random_for;
use crate::text::counted;
pub use config::{HiddenScorer, SynthConfig};
use traits::World;
pub use traits::label;

/// The largest number of queries; no disk could hold a larger set.
const MOST_QUERIES: usize = 1_000_000_000_000;

/// The largest number of cells (documents x features) that are written at a time. In a table, they take 256 MiB. A
/// single query may have more cells.
const CELLS: usize = 1 << 26;

/// The memory in bytes for each cell while data are written. It holds a number and its text or, in a table, a number
/// and its copy.
const WRITTEN: usize = 24;

/// The number of bytes that a query needs in addition to its documents.
const PER_QUERY: usize = 64;

/// A generated query, with one label per document and row-major features in millionths.
struct Query {
    labels: Vec<u8>,
    millionths: Vec<i64>,
}

impl SynthConfig {
    /// Checks that every parameter is in its range.
    ///
    /// # Errors
    /// Returns [`Refusal`] for the first parameter that is out of range.
    pub fn check(&self) -> Result<(), Refusal> {
        let count = |option, value: usize, most: usize| match value {
            value if (1..=most).contains(&value) => Ok(()),
            value => Err(Refusal::new(option, value, format!("from 1 to {most}"))),
        };
        count("queries", self.queries, MOST_QUERIES)?;
        count("features", self.features, 100_000)?;
        // Listwise, every document is compared with every other one.
        count("max_length", self.max_length, if self.scorer == HiddenScorer::Listwise { 10_000 } else { 1_000_000 })?;
        if !(self.median_length >= 1.0 && self.median_length.is_finite()) {
            return Err(Refusal::new("median_length", self.median_length, "a finite number of at least 1"));
        }
        for (option, value) in [("length_deviation", self.length_deviation), ("noise", self.noise)] {
            if !(0.0..=100.0).contains(&value) {
                return Err(Refusal::new(option, value, "from 0 to 100"));
            }
        }
        Ok(())
    }

    /// Generates a dataset in memory.
    ///
    /// # Errors
    /// Returns an error if [`SynthConfig::check`] fails. Returns [`DataError::Refused`] if the data need more memory
    /// than is free.
    pub fn generate(&self) -> Result<RankingDataset, DataError> {
        self.check()?;
        ask_memory(self)?;
        generate_part(self, 0..self.queries)
    }

    fn part(&self, world: &World, queries: Range<usize>) -> Result<RankingDataset, DataError> {
        let sizes = parallel::map(queries.clone(), |q| self.length(&mut self.random(q)));
        let documents: usize = sizes.iter().sum();
        let mut features = vec![0.0; documents * self.features];
        let mut labels = vec![0.0; documents];
        // Every query is written to its place, so that nothing is held twice.
        let (mut rows, mut rest) = (&mut features[..], &mut labels[..]);
        let of_query = |&size: &usize| {
            let rows = rows.split_off_mut(..size * self.features).unwrap_or_default();
            (rows, rest.split_off_mut(..size).unwrap_or_default())
        };
        let places: Vec<(&mut [f32], &mut [f32])> = sizes.iter().map(of_query).collect();
        parallel::for_each(places.into_iter().zip(queries.clone()), |((features, labels), q)| {
            let query = self.query(world, q);
            features.iter_mut().zip(query.millionths).for_each(|(value, found)| *value = from_millionths(found));
            labels.iter_mut().zip(query.labels).for_each(|(label, found)| *label = f32::from(found));
        });
        RankingDataset::builder()
            .features(features, self.features)
            .labels(labels)
            .query_sizes(&sizes)
            .query_ids(queries.map(|q| (q + 1).to_string()))
            .build()
    }

    /// Cuts a range of queries into blocks of at most `most` queries and `cells` cells (documents x features). A larger
    /// query forms a block by itself.
    fn blocks(&self, queries: Range<usize>, most: usize, cells: usize) -> impl Iterator<Item = Range<usize>> {
        let mut rest = queries;
        let cells_of = move |q| self.length(&mut self.random(q)) * self.features;
        std::iter::from_fn(move || {
            let start = rest.next()?;
            let mut room = cells.saturating_sub(cells_of(start));
            let mut end = start + 1;
            while end < rest.end && end - start < most {
                let next = cells_of(end);
                if next > room {
                    break;
                }
                (room, end) = (room - next, end + 1);
            }
            rest.start = end;
            Some(start..end)
        })
    }

    /// Writes LETOR text, a few queries at a time, and returns the number of bytes written. Queries are numbered from
    /// 1.
    ///
    /// # Errors
    /// Returns an error if [`SynthConfig::check`] fails. Returns [`DataError::Io`], with an empty path, if a write
    /// fails.
    pub fn write(&self, output: &mut impl Write) -> Result<u64, DataError> {
        self.write_part(output, 0..self.queries)
    }

    /// Writes a table, some queries at a time. An Arrow file has one batch. If the features exceed 256 MiB, it has
    /// several batches.
    ///
    /// # Errors
    /// Returns the same errors as [`write`](Self::write).
    #[cfg(feature = "columnar")]
    #[cfg_attr(docsrs, doc(cfg(feature = "columnar")))]
    pub fn write_columnar(&self, format: super::columnar::Format, output: &mut dyn Write) -> Result<(), DataError> {
        self.write_blocks(format, output, CELLS)
    }

    /// Writes a table in blocks of at most `cells` cells.
    #[cfg(feature = "columnar")]
    fn write_blocks(
        &self,
        format: super::columnar::Format,
        output: &mut dyn Write,
        cells: usize,
    ) -> Result<(), DataError> {
        self.check()?;
        let world = World::new(self);
        let mut table = None;
        for block in self.blocks(0..self.queries, usize::MAX, cells) {
            self.ask_block(&block)?;
            let data = self.part(&world, block)?;
            match &mut table {
                None => table = Some(TableWriter::create(data, format, output)?),
                Some(table) => table.write(data)?,
            }
        }
        table.map_or(Ok(()), TableWriter::finish)
    }

    /// Writes a range of the queries, counted from 0, as [`write`](Self::write) does.
    ///
    /// # Errors
    /// Returns the same errors as [`write`](Self::write).
    pub fn write_part(&self, output: &mut impl Write, queries: Range<usize>) -> Result<u64, DataError> {
        write_telling(self, output, queries, |_| {})
    }

    /// Checks that enough memory is free to write a block of a single query, because a query may be long. Blocks of
    /// several queries are not checked.
    fn ask_block(&self, block: &Range<usize>) -> Result<(), Refusal> {
        if block.len() > 1 {
            return Ok(());
        }
        let documents = self.length(&mut self.random(block.start));
        let what = format!("a query of {} of {}", counted(documents, "document"), counted(self.features, "feature"));
        let advice = "lower the length of lists, or the number of features";
        Refusal::ask_memory("max_length", what, product([documents, self.features, WRITTEN]), advice)
    }

    /// Returns the random number generator of a query.
    fn random(&self, q: usize) -> ChaCha8Rng {
        random_for(self.seed, "synth query", q as u64)
    }

    fn query(&self, world: &World, q: usize) -> Query {
        let mut random = self.random(q);
        let length = self.length(&mut random);
        let view = world.query(&mut random);
        let mut labels = Vec::with_capacity(length);
        let mut millionths = Vec::with_capacity(length * self.features);
        if self.scorer == HiddenScorer::Listwise {
            let documents: Vec<_> = (0..length).map(|_| world.document(&view, &mut random)).collect();
            for (document, merit) in documents.iter().zip(world.merits(&documents)) {
                labels.push(world.label(merit, &mut random));
                world.features(&view, document, &mut random, &mut millionths);
            }
            return Query { labels, millionths };
        }
        for _ in 0..length {
            let document = world.document(&view, &mut random);
            labels.push(world.label(world.merit(&document), &mut random));
            world.features(&view, &document, &mut random, &mut millionths);
        }
        Query { labels, millionths }
    }
}

/// Checks that enough memory is free for all queries.
///
/// # Errors
/// Returns [`Refusal`] if the queries need more memory than is free.
pub fn ask_memory(config: &SynthConfig) -> Result<(), Refusal> {
    // Assumes that all queries have as many documents on average as the first ones.
    let seen = config.queries.min(1000);
    let of_seen: usize = (0..seen).map(|q| config.length(&mut config.random(q))).sum();
    let documents = of_seen as f64 / seen as f64 * config.queries as f64;
    let bytes = (documents * (4.0 * config.features as f64 + 4.0)) as u64;
    let bytes = bytes.saturating_add(product([config.queries, PER_QUERY]));
    let (queries, features) = (counted(config.queries, "query"), counted(config.features, "feature"));
    let what = format!("a set of {queries}, about {documents:.0} documents of {features},");
    Refusal::ask_memory("queries", what, bytes, "lower the number of queries, or of features")
}

/// Generates a range of the queries, counted from 0. The generated queries have the same identifiers as in the
/// whole set.
pub fn generate_part(config: &SynthConfig, queries: Range<usize>) -> Result<RankingDataset, DataError> {
    config.part(&World::new(config), queries)
}

/// Writes queries as [`SynthConfig::write_part`] does, and reports how many have been written.
pub fn write_telling(
    config: &SynthConfig,
    output: &mut impl Write,
    queries: Range<usize>,
    tell: impl Fn(usize),
) -> Result<u64, DataError> {
    config.check()?;
    let world = World::new(config);
    let prefixes = prefixes(config.features);
    let at_once = 4 * rayon::current_num_threads();
    let mut texts: Vec<Vec<u8>> = vec![Vec::new(); at_once];
    let (mut bytes, begun) = (0, queries.start);
    for block in config.blocks(queries, at_once, CELLS) {
        config.ask_block(&block)?;
        let written = block.end - begun;
        let texts = &mut texts[..block.len()];
        parallel::for_each(texts.iter_mut().zip(block), |(text, q)| {
            let query = config.query(&world, q);
            text.clear();
            for (label, row) in query.labels.iter().zip(query.millionths.chunks_exact(config.features)) {
                push_line(text, &prefixes, *label, q + 1, row);
            }
        });
        for text in texts {
            output.write_all(text).map_err(DataError::of_output)?;
            bytes += text.len() as u64;
        }
        tell(written);
    }
    output.flush().map_err(DataError::of_output)?;
    Ok(bytes)
}

/// Returns the texts `" 1:"`, `" 2:"`, ... before the values of a line.
fn prefixes(features: usize) -> Vec<Vec<u8>> {
    (1..=features).map(|index| format!(" {index}:").into_bytes()).collect()
}

/// Appends `label qid:QUERY 1:value ...` and a line end; the values are given in millionths.
fn push_line(text: &mut Vec<u8>, prefixes: &[Vec<u8>], label: u8, query: usize, millionths: &[i64]) {
    text.push(b'0' + label);
    text.extend_from_slice(b" qid:");
    push_integer(text, query as u64);
    for (prefix, value) in prefixes.iter().zip(millionths) {
        text.extend_from_slice(prefix);
        push_millionths(text, *value);
    }
    text.push(b'\n');
}

fn push_integer(text: &mut Vec<u8>, mut value: u64) {
    let mut digits = [0; 20];
    let mut start = digits.len();
    loop {
        start -= 1;
        digits[start] = b'0' + (value % 10) as u8;
        value /= 10;
        if value == 0 {
            break;
        }
    }
    text.extend_from_slice(&digits[start..]);
}

/// Appends a decimal number without trailing zeros.
fn push_millionths(text: &mut Vec<u8>, value: i64) {
    if value < 0 {
        text.push(b'-');
    }
    let magnitude = value.unsigned_abs();
    push_integer(text, magnitude / 1_000_000);
    let mut fraction = magnitude % 1_000_000;
    if fraction == 0 {
        return;
    }
    let mut digits = *b".000000";
    for digit in digits[1..].iter_mut().rev() {
        *digit += (fraction % 10) as u8;
        fraction /= 10;
    }
    let length = digits.iter().rposition(|&digit| digit != b'0').map_or(0, |last| last + 1);
    text.extend_from_slice(&digits[..length]);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::letor::{ReadOptions, read};

    fn small() -> SynthConfig {
        SynthConfig { queries: 30, seed: 5, ..SynthConfig::default() }
    }

    fn text(config: &SynthConfig) -> Vec<u8> {
        let mut text = Vec::new();
        let bytes = config.write(&mut text).unwrap();
        assert_eq!(bytes, text.len() as u64);
        text
    }

    #[test]
    fn the_written_text_is_read_as_the_generated_dataset() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("synth.txt");
        std::fs::write(&path, text(&small())).unwrap();
        assert_eq!(read(&[path], &ReadOptions::default()).unwrap(), small().generate().unwrap());
    }

    #[test]
    fn parts_and_blocks_of_queries_are_those_of_the_whole() {
        let (config, whole) = (small(), small().generate().unwrap());
        let blocks: Vec<Range<usize>> = config.blocks(0..30, 7, 40_000).collect();
        assert!(blocks.len() > 5 && blocks.iter().all(|block| (1..=7).contains(&block.len())), "{blocks:?}");
        assert!(blocks.iter().zip(&blocks[1..]).all(|(block, next)| block.end == next.start));
        assert_eq!((blocks[0].start, blocks.last().unwrap().end), (0, 30));
        let cells = |block: &Range<usize>| block.clone().map(|q| whole.range(q).len() * 136).sum::<usize>();
        assert!(blocks.iter().all(|block| block.len() == 1 || cells(block) <= 40_000));
        for block in blocks.into_iter().chain(std::iter::once(0..30)) {
            let queries: Vec<usize> = block.clone().collect();
            assert_eq!(generate_part(&config, block).unwrap(), whole.select(&queries));
        }
    }

    #[cfg(feature = "columnar")]
    #[test]
    fn a_table_in_blocks_is_read_as_the_generated_dataset() {
        use crate::data::columnar::Format;
        let folder = tempfile::tempdir().unwrap();
        for (format, name) in [(Format::Arrow, "synth.arrow"), (Format::Parquet, "synth.parquet")] {
            for cells in [1, 40_000, CELLS] {
                let mut table = Vec::new();
                small().write_blocks(format, &mut table, cells).unwrap();
                let path = folder.path().join(name);
                std::fs::write(&path, &table).unwrap();
                let again = crate::data::read(&[path], &ReadOptions::default()).unwrap();
                assert_eq!(again.data_hash(), small().generate().unwrap().data_hash(), "{name}, {cells} cells");
                assert_eq!((again.queries(), &again.query_ids[29]), (30, &"30".to_string()));
                if cells == CELLS {
                    let mut whole = Vec::new();
                    small().generate().unwrap().write_columnar(format, &mut whole).unwrap();
                    assert!(table == whole, "{name}: one block has the bytes of the dataset");
                }
            }
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn more_than_memory_holds_is_refused() {
        let error = SynthConfig { queries: 10_000_000, features: 100_000, ..small() }.generate().unwrap_err();
        let message = error.to_string();
        assert!(
            message.starts_with("queries: a set of 10000000 queries, ") && message.contains(" are free: "),
            "{message}"
        );
    }

    #[test]
    fn threads_do_not_change_a_byte() {
        let on = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| text(&small()))
        };
        assert_eq!(on(1), on(3));
        let fewer = text(&SynthConfig { queries: 10, ..small() });
        assert!(text(&small()).starts_with(&fewer));
        assert_ne!(text(&small()), text(&SynthConfig { seed: 6, ..small() }));
    }

    #[test]
    fn labels_and_lengths_are_those_of_mslr() {
        let data = SynthConfig { queries: 400, features: 10, ..SynthConfig::default() }.generate().unwrap();
        let statistics = data.statistics();
        let documents = statistics.documents as f64;
        for ((label, count), share) in statistics.labels.iter().zip([0.52, 0.23, 0.19, 0.04, 0.02]) {
            assert!((*count as f64 / documents - share).abs() < 0.03, "label {label}: {count} of {documents}");
        }
        let (shortest, median, longest) = statistics.length_range;
        assert!(shortest >= 1 && (90..120).contains(&median) && longest <= 1_251, "{:?}", statistics.length_range);
        data.check().unwrap();
    }

    #[test]
    fn every_hidden_scorer_deals_its_own_labels_in_the_same_shares() {
        let of =
            |scorer| SynthConfig { scorer, queries: 200, features: 8, ..SynthConfig::default() }.generate().unwrap();
        let [smooth, steps, listwise] = [HiddenScorer::Smooth, HiddenScorer::Steps, HiddenScorer::Listwise].map(of);
        // Lengths are drawn before anything else, and with `steps` traits and features, too.
        assert_eq!((&smooth.offsets, &smooth.features), (&steps.offsets, &steps.features));
        assert_eq!(smooth.offsets, listwise.offsets);
        for data in [&smooth, &steps, &listwise] {
            let statistics = data.statistics();
            for ((label, count), share) in statistics.labels.iter().zip([0.52, 0.23, 0.19, 0.04, 0.02]) {
                let found = *count as f64 / statistics.documents as f64;
                assert!((found - share).abs() < 0.04, "label {label}: {found}");
            }
        }
        let equal =
            |data: &RankingDataset| smooth.labels.iter().zip(&data.labels).filter(|(one, two)| one == two).count();
        for data in [&steps, &listwise] {
            assert!(equal(data) < smooth.documents() * 3 / 4, "{} of {}", equal(data), smooth.documents());
        }
    }

    /// With `listwise`, a document scores lower if its list has a better document with similar traits. With `steps`,
    /// there are few distinct scores.
    #[test]
    fn lists_and_steps_decide_where_they_should() {
        let world = |scorer| World::new(&SynthConfig { scorer, features: 1, noise: 0.0, ..SynthConfig::default() });
        let listwise = world(HiddenScorer::Listwise);
        let (best, same, far) =
            ([1.0; 8], [0.5, 0.5, 0.5, 1.0, 1.0, 1.0, 1.0, 1.0], [0.5, 0.5, 0.5, 9.0, 1.0, -9.0, 1.0, 1.0]);
        let merits = listwise.merits(&[best, same, far]);
        assert_eq!(merits[0], listwise.merit(&best));
        assert!((merits[1] - (listwise.merit(&same) - 3.0)).abs() < 1e-12);
        assert!((merits[2] - listwise.merit(&far)).abs() < 1e-12);
        assert_eq!(listwise.merits(&[same]), [listwise.merit(&same)]);
        let steps = world(HiddenScorer::Steps);
        assert_eq!(steps.merit(&[0.6; 8]), steps.merit(&[0.7; 8]));
        assert!(steps.merit(&[0.6; 8]) > steps.merit(&[-0.6; 8]) + 3.0);
    }

    #[test]
    fn features_have_the_scales_of_web_features() {
        let data = small().generate().unwrap();
        let ranges = data.feature_ranges();
        assert!(ranges.iter().any(|&(low, _)| low < -5.0));
        assert!(ranges.iter().any(|&(low, high)| low == 0.0 && high == 1.0));
        assert!(ranges.iter().any(|&(_, high)| high > 1_000.0));
        let constant = |q: usize, f: usize| data.range(q).all(|d| data.row(d)[f] == data.row(data.range(q).start)[f]);
        assert!((0..136).any(|f| (0..30).all(|q| constant(q, f)) && ranges[f].0 < ranges[f].1));
    }

    #[test]
    fn parameters_out_of_range_are_refused() {
        for config in [
            SynthConfig { queries: 0, ..small() },
            SynthConfig { features: 0, ..small() },
            SynthConfig { max_length: 0, ..small() },
            SynthConfig { max_length: 10_001, scorer: HiddenScorer::Listwise, ..small() },
            SynthConfig { median_length: f64::NAN, ..small() },
            SynthConfig { length_deviation: -1.0, ..small() },
            SynthConfig { noise: f64::INFINITY, ..small() },
        ] {
            assert!(matches!(config.generate(), Err(DataError::Refused(_))), "{config:?}");
        }
    }

    #[test]
    fn numbers_have_no_needless_digits() {
        let mut text = Vec::new();
        let values = [0, 1_000_000, -1_500_000, 666_667, -1, 120_000_000_000, 100];
        push_line(&mut text, &prefixes(7), 3, 12, &values);
        let expected = "3 qid:12 1:0 2:1 3:-1.5 4:0.666667 5:-0.000001 6:120000 7:0.0001\n";
        assert_eq!(String::from_utf8(text).unwrap(), expected);
    }
}
