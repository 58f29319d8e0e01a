//! The structure of the workspace: imports between files, the length of files, the dependencies of crates, the
//! rules of the doors, and documents.
//!
//! A rule whose goal is not reached yet has a table with the present limit. The limit may only go
//! down.

mod arrows;
mod book;
mod circles;
mod documents;
mod doors;
mod imports;
mod lines;
mod programs;
mod tree;
mod workspace;
