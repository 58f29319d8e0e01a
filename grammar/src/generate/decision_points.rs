//! Checks that at each point where a PEG decides, its decision loses no text of the ABNF.

use std::collections::BTreeMap;

use super::error::GenerateError;
use super::graph::{DecisionPoint, Fragment, Graph, Source};
use super::overrides::{Decisions, Overrides};
use super::walk::{Outcome, Walker};

/// The order of the alternatives, by the number of the rule and the number of the choice in this rule.
pub(super) type Orders = BTreeMap<usize, BTreeMap<usize, Vec<usize>>>;

/// Checks all points. Returns orders in which no alternative hides a later one.
pub(super) fn orders(
    sources: &[Source<'_>],
    overrides: &Overrides,
    graph: &Graph,
) -> Result<Orders, GenerateError> {
    let mut checks = Checks {
        sources,
        overrides,
        walker: Walker::new(graph),
    };
    // The graph copies a choice with each copy of the repetition around it. All copies of one
    // choice are collected here.
    let mut choices: BTreeMap<_, Vec<&[Fragment]>> = BTreeMap::new();
    for (number, source) in sources.iter().enumerate() {
        checks.whole_input(number, !graph.callers[number].is_empty(), source)?;
    }
    for (rule, point) in &graph.points {
        if checks.decisions(*rule).narrows {
            continue;
        }
        match point {
            DecisionPoint::Choice { number, parts } => {
                choices.entry((*rule, *number)).or_default().push(parts);
            }
            DecisionPoint::Repeat {
                expr,
                item,
                exit,
                taken,
            } => {
                let end = nothing(*exit);
                let finding = checks.walker.compare(*item, end, taken.as_ref());
                let message = match finding {
                    Outcome::Safe => continue,
                    Outcome::Conflict(text) => format!(
                        "`{expr}` takes all it can, and a PEG never gives back what may belong to \
                         what follows (as in {text:?})"
                    ),
                    Outcome::TooLarge => format!("the end of `{expr}` is too hard to check"),
                };
                return Err(checks.refuse(*rule, &message));
            }
            DecisionPoint::NotBefore { next, exit } => {
                let text = match checks.walker.compare(*next, nothing(*exit), None) {
                    Outcome::Safe => continue,
                    Outcome::Conflict(text) => format!(" (as in {text:?})"),
                    Outcome::TooLarge => String::new(),
                };
                let message = format!("`not-before` refuses what may follow in the ABNF{text}");
                return Err(checks.narrowing(*rule, &message));
            }
        }
    }
    let mut orders = Orders::new();
    for ((rule, number), copies) in choices {
        let order = checks.order(rule, number, &copies)?;
        orders.entry(rule).or_default().insert(number, order);
    }
    Ok(orders)
}

/// Returns the empty part at a node.
fn nothing(at: usize) -> Fragment {
    Fragment { from: at, to: at }
}

struct Checks<'a> {
    sources: &'a [Source<'a>],
    overrides: &'a Overrides,
    walker: Walker<'a>,
}

impl<'a> Checks<'a> {
    fn decisions(&self, rule: usize) -> &'a Decisions {
        self.overrides.of(self.sources[rule].rule)
    }

    fn whole_input(
        &self,
        number: usize,
        is_called: bool,
        source: &Source<'_>,
    ) -> Result<(), GenerateError> {
        let decisions = self.overrides.of(source.rule);
        if decisions.whole_input && is_called && !decisions.narrows {
            return Err(self.narrowing(
                number,
                "`whole-input` refuses texts in which something stands beside it, and another rule \
                 uses it",
            ));
        }
        Ok(())
    }

    /// Returns an order in which no alternative hides a later one, in any of the copies.
    fn order(
        &mut self,
        rule: usize,
        number: usize,
        copies: &[&[Fragment]],
    ) -> Result<Vec<usize>, GenerateError> {
        let count = copies[0].len();
        let written: Vec<_> = (0..count).collect();
        let mut hides = BTreeMap::new();
        for second in 0..count {
            for first in 0..second {
                self.hides(copies, first, second, &mut hides);
            }
        }
        if hides.is_empty() {
            return Ok(written);
        }
        let is_given = number == 0 && self.decisions(rule).order.is_some();
        if !is_given {
            for first in 0..count {
                for second in 0..first {
                    self.hides(copies, first, second, &mut hides);
                }
            }
            if let Some(order) = sorted(written, &hides) {
                return Ok(order);
            }
        }
        // No order helps two alternatives that hide each other, so the error names such a pair first.
        let mutual = hides
            .keys()
            .find(|(first, second)| first < second && hides.contains_key(&(*second, *first)));
        let Some(pair) = mutual.or_else(|| hides.keys().next()) else {
            return Ok((0..count).collect());
        };
        let shown = |at: usize| self.alternative(rule, number, at);
        let (first, second) = (shown(pair.0), shown(pair.1));
        let text = match &hides[pair] {
            Outcome::Conflict(text) => format!(" (as in {text:?})"),
            _ => String::new(),
        };
        if is_given {
            return Err(self.narrowing(
                rule,
                &format!("`order` tries `{first}` where `{second}` is meant{text}"),
            ));
        }
        Err(self.refuse(
            rule,
            &format!(
                "has alternatives that begin alike: a PEG takes the first that fits, and no order is \
                 right for all texts: `{first}` hides `{second}`{text}"
            ),
        ))
    }

    /// Checks whether a PEG that tries `first` before `second` could take `first` where the ABNF means `second`. If
    /// so, adds the pair to `hides`.
    fn hides(
        &mut self,
        copies: &[&[Fragment]],
        first: usize,
        second: usize,
        hides: &mut BTreeMap<(usize, usize), Outcome>,
    ) {
        let findings = copies
            .iter()
            .map(|parts| self.walker.compare(parts[first], parts[second], None));
        let found = findings
            .into_iter()
            .find(|finding| !matches!(finding, Outcome::Safe));
        if let Some(finding) = found {
            hides.insert((first, second), finding);
        }
    }

    fn alternative(&self, rule: usize, number: usize, at: usize) -> String {
        let choice = self.sources[rule].expr.choice(number);
        choice
            .and_then(|alternatives| alternatives.get(at))
            .map_or_else(String::new, ToString::to_string)
    }

    /// Returns the error for a rule in which a PEG has to make a decision that the ABNF leaves open.
    fn refuse(&self, rule: usize, message: &str) -> GenerateError {
        let rule = self.sources[rule].rule;
        rule.error(&format!(
            "{message}; write the rule so that the next characters tell, or state in the overrides \
             `{0} as ELEMENTS ; reason` (checked against the ABNF) or `{0} narrows ; reason` (such \
             texts may be refused)",
            rule.name
        ))
    }

    /// Returns the error for a decision with which the rule would no longer accept some texts of the ABNF.
    fn narrowing(&self, rule: usize, message: &str) -> GenerateError {
        narrowing(
            self.sources[rule].rule.name.as_str(),
            self.decisions(rule),
            message,
        )
    }
}

/// Returns the error for a decision with which a rule would no longer accept some texts of the ABNF.
pub(super) fn narrowing(rule: &str, decisions: &Decisions, message: &str) -> GenerateError {
    GenerateError::overrides(
        decisions.line,
        format!(
            "`{rule}`: {message}; correct the row, or say that it takes texts away: `{rule} narrows \
             ; reason`"
        ),
    )
}

/// Sorts alternatives so that none hides a later one, and changes their order as little as possible. `None` if there
/// is no such order.
fn sorted(mut rest: Vec<usize>, hides: &BTreeMap<(usize, usize), Outcome>) -> Option<Vec<usize>> {
    let mut order = Vec::new();
    while !rest.is_empty() {
        let next = rest.iter().position(|first| {
            let mut others = rest.iter().filter(|other| *other != first);
            others.all(|other| !hides.contains_key(&(*first, *other)))
        })?;
        order.push(rest.remove(next));
    }
    Some(order)
}
