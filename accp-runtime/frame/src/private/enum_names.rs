//! Compares the variants of an enum with the names that the registry declares, while the compiler evaluates constants.

use core::option::Option;

use super::const_error::ConstError;
use super::shape::{Entry, Shape, equal, same};

/// The greatest number of bytes of a name that the search for a similar name compares.
const LONGEST: usize = 32;
/// The greatest number of names that the search for a similar name compares.
const TRIES: usize = 256;

/// The greatest number of differences in one error.
const LISTED: usize = 8;

/// Returns the error for a type that cannot represent an enumeration of the registry. The error names the variants that
/// the registry does not have, those that are missing, and those with another symbol. `names` are the names of the
/// registry, as a list like [`Shape::Names`]. The error begins with `start`.
///
/// Both lists ascend, so one merge of them finds the differences. The compiler limits the time for a constant, so
/// nothing here may grow with the square of the number of names.
pub const fn names_fault(shape: Option<Shape>, names: &str, start: &str) -> Option<ConstError> {
    let own = match shape {
        Option::Some(Shape::Names(own)) => own,
        // A struct is not an enumeration of names. `Holds` refuses it with an error of its own.
        Option::Some(Shape::Schema(_) | Shape::Unknown) | Option::None => return Option::None,
    };
    if equal(own, names) {
        return Option::None;
    }
    let mut error = ConstError::of(start);
    let (mut count, mut has_odd) = (0, false);
    let mut merge = Merge::over(own, names);
    loop {
        let merged = merge.next();
        match &merged {
            Merged::End => break,
            Merged::Both(own, entry) if same(own.wire, entry.wire) => continue,
            _ => {}
        }
        if count == LISTED {
            error = error.and(b"; and more");
            break;
        }
        if count > 0 {
            error = error.and(b"; ");
        }
        count += 1;
        error = match merged {
            Merged::Own(name) => {
                let error = error.and(b"the variant `").and(name);
                let error = error.and(b"` is not among them");
                // The search for a similar name reads both lists, so it is done only for the first such variant.
                let near = if has_odd {
                    Option::None
                } else {
                    nearest(name, own, names)
                };
                has_odd = true;
                match near {
                    Option::Some(near) => error.and(b" (did you mean `").and(near).and(b"`?)"),
                    Option::None => error,
                }
            }
            Merged::Missing(name) => error.and(b"a variant `").and(name).and(b"` is missing"),
            Merged::Both(_, Entry { name, wire, .. }) => {
                let error = error.and(b"the variant `").and(name);
                if same(name, wire) {
                    error.and(b"` has a symbol, and the registry has none for it")
                } else {
                    error.and(b"` needs `symbol = \"").and(wire).and(b"\"`")
                }
            }
            Merged::End => error,
        };
    }
    if count == 0 {
        return Option::None;
    }
    Option::Some(error)
}

/// Merges the names of a type and those of the registry, which both ascend.
struct Merge<'n> {
    own: &'n [u8],
    names: &'n [u8],
}

/// The next name of a merge.
enum Merged<'n> {
    /// A name that only the type has.
    Own(&'n [u8]),
    /// A name that only the registry has.
    Missing(&'n [u8]),
    /// A name of both: the entry of the type, and the entry of the registry.
    Both(Entry<'n>, Entry<'n>),
    /// Both lists have ended.
    End,
}

impl<'n> Merge<'n> {
    const fn over(own: &'n str, names: &'n str) -> Self {
        Self {
            own: own.as_bytes(),
            names: names.as_bytes(),
        }
    }

    const fn next(&mut self) -> Merged<'n> {
        match (Entry::first(self.own), Entry::first(self.names)) {
            (Option::None, Option::None) => Merged::End,
            (Option::Some(own), Option::None) => {
                self.own = own.rest;
                Merged::Own(own.name)
            }
            (Option::None, Option::Some(entry)) => {
                self.names = entry.rest;
                Merged::Missing(entry.name)
            }
            (Option::Some(own), Option::Some(entry)) => {
                if same(own.name, entry.name) {
                    (self.own, self.names) = (own.rest, entry.rest);
                    Merged::Both(own, entry)
                } else if is_before(own.name, entry.name) {
                    self.own = own.rest;
                    Merged::Own(own.name)
                } else {
                    self.names = entry.rest;
                    Merged::Missing(entry.name)
                }
            }
        }
    }
}

const fn is_before(a: &[u8], b: &[u8]) -> bool {
    let mut at = 0;
    while at < a.len() && at < b.len() && a[at] == b[at] {
        at += 1;
    }
    at < b.len() && (at == a.len() || a[at] < b[at])
}

/// Returns the name of `names` that is most similar to `name`, among those that the type lacks. It follows
/// `accp_registry::nearest`, which cannot run in a constant.
const fn nearest<'n>(name: &[u8], own: &'n str, names: &'n str) -> Option<&'n [u8]> {
    let mut best = Option::None;
    let mut least = usize::MAX;
    let mut tries = 0;
    let mut merge = Merge::over(own, names);
    while tries < TRIES {
        let other = match merge.next() {
            Merged::Missing(other) => other,
            Merged::Own(_) | Merged::Both(..) => continue,
            Merged::End => break,
        };
        let longer = if name.len() > other.len() {
            name.len()
        } else {
            other.len()
        };
        let limit = if longer < 6 { 1 } else { longer / 3 };
        if longer <= LONGEST && name.len().abs_diff(other.len()) <= limit {
            tries += 1;
            let distance = distance(name, other);
            if distance <= limit && distance < name.len() && distance < least {
                least = distance;
                best = Option::Some(other);
            }
        }
    }
    best
}

/// Returns the number of insertions, deletions and replacements between two texts.
const fn distance(a: &[u8], b: &[u8]) -> usize {
    let mut row = [0; LONGEST + 1];
    let mut j = 0;
    while j <= b.len() {
        row[j] = j;
        j += 1;
    }
    let mut i = 0;
    while i < a.len() {
        let mut corner = row[0];
        row[0] = i + 1;
        let mut j = 0;
        while j < b.len() {
            let mut least = corner + (a[i] != b[j]) as usize;
            if row[j] + 1 < least {
                least = row[j] + 1;
            }
            if row[j + 1] + 1 < least {
                least = row[j + 1] + 1;
            }
            corner = row[j + 1];
            row[j + 1] = least;
            j += 1;
        }
        i += 1;
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use alloc::borrow::ToOwned as _;
    use alloc::boxed::Box;
    use alloc::format;
    use alloc::string::String;
    use alloc::vec::Vec;

    use super::{ConstError, LISTED, Shape, names_fault};

    /// Returns the error for an enum with these variants in a field `enum(up=+,down=-,level)`.
    fn fault(own: &[(&str, &str)]) -> Option<ConstError> {
        let own = Box::leak(listed(own).into_boxed_str());
        let names = listed(&[("up", "+"), ("down", "-"), ("level", "level")]);
        names_fault(Some(Shape::Names(own)), &names, "trend: ")
    }

    /// Returns a list as the derive writes it.
    fn listed(names: &[(&str, &str)]) -> String {
        let mut names = names.to_vec();
        names.sort_unstable();
        let names: Vec<_> = names
            .iter()
            .map(|(name, wire)| format!("{name}\0{wire}\0"))
            .collect();
        names.concat()
    }

    #[test]
    fn the_odd_variant_is_named() {
        for (own, error) in [
            (&[("up", "+"), ("down", "-"), ("level", "level")][..], None),
            (
                &[("up", "+"), ("dwon", "-"), ("level", "level")],
                Some("trend: a variant `down` is missing; the variant `dwon` is not among them"),
            ),
            (
                &[("up", "+"), ("down", "-"), ("levle", "levle")],
                Some("trend: a variant `level` is missing; the variant `levle` is not among them"),
            ),
            (
                &[("up", "+"), ("down", "-"), ("levels", "levels")],
                Some(
                    "trend: a variant `level` is missing; the variant `levels` is not among them (did you mean `level`?)",
                ),
            ),
            (
                &[("up", "+"), ("down", "-")],
                Some("trend: a variant `level` is missing"),
            ),
            (
                &[("up", "up"), ("down", "-"), ("level", "level")],
                Some("trend: the variant `up` needs `symbol = \"+\"`"),
            ),
            (
                &[("up", "+"), ("down", "-"), ("level", "=")],
                Some("trend: the variant `level` has a symbol, and the registry has none for it"),
            ),
        ] {
            assert_eq!(fault(own).as_ref().map(ConstError::as_str), error);
        }
    }

    #[test]
    fn of_many_names_the_odd_one_is_found() {
        let texts: Vec<String> = (0..5_000).map(|at| format!("name_number_{at}")).collect();
        let all: Vec<(&str, &str)> = texts.iter().map(|name| (&**name, &**name)).collect();
        let names = listed(&all);
        let fault = |own: &[(&str, &str)]| {
            let own = Box::leak(listed(own).into_boxed_str());
            let error = names_fault(Some(Shape::Names(own)), &names, "");
            error.map(|error| error.as_str().to_owned())
        };
        assert_eq!(fault(&all), None);
        let without = [&all[..4_000], &all[4_001..]].concat();
        let missing = "a variant `name_number_4000` is missing";
        assert_eq!(fault(&without).as_deref(), Some(missing));
        let odd = [&without[..], &[("name_nmber_4000", "x")]].concat();
        let error = "the variant `name_nmber_4000` is not among them (did you mean `name_number_4000`?); a variant \
                     `name_number_4000` is missing";
        assert_eq!(fault(&odd).as_deref(), Some(error));
        let many = fault(&all[20..]).unwrap();
        assert_eq!(many.matches("is missing").count(), LISTED);
        assert!(
            many.ends_with("`name_number_15` is missing; and more"),
            "{many}"
        );
    }
}
