//! Shared code of the benches: races between contenders, figures with their goals, and the measured sessions.

mod goal;
mod race;
pub mod talk;

pub use goal::{Goal, figure};
pub use race::{Contender, Finish, contender, many, median, quantile, race};
