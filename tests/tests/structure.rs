//! The structure of the workspace: imports between files, length of files, dependencies of crates, the rules of the doors,
//! and documents.
//!
//! A rule whose goal is not reached yet has a table with the present limit. The limit may only go
//! down.

#[path = "structure/arrows.rs"]
mod arrows;
#[path = "structure/book.rs"]
mod book;
#[path = "structure/circles.rs"]
mod circles;
#[path = "structure/documents.rs"]
mod documents;
#[path = "structure/doors.rs"]
mod doors;
#[path = "structure/imports.rs"]
mod imports;
#[path = "structure/lines.rs"]
mod lines;
#[path = "structure/tree.rs"]
mod tree;
#[path = "structure/workspace.rs"]
mod workspace;
