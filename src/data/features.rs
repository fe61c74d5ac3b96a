//! The values of the features of a dataset: in memory of its own, or shared with a mapped file.

use std::fmt;
use std::ops::{Deref, DerefMut};

#[cfg(feature = "columnar")]
use arrow_buffer::ScalarBuffer;

/// Values of features, `[documents x features]`, row-major. It is a slice; whoever changes it changes a copy of its own,
/// which is made where the values belong to a mapped file.
#[derive(Clone, Default)]
pub struct Features {
    own: Vec<f32>,
    /// The values of a file, in place of `own`.
    #[cfg(feature = "columnar")]
    mapped: Option<ScalarBuffer<f32>>,
}

impl Features {
    /// Returns the values as a vector of its own, to be changed in place.
    pub fn to_mut(&mut self) -> &mut Vec<f32> {
        #[cfg(feature = "columnar")]
        if let Some(values) = self.mapped.take() {
            self.own = values.to_vec();
        }
        &mut self.own
    }
}

impl Deref for Features {
    type Target = [f32];

    fn deref(&self) -> &[f32] {
        #[cfg(feature = "columnar")]
        if let Some(values) = &self.mapped {
            return values;
        }
        &self.own
    }
}

impl DerefMut for Features {
    fn deref_mut(&mut self) -> &mut [f32] {
        self.to_mut()
    }
}

impl From<Vec<f32>> for Features {
    fn from(own: Vec<f32>) -> Self {
        Self {
            own,
            #[cfg(feature = "columnar")]
            mapped: None,
        }
    }
}

impl From<Features> for Vec<f32> {
    fn from(mut values: Features) -> Self {
        std::mem::take(values.to_mut())
    }
}

#[cfg(feature = "columnar")]
impl From<ScalarBuffer<f32>> for Features {
    fn from(values: ScalarBuffer<f32>) -> Self {
        Self { own: Vec::new(), mapped: Some(values) }
    }
}

#[cfg(feature = "columnar")]
impl From<Features> for ScalarBuffer<f32> {
    fn from(values: Features) -> Self {
        values.mapped.unwrap_or_else(|| values.own.into())
    }
}

impl FromIterator<f32> for Features {
    fn from_iter<I: IntoIterator<Item = f32>>(values: I) -> Self {
        values.into_iter().collect::<Vec<f32>>().into()
    }
}

impl<'a> IntoIterator for &'a Features {
    type Item = &'a f32;
    type IntoIter = std::slice::Iter<'a, f32>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl fmt::Debug for Features {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        self[..].fmt(formatter)
    }
}

impl<T: AsRef<[f32]> + ?Sized> PartialEq<T> for Features {
    fn eq(&self, other: &T) -> bool {
        self[..] == *other.as_ref()
    }
}

impl AsRef<[f32]> for Features {
    fn as_ref(&self) -> &[f32] {
        self
    }
}
