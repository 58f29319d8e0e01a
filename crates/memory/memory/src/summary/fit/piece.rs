//! The pieces of a summary, and how much each matters.

use std::collections::BTreeSet;

use accp_context::Class;

use crate::prose::plain;
use crate::summary::constraint::{Constraint, Force};
use crate::summary::fact::Known;
use crate::summary::form::{Part, cell, quoted};
use crate::summary::item::Item;
use crate::summary::{Artifact, Content};

/// A line has at most this many facts.
const FACTS: usize = 12;

/// A piece of a summary.
#[derive(Debug, Clone)]
pub(super) struct Piece {
    pub(super) part: Part,
    pub(super) message: usize,
    /// The place among the pieces of one message.
    pub(super) order: usize,
    pub(super) text: String,
    /// How many things the piece says.
    pub(super) count: usize,
    rank: Rank,
    /// The best class among the facts of the piece.
    class: Class,
}

impl Piece {
    /// Returns whether the piece is a marked message, a constraint or a decision.
    pub(super) fn is_binding(&self) -> bool {
        self.rank <= Rank::Decision
    }
}

/// What a piece is worth; the most important first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Rank {
    Marked,
    Rule,
    Wish,
    Replaced,
    Decision,
    Artifact,
    Next,
    Remaining,
    Needed,
    Completed,
    Fact,
}

impl Rank {
    /// Returns whether the newest pieces of this rank come first. Constraints and decisions come in the order of their
    /// messages, so that those of one summary are also in the next summary.
    fn newest_first(self) -> bool {
        matches!(
            self,
            Self::Artifact | Self::Needed | Self::Completed | Self::Fact
        )
    }
}

/// Returns the pieces that may not be dropped. If the first request is marked, it is left out here, because it is
/// shown verbatim as a request.
pub(super) fn critical(content: &Content) -> Vec<Piece> {
    let first = content.requests.first().map(|first| &first.item);
    let piece = |item: &Item| {
        let quotation = quoted(&item.text).replace('\n', "\n  ");
        Piece {
            part: Part::Facts,
            message: item.message,
            order: 0,
            text: format!(
                "Marked as critical (message {}):\n  {quotation}",
                item.message
            ),
            count: 1,
            rank: Rank::Marked,
            class: Class::Other,
        }
    };
    let marked = content.marked.iter().filter(|item| Some(*item) != first);
    marked.map(piece).collect()
}

/// Returns all other pieces, the most important first. No sentence is taken from messages that persons typed, which
/// are shown as requests, or from marked messages, which are shown whole.
pub(super) fn pieces(content: &Content) -> Vec<Piece> {
    let mut out = Vec::new();
    let marked: BTreeSet<usize> = content.marked.iter().map(|item| item.message).collect();
    let is_new = |message: usize| !marked.contains(&message) && !content.typed.contains(&message);
    let mut shown = BTreeSet::new();
    for one in &content.constraints {
        let is_typed = content.typed.contains(&one.item.message);
        let is_plain = one.replaced.is_none() && one.replaces.is_none();
        if !is_typed && (is_new(one.item.message) || !is_plain) {
            shown.insert(plain(&one.item.text));
            out.push(of_constraint(one));
        }
    }
    let decisions = content.decisions.iter().filter(|item| is_new(item.message));
    out.extend(
        decisions
            .filter(|item| shown.insert(plain(&item.text)))
            .map(|item| {
                let text = format!("{} (message {})", item.text, item.message);
                line(Part::Decisions, Rank::Decision, item.message, text)
            }),
    );
    out.extend(content.artifacts.iter().map(of_artifact));
    let progress = &content.progress;
    for (part, rank, items) in [
        (Part::Next, Rank::Next, &progress.next),
        (Part::Remaining, Rank::Remaining, &progress.remaining),
        (Part::Completed, Rank::Completed, &progress.completed),
    ] {
        let items = items.iter().filter(|item| {
            let is_picked = part == Part::Remaining && content.typed.contains(&item.message);
            !is_picked && shown.insert(plain(&item.text))
        });
        out.extend(items.map(|item| line(part, rank, item.message, item.text.clone())));
    }
    let facts: Vec<_> = content
        .facts
        .iter()
        .filter(|one| !marked.contains(&one.message))
        .filter(|one| !(content.typed.contains(&one.message) && is_sentence(one)))
        .collect();
    out.extend(of_facts(&facts, &mut shown));
    for (order, piece) in out.iter_mut().enumerate() {
        piece.order = order;
    }
    out.sort_by_key(|piece| {
        let newest = if piece.rank.newest_first() {
            usize::MAX - piece.message
        } else {
            piece.message
        };
        (piece.rank, piece.class, newest, piece.order)
    });
    out
}

fn line(part: Part, rank: Rank, message: usize, text: String) -> Piece {
    Piece {
        part,
        message,
        order: 0,
        text,
        count: 1,
        rank,
        class: Class::Other,
    }
}

fn of_constraint(one: &Constraint) -> Piece {
    let Item { message, text } = &one.item;
    let (rank, note) = match (one.replaced, one.replaces, one.force) {
        (Some(by), ..) => (Rank::Replaced, format!("; replaced by message {by}")),
        (None, Some(old), _) => (Rank::Rule, format!("; newest, instead of message {old}")),
        (None, None, Force::Rule) => (Rank::Rule, String::new()),
        (None, None, Force::Wish) => (Rank::Wish, String::new()),
    };
    line(
        Part::Facts,
        rank,
        *message,
        format!("{text} (message {message}{note})"),
    )
}

fn of_artifact(one: &Artifact) -> Piece {
    let status = if one.complete { "Complete" } else { "Partial" };
    let text = format!("| {} | {} | {status} |", cell(one.name()), cell(&one.path));
    line(Part::Artifacts, Rank::Artifact, one.message, text)
}

/// Returns lines of facts: those about one thing in one message are one line.
fn of_facts(facts: &[&Known], shown: &mut BTreeSet<String>) -> Vec<Piece> {
    let mut out = Vec::new();
    let one_line = |a: &&Known, b: &&Known| {
        let same = a.message == b.message && a.about == b.about;
        same && a.name.is_empty() == b.name.is_empty() && !is_sentence(a)
    };
    for group in facts.chunk_by(one_line) {
        for needed in [true, false] {
            let mut some: Vec<_> = group.iter().filter(|one| one.needed == needed).collect();
            some.sort_by_key(|one| one.class);
            for facts in some.chunks(FACTS) {
                let Some(first) = facts.first() else { continue };
                let rank = if needed { Rank::Needed } else { Rank::Fact };
                let text = joined(facts.iter().map(|one| **one));
                if shown.insert(plain(&text)) {
                    let text = if is_sentence(first) {
                        format!("{text} (message {})", first.message)
                    } else {
                        format!("{} (message {}): {text}", first.about, first.message)
                    };
                    let piece = line(Part::Facts, rank, first.message, text);
                    out.push(Piece {
                        count: facts.len(),
                        class: first.class,
                        ..piece
                    });
                }
            }
        }
    }
    out
}

/// Returns whether a fact is a sentence of a user.
fn is_sentence(one: &Known) -> bool {
    one.name.is_empty() && one.about == "user"
}

fn joined<'k>(facts: impl Iterator<Item = &'k Known>) -> String {
    let one = |fact: &Known| match &*fact.name {
        "" => fact.value.clone(),
        name => format!("{name} {}", fact.value),
    };
    facts.map(one).collect::<Vec<_>>().join("; ")
}
