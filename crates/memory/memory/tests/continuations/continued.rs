//! Recorded conversations up to the place where a summary replaced their beginning, and the messages that follow.

use std::cell::RefCell;

use accp_memory::{
    Case, Form, Judge, ListPlan, ListSession, MessageList, Options, SessionId, Sign, Summarizer,
    SummaryRequest, Tier, Window,
};
use serde_json::Value as Json;
use time::OffsetDateTime;

use crate::common::quarters::Quarters;
use crate::continuations::recorded::Recorded;

/// The allowed sizes of a window, in tokens.
const WINDOWS: std::ops::RangeInclusive<usize> = 1_000..=16_000;
/// How many messages of the assistant are judged after a summary.
pub(crate) const WATCHED: usize = 6;

/// A place in a conversation: the assistant is about to speak.
#[derive(Clone)]
pub(crate) struct Point {
    pub(crate) session: ListSession,
    /// The list that the assistant answers.
    pub(crate) list: Vec<String>,
    /// The index of the message that the assistant says next.
    pub(crate) next: usize,
    pub(crate) window: u64,
}

/// A conversation with its summary.
pub(crate) struct Continued<'r> {
    pub(crate) recorded: &'r Recorded,
    /// The session and the list just before the summary.
    before: (ListSession, Vec<String>),
    pub(crate) points: Vec<Point>,
}

/// A summarizer that drops all lines with a text from the summary.
struct Forgetful<'t>(&'t str);

impl Summarizer for Forgetful<'_> {
    fn summarize(&self, wanted: &SummaryRequest<'_>) -> Option<String> {
        let kept = wanted.rules.lines().filter(|line| !line.contains(self.0));
        Some(kept.collect::<Vec<_>>().join("\n"))
    }
}

/// Returns the plan for a list, and the messages of the planned list.
fn plan(
    session: &ListSession,
    list: &[String],
    window: u64,
    judges: &[&dyn Judge],
    summarizer: &dyn Summarizer,
) -> Option<(ListPlan, Vec<String>)> {
    let list = MessageList::of(Form::OpenAi, list.iter().map(String::as_str)).ok()?;
    let window = Window::of(window).unwrap();
    let options = Options {
        summarizer,
        judges,
        ..Options::new(&window, &Quarters, OffsetDateTime::UNIX_EPOCH)
    };
    let plan = session.plan(&list, &options, &(), &mut ()).ok()?;
    let shown = plan.list(&list);
    let raws = shown
        .messages()
        .iter()
        .map(|message| message.raw().to_owned());
    let raws = raws.collect();
    Some((plan, raws))
}

impl Point {
    /// Lets a judge look at a message of the assistant here.
    pub(crate) fn show(&self, message: &Json, judge: &dyn Judge) {
        let mut list = self.list.clone();
        list.push(message.to_string());
        plan(&self.session, &list, self.window, &[judge], &());
    }
}

impl<'r> Continued<'r> {
    /// Returns a conversation with a summary. The window is chosen so that the summary is written at about the
    /// middle.
    pub(crate) fn of(recorded: &'r Recorded) -> Option<Self> {
        let sizes = recorded
            .messages
            .iter()
            .map(|message| message.to_string().len());
        let tokens = sizes.sum::<usize>() / 4;
        let tries = [tokens * 2 / 3, tokens / 3]
            .map(|window| window.clamp(*WINDOWS.start(), *WINDOWS.end()));
        let mut all = tries
            .iter()
            .filter_map(|window| Self::within(recorded, *window as u64));
        let first = all.next()?;
        if first.points.len() == WATCHED {
            return Some(first);
        }
        let second = all
            .next()
            .filter(|second| second.points.len() > first.points.len());
        second.or(Some(first))
    }

    fn within(recorded: &'r Recorded, window: u64) -> Option<Self> {
        let mut session = ListSession::new(SessionId::new("recorded").unwrap(), Form::OpenAi);
        let mut list = Vec::new();
        let mut before = None;
        let mut points = Vec::new();
        for (next, message) in recorded.messages.iter().enumerate() {
            if message["role"] == "assistant" && next > 0 {
                let Some((plan, shown)) = plan(&session, &list, window, &[], &()) else {
                    break;
                };
                if before.is_none() && plan.events.iter().any(|event| event.tier == Tier::Three) {
                    before = Some((session.clone(), list));
                }
                session.apply(&plan);
                list = shown;
                if before.is_some() {
                    points.push(Point {
                        session: session.clone(),
                        list: list.clone(),
                        next,
                        window,
                    });
                }
            }
            if points.len() == WATCHED {
                break;
            }
            list.push(message.to_string());
        }
        Some(Self {
            recorded,
            before: before?,
            points,
        })
    }

    /// Returns the first place with a summary that lacks a text; `None` if the list still has the text.
    pub(crate) fn without(&self, text: &str) -> Option<Point> {
        let (mut session, first) = (self.before.0.clone(), self.points.first()?);
        let (plan, list) = plan(
            &session,
            &self.before.1,
            first.window,
            &[],
            &Forgetful(text),
        )?;
        session.apply(&plan);
        let is_gone = !list.iter().any(|message| message.contains(text));
        is_gone.then(|| Point {
            session,
            list,
            ..first.clone()
        })
    }
}

/// What left a list: texts, each with the index of its message.
#[derive(Default)]
pub(crate) struct Left {
    pub(crate) decisions: Vec<(usize, String)>,
    pub(crate) constraints: Vec<(usize, String)>,
}

/// A judge that collects the texts that left the list, and sees no signs.
#[derive(Default)]
struct Probe(RefCell<Left>);

impl Judge for Probe {
    fn judge(&self, case: &Case<'_>) -> Vec<Sign> {
        let owned = |all: Vec<(usize, &str)>| {
            all.into_iter()
                .map(|(at, text)| (at, text.to_owned()))
                .collect()
        };
        *self.0.borrow_mut() = Left {
            decisions: owned(case.decisions()),
            constraints: owned(case.constraints()),
        };
        Vec::new()
    }
}

impl Point {
    /// Returns what left the list.
    pub(crate) fn left(&self, message: &Json) -> Left {
        let probe = Probe::default();
        self.show(message, &probe);
        probe.0.into_inner()
    }
}
