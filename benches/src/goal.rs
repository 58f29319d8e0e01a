//! Figures with their goals.

/// The goal of a figure.
#[derive(Debug, Clone, Copy)]
pub enum Goal {
    /// No less than this.
    AtLeast(f64),
    /// No more than this.
    AtMost(f64),
    /// The figure has no goal.
    None,
}

/// Prints a figure, and whether it meets its goal.
pub fn figure(what: &str, value: f64, unit: &str, goal: Goal) {
    let (sign, bound, met) = match goal {
        Goal::AtLeast(bound) => ("at least", bound, value >= bound),
        Goal::AtMost(bound) => ("at most", bound, value <= bound),
        Goal::None => return println!("  {what:<52} {value:>10.2} {unit}"),
    };
    let outcome = if met { "met" } else { "MISSED" };
    println!("  {what:<52} {value:>10.2} {unit:<18} goal: {sign} {bound}, {outcome}");
}
