//! A BERT of two layers, 32 wide, with random weights and 200 words: opened, trained, saved and used.

mod command;
mod folders;
mod golden;
mod learning;
mod tiny;
