//! The words of names, and the fields that identify a record.

/// Returns the words of a name, in their original spelling. A word begins after a character that
/// is not an ASCII letter or digit, at a capital after a small letter or a digit, and at the last
/// of several capitals when a small letter follows.
///
/// ```
/// use accp_registry::words;
///
/// let of = |name| words(name).collect::<Vec<_>>();
/// assert_eq!(of("task_assignment"), ["task", "assignment"]);
/// assert_eq!(of("flightNumber"), ["flight", "Number"]);
/// assert_eq!(of("HTTPServer2Go"), ["HTTP", "Server2", "Go"]);
/// assert_eq!(of("__userID"), ["user", "ID"]);
/// assert!(of("_").is_empty());
/// ```
pub fn words(name: &str) -> impl Iterator<Item = &str> {
    let runs = name.split(|c: char| !c.is_ascii_alphanumeric());
    runs.flat_map(|mut rest| {
        core::iter::from_fn(move || {
            let bytes = rest.as_bytes();
            let begins = |at: &usize| {
                let small_follows = bytes.get(at + 1).is_some_and(u8::is_ascii_lowercase);
                bytes[*at].is_ascii_uppercase()
                    && (!bytes[at - 1].is_ascii_uppercase() || small_follows)
            };
            let end = (1..rest.len()).find(begins).unwrap_or(rest.len());
            let (word, after) = rest.split_at(end);
            rest = after;
            (!word.is_empty()).then_some(word)
        })
    })
}

/// A field whose name ends with one of these words probably identifies a record. The surest words come first.
const NAMES: [&str; 11] = [
    "id", "key", "uuid", "guid", "number", "code", "no", "name", "slug", "url", "path",
];

/// Returns the rank of a field that probably identifies a record, by its name; `None` for other names. Rank 0 is the
/// surest.
///
/// ```
/// use accp_registry::identity_rank;
///
/// assert_eq!(identity_rank("reservation_id"), Some(0));
/// assert_eq!(identity_rank("flightNumber"), Some(4));
/// assert_eq!(identity_rank("status"), None);
/// ```
pub fn identity_rank(field: &str) -> Option<usize> {
    let word = words(field).last()?;
    NAMES
        .iter()
        .position(|name| name.eq_ignore_ascii_case(word))
}
