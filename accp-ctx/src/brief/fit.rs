//! What of a brief a summary shows: as much as its room holds, the most important first.

mod piece;
mod shorten;

use std::fmt;

use accp_frame::TokenCounter;

use super::Brief;
use super::form::{Head, More, Part, Shown, quoted, render};
use super::item::{Item, clipped};
use piece::{Piece, pieces};
use shorten::shortened;

/// How often a summary is made smaller until it fits. Tokens of pieces do not add up exactly.
const TRIES: usize = 12;
/// The number of pieces in a row without room that ends the search.
const MISSES: usize = 24;
/// With fewer tokens a shortened text says nothing.
const LEAST: usize = 40;
/// The most tokens of an intent that only names its message.
const REFERENCE: usize = 20;
/// The most tokens of a request that only names its message.
const REQUEST: usize = 8;

/// How many tokens a summary may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Room {
    /// For the whole summary: a fifth of the window.
    pub(crate) total: usize,
    /// For a summary with more than intents, what obliges, and decisions: a tenth of the window.
    pub(crate) usual: usize,
    /// For the intent verbatim: an eighth of the window.
    pub(crate) intent: usize,
    /// For a summary whose form leaves no room for such an intent: what the window has left.
    pub(crate) most: usize,
}

/// Why there is no summary: what may not be dropped does not fit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct NoRoom {
    pub(crate) needed: usize,
    pub(crate) room: usize,
    /// The messages that are marked as critical and do not fit.
    pub(crate) marked: Vec<Item>,
}

impl fmt::Display for NoRoom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { needed, room, .. } = self;
        write!(
            f,
            "the summary needs {needed} tokens and has room for {room}"
        )?;
        for (at, item) in self.marked.iter().enumerate() {
            let before = if at == 0 {
                "; marked as critical and without room: "
            } else {
                ", "
            };
            write!(
                f,
                "{before}message {} ({})",
                item.message,
                clipped(&item.text, 40)
            )?;
        }
        Ok(())
    }
}

impl std::error::Error for NoRoom {}

/// Writes the summary of a brief.
pub(super) fn write(
    brief: &Brief,
    head: &Head,
    room: Room,
    counter: &dyn TokenCounter,
) -> Result<String, NoRoom> {
    let mut fit = Fit {
        brief,
        head,
        room,
        counter,
        base: 0,
        terse: 0,
    };
    fit.base = fit.frame(false);
    fit.terse = fit.frame(true);
    fit.room.total = fit.widened();
    let total = fit.room.total;
    let mut limit = total;
    let mut needed = total;
    for _ in 0..TRIES {
        let shown = fit.shown(limit)?;
        let text = render(head, &brief.progress.phase, &shown);
        needed = counter.count(&text);
        if needed <= total {
            return Ok(text);
        }
        limit = limit.saturating_sub((needed - total).max(1));
    }
    Err(fit.refused(needed))
}

struct Fit<'b> {
    brief: &'b Brief,
    head: &'b Head,
    room: Room,
    counter: &'b dyn TokenCounter,
    /// The tokens of the form when it only counts the pieces.
    base: usize,
    /// The tokens of the form when its parts only point to the archive.
    terse: usize,
}

impl Fit<'_> {
    /// Returns the tokens of the form when it only counts the pieces, or only points to the archive.
    fn frame(&self, is_terse: bool) -> usize {
        let mut shown = Shown {
            is_terse,
            ..Shown::default()
        };
        for piece in pieces(self.brief, &[]) {
            let more = More {
                count: 99,
                first: 100,
                last: 200,
            };
            shown.more.insert(piece.part, more);
        }
        self.counter
            .count(&render(self.head, &self.brief.progress.phase, &shown))
    }

    /// Returns the tokens that the first objective has to have: all of them if it is short enough to stand verbatim.
    fn wanted(&self) -> usize {
        let Some(first) = self.brief.intent.first() else {
            return 0;
        };
        if self.is_short(first) {
            // What is marked has its room already.
            let cost = self.cost(&quoted(&first.text));
            cost.saturating_sub(self.refund(first.message))
        } else {
            LEAST
        }
    }

    /// Returns whether the words of the user are within an eighth of the window.
    fn is_short(&self, item: &Item) -> bool {
        self.counter.count(&item.text) <= self.room.intent
    }

    /// Returns the tokens that the last request has to have, in the same way. What stays in the list is only named.
    fn requested(&self) -> usize {
        let Some(item) = &self.brief.request else {
            return 0;
        };
        let is_intent = |one: &Item| one.message == item.message;
        let stands = self.brief.request_stays || self.brief.intent.iter().any(is_intent);
        let cost = self.cost(&quoted(&item.text));
        if stands || cost > self.room.intent {
            REQUEST
        } else {
            cost
        }
    }

    /// Returns the room, with what a verbatim intent and request need more: in a small window the form alone takes most of a
    /// fifth.
    fn widened(&self) -> usize {
        let needed = self.terse + self.wanted() + self.requested();
        self.room.total.max(needed.min(self.room.most))
    }

    /// Returns the tokens of what may not be dropped.
    fn critical(&self) -> usize {
        let pieces = piece::critical(self.brief);
        pieces.iter().map(|piece| self.cost(&piece.text)).sum()
    }

    fn refused(&self, needed: usize) -> NoRoom {
        NoRoom {
            needed,
            room: self.room.total,
            marked: self.brief.marked.clone(),
        }
    }

    /// Chooses what a summary of at most this many tokens shows.
    fn shown(&self, limit: usize) -> Result<Shown, NoRoom> {
        let mut shown = Shown::default();
        let critical = piece::critical(self.brief);
        let cost = self.critical();
        let wanted = self.wanted();
        // What the user wants stands verbatim before anything is counted.
        shown.is_terse = self.base + cost + wanted + self.requested() > limit;
        let frame = if shown.is_terse {
            self.terse
        } else {
            self.base
        };
        // A short intent stands verbatim, or there is no summary.
        let is_short = |first| self.is_short(first);
        let least = if self.brief.intent.first().is_some_and(is_short) {
            wanted
        } else {
            wanted.min(REFERENCE)
        };
        let left = limit.checked_sub(frame + cost + least);
        let mut left = left.ok_or_else(|| self.refused(frame + cost + least))? + least;
        let verbatim = self.intent(&mut shown, &mut left);
        let verbatim = self.request(&mut shown, &mut left, verbatim);
        let mut chosen = critical;
        // A marked message that stands as the intent or the request is not repeated.
        chosen
            .retain(|piece| !(verbatim.contains(&piece.message) && self.refund(piece.message) > 0));
        let usual = left.min(self.room.usual.saturating_sub(limit - left));
        self.rest(&mut shown, (left, usual), &verbatim, &mut chosen);
        chosen.sort_by_key(|piece| (piece.part, piece.message, piece.order));
        for piece in chosen {
            shown.parts.entry(piece.part).or_default().push(piece.text);
        }
        Ok(shown)
    }

    fn cost(&self, text: &str) -> usize {
        // The mark of the line, and the line feed.
        self.counter.count(text) + 3
    }

    /// Returns the tokens that are reserved for a message because it is marked, if its words are all of it: where
    /// they stand already, they need not stand again.
    fn refund(&self, message: usize) -> usize {
        let objectives = self.brief.intent.iter().chain(&self.brief.request);
        let mut objectives = objectives.filter(|item| item.message == message);
        let is_whole = |item: &Item| self.brief.marked.contains(item);
        if !objectives.any(is_whole) {
            return 0;
        }
        let mut pieces = piece::critical(self.brief).into_iter();
        let piece = pieces.find(|piece| piece.message == message);
        piece.map_or(0, |piece| self.cost(&piece.text))
    }

    /// Shows the objectives, and returns the messages that stand verbatim.
    fn intent(&self, shown: &mut Shown, left: &mut usize) -> Vec<usize> {
        let mut texts = Vec::new();
        let mut verbatim = Vec::new();
        let [first, later @ ..] = &*self.brief.intent else {
            return verbatim;
        };
        // The first objective, and then the newest.
        for (order, item) in std::iter::once(first).chain(later.iter().rev()).enumerate() {
            let refund = self.refund(item.message);
            *left += refund;
            let share = if order == 0 { *left } else { *left / 2 };
            // What is shortened anyway leaves room for the rest.
            let limit = (share / 2).min(self.room.intent);
            let heading = match order {
                0 => String::new(),
                _ => format!("New objective (message {}):\n", item.message),
            };
            let quotation = format!("{heading}{}", quoted(&item.text));
            let cost = self.cost(&quotation);
            // Only the words of the user count against an eighth of the window.
            let is_short = self.counter.count(&item.text) <= self.room.intent && cost <= share;
            if is_short || refund > 0 {
                *left = left.saturating_sub(cost);
                texts.push((item.message, quotation));
                verbatim.push(item.message);
            } else if order == 0 && share < LEAST {
                let text = format!(
                    "VERIFICATION_NEEDED: message {} of {}",
                    item.message, self.head.archive
                );
                *left = left.saturating_sub(self.cost(&text));
                texts.push((item.message, text));
            } else if order == 0 || limit > 2 * LEAST {
                let short = shortened(
                    item,
                    limit.saturating_sub(3),
                    &self.head.archive,
                    self.counter,
                );
                *left = left.saturating_sub(self.cost(&short));
                texts.push((item.message, format!("{heading}{short}")));
            } else {
                count(shown, Part::Intent, item.message, 1);
            }
        }
        texts.sort();
        let texts = texts.into_iter().map(|(_, text)| text);
        shown.parts.insert(Part::Intent, texts.collect());
        verbatim
    }

    /// Shows the last message of the user.
    fn request(&self, shown: &mut Shown, left: &mut usize, mut verbatim: Vec<usize>) -> Vec<usize> {
        let Some(item) = &self.brief.request else {
            return verbatim;
        };
        let is_intent = self
            .brief
            .intent
            .iter()
            .any(|one| one.message == item.message);
        let text = if is_intent {
            "the session intent.".to_owned()
        } else {
            let quotation = quoted(&item.text);
            let cost = self.cost(&quotation);
            let refund = self.refund(item.message);
            *left += refund;
            if refund > 0 || cost <= self.room.intent.max(*left / 2).min(*left) {
                verbatim.push(item.message);
                quotation
            } else {
                let limit = self.room.intent.min(*left / 3);
                if self.brief.request_stays && shown.is_terse {
                    format!("message {}, below.", item.message)
                } else if self.brief.request_stays {
                    format!("message {}, in full after this summary.", item.message)
                } else if limit > 2 * LEAST {
                    shortened(item, limit, &self.head.archive, self.counter)
                } else {
                    format!("message {}, see the archive.", item.message)
                }
            }
        };
        *left = left.saturating_sub(self.cost(&text));
        shown.parts.insert(Part::Request, vec![text]);
        verbatim
    }

    /// Chooses from everything else, the most important first, and counts what has no room. What was decided, and
    /// what obliges, may take all tokens that are left, and the rest only as many as are usual.
    fn rest(
        &self,
        shown: &mut Shown,
        (mut left, mut usual): (usize, usize),
        verbatim: &[usize],
        chosen: &mut Vec<Piece>,
    ) {
        let mut misses = 0;
        for piece in pieces(self.brief, verbatim) {
            let cost = if misses < MISSES {
                self.cost(&piece.text)
            } else {
                usize::MAX
            };
            if cost <= if piece.is_binding() { left } else { usual } {
                left -= cost;
                usual = usual.saturating_sub(cost);
                misses = 0;
                chosen.push(piece);
            } else {
                misses += 1;
                count(shown, piece.part, piece.message, piece.count);
            }
        }
    }
}

/// Counts what has no room.
fn count(shown: &mut Shown, part: Part, message: usize, count: usize) {
    let more = shown.more.entry(part).or_insert(More {
        count: 0,
        first: message,
        last: message,
    });
    more.count += count;
    more.first = more.first.min(message);
    more.last = more.last.max(message);
}
