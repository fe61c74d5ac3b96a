//! The positions at which documents were shown to users when their labels, such as clicks, were collected.
//!
//! A position is a category: a rank such as `3`, or a place on a page such as `top`. Categories have no order and no
//! distance. Only training uses positions.

use std::collections::HashMap;
use std::ops::Range;

use burn::tensor::TensorData;

use super::dataset::RankingDataset;
use super::error::DataError;
use super::padding::Padding;
use crate::refusal::Refusal;
use crate::text::counted;

/// The position of each document of a dataset; empty if positions are not known.
///
/// ```
/// use burn_rank::data::Positions;
///
/// let positions = Positions::new(["1", "2", "1"]);
/// assert_eq!((positions.names(), positions.of_documents()), (&["1".to_string(), "2".to_string()][..], &[0, 1, 0][..]));
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Positions {
    names: Vec<String>,
    pub(super) of: Vec<u32>,
}

impl Positions {
    /// Creates the positions of documents from one name for each document.
    pub fn new<S: AsRef<str>>(names: impl IntoIterator<Item = S>) -> Self {
        let mut positions = Self::default();
        positions.extend(names);
        positions
    }

    /// Returns whether no document has a position.
    pub fn is_empty(&self) -> bool {
        self.of.is_empty()
    }

    /// Returns the names of the positions, in the order in which they first occurred.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// Returns the position of each document, as an index into [`names`](Self::names).
    pub fn of_documents(&self) -> &[u32] {
        &self.of
    }

    /// Returns the number of documents at each position.
    pub fn counts(&self) -> Vec<usize> {
        let mut counts = vec![0; self.names.len()];
        self.of.iter().for_each(|&position| counts[position as usize] += 1);
        counts
    }

    /// Appends the positions of further documents.
    pub(super) fn extend<S: AsRef<str>>(&mut self, names: impl IntoIterator<Item = S>) {
        let mut places: HashMap<String, u32> = self.names.iter().cloned().zip(0..).collect();
        for name in names {
            let place = match places.get(name.as_ref()) {
                Some(&place) => place,
                None => {
                    let place = self.names.len() as u32;
                    places.insert(name.as_ref().to_owned(), place);
                    self.names.push(name.as_ref().to_owned());
                    place
                }
            };
            self.of.push(place);
        }
    }

    /// Appends the positions of some documents of another dataset.
    pub(super) fn append(&mut self, from: &Self, documents: Range<usize>) {
        let Some(of) = from.of.get(documents) else { return };
        if self.names.is_empty() {
            self.names.clone_from(&from.names);
        }
        match self.names == from.names {
            true => self.of.extend_from_slice(of),
            false => self.extend(of.iter().map(|&place| &from.names[place as usize])),
        }
    }

    /// Returns the name of each document's position.
    pub(in crate::data) fn of_each(&self) -> impl Iterator<Item = &str> {
        self.of.iter().map(|&place| self.names[place as usize].as_str())
    }

    /// Gathers positions into rows, with 0 for padding.
    pub(crate) fn gather(&self, padding: &Padding) -> Option<TensorData> {
        (!self.is_empty()).then(|| padding.gather(&self.of).convert::<i64>())
    }
}

impl RankingDataset {
    /// Sets the position at which each document was shown; [`Positions::default`] removes them.
    ///
    /// # Errors
    /// Returns [`DataError::Refused`] if the numbers of positions and documents differ.
    pub fn with_positions(mut self, positions: Positions) -> Result<Self, DataError> {
        self.positions = positions;
        self.check_positions()?;
        Ok(self)
    }

    pub(super) fn check_positions(&self) -> Result<(), DataError> {
        let (found, documents) = (self.positions.of.len(), self.documents());
        if found == 0 || found == documents {
            return Ok(());
        }
        let found = counted(found, "position");
        Err(Refusal::new("positions", found, format!("{documents}, one per document, or none")).into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn three() -> RankingDataset {
        let data = RankingDataset::builder().features(vec![1.0, 2.0, 1.0], 1).labels(vec![0.0, 1.0, 1.0]);
        data.query_sizes(&[2, 1]).build().unwrap()
    }

    #[test]
    fn positions_follow_their_documents() {
        let data = three().with_positions(Positions::new(["top", "2", "2"])).unwrap();
        assert_eq!(data.positions.counts(), [1, 2]);
        let turned = data.select(&[1, 0]);
        assert_eq!(turned.positions.of_each().collect::<Vec<_>>(), ["2", "top", "2"]);
        let padding = Padding::from_queries(&data, &[1, 0]);
        let gathered = data.positions.gather(&padding).unwrap();
        assert_eq!(gathered.iter::<i64>().collect::<Vec<_>>(), [1, 0, 0, 1]);
        let mut other = three().with_positions(Positions::new(["2", "3", "top"])).unwrap();
        other.query_ids = vec!["a".to_string(), "b".to_string()];
        let joined = RankingDataset::concat(&[&data, &other]).unwrap();
        assert_eq!(joined.positions.names(), ["top", "2", "3"]);
        assert_eq!(joined.positions.of_documents(), [0, 1, 1, 1, 2, 0]);
        joined.check().unwrap();
        other.positions = Positions::default();
        let message = RankingDataset::concat(&[&data, &other]).unwrap_err().to_string();
        assert_eq!(message, "dataset: positions of a part is none, expected positions in all parts, or in none");
    }

    #[test]
    fn positions_are_part_of_the_hash_and_of_training_alone() {
        let plain = three();
        let data = plain.clone().with_positions(Positions::new(["1", "2", "1"])).unwrap();
        assert_ne!(data.data_hash(), plain.data_hash());
        assert_ne!(
            data.data_hash(),
            plain.clone().with_positions(Positions::new(["1", "2", "2"])).unwrap().data_hash()
        );
        // Names that do not occur change nothing.
        assert_eq!(data.select(&[1]).data_hash(), {
            let one = plain.select(&[1]);
            one.with_positions(Positions::new(["1"])).unwrap().data_hash()
        });
        assert_eq!(data.without_weights(), plain);
        let message = plain.with_positions(Positions::new(["1"])).unwrap_err().to_string();
        assert_eq!(message, "positions = 1 position: expected 3, one per document, or none");
    }
}
