//! The elements of a rule, in a form that both the checks and the writer of the pest grammar use.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use abnf::types::{Node, TerminalValues};

use super::error::GenerateError;
use super::rules::Definition;

/// The greatest count of a repetition. pest makes a copy of the item for each.
const COUNT: usize = 1000;

/// An expression without groups. Each literal and each choice has its number in the rule.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Expr {
    /// A text. It is empty for elements that match only the empty text, such as `0"x"`.
    Literal {
        text: String,
        folds: bool,
        /// The number of the literal in the rule, by which a `marks` decision can name it; `None` for a literal such
        /// as `%x41`.
        number: Option<usize>,
    },
    Range(char, char),
    /// A rule, by its lower-case name.
    Rule(String),
    Sequence(Vec<Expr>),
    Choice {
        number: usize,
        alternatives: Vec<Expr>,
    },
    /// Repeated items. `max` is never 0.
    Repeat {
        min: usize,
        max: Option<usize>,
        item: Box<Expr>,
    },
}

impl Expr {
    fn nothing() -> Self {
        Self::Literal {
            text: String::new(),
            folds: false,
            number: None,
        }
    }

    /// Returns the alternatives of the choice with this number.
    pub(super) fn choice(&self, wanted: usize) -> Option<&[Expr]> {
        match self {
            Self::Literal { .. } | Self::Range(..) | Self::Rule(_) => None,
            Self::Choice {
                number,
                alternatives,
            } if *number == wanted => Some(alternatives),
            Self::Sequence(parts)
            | Self::Choice {
                alternatives: parts,
                ..
            } => parts.iter().find_map(|part| part.choice(wanted)),
            Self::Repeat { item, .. } => item.choice(wanted),
        }
    }

    /// Returns an alternative that can be empty and has alternatives after it. In a PEG, it would hide those.
    pub(super) fn hiding(&self, nullable: &BTreeSet<String>) -> Option<&Expr> {
        match self {
            Self::Literal { .. } | Self::Range(..) | Self::Rule(_) => None,
            Self::Sequence(parts) => parts.iter().find_map(|part| part.hiding(nullable)),
            Self::Repeat { item, .. } => item.hiding(nullable),
            Self::Choice { alternatives, .. } => {
                let (_, before) = alternatives.split_last()?;
                let empty = before.iter().find(|one| one.is_nullable(nullable));
                let mut inner = alternatives.iter();
                empty.or_else(|| inner.find_map(|one| one.hiding(nullable)))
            }
        }
    }

    /// Numbers the choices, and puts the alternatives of each choice into the order that `orders` holds under the
    /// number of the choice.
    pub(super) fn arrange(&mut self, count: &mut usize, orders: &BTreeMap<usize, Vec<usize>>) {
        match self {
            Self::Literal { .. } | Self::Range(..) | Self::Rule(_) => {}
            Self::Sequence(parts) => parts
                .iter_mut()
                .for_each(|part| part.arrange(count, orders)),
            Self::Repeat { item, .. } => item.arrange(count, orders),
            Self::Choice {
                number,
                alternatives,
            } => {
                *number = *count;
                *count += 1;
                let order = orders.get(number);
                for one in alternatives.iter_mut() {
                    one.arrange(count, orders);
                }
                if let Some(order) = order {
                    *alternatives = order.iter().map(|at| alternatives[*at].clone()).collect();
                }
            }
        }
    }

    /// Returns whether the expression matches the empty text. `nullable` holds the rules that match it.
    pub(super) fn is_nullable(&self, nullable: &BTreeSet<String>) -> bool {
        match self {
            Self::Literal { text, .. } => text.is_empty(),
            Self::Range(..) => false,
            Self::Rule(name) => nullable.contains(name),
            Self::Sequence(parts) => parts.iter().all(|part| part.is_nullable(nullable)),
            Self::Choice { alternatives, .. } => {
                alternatives.iter().any(|one| one.is_nullable(nullable))
            }
            Self::Repeat { min, item, .. } => *min == 0 || item.is_nullable(nullable),
        }
    }

    /// Appends the rules that the expression refers to.
    pub(super) fn references<'a>(&'a self, names: &mut Vec<&'a str>) {
        match self {
            Self::Literal { .. } | Self::Range(..) => {}
            Self::Rule(name) => names.push(name),
            Self::Sequence(parts)
            | Self::Choice {
                alternatives: parts,
                ..
            } => parts.iter().for_each(|part| part.references(names)),
            Self::Repeat { item, .. } => item.references(names),
        }
    }

    /// Appends the rules that the expression can begin with.
    pub(super) fn begins_with<'a>(&'a self, nullable: &BTreeSet<String>, names: &mut Vec<&'a str>) {
        match self {
            Self::Sequence(parts) => {
                for part in parts {
                    part.begins_with(nullable, names);
                    if !part.is_nullable(nullable) {
                        break;
                    }
                }
            }
            Self::Choice { alternatives, .. } => {
                for one in alternatives {
                    one.begins_with(nullable, names);
                }
            }
            Self::Repeat { item, .. } => item.begins_with(nullable, names),
            Self::Rule(name) => names.push(name),
            Self::Literal { .. } | Self::Range(..) => {}
        }
    }
}

/// Writes the expression as ABNF, for errors.
impl fmt::Display for Expr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let list = |f: &mut fmt::Formatter<'_>, parts: &[Expr], between: &str| {
            for (at, part) in parts.iter().enumerate() {
                let separator = if at == 0 { "" } else { between };
                match part {
                    Expr::Choice { .. } => write!(f, "{separator}( {part} )")?,
                    _ => write!(f, "{separator}{part}")?,
                }
            }
            Ok(())
        };
        match self {
            Self::Literal { text, .. } if text.chars().all(|c| (' '..='~').contains(&c)) => {
                write!(f, "\"{text}\"")
            }
            Self::Literal { text, .. } => {
                let codes: Vec<_> = text.chars().map(|c| format!("{:02X}", c as u32)).collect();
                write!(f, "%x{}", codes.join("."))
            }
            Self::Range(from, to) => write!(f, "%x{:02X}-{:02X}", *from as u32, *to as u32),
            Self::Rule(name) => f.write_str(name),
            Self::Sequence(parts) => list(f, parts, " "),
            Self::Choice { alternatives, .. } => list(f, alternatives, " / "),
            Self::Repeat { min, max, item } => {
                match (min, max) {
                    (0, Some(1)) => return write!(f, "[ {item} ]"),
                    (0, None) => f.write_str("*")?,
                    (min, None) => write!(f, "{min}*")?,
                    (min, Some(max)) if min == max => write!(f, "{min}")?,
                    (min, Some(max)) => write!(f, "{min}*{max}")?,
                }
                match **item {
                    Self::Choice { .. } | Self::Sequence(_) => write!(f, "( {item} )"),
                    _ => write!(f, "{item}"),
                }
            }
        }
    }
}

/// Reads the elements of one rule.
pub(super) struct ExprReader<'a> {
    rule: &'a Definition,
    case_sensitive: bool,
    /// How many copies pest makes of the expression that is being read: the product of the counts of all repetitions
    /// around it.
    times: usize,
    /// The number of literals so far.
    pub(super) literals: usize,
}

impl<'a> ExprReader<'a> {
    pub(super) fn new(rule: &'a Definition, case_sensitive: bool) -> Self {
        Self {
            rule,
            case_sensitive,
            times: 1,
            literals: 0,
        }
    }

    pub(super) fn read(&mut self, node: &Node) -> Result<Expr, GenerateError> {
        Ok(match node {
            Node::Alternatives(nodes) => self.choice(nodes)?,
            Node::Concatenation(nodes) => {
                let parts = nodes.iter().map(|node| self.read(node));
                Expr::Sequence(parts.collect::<Result<_, _>>()?)
            }
            Node::Group(inner) => self.read(inner)?,
            Node::Optional(inner) => Expr::Repeat {
                min: 0,
                max: Some(1),
                item: Box::new(self.read(inner)?),
            },
            Node::Repetition { repeat, node: item } => {
                let (min, max) = (repeat.min().unwrap_or(0), repeat.max());
                if max.is_some_and(|max| max < min) {
                    return Err(self.error(&format!(
                        "`{node}` repeats at least {min} times and at most {} times; \
                         write the smaller number first",
                        max.unwrap_or_default()
                    )));
                }
                let count = min.max(max.unwrap_or_default());
                if count > COUNT {
                    return Err(self.error(&format!(
                        "`{node}` counts above {COUNT}; write `*` and count in your program"
                    )));
                }
                if max == Some(0) {
                    return Ok(Expr::nothing());
                }
                let around = self.times;
                self.times *= count.max(1);
                if self.times > COUNT {
                    return Err(self.error(&format!(
                        "`{node}` stands in another repetition, and the two count above {COUNT}; \
                         give it a rule of its own"
                    )));
                }
                let item = self.read(item)?;
                self.times = around;
                match (min, max) {
                    (1, Some(1)) => item,
                    _ => Expr::Repeat {
                        min,
                        max,
                        item: Box::new(item),
                    },
                }
            }
            Node::Rulename(name) => Expr::Rule(name.to_lowercase()),
            Node::String(literal) => {
                self.literals += 1;
                let text = literal.value().to_owned();
                Expr::Literal {
                    folds: !literal.is_case_sensitive()
                        && !self.case_sensitive
                        && text.bytes().any(|b| b.is_ascii_alphabetic()),
                    text,
                    number: Some(self.literals - 1),
                }
            }
            Node::TerminalValues(TerminalValues::Range(from, to)) => {
                let (from, to) = (self.character(*from)?, self.character(*to)?);
                if from > to {
                    return Err(self.error(&format!("the range {from:?} to {to:?} is empty")));
                }
                Expr::Range(from, to)
            }
            Node::TerminalValues(TerminalValues::Concatenation(values)) => {
                let text = values.iter().map(|value| self.character(*value));
                Expr::Literal {
                    text: text.collect::<Result<_, _>>()?,
                    folds: false,
                    number: None,
                }
            }
            Node::Prose(prose) => {
                return Err(self.error(&format!(
                    "<{prose}> is prose, which no parser can read; spell it out"
                )));
            }
        })
    }

    /// Reads the alternatives of a choice, and keeps their order.
    pub(super) fn choice(&mut self, nodes: &[Node]) -> Result<Expr, GenerateError> {
        let alternatives = nodes.iter().map(|node| self.read(node));
        Ok(Expr::Choice {
            alternatives: alternatives.collect::<Result<_, _>>()?,
            number: 0,
        })
    }

    fn character(&self, value: u32) -> Result<char, GenerateError> {
        char::from_u32(value)
            .ok_or_else(|| self.error(&format!("%x{value:X} is not a Unicode character")))
    }

    fn error(&self, message: &str) -> GenerateError {
        self.rule.error(message)
    }
}

/// Changes expressions that can be empty so that a PEG can read them. A PEG cannot repeat such an expression, and
/// such an alternative would hide the alternatives after it.
pub(super) struct Emptiness<'a> {
    pub(super) nullable: &'a BTreeSet<String>,
}

impl Emptiness<'_> {
    /// Returns an expression that matches the same texts and that a PEG can read. The error is the name of the rule
    /// that makes this impossible.
    pub(super) fn without_empty(&self, expr: Expr) -> Result<Expr, String> {
        Ok(match expr {
            Expr::Sequence(parts) => Expr::Sequence(self.all(parts)?),
            Expr::Choice { alternatives, .. } => {
                let alternatives = self.all(alternatives)?;
                let is_nullable = |one: &Expr| one.is_nullable(self.nullable);
                if !alternatives.iter().any(is_nullable) {
                    return Ok(Expr::Choice {
                        number: 0,
                        alternatives,
                    });
                }
                // A rule that can be empty stays in the choice unchanged. So the choice can be empty, too.
                let (mut filled, mut has_rule) = (Vec::new(), false);
                for one in alternatives {
                    if let Ok(one) = self.filled(&one) {
                        filled.extend(one);
                    } else {
                        has_rule = true;
                        filled.push(one);
                    }
                }
                match choice(filled) {
                    Some(filled) if has_rule => filled,
                    Some(filled) => optional(filled),
                    None => Expr::nothing(),
                }
            }
            Expr::Repeat { min, max, item } => {
                let item = self.without_empty(*item)?;
                if !item.is_nullable(self.nullable) {
                    let item = Box::new(item);
                    return Ok(Expr::Repeat { min, max, item });
                }
                match (item, max) {
                    (item @ Expr::Rule(_), Some(1)) => item,
                    (
                        Expr::Repeat {
                            min: 0,
                            max: None,
                            item,
                        },
                        _,
                    ) => Expr::Repeat {
                        min: 0,
                        max: None,
                        item,
                    },
                    (item, max) => match self.filled(&item)? {
                        Some(item) => Expr::Repeat {
                            min: 0,
                            max,
                            item: Box::new(item),
                        },
                        None => Expr::nothing(),
                    },
                }
            }
            other => other,
        })
    }

    fn all(&self, parts: Vec<Expr>) -> Result<Vec<Expr>, String> {
        parts
            .into_iter()
            .map(|part| self.without_empty(part))
            .collect()
    }

    /// Returns an expression that matches the same texts except the empty text; `None` if it would match no text. The
    /// error is a rule that can be empty.
    fn filled(&self, expr: &Expr) -> Result<Option<Expr>, String> {
        if !expr.is_nullable(self.nullable) {
            return Ok(Some(expr.clone()));
        }
        Ok(match expr {
            Expr::Literal { .. } | Expr::Range(..) => None,
            Expr::Rule(name) => return Err(name.clone()),
            Expr::Choice { alternatives, .. } => {
                let filled = alternatives.iter().map(|one| self.filled(one));
                let filled: Vec<_> = filled.collect::<Result<_, _>>()?;
                choice(filled.into_iter().flatten().collect())
            }
            Expr::Repeat { max, item, .. } => self.filled(item)?.map(|item| match max {
                Some(1) => item,
                max => Expr::Repeat {
                    min: 1,
                    max: *max,
                    item: Box::new(item),
                },
            }),
            // The choice has one alternative for each part that can be the first non-empty part.
            Expr::Sequence(parts) => {
                let mut firsts = Vec::new();
                for (at, part) in parts.iter().enumerate() {
                    if let Some(part) = self.filled(part)? {
                        let mut rest = vec![part];
                        rest.extend_from_slice(&parts[at + 1..]);
                        firsts.push(match rest.len() {
                            1 => rest.remove(0),
                            _ => Expr::Sequence(rest),
                        });
                    }
                }
                choice(firsts)
            }
        })
    }
}

fn optional(item: Expr) -> Expr {
    Expr::Repeat {
        min: 0,
        max: Some(1),
        item: Box::new(item),
    }
}

fn choice(mut alternatives: Vec<Expr>) -> Option<Expr> {
    match alternatives.len() {
        0 | 1 => alternatives.pop(),
        _ => Some(Expr::Choice {
            number: 0,
            alternatives,
        }),
    }
}

/// Returns the rules that match the empty text.
pub(super) fn nullable(rules: &BTreeMap<String, Expr>) -> BTreeSet<String> {
    let mut nullable = BTreeSet::new();
    loop {
        let before = nullable.len();
        for (name, expr) in rules {
            if !nullable.contains(name) && expr.is_nullable(&nullable) {
                nullable.insert(name.clone());
            }
        }
        if nullable.len() == before {
            return nullable;
        }
    }
}
