//! The text of a field, with places for parameters.

use std::collections::BTreeMap;

use super::Parameter;
use crate::limits::Limits;

/// A text with parameters in it, such as `rpt://payroll/{period}:pdf`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Template(Vec<Part>);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Part {
    Text(String),
    /// The index of a parameter, and a rewriting for this place alone.
    Value(usize, Option<Rewrite>),
}

/// A change of the characters of a value.
///
/// ```
/// use accp_aacp::Rewrite;
///
/// let rewrite = Rewrite::named("space-to-hyphen").expect("a rewriting");
/// assert_eq!(rewrite.apply("Acme Ltd"), "Acme-Ltd");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rewrite {
    /// Letters in upper case.
    Upper,
    /// Letters in lower case.
    Lower,
    /// `-` for each space.
    SpaceToHyphen,
    /// `_` for each space.
    SpaceToUnderscore,
    /// `_` for each `-`.
    HyphenToUnderscore,
}

impl Rewrite {
    const ALL: [(&'static str, Self); 5] = [
        ("upper", Self::Upper),
        ("lower", Self::Lower),
        ("space-to-hyphen", Self::SpaceToHyphen),
        ("space-to-underscore", Self::SpaceToUnderscore),
        ("hyphen-to-underscore", Self::HyphenToUnderscore),
    ];

    pub(super) fn names() -> impl Iterator<Item = &'static str> {
        Self::ALL.iter().map(|(name, _)| *name)
    }

    /// Returns the rewriting of this name.
    pub fn named(name: &str) -> Option<Self> {
        let mut all = Self::ALL.iter();
        all.find(|(other, _)| *other == name)
            .map(|(_, found)| *found)
    }

    /// Returns the name of the rewriting in a workflow.
    pub fn as_str(self) -> &'static str {
        let mut all = Self::ALL.iter();
        all.find(|(_, other)| *other == self)
            .map_or("", |(name, _)| name)
    }

    /// Returns the value, rewritten.
    pub fn apply(self, value: &str) -> String {
        match self {
            Self::Upper => value.to_uppercase(),
            Self::Lower => value.to_lowercase(),
            Self::SpaceToHyphen => value.replace(' ', "-"),
            Self::SpaceToUnderscore => value.replace(' ', "_"),
            Self::HyphenToUnderscore => value.replace('-', "_"),
        }
    }
}

impl Template {
    /// Reads a template. `parameters` maps the names of the parameters to their indices.
    ///
    /// # Errors
    /// What is wrong, and the cure.
    pub(super) fn parse(
        text: &str,
        parameters: &BTreeMap<&str, usize>,
    ) -> Result<Self, [String; 2]> {
        let mut parts = Vec::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once('{') {
            let Some((place, after)) = after.split_once('}') else {
                let cure = "write {parameter}";
                return Err(["a `{` is not closed".to_owned(), cure.to_owned()]);
            };
            rest = after;
            if !before.is_empty() {
                parts.push(Part::Text(before.to_owned()));
            }
            let (name, rewrite) = match place.split_once(':') {
                None => (place, None),
                Some((name, rewriting)) => {
                    let Some(rewrite) = Rewrite::named(rewriting) else {
                        let known = Rewrite::names().collect::<Vec<_>>().join(", ");
                        let message = format!("`{rewriting}` is not a rewriting");
                        return Err([message, format!("the rewritings are {known}")]);
                    };
                    (name, Some(rewrite))
                }
            };
            let Some(index) = parameters.get(name).copied() else {
                let message = format!("`{name}` is not a parameter of this hop");
                return Err([message, "declare it under `parameters`".to_owned()]);
            };
            parts.push(Part::Value(index, rewrite));
        }
        if !rest.is_empty() {
            parts.push(Part::Text(rest.to_owned()));
        }
        Ok(Self(parts))
    }

    /// Returns the indices of the parameters in the template.
    pub(super) fn parameters(&self) -> impl Iterator<Item = usize> {
        self.0.iter().filter_map(|part| match part {
            Part::Text(_) => None,
            Part::Value(index, _) => Some(*index),
        })
    }

    /// Returns the text for these values of the parameters. A text that is too long for a packet is left incomplete.
    pub(super) fn fill(&self, values: &[String]) -> String {
        let mut filled = String::new();
        for part in &self.0 {
            if filled.len() > Limits::DEFAULT.packet_bytes {
                break;
            }
            match part {
                Part::Text(text) => filled.push_str(text),
                Part::Value(index, rewrite) => {
                    let value = values.get(*index).map_or("", String::as_str);
                    match rewrite {
                        Some(rewrite) => filled.push_str(&rewrite.apply(value)),
                        None => filled.push_str(value),
                    }
                }
            }
        }
        filled
    }

    /// Returns the template as it stands in the file.
    pub(super) fn shown(&self, parameters: &[Parameter]) -> String {
        let parts = self.0.iter().map(|part| match part {
            Part::Text(text) => text.clone(),
            Part::Value(index, rewrite) => {
                let name = parameters.get(*index).map_or("", |found| &found.name[..]);
                match rewrite {
                    Some(rewrite) => format!("{{{name}:{}}}", rewrite.as_str()),
                    None => format!("{{{name}}}"),
                }
            }
        });
        parts.collect()
    }
}
