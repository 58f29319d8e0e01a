//! The requests of the user in a summary. They are whole as long as they fit; otherwise the longest are cut first.

use accp_frame::TokenCounter;

use super::shorten::{Cut, shortened};
use crate::summary::Content;
use crate::summary::form::quoted;
use crate::summary::item::Item;
use crate::summary::request::Request;

/// The fewest tokens of a cut text, with the words around it.
const LEAST: usize = 40;
/// A later request of at most this many tokens, with its heading, stays whole while a longer first request keeps an eighth
/// of the window. Cut to fewer tokens, a request shows hardly any words.
const SHORT: usize = 120;
/// The most tokens of a first request that only names its message.
pub(super) const REFERENCE: usize = 20;
/// The tokens of the line that counts the requests that were cut or left out.
const NOTE: usize = 60;
/// The tokens of the line that only says how many requests are missing.
const TERSE: usize = 20;
/// Stands before the later requests.
const LATER: &str = "Later requests, each behind the number of its message, and answered if no note says otherwise; where two \
                     differ, the later one counts:";

/// The requests as a summary shows them.
#[derive(Debug, Default)]
pub(super) struct Asked {
    pub(super) texts: Vec<String>,
    /// The tokens of the texts.
    pub(super) cost: usize,
}

/// The room of requests, in tokens.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limits {
    /// The room for all requests, with their headings.
    pub(super) all: usize,
    /// A first request with at most this many tokens has to be whole; otherwise there is no summary. A last request
    /// with at most this many tokens is cut only if it does not fit together with the first request. A longer first
    /// request keeps this many tokens while short later ones are whole.
    pub(super) first: usize,
}

/// Writes the requests of a content.
pub(super) struct Asking<'b> {
    content: &'b Content,
    archive: &'b str,
    counter: &'b dyn TokenCounter,
    later: Vec<Later<'b>>,
    /// The tokens of the first request, whole.
    first: usize,
}

struct Later<'b> {
    request: &'b Request,
    whole: String,
    /// The tokens of the whole text, with its heading.
    cost: usize,
    /// Whether the request is marked, so that another part of the summary shows it.
    is_marked: bool,
}

impl<'b> Asking<'b> {
    pub(super) fn of(
        content: &'b Content,
        archive: &'b str,
        counter: &'b dyn TokenCounter,
    ) -> Self {
        let later = content.requests.iter().skip(1).map(|request| {
            let mut marked = content.marked.iter();
            let is_marked = marked.any(|one| one.message == request.item.message);
            let whole = if is_marked {
                heading(request, Some("stands under Critical Facts"))
            } else {
                format!("{}:{}", heading(request, None), said(&request.item.text))
            };
            Later {
                request,
                cost: counter.count(&whole) + gap(&whole),
                whole,
                is_marked,
            }
        });
        let first = content.requests.first();
        Self {
            later: later.collect(),
            first: first.map_or(0, |first| counter.count(&opening(first)) + 3),
            content,
            archive,
            counter,
        }
    }

    /// Returns the tokens of all requests, whole.
    pub(super) fn whole(&self) -> usize {
        self.first + self.intro() + self.later.iter().map(|one| one.cost).sum::<usize>()
    }

    /// Returns the tokens of the words of all requests, without headings. The words of requests may take half of the
    /// window.
    pub(super) fn words(&self) -> usize {
        let all = self.content.requests.iter();
        all.map(|one| self.counter.count(&one.item.text)).sum()
    }

    /// Returns the fewest tokens with which the requests can be shown: the first request, and a line for the others.
    pub(super) fn least(&self, limits: Limits) -> usize {
        let first = match self.content.requests.first() {
            None => return 0,
            Some(first) if self.has_to_stand(&first.item, limits) => self.first,
            Some(_) => self.first.min(REFERENCE),
        };
        first + if self.later.is_empty() { 0 } else { TERSE }
    }

    /// Returns whether the first request has to be whole, so that there is no summary if it does not fit.
    fn has_to_stand(&self, first: &Item, limits: Limits) -> bool {
        self.content.marked.contains(first) || self.counter.count(&first.text) <= limits.first
    }

    fn intro(&self) -> usize {
        if self.later.is_empty() {
            0
        } else {
            self.counter.count(LATER) + 3
        }
    }

    /// Writes the requests in at most `limits.all` tokens, if the shortest form fits. If not all of them fit, the
    /// longest requests between the first and the last are cut, then the first request down to an eighth of the window,
    /// and then the short requests between. After that, the oldest of the later requests are left out.
    pub(super) fn write(&self, limits: Limits) -> Asked {
        let Some(first) = self.content.requests.first() else {
            return Asked::default();
        };
        if self.whole() <= limits.all {
            let later = self.later.iter().map(|one| one.whole.clone());
            return self.asked(opening(first), &later.collect::<Vec<_>>(), None);
        }
        let note = if self.later.is_empty() { 0 } else { NOTE };
        let all = limits.all.saturating_sub(self.intro() + note);
        let stands = self.has_to_stand(&first.item, limits);
        // The fewest tokens that the first request takes when all others are cut.
        let least = if stands {
            self.first
        } else {
            self.first.min(LEAST)
        };
        let newest = self.later.last();
        let newest =
            newest.filter(|one| self.counter.count(&one.request.item.text) <= limits.first);
        let newest = newest.filter(|one| least + one.cost <= all);
        let newest = newest.map(|one| one.request.item.message);
        let is_whole = |one: &Later<'_>| one.is_marked || Some(one.request.item.message) == newest;
        let capped = |one: &Later<'_>, cap: usize| {
            if is_whole(one) {
                one.cost
            } else {
                one.cost.min(cap)
            }
        };
        let of_later = |from: usize, cap: usize| -> usize {
            let later = self.later.iter().skip(from);
            later.map(|one| capped(one, cap)).sum()
        };
        let mut from = 0;
        let mut needed = least + of_later(0, LEAST);
        while let Some(oldest) = self.later.get(from).filter(|_| needed > all) {
            needed = needed.saturating_sub(capped(oldest, LEAST));
            from += 1;
        }
        let left = |cap: usize| all.saturating_sub(of_later(from, cap));
        // The largest cap of the later requests, at most `most`, that leaves the first request these tokens.
        let largest = |first: usize, most: usize| {
            let (mut fits, mut over) = (LEAST, most.max(LEAST) + 1);
            while fits + 1 < over {
                let middle = usize::midpoint(fits, over);
                if first <= left(middle) {
                    fits = middle;
                } else {
                    over = middle;
                }
            }
            fits
        };
        let cap = if stands || self.first <= left(SHORT) {
            largest(self.first, all)
        } else {
            largest(self.first.min(limits.first.max(LEAST)), SHORT)
        };
        let first = if stands || self.first <= left(cap) {
            opening(first)
        } else {
            self.first_cut(first, left(cap))
        };
        let mut texts = Vec::new();
        let mut cut = 0;
        for one in self.later.iter().skip(from) {
            if one.cost <= cap || is_whole(one) {
                texts.push(one.whole.clone());
            } else {
                cut += 1;
                texts.push(self.cut(one.request, cap));
            }
        }
        let note = self.note(cut, self.later.get(..from).unwrap_or_default());
        let asked = self.asked(first.clone(), &texts, note);
        if asked.cost <= limits.all || from < self.later.len() || self.later.is_empty() {
            return asked;
        }
        let requests = if from == 1 { "request" } else { "requests" };
        let terse = format!("VERIFICATION_NEEDED: {from} more {requests}; see the archive.");
        self.asked(first, &[], Some(terse))
    }

    fn asked(&self, first: String, later: &[String], note: Option<String>) -> Asked {
        let count = |text: &String| self.counter.count(text);
        let intro = (!later.is_empty()).then(|| LATER.to_owned());
        let mut cost: usize = later.iter().map(|text| count(text) + gap(text)).sum();
        let later = (!later.is_empty()).then(|| joined(later));
        let apart = [Some(&first), intro.as_ref(), note.as_ref()];
        cost += apart
            .into_iter()
            .flatten()
            .map(|text| count(text) + 3)
            .sum::<usize>();
        let texts = std::iter::once(first).chain(intro).chain(later).chain(note);
        Asked {
            cost,
            texts: texts.collect(),
        }
    }

    /// Returns the first request in at most `tokens` tokens.
    fn first_cut(&self, first: &Request, tokens: usize) -> String {
        let item = &first.item;
        if tokens < LEAST {
            return format!(
                "VERIFICATION_NEEDED: message {} of {}",
                item.message, self.archive
            );
        }
        let before = format!(
            "{}VERIFICATION_NEEDED: shortened; the whole is message {} of {}\n\n",
            speaker(first),
            item.message,
            self.archive
        );
        let cut = Cut {
            text: &item.text,
            before: &before,
        };
        shortened(&cut, tokens.saturating_sub(3), self.counter)
    }

    /// Returns a later request in at most `tokens` tokens.
    fn cut(&self, request: &Request, tokens: usize) -> String {
        let before = format!("{}:\n", heading(request, Some("cut")));
        let cut = Cut {
            text: &request.item.text,
            before: &before,
        };
        shortened(&cut, tokens.saturating_sub(3), self.counter)
    }

    /// Returns a line that says how many requests are cut, which are left out, and how to recover them. The heading of a cut
    /// request says that it is cut.
    fn note(&self, cut: usize, gone: &[Later<'_>]) -> Option<String> {
        let cut = (cut > 0).then(|| format!("{cut} cut"));
        let ends = gone.first().zip(gone.last());
        let gone = ends.map(|(first, last)| {
            let (first, last) = (first.request.item.message, last.request.item.message);
            let place = if first == last {
                format!("message {first}")
            } else {
                format!("messages {first} to {last}")
            };
            format!("{} left out ({place})", gone.len())
        });
        let parts: Vec<_> = cut.into_iter().chain(gone).collect();
        (!parts.is_empty()).then(|| {
            format!(
                "Not whole: {}. `## N` of {} has all of message N.",
                parts.join(", "),
                self.archive
            )
        })
    }
}

/// Returns the heading of a later request: the number of its message, and in brackets its speaker if that has a name, how it
/// is shown, and what was done for it.
fn heading(request: &Request, how: Option<&str>) -> String {
    let Request {
        item,
        speaker,
        done,
    } = request;
    let speaker = speaker.as_deref().map(of);
    let notes = [speaker.as_deref(), how, done.as_deref()];
    let notes: Vec<_> = notes.into_iter().flatten().collect();
    if notes.is_empty() {
        item.message.to_string()
    } else {
        format!("{} ({})", item.message, notes.join("; "))
    }
}

/// Returns the first request, whole.
fn opening(first: &Request) -> String {
    format!("{}{}", speaker(first), quoted(&first.item.text))
}

/// Returns the line above the first request that names its speaker; nothing if the speaker has no name.
fn speaker(first: &Request) -> String {
    let name = first.speaker.as_deref();
    name.map_or(String::new(), |name| {
        format!("{} ({}):\n", first.item.message, of(name))
    })
}

/// Returns the note that names a speaker. A name that could end the note, or begin a line, stands in quotation marks.
fn of(name: &str) -> String {
    let is_odd = |c: char| c.is_control() || "()[]:;\"\u{2028}\u{2029}".contains(c);
    if name.contains(is_odd) {
        format!("of {name:?}")
    } else {
        format!("of {name}")
    }
}

/// Returns the words of a request as they stand behind its heading: one line as it is, several as a quotation.
fn said(text: &str) -> String {
    let text = text.trim_matches('\n');
    if text.contains(['\n', '\r']) {
        format!("\n{}", quoted(text))
    } else {
        format!(" {text}")
    }
}

/// Returns the tokens that stand between a later request and the next one.
fn gap(text: &str) -> usize {
    if text.contains('\n') { 3 } else { 1 }
}

/// Returns requests, each of one line on a line of its own. A blank line keeps a quotation apart.
fn joined(later: &[String]) -> String {
    let mut out = String::new();
    let mut before: Option<&String> = None;
    for text in later {
        if let Some(before) = before {
            let is_apart = before.contains('\n') || text.contains('\n');
            out.push_str(if is_apart { "\n\n" } else { "\n" });
        }
        out.push_str(text);
        before = Some(text);
    }
    out
}
