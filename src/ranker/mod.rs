//! A trained ranker as one saved artefact.
