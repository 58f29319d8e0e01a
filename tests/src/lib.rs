//! What the tests and the fuzz targets share: checks that fail with the input in hand.

pub mod judges;
