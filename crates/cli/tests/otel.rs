//! The tests of the command, with the feature `otel`.

mod cli;
