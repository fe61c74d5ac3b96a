//! `NotOurs`: why something with one of our names is not ours.

/// Why something with one of our names is not ours.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum NotOurs {
    /// It leads elsewhere.
    Link,
    /// A folder, a pipe, a device.
    NotAFile,
    /// A folder was expected.
    NotAFolder,
    /// Its content is not what was written, or cannot be read.
    Content,
    /// A mark that this version cannot read.
    Newer,
}

impl NotOurs {
    /// What is said of it.
    pub(crate) fn words(self) -> &'static str {
        match self {
            Self::Link => "is a link, which burn-rank does not write through",
            Self::NotAFile => "is not a file",
            Self::NotAFolder => "is not a folder",
            Self::Content => "is not as burn-rank wrote it",
            Self::Newer => "was written by a newer version of burn-rank",
        }
    }
}
