//! The graph of the rules, which consists of characters, calls and branches. The checks walk through this graph.

use std::collections::BTreeMap;

use super::charset::CharSet;
use super::classes::Classes;
use super::error::GenerateError;
use super::expr::Expr;
use super::rules::Definition;

/// The most nodes. A larger grammar is refused, because it cannot be checked.
const NODES: usize = 400_000;

/// The most copies of a repeated expression. If more copies would be needed, the graph has a loop instead, and the
/// walk does not count the rounds of the loop.
const COPIES: usize = 40;

pub(super) type NodeId = usize;

pub(super) enum GraphNode {
    /// One character of `set`. `yields` says that the character is optional: a repetition before it may take this
    /// character.
    Char {
        set: CharSet,
        next: NodeId,
        yields: bool,
    },
    Call {
        rule: usize,
        next: NodeId,
    },
    /// A branch. A branch with only one next node marks the end of a fragment.
    Split(Vec<NodeId>),
    /// The end of a rule with a `not-before` decision. A PEG fails here if a character of `set` follows; the ABNF has
    /// no such condition.
    NotBefore {
        set: CharSet,
        next: NodeId,
    },
    End(usize),
}

/// A part of a rule: from a node to a mark.
#[derive(Clone, Copy)]
pub(super) struct Fragment {
    pub(super) from: NodeId,
    pub(super) to: NodeId,
}

/// A point at which a PEG decides.
pub(super) enum DecisionPoint {
    Choice {
        number: usize,
        parts: Vec<Fragment>,
    },
    /// A repetition or an option: the PEG takes one more item, or goes on after the repetition.
    Repeat {
        expr: Expr,
        item: Fragment,
        exit: NodeId,
        /// The characters of the items, if each item is a single character and their number has no limit.
        taken: Option<CharSet>,
    },
    /// A rule that must not end here if `next` follows.
    NotBefore {
        next: Fragment,
        exit: NodeId,
    },
}

pub(super) struct Graph {
    pub(super) nodes: Vec<GraphNode>,
    /// The first node of each rule.
    pub(super) entries: Vec<NodeId>,
    /// The last node of each rule.
    pub(super) exits: Vec<NodeId>,
    /// For each rule, the nodes at which its callers go on after the rule.
    pub(super) callers: Vec<Vec<NodeId>>,
    /// The decision points, each with the number of its rule.
    pub(super) points: Vec<(usize, DecisionPoint)>,
}

/// A rule from which the graph is built.
pub(super) struct Source<'a> {
    /// The lower-case name.
    pub(super) name: String,
    pub(super) rule: &'a Definition,
    pub(super) expr: &'a Expr,
    pub(super) not_before: Option<&'a Expr>,
}

impl Graph {
    pub(super) fn new(sources: &[Source<'_>], classes: &Classes) -> Result<Self, GenerateError> {
        let mut builder = Builder {
            numbers: sources
                .iter()
                .enumerate()
                .map(|(number, source)| (source.name.clone(), number))
                .collect(),
            graph: Self {
                nodes: Vec::new(),
                entries: Vec::new(),
                exits: Vec::new(),
                callers: vec![Vec::new(); sources.len()],
                points: Vec::new(),
            },
            classes,
            rule: sources[0].rule,
            number: 0,
            copies: 1,
        };
        for (number, source) in sources.iter().enumerate() {
            (builder.rule, builder.number) = (source.rule, number);
            let end = builder.add(GraphNode::End(number))?;
            builder.graph.exits.push(end);
            let end = match source.not_before {
                Some(next) => builder.bound(next, end)?,
                None => end,
            };
            let entry = builder.expr(source.expr, end)?;
            builder.graph.entries.push(entry);
        }
        Ok(builder.graph)
    }
}

struct Builder<'a> {
    graph: Graph,
    classes: &'a Classes,
    numbers: BTreeMap<String, usize>,
    rule: &'a Definition,
    number: usize,
    /// The number of copies of the expression that is being added.
    copies: usize,
}

impl Builder<'_> {
    fn add(&mut self, step: GraphNode) -> Result<NodeId, GenerateError> {
        let id = self.graph.nodes.len();
        if id >= NODES {
            return Err(self.rule.error(
                "makes the grammar too large to be checked; count less, or split the grammar",
            ));
        }
        self.graph.nodes.push(step);
        Ok(id)
    }

    fn mark(&mut self, next: NodeId) -> Result<NodeId, GenerateError> {
        self.add(GraphNode::Split(vec![next]))
    }

    /// Adds the nodes of an expression as a fragment: the fragment ends at a mark, and `next` follows the mark.
    fn part(&mut self, expr: &Expr, next: NodeId) -> Result<Fragment, GenerateError> {
        let to = self.mark(next)?;
        let from = self.expr(expr, to)?;
        Ok(Fragment { from, to })
    }

    /// Adds the end of a rule with a `not-before` decision: the rule must not end where `next` follows.
    fn bound(&mut self, next: &Expr, end: NodeId) -> Result<NodeId, GenerateError> {
        let nowhere = self.add(GraphNode::Split(Vec::new()))?;
        let points = self.graph.points.len();
        let next_part = self.part(next, nowhere)?;
        // A PEG consumes nothing of `next`, so the decisions inside `next` do not count.
        self.graph.points.truncate(points);
        let set = self.classes.never_fails_before(next);
        let id = self.add(GraphNode::NotBefore { set, next: end })?;
        let exit = self.mark(id)?;
        self.graph.points.push((
            self.number,
            DecisionPoint::NotBefore {
                next: next_part,
                exit: end,
            },
        ));
        Ok(exit)
    }

    /// Adds the nodes of an expression before `next`, and returns the first.
    fn expr(&mut self, expr: &Expr, next: NodeId) -> Result<NodeId, GenerateError> {
        if let Some(set) = self.classes.single(expr) {
            return self.single(set, next, false);
        }
        match expr {
            Expr::Literal { text, folds, .. } => {
                let mut next = next;
                for c in text.chars().rev() {
                    next = self.single(CharSet::letter(c, *folds), next, false)?;
                }
                Ok(next)
            }
            Expr::Range(from, to) => self.single(CharSet::range(*from, *to), next, false),
            Expr::Rule(name) => {
                let Some(&rule) = self.numbers.get(name) else {
                    return Err(self
                        .rule
                        .error(&format!("uses `{name}`, which is not defined")));
                };
                self.graph.callers[rule].push(next);
                self.add(GraphNode::Call { rule, next })
            }
            Expr::Sequence(parts) => {
                let mut next = next;
                for part in parts.iter().rev() {
                    next = self.expr(part, next)?;
                }
                Ok(next)
            }
            Expr::Choice {
                number,
                alternatives,
            } => {
                let mut parts = Vec::new();
                for one in alternatives {
                    parts.push(self.part(one, next)?);
                }
                let ways = parts.iter().map(|part| part.from).collect();
                let number = *number;
                let point = DecisionPoint::Choice { number, parts };
                self.graph.points.push((self.number, point));
                self.add(GraphNode::Split(ways))
            }
            Expr::Repeat { min, max, item } => self.repeat(expr, (*min, *max), item, next),
        }
    }

    fn single(
        &mut self,
        set: CharSet,
        next: NodeId,
        yields: bool,
    ) -> Result<NodeId, GenerateError> {
        self.add(GraphNode::Char { set, next, yields })
    }

    /// Adds a repetition: a copy for each required item, then a copy for each optional item, or a
    /// loop.
    fn repeat(
        &mut self,
        expr: &Expr,
        (min, max): (usize, Option<usize>),
        item: &Expr,
        next: NodeId,
    ) -> Result<NodeId, GenerateError> {
        let outer = self.copies;
        let wanted = max.unwrap_or(min).max(1);
        let is_counted = outer.saturating_mul(wanted) <= COPIES;
        if is_counted {
            self.copies = outer * wanted;
        }
        let mut first = match max {
            Some(max) if is_counted => {
                let mut first = next;
                for _ in min..max {
                    first = self.may(expr, item, (first, next), min == 0)?;
                }
                first
            }
            _ => self.looped(expr, (min, max), item, next)?,
        };
        let least = if is_counted { min } else { min.min(1) };
        for _ in 0..least {
            first = self.part(item, first)?.from;
        }
        self.copies = outer;
        Ok(first)
    }

    /// Adds an optional item. `then` follows the item, and `next` follows the whole repetition.
    fn may(
        &mut self,
        expr: &Expr,
        item: &Expr,
        (then, next): (NodeId, NodeId),
        yields: bool,
    ) -> Result<NodeId, GenerateError> {
        let to = self.mark(then)?;
        let from = match self.classes.single(item) {
            Some(set) => self.single(set, to, yields)?,
            None => self.expr(item, to)?,
        };
        let exit = self.mark(next)?;
        let never_fails = self.classes.never_fails_before(item);
        self.decide(expr, Fragment { from, to }, (exit, never_fails), None)
    }

    /// Adds a loop of items.
    fn looped(
        &mut self,
        expr: &Expr,
        (min, max): (usize, Option<usize>),
        item: &Expr,
        next: NodeId,
    ) -> Result<NodeId, GenerateError> {
        let again = self.add(GraphNode::Split(Vec::new()))?;
        let to = self.mark(again)?;
        let single = self.classes.single(item);
        let from = match &single {
            Some(set) => self.single(set.clone(), to, min == 0)?,
            None => self.expr(item, to)?,
        };
        let exit = self.mark(next)?;
        let ways = if max == Some(min) {
            // If the number of items is fixed, a PEG has nothing to decide.
            self.add(GraphNode::Split(vec![from, exit]))?
        } else {
            let (taken, never_fails) = match max {
                None => (single, self.classes.never_fails_before(item)),
                // The walk does not count the items. So it assumes that the repetition may have reached its limit at
                // any item.
                Some(_) => (None, CharSet::default()),
            };
            self.decide(expr, Fragment { from, to }, (exit, never_fails), taken)?
        };
        self.graph.nodes[again] = GraphNode::Split(vec![ways]);
        Ok(ways)
    }

    /// Adds the decision between one more item and the end of the repetition. If a character of `never_fails` comes
    /// next, a PEG takes one more item.
    fn decide(
        &mut self,
        expr: &Expr,
        item: Fragment,
        (exit, never_fails): (NodeId, CharSet),
        taken: Option<CharSet>,
    ) -> Result<NodeId, GenerateError> {
        let leave = self.add(GraphNode::NotBefore {
            set: never_fails,
            next: exit,
        })?;
        let ways = vec![item.from, leave];
        let expr = expr.clone();
        let point = DecisionPoint::Repeat {
            expr,
            item,
            exit,
            taken,
        };
        self.graph.points.push((self.number, point));
        self.add(GraphNode::Split(ways))
    }
}
