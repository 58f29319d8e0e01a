//! Methods that read the JSON values of a registry document. Each notes a problem if a value does not have the
//! expected form.

use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use serde_json::{Map, Value};

use crate::json::child;
use crate::nearest::nearest;
use crate::problem::Problem;
use crate::protocol::{NameRule, Protocol};

/// The largest version: up to it, every JSON reader reads the same number (RFC 7493).
const MAX_VERSION: u64 = (1 << 53) - 1;

/// How many problems of a document are compared with the document's own names, to suggest one. Without this bound, the
/// time for a document of many wrong names would grow with its square.
pub(crate) const SUGGESTIONS: usize = 100;

/// Reads JSON values and notes what is wrong with them. Every method takes the JSON pointer of the
/// value.
pub struct Reader<'p> {
    pub(crate) protocol: &'static Protocol,
    pub(crate) problems: &'p mut Vec<Problem>,
}

impl Reader<'_> {
    /// Notes a problem.
    pub fn report(&mut self, problem: Problem) {
        self.problems.push(problem);
    }

    /// Returns whether no problem is noted yet.
    pub fn is_fine(&self) -> bool {
        self.problems.is_empty()
    }

    /// Notes every key of an object that is not one of these, with the key that was probably meant.
    pub fn known_keys(&mut self, at: &str, object: &Map<String, Value>, known: &[&str]) {
        for key in object.keys().filter(|key| !known.contains(&key.as_str())) {
            let problem = Problem::new(child(at, key), format!("unknown key `{key}`"));
            // A known key that the object lacks is suggested first.
            let missing = || {
                known
                    .iter()
                    .copied()
                    .filter(|known| !object.contains_key(*known))
            };
            self.report(match nearest(key, missing()) {
                Some(near) => problem.cure(format!("did you mean `{near}`?")),
                None => suggest(problem, key, "keys here", || known.iter().copied()),
            });
        }
    }

    /// Checks that a name is a key of the grammar.
    pub(crate) fn name(&mut self, at: &str, what: &str, name: &str) {
        self.fits(at, what, self.protocol.key, name);
    }

    /// Checks that the rule allows a name.
    pub fn fits(&mut self, at: &str, what: &str, rule: NameRule, name: &str) {
        if !(rule.fits)(name) {
            self.report(
                Problem::new(at, format!("`{name}` is not a valid {what}"))
                    .cure(format!("it is one or more of {}", rule.list)),
            );
        }
    }

    pub(crate) fn version(&mut self, at: &str, object: &Map<String, Value>) -> Option<u64> {
        let version = object.get("version")?;
        let number = version.as_u64().filter(|version| *version <= MAX_VERSION);
        if number.is_none() {
            self.wrong(
                &child(at, "version"),
                "a whole number from 0 to 2^53 - 1",
                version,
            );
        }
        number
    }

    /// Reads an array of strings, each with its pointer. A missing array is empty.
    pub fn strings<'j>(&mut self, at: &str, json: Option<&'j Value>) -> Vec<(String, &'j str)> {
        let mut out = Vec::new();
        for (index, json) in self.array(at, json).iter().enumerate() {
            let at = child(at, index);
            match json.as_str() {
                Some(text) => out.push((at, text)),
                None => self.wrong(&at, "a string", json),
            }
        }
        out
    }

    /// Reads a string.
    pub fn string(&mut self, at: &str, json: Option<&Value>) -> Option<String> {
        let json = json?;
        if !json.is_string() {
            self.wrong(at, "a string", json);
        }
        json.as_str().map(ToOwned::to_owned)
    }

    /// Reads an array. A missing array is empty.
    pub fn array<'j>(&mut self, at: &str, json: Option<&'j Value>) -> &'j [Value] {
        match json {
            Some(Value::Array(items)) => items,
            Some(other) => {
                self.wrong(at, "an array", other);
                &[]
            }
            None => &[],
        }
    }

    /// Reads an object.
    pub fn object<'j>(
        &mut self,
        at: &str,
        json: Option<&'j Value>,
    ) -> Option<&'j Map<String, Value>> {
        let json = json?;
        if !json.is_object() {
            self.wrong(at, "an object", json);
        }
        json.as_object()
    }

    /// Adds the nearest of the document's own names to a problem, or all of them. Only the first
    /// [problems](SUGGESTIONS) get them.
    pub(crate) fn suggest<'a, I: Iterator<Item = &'a str>>(
        &self,
        problem: Problem,
        name: &str,
        what: &str,
        known: impl Fn() -> I,
    ) -> Problem {
        if self.problems.len() < SUGGESTIONS {
            suggest(problem, name, what, known)
        } else {
            problem.cure(format!(
                "correct the first {SUGGESTIONS} mistakes; then this message names the {what}"
            ))
        }
    }

    /// Notes that a value is not what was expected.
    pub fn wrong(&mut self, at: &str, expected: &str, found: &Value) {
        let message = format!("expected {expected}, found {}", Shown(found));
        self.report(Problem::new(at, message).cure(format!("replace it with {expected}")));
    }
}

/// Adds the nearest known name to a problem, or all known names.
pub fn suggest<'a, I: Iterator<Item = &'a str>>(
    problem: Problem,
    name: &str,
    what: &str,
    known: impl Fn() -> I,
) -> Problem {
    let cure = match nearest(name, known()) {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("the {what} are {}", known().collect::<Vec<_>>().join(", ")),
    };
    problem.cure(cure)
}

/// Shows a JSON value in an error message: its kind, and the value if it is short.
pub(crate) struct Shown<'a>(pub(crate) &'a Value);

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const LONGEST: usize = 40;
        match self.0 {
            Value::Null => f.write_str("null"),
            Value::Bool(value) => write!(f, "{value}"),
            Value::Number(number) if number.is_f64() => write!(f, "the number {number}"),
            Value::Number(number) => write!(f, "the integer {number}"),
            Value::String(text) if text.chars().count() <= LONGEST => {
                write!(f, "the string {text:?}")
            }
            Value::String(_) => f.write_str("a long string"),
            Value::Array(_) => f.write_str("an array"),
            Value::Object(_) => f.write_str("an object"),
        }
    }
}
