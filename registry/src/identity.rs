//! Which fields name the record that they stand in.

/// The last words of such names, the surest first.
const NAMES: [&str; 11] = [
    "id", "key", "uuid", "guid", "number", "code", "no", "name", "slug", "url", "path",
];

/// Whether a field of this name tells records apart, as far as a name can say, and how surely:
/// 0 is surest.
///
/// ```
/// use accp_registry::identity_rank;
///
/// assert_eq!(identity_rank("reservation_id"), Some(0));
/// assert_eq!(identity_rank("flightNumber"), Some(4));
/// assert_eq!(identity_rank("status"), None);
/// ```
pub fn identity_rank(field: &str) -> Option<usize> {
    let is_end = |c: char| !c.is_ascii_alphanumeric();
    let last = field.trim_end_matches(is_end).rsplit(is_end).next()?;
    let capital = last.rfind(|c: char| c.is_ascii_uppercase());
    // `flightNumber` has two words, `ID` has one.
    let is_inner = |at: &usize| *at > 0 && last.as_bytes()[at - 1].is_ascii_lowercase();
    let word = &last[capital.filter(is_inner).unwrap_or(0)..];
    NAMES
        .iter()
        .position(|name| name.eq_ignore_ascii_case(word))
}
