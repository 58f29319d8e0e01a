//! Prints measured figures and whether they meet their goals.

/// The goal of a figure.
#[derive(Debug, Clone, Copy)]
pub enum Goal {
    /// The figure must be this or more.
    AtLeast(f64),
    /// The figure must be this or less.
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
