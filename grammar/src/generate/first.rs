//! The characters that an expression can begin with. They show the choices whose order matters.

use abnf::types::{Node, TerminalValues};

use super::GenerateError;
use super::overrides::Overrides;
use super::rules::{Definition, Rules};

/// Demands a decision wherever ABNF leaves one open.
///
/// ABNF alternatives have no order, but those of a PEG do. The order matters if two alternatives
/// can begin with the same character. ABNF repetitions take as much as makes the whole text match;
/// those of a PEG take all they can.
pub(super) fn check(rules: &Rules, overrides: &Overrides) -> Result<(), GenerateError> {
    for rule in rules.used() {
        let walk = Walk { rules, rule };
        walk.first(&rule.node, &mut Vec::new())?;
        if !rule.is_core && overrides.greedy.is_none() && repeats(&rule.node) {
            return Err(walk.error(
                "repeats or leaves out elements, and a PEG never gives back what it took; \
                 if that is never wrong here, say so in the overrides: `* greedy ; reason`",
            ));
        }
        match &rule.node {
            Node::Alternatives(nodes) if overrides.of(rule).order.is_some() => {
                nodes.iter().try_for_each(|node| walk.check_choices(node))?;
            }
            node => walk.check_choices(node)?,
        }
    }
    Ok(())
}

/// The first characters of an expression: one bit for each ASCII character, of which the last also
/// covers all other characters; and whether the expression matches the empty text.
#[derive(Clone, Copy, Default)]
struct First {
    characters: u128,
    is_empty: bool,
}

impl First {
    fn or(self, other: Self) -> Self {
        Self {
            characters: self.characters | other.characters,
            is_empty: self.is_empty || other.is_empty,
        }
    }
}

struct Walk<'a> {
    rules: &'a Rules,
    rule: &'a Definition,
}

impl Walk<'_> {
    /// Returns the first characters. `open` holds the rules in progress: meeting one of them again
    /// is left recursion.
    fn first(&self, node: &Node, open: &mut Vec<String>) -> Result<First, GenerateError> {
        match node {
            Node::Alternatives(nodes) => nodes.iter().try_fold(First::default(), |all, node| {
                Ok(all.or(self.first(node, open)?))
            }),
            Node::Concatenation(nodes) => {
                let mut all = First {
                    characters: 0,
                    is_empty: true,
                };
                for node in nodes {
                    if all.is_empty {
                        all.is_empty = false;
                        all = all.or(self.first(node, open)?);
                    }
                }
                Ok(all)
            }
            Node::Repetition { repeat, node } => {
                let mut first = self.first(node, open)?;
                first.is_empty |= repeat.min().unwrap_or(0) == 0;
                Ok(first)
            }
            Node::Optional(node) => {
                let mut first = self.first(node, open)?;
                first.is_empty = true;
                Ok(first)
            }
            Node::Group(node) => self.first(node, open),
            Node::Rulename(name) => {
                let rule = self.rules.get(name, self.rule.line, &self.rule.name)?;
                if open.contains(&rule.name) {
                    let walk = Walk { rule, ..*self };
                    return Err(walk.error(
                        "begins with itself, which no PEG can read; write it as a repetition",
                    ));
                }
                open.push(rule.name.clone());
                let first = self.first(&rule.node, open)?;
                open.pop();
                Ok(first)
            }
            Node::String(literal) => Ok(match literal.value().chars().next() {
                // Folding case where it is not folded demands at most one unneeded order.
                Some(c) => First {
                    characters: bit(c.to_ascii_lowercase() as u32)
                        | bit(c.to_ascii_uppercase() as u32),
                    is_empty: false,
                },
                None => First {
                    characters: 0,
                    is_empty: true,
                },
            }),
            Node::TerminalValues(TerminalValues::Range(from, to)) => Ok(First {
                characters: (*from..=(*to).min(127)).fold(bit(*to), |all, c| all | bit(c)),
                is_empty: false,
            }),
            Node::TerminalValues(TerminalValues::Concatenation(values)) => Ok(First {
                characters: values.first().map_or(0, |value| bit(*value)),
                is_empty: values.is_empty(),
            }),
            Node::Prose(_) => Ok(First::default()),
        }
    }

    /// Finds alternatives that can begin alike anywhere in the expression.
    fn check_choices(&self, node: &Node) -> Result<(), GenerateError> {
        match node {
            Node::Alternatives(nodes) => {
                let mut before = First::default();
                for node in nodes {
                    let first = self.first(node, &mut Vec::new())?;
                    let common = before.characters & first.characters;
                    if common != 0 || before.is_empty {
                        let common = char::from_u32(common.trailing_zeros())
                            .filter(char::is_ascii)
                            .map_or("the empty text".to_owned(), |c| format!("{c:?}"));
                        return Err(self.error(&format!(
                            "has alternatives that can begin alike (with {common}), of which a \
                             PEG takes the first that fits; state it in the overrides: \
                             `{} order A / B ; reason` (a group needs a rule of its own)",
                            self.rule.name
                        )));
                    }
                    before = before.or(first);
                }
                nodes.iter().try_for_each(|node| self.check_choices(node))
            }
            Node::Concatenation(nodes) => {
                nodes.iter().try_for_each(|node| self.check_choices(node))
            }
            Node::Repetition { node, .. } | Node::Optional(node) | Node::Group(node) => {
                self.check_choices(node)
            }
            Node::Rulename(_) | Node::String(_) | Node::TerminalValues(_) | Node::Prose(_) => {
                Ok(())
            }
        }
    }

    fn error(&self, message: &str) -> GenerateError {
        GenerateError::abnf(self.rule.line, format!("`{}` {message}", self.rule.name))
    }
}

fn bit(character: u32) -> u128 {
    1 << character.min(127)
}

fn repeats(node: &Node) -> bool {
    match node {
        Node::Repetition { .. } | Node::Optional(_) => true,
        Node::Alternatives(nodes) | Node::Concatenation(nodes) => nodes.iter().any(repeats),
        Node::Group(node) => repeats(node),
        Node::Rulename(_) | Node::String(_) | Node::TerminalValues(_) | Node::Prose(_) => false,
    }
}
