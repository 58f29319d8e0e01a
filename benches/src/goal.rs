//! Figures with their goals.

/// What a figure is to be.
#[derive(Debug, Clone, Copy)]
pub enum Goal {
    /// No less than this.
    AtLeast(f64),
    /// No more than this.
    AtMost(f64),
    /// It is told for what it is worth.
    None,
}

/// Prints a figure and how it stands to its goal.
pub fn figure(what: &str, value: f64, unit: &str, goal: Goal) {
    let (sign, bound, met) = match goal {
        Goal::AtLeast(bound) => ("at least", bound, value >= bound),
        Goal::AtMost(bound) => ("at most", bound, value <= bound),
        Goal::None => return println!("  {what:<52} {value:>10.2} {unit}"),
    };
    let outcome = if met { "met" } else { "MISSED" };
    println!("  {what:<52} {value:>10.2} {unit:<18} goal: {sign} {bound}, {outcome}");
}
