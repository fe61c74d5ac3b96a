//! The positions at which documents were shown to users when their labels, such as clicks, were collected.
//!
//! A position is a category: a rank such as `3`, or a place on a page such as `top`. Categories have no order and no
//! distance. Only training uses positions.

use std::collections::HashMap;
use std::ops::Range;

/// The position of each document of a dataset; empty if positions are not known.
///
/// ```
/// use burn_rank::data::Positions;
///
/// let positions = Positions::new(["1", "2", "1"]);
/// assert_eq!(positions.names(), ["1", "2"]);
/// assert_eq!(positions.of_documents(), [0, 1, 0]);
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
            let place = places.get(name.as_ref()).copied().unwrap_or_else(|| {
                let place = self.names.len() as u32;
                places.insert(name.as_ref().to_owned(), place);
                self.names.push(name.as_ref().to_owned());
                place
            });
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
}
