//! The shape of the house: who imports whom, how long a file is, which crate knows which.
//!
//! What does not hold yet stands in a table beside its rule, with the name of what is still to
//! be mended. A table may only shrink: whatever goes beyond it fails.

#[path = "structure/arrows.rs"]
mod arrows;
#[path = "structure/circles.rs"]
mod circles;
#[path = "structure/imports.rs"]
mod imports;
#[path = "structure/lines.rs"]
mod lines;
#[path = "structure/tree.rs"]
mod tree;
#[path = "structure/workspace.rs"]
mod workspace;
