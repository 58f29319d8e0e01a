//! Recovery: what left the list is found again in archives and offloaded files.

mod corpus;
mod folder;
mod needle;
mod needles;
mod queries;
mod torn;
mod updates;
