//! Errors that the compiler composes while it evaluates constants.

use core::option::Option;

use super::shape::{Shape, equal};

/// The greatest number of bytes of an error; a longer text is cut.
const SPACE: usize = 1024;
/// The greatest number of bytes of a name that may be a misspelling.
const LONGEST: usize = 32;

/// An error.
#[derive(Debug)]
pub struct Said {
    bytes: [u8; SPACE],
    length: usize,
}

impl Said {
    /// Returns the text.
    pub const fn as_str(&self) -> &str {
        match core::str::from_utf8(self.bytes.split_at(self.length).0) {
            Ok(text) => text,
            // A registry's names are ASCII, so no character is cut.
            Err(_) => "the variants are not those of the registry",
        }
    }

    pub(super) const fn of(start: &str) -> Self {
        let empty = Self {
            bytes: [0; SPACE],
            length: 0,
        };
        empty.and(start)
    }

    pub(super) const fn and(mut self, text: &str) -> Self {
        let text = text.as_bytes();
        let mut at = 0;
        while at < text.len() && self.length < SPACE {
            self.bytes[self.length] = text[at];
            self.length += 1;
            at += 1;
        }
        self
    }
}

/// Returns why a type cannot represent an enumeration of the registry with these names and wire
/// texts: the first variant that is odd or missing. `start` begins the error.
pub const fn names_fault(
    shape: Option<Shape>,
    names: &[(&str, &str)],
    start: &str,
) -> Option<Said> {
    let own = match shape {
        Option::Some(Shape::Names(own)) => own,
        // `Holds` refuses a struct.
        Option::Some(Shape::Schema(_) | Shape::Unknown) | Option::None => return Option::None,
    };
    let mut at = 0;
    while at < own.len() {
        let name = own[at].0;
        if find(names, name).is_none() {
            let said = Said::of(start).and("the variant `").and(name);
            let said = said.and("` is not among them");
            return Option::Some(match nearest(name, names) {
                Option::Some(near) => said.and("; did you mean `").and(near).and("`?"),
                Option::None => said,
            });
        }
        at += 1;
    }
    let mut at = 0;
    while at < names.len() {
        let (name, wire) = names[at];
        match find(own, name) {
            Option::None => {
                let said = Said::of(start).and("a variant `").and(name);
                return Option::Some(said.and("` is missing"));
            }
            Option::Some(other) if !equal(other, wire) => {
                let said = Said::of(start).and("the variant `").and(name);
                return Option::Some(if equal(name, wire) {
                    said.and("` has a symbol, and the registry has none for it")
                } else {
                    said.and("` needs `symbol = \"").and(wire).and("\"`")
                });
            }
            Option::Some(_) => {}
        }
        at += 1;
    }
    Option::None
}

/// Returns the wire text of a name.
const fn find<'n>(names: &[(&'n str, &'n str)], name: &str) -> Option<&'n str> {
    let mut at = 0;
    while at < names.len() {
        if equal(names[at].0, name) {
            return Option::Some(names[at].1);
        }
        at += 1;
    }
    Option::None
}

/// Returns the name that is a misspelling away, as `accp_registry::nearest` does, which cannot run
/// in a constant.
const fn nearest<'n>(name: &str, names: &[(&'n str, &'n str)]) -> Option<&'n str> {
    let mut best = Option::None;
    let mut least = usize::MAX;
    let mut at = 0;
    while at < names.len() {
        let other = names[at].0;
        let longer = if name.len() > other.len() {
            name.len()
        } else {
            other.len()
        };
        let limit = if longer < 6 { 1 } else { longer / 3 };
        if longer <= LONGEST {
            let distance = distance(name.as_bytes(), other.as_bytes());
            if distance <= limit && distance < name.len() && distance < least {
                least = distance;
                best = Option::Some(other);
            }
        }
        at += 1;
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
    use super::{Said, Shape, names_fault};

    /// Returns the error for an enum with these variants in a field `enum(up=+,down=-,level)`.
    fn fault(own: &'static [(&'static str, &'static str)]) -> Option<Said> {
        let names = [("up", "+"), ("down", "-"), ("level", "level")];
        names_fault(Some(Shape::Names(own)), &names, "trend: ")
    }

    #[test]
    fn the_odd_variant_is_named() {
        for (own, error) in [
            (&[("up", "+"), ("down", "-"), ("level", "level")][..], None),
            (
                &[("up", "+"), ("dwon", "-"), ("level", "level")],
                Some("trend: the variant `dwon` is not among them"),
            ),
            (
                &[("up", "+"), ("down", "-"), ("levle", "levle")],
                Some("trend: the variant `levle` is not among them"),
            ),
            (
                &[("up", "+"), ("down", "-"), ("levels", "levels")],
                Some("trend: the variant `levels` is not among them; did you mean `level`?"),
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
            assert_eq!(fault(own).as_ref().map(Said::as_str), error);
        }
    }
}
