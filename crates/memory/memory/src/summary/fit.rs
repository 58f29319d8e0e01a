//! Chooses which parts of a content a summary shows: as much as fits, the most important parts first.

mod piece;
mod requests;
mod shorten;

use std::fmt;

use accp_frame::TokenCounter;

use super::Content;
use super::form::{Head, More, Part, Shown, render};
use super::item::{Item, clipped};
use piece::{Piece, pieces};
use requests::{Asked, Asking, Limits};

/// How often a summary is made smaller until it fits. Tokens of pieces do not add up exactly.
const TRIES: usize = 12;
/// The search for pieces ends when this many pieces in a row do not fit.
const MISSES: usize = 24;
/// The most tokens of the line that says where the last request stands.
const REQUEST: usize = 14;

/// How many tokens a summary may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Room {
    /// For all but the requests of the user: a fifth of the window.
    pub(crate) total: usize,
    /// For everything except requests, constraints and decisions: a tenth of the window.
    pub(crate) usual: usize,
    /// For a first request that has to stand verbatim: an eighth of the window.
    pub(crate) intent: usize,
    /// For the words of all requests: half of the window.
    pub(crate) words: usize,
    /// For a summary with which the list still has room for the next turns.
    pub(crate) good: usize,
    /// For the longest possible summary: all room that the window has left.
    pub(crate) most: usize,
}

/// No summary is possible, because the pieces that may not be dropped do not fit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct NoRoom {
    pub(crate) needed: usize,
    pub(crate) room: usize,
    /// The messages that are marked as critical.
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

/// Writes the summary of a content.
pub(super) fn write(
    content: &Content,
    head: &Head,
    room: Room,
    counter: &dyn TokenCounter,
) -> Result<String, NoRoom> {
    let fit = Fit::of(content, head, room, counter);
    let total = fit.total();
    let mut limit = total;
    let mut needed = total;
    for _ in 0..TRIES {
        let shown = fit.shown(limit, total)?;
        let text = render(head, &content.progress.phase, &shown);
        needed = counter.count(&text);
        if needed <= total {
            return Ok(text);
        }
        limit = limit.saturating_sub((needed - total).max(1));
    }
    Err(fit.refused(needed, total))
}

/// Returns the tokens of the requests in a summary.
pub(super) fn requests(
    content: &Content,
    head: &Head,
    room: Room,
    counter: &dyn TokenCounter,
) -> usize {
    let fit = Fit::of(content, head, room, counter);
    fit.asking.whole().min(fit.requests())
}

struct Fit<'b> {
    content: &'b Content,
    head: &'b Head,
    room: Room,
    counter: &'b dyn TokenCounter,
    asking: Asking<'b>,
    /// The pieces that may not be dropped, and their tokens.
    critical: (Vec<Piece>, usize),
    /// The tokens of a summary without pieces, in which each part only says how many pieces it leaves out.
    base: usize,
    /// The tokens of a summary without pieces, in which each part only points to the archive.
    terse: usize,
}

impl<'b> Fit<'b> {
    fn of(content: &'b Content, head: &'b Head, room: Room, counter: &'b dyn TokenCounter) -> Self {
        let critical = piece::critical(content);
        // The mark of a list item and the line feed take three more tokens.
        let cost = critical.iter().map(|piece| counter.count(&piece.text) + 3);
        let mut fit = Self {
            asking: Asking::of(content, &head.archive, counter),
            critical: (critical.clone(), cost.sum()),
            content,
            head,
            room,
            counter,
            base: 0,
            terse: 0,
        };
        fit.base = fit.frame(false);
        fit.terse = fit.frame(true);
        fit
    }

    /// Returns the tokens of a summary without pieces. If it `is_terse`, its parts only point to the archive.
    fn frame(&self, is_terse: bool) -> usize {
        let mut shown = Shown {
            is_terse,
            ..Shown::default()
        };
        for piece in pieces(self.content) {
            let more = More {
                count: 99,
                first: 100,
                last: 200,
            };
            shown.more.insert(piece.part, more);
        }
        self.counter
            .count(&render(self.head, &self.content.progress.phase, &shown))
    }

    /// Returns the tokens that a summary always needs in addition to the requests.
    fn beside(&self) -> usize {
        self.terse + self.critical.1 + REQUEST
    }

    /// Returns the tokens that the requests may have. This is what their words need, up to half of the window, as
    /// long as the list keeps room for the next turns. If that leaves less than a quarter of the window for requests,
    /// they may take all the room that is left. How many requests there are does not count here: with many short ones
    /// the list would be full again at each turn, and each turn would need a new summary.
    fn requests(&self) -> usize {
        let Room {
            words, good, most, ..
        } = self.room;
        let headings = self.asking.whole().saturating_sub(self.asking.words());
        let left = |room: usize| room.saturating_sub(self.beside());
        let first = self.asking.least(self.limits(0));
        let room = if left(good) < words / 2 {
            left(most)
        } else {
            left(good)
        };
        room.min(words + headings).max(first).min(left(most))
    }

    fn limits(&self, all: usize) -> Limits {
        Limits {
            all,
            first: self.room.intent,
        }
    }

    /// Returns the tokens of the whole summary.
    fn total(&self) -> usize {
        let requests = self.asking.whole().min(self.requests());
        let Room {
            total, good, most, ..
        } = self.room;
        let good = good.max(self.beside() + requests);
        let least = self.terse + REQUEST + requests;
        (total + requests).min(good).max(least).min(most)
    }

    fn refused(&self, needed: usize, room: usize) -> NoRoom {
        NoRoom {
            needed,
            room,
            marked: self.content.marked.clone(),
        }
    }

    /// Chooses what a summary of at most this many tokens shows.
    fn shown(&self, limit: usize, total: usize) -> Result<Shown, NoRoom> {
        let mut shown = Shown::default();
        let (critical, cost) = &self.critical;
        // Marked messages may take the room of the other sections, but not that of the requests.
        let form = self.terse + REQUEST;
        if *cost > 0 && form + cost > self.room.total.max(form) {
            return Err(self.refused(form + cost, self.room.total));
        }
        let least = self.beside() + self.asking.least(self.limits(0));
        if least > limit {
            return Err(self.refused(least, total));
        }
        // The requests get their room before everything else.
        let requests = self.requests().min(limit - self.beside());
        let asked = self.asking.write(self.limits(requests));
        let with = |frame: usize| frame + cost + REQUEST + asked.cost;
        shown.is_terse = with(self.base) > limit;
        let frame = if shown.is_terse {
            self.terse
        } else {
            self.base
        };
        let left = limit.saturating_sub(with(frame));
        let usual = self.room.usual.saturating_sub(frame + cost + REQUEST);
        let Asked { texts, .. } = asked;
        shown.parts.insert(Part::Intent, texts);
        shown
            .parts
            .insert(Part::Request, vec![self.request(shown.is_terse)]);
        let mut chosen = critical.clone();
        self.rest(&mut shown, (left, usual.min(left)), &mut chosen);
        chosen.sort_by_key(|piece| (piece.part, piece.message, piece.order));
        for piece in chosen {
            shown.parts.entry(piece.part).or_default().push(piece.text);
        }
        Ok(shown)
    }

    fn cost(&self, text: &str) -> usize {
        // The mark of a list item and the line feed take three more tokens.
        self.counter.count(text) + 3
    }

    /// Says where the last request stands.
    fn request(&self, is_terse: bool) -> String {
        let Some(item) = &self.content.request else {
            return "None.".to_owned();
        };
        let mut later = self.content.requests.iter().skip(1);
        let is_later = later.any(|one| one.item.message == item.message);
        match item.message {
            message if self.content.request_stays && is_terse => {
                format!("message {message}, below.")
            }
            message if self.content.request_stays => {
                format!("message {message}, in full after this summary.")
            }
            message if is_later => format!("message {message} of the session intent."),
            _ => "the session intent.".to_owned(),
        }
    }

    /// Chooses from all other pieces, the most important first, and counts those that do not fit. Constraints and
    /// decisions may take all the tokens that are left. The other pieces may take only the usual number of tokens.
    fn rest(
        &self,
        shown: &mut Shown,
        (mut left, mut usual): (usize, usize),
        chosen: &mut Vec<Piece>,
    ) {
        let mut misses = 0;
        for piece in pieces(self.content) {
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

/// Counts pieces of a part that have no room in the summary.
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
