//! Answers calls of `memory_read`. The gateway itself sends the next request, with the call and the lines after the
//! list, and the client sees one answer.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use accp_frame::TokenCounter as _;
use accp_tokens::Bpe;
use axum::http::request::Parts;
use axum::http::{HeaderMap, header};
use bytes::Bytes;
use futures_util::{Stream, StreamExt as _, stream};
use ring::digest;
use serde_json::Value as Json;
use time::OffsetDateTime;

use crate::aside::Aside;
use crate::body;
use crate::headers::{first_half, without_keys};
use crate::lock::lock;
use crate::plan::{Asked, Plan, Reading};
use crate::record::Record;
use crate::route::Route;
use crate::send::{Sent, is_refused, send, told};
use crate::state::App;
use crate::tool::{self, Call, NAME, Shown, TURNS};
use crate::unpack::{self, Pieces, Unpack};
use crate::usage::Watch;
use crate::weave::{MOST, Next, Weave};

/// The most bytes of an error of the provider that the client sees as an event.
const ERROR: usize = 64 << 10;
/// The most characters that the ledger keeps of an error of the provider.
const FAULT: usize = 1_000;
/// How long the gateway goes on to read an answer whose turn is over, so that the connection can be used again.
const REST: Duration = Duration::from_secs(1);

/// The result of planning a request.
pub(crate) struct Planned {
    /// The digest of the request's bytes, and the digest of the bytes to send instead, if they differ.
    pub(crate) digests: (Vec<u8>, Option<Vec<u8>>),
    /// The plan and the text of the request, or the fault because of which it goes out as it is. A panic counts as a
    /// fault.
    pub(crate) plan: Result<(Plan, String), String>,
}

/// Reads and plans a request, on a thread that may block.
pub(crate) async fn plan(
    app: &Arc<App>,
    route: Route,
    headers: &HeaderMap,
    bytes: &Bytes,
) -> Planned {
    let (app, headers, given) = (Arc::clone(app), headers.clone(), bytes.clone());
    let most = app.config.body_bytes;
    let planned = aside(move || {
        let text = body::text(&headers, &given, most)?;
        let plan = planned(&app, route, &headers, &text, &[])?;
        let sent = plan.changed.as_ref();
        let digests = (
            digest_of(&given),
            sent.map(|sent| digest_of(sent.as_bytes())),
        );
        Ok((digests, (plan, text)))
    });
    match planned.await {
        Ok((digests, plan)) => Planned {
            digests,
            plan: Ok(plan),
        },
        Err(fault) => Planned {
            digests: (digest_of(bytes), None),
            plan: Err(fault),
        },
    }
}

fn digest_of(bytes: &[u8]) -> Vec<u8> {
    first_half(digest::digest(&digest::SHA256, bytes).as_ref()).to_vec()
}

fn planned(
    app: &App,
    route: Route,
    headers: &HeaderMap,
    text: &str,
    more: &[String],
) -> Result<Plan, String> {
    let asked = Asked {
        provider: route.provider,
        form: route.form.ok_or("a request without a list")?,
        headers,
        text,
        more,
        now: OffsetDateTime::now_utc(),
    };
    app.branches.plan(app.config.policy, &asked)
}

/// Does work on a thread that may block. A panic becomes an error.
async fn aside<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, String> + Send + 'static,
) -> Result<T, String> {
    let work = move || {
        catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| {
            let text = panic.downcast_ref::<String>().map(String::as_str);
            let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
            Err(format!("the gateway failed: {}", text.unwrap_or_default()))
        })
    };
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|error| Err(format!("the gateway failed: {error}")))
}

/// A request whose answer may call the tool.
pub(crate) struct Expanding {
    pub(crate) app: Arc<App>,
    pub(crate) route: Route,
    /// The head and the text of the client's request.
    pub(crate) parts: Parts,
    pub(crate) url: String,
    pub(crate) text: Arc<str>,
    pub(crate) reading: Reading,
    pub(crate) session: String,
    pub(crate) branch: i64,
    pub(crate) record: Record,
}

/// The outcome of reading a whole answer.
pub(crate) enum Whole {
    /// What the client sees.
    Answer(Bytes),
    /// The bytes that came before the answer broke off, and the error.
    Broken(Bytes, io::Error),
    /// The first bytes of an answer that is too long to be read, and the pieces after these bytes.
    Long(Bytes, Pieces),
    /// The provider has answered a later turn with an error, or not at all.
    Failed(Sent),
}

/// The type of a stream of events.
const EVENTS: &str = "text/event-stream";

/// The kinds of answers that the gateway can read: a stream of events, or one whole document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Stream,
    Whole,
}

impl Kind {
    /// Returns the kind of an answer; `None` if the answer passes unread. `is_stream` says whether the client has asked for a
    /// stream. This counts if the provider does not name the type of its answer.
    pub(crate) fn of(answer: &reqwest::Response, is_stream: bool) -> Option<Self> {
        let text = |name| {
            let value = answer.headers().get(name)?;
            value.to_str().ok()
        };
        let is_packed = Unpack::of(answer.headers()).is_none();
        let kind = text(header::CONTENT_TYPE).unwrap_or_default();
        let kind = kind.split(';').next().unwrap_or_default().trim();
        let is_json = kind.eq_ignore_ascii_case("application/json");
        if answer.status() != 200 || is_packed {
            None
        } else if kind.eq_ignore_ascii_case(EVENTS) || kind.is_empty() && is_stream {
            Some(Self::Stream)
        } else {
            let is_read = (is_json || kind.is_empty())
                && answer
                    .content_length()
                    .is_none_or(|length| length <= MOST as u64);
            is_read.then_some(Self::Whole)
        }
    }
}

/// Returns why the gateway does not read an answer in which the model may call the tool. `None` if the answer is an
/// error, or if the gateway can read it.
pub(crate) fn unread(answer: &reqwest::Response) -> Option<String> {
    packed(answer).map(|fault| format!("{fault}: the client sees calls of {NAME} in it"))
}

/// Returns the fault of a packed answer that the gateway cannot unpack.
fn packed(answer: &reqwest::Response) -> Option<String> {
    let packed = answer.headers().get(header::CONTENT_ENCODING)?;
    let is_unread = answer.status() == 200 && Unpack::of(answer.headers()).is_none();
    is_unread.then(|| {
        format!(
            "the provider has packed its answer ({packed:?}), although the request asked for none"
        )
    })
}

/// Returns the error of a provider that has answered a later turn with something else than a model's answer.
async fn told_instead(answer: reqwest::Response) -> Json {
    let status = answer.status();
    let packed = packed(&answer);
    let mut pieces = unpack::pieces(answer);
    let mut body = Vec::new();
    while body.len() <= ERROR
        && let Some(Ok(piece)) = pieces.next().await
    {
        body.extend_from_slice(&piece);
    }
    match serde_json::from_slice(&body) {
        Ok(told) if !status.is_success() => told,
        _ => Json::from(packed.unwrap_or_else(|| format!("the provider answered {status}"))),
    }
}

/// Returns an error as the ledger says it: without the number of the request beside it, so that equal errors are equal
/// faults.
fn said(error: &Json) -> String {
    match error {
        Json::String(text) => text.clone(),
        told if told["error"].is_object() => told["error"].to_string(),
        told => told.to_string(),
    }
}

/// An answer on its way to the client.
struct Way {
    expanding: Expanding,
    weave: Weave,
    answer: Pieces,
    /// Whether the client has seen the end of the answer. Then the rest of the stream passes unread.
    is_closed: bool,
    is_over: bool,
    /// The error that broke the answer off. The client gets this error after the bytes that came before it.
    error: Option<io::Error>,
}

impl Expanding {
    fn weave(&self, kind: Kind) -> Option<Weave> {
        let form = self.route.form?;
        Some(Weave::new(
            form,
            kind == Kind::Stream,
            self.reading.is_structured,
        ))
    }

    /// Returns the answer as the client sees it, event by event. `None` for a request without a list.
    pub(crate) fn stream(
        mut self,
        answer: reqwest::Response,
    ) -> Option<impl Stream<Item = io::Result<Bytes>> + use<>> {
        self.record.watch = Some(Watch::unpacked(answer.headers()));
        let way = Way {
            weave: self.weave(Kind::Stream)?,
            expanding: self,
            answer: unpack::pieces(answer),
            is_closed: false,
            is_over: false,
            error: None,
        };
        Some(stream::unfold(way, |mut way| async {
            let piece = way.next().await?;
            Some((piece, way))
        }))
    }

    /// Returns the whole answer as the client sees it, with the row of the request.
    pub(crate) async fn whole(mut self, mut answer: reqwest::Response) -> (Whole, Record) {
        let Some(mut weave) = self.weave(Kind::Whole) else {
            return (Whole::Failed(Ok(answer)), self.record);
        };
        loop {
            self.record.watch = Some(Watch::unpacked(answer.headers()));
            let mut pieces = unpack::pieces(answer);
            while let Some(piece) = pieces.next().await {
                match piece {
                    Ok(piece) => self.feed(&mut weave, &piece),
                    Err(error) => {
                        self.record.breaks();
                        return (Whole::Broken(weave.broken().into(), error), self.record);
                    }
                };
                if weave.waiting() > MOST {
                    let fault = format!("the answer has more than {MOST} bytes");
                    self.record.entry.fault = Some(fault);
                    return (Whole::Long(weave.broken().into(), pieces), self.record);
                }
            }
            match weave.next() {
                Next::Breaks => {
                    self.record.breaks();
                    return (Whole::Answer(weave.broken().into()), self.record);
                }
                Next::Ends(calls) => {
                    let seen = self.close(&mut weave, &calls).await;
                    return (Whole::Answer(seen), self.record);
                }
                Next::Reads(calls) => match self.read_on(&mut weave, calls).await {
                    Ok(Ok(next)) if Kind::of(&next, false) == Some(Kind::Whole) => answer = next,
                    Ok(failed) => {
                        let answer = failed.as_ref().ok();
                        self.record.entry.fault = answer.and_then(unread);
                        let status = failed.as_ref().map(reqwest::Response::status);
                        if !is_refused(&failed) && !status.is_ok_and(|status| status.is_success()) {
                            self.record.breaks();
                        }
                        return (Whole::Failed(failed), self.record);
                    }
                    Err(fault) => {
                        self.record.breaks();
                        self.record.entry.fault = Some(fault);
                        return (Whole::Answer(weave.broken().into()), self.record);
                    }
                },
            }
        }
    }

    fn feed(&mut self, weave: &mut Weave, piece: &Bytes) -> Vec<u8> {
        if let Some(watch) = &mut self.record.watch {
            watch.feed(piece);
        }
        weave.feed(piece)
    }

    /// Reads the lines that the model asks for. All calls of a turn together get at most [`tool::MOST`] tokens, and no
    /// more than their share of the window.
    fn lines(&self, calls: Vec<Call>, is_last: bool) -> Vec<(Call, Shown)> {
        let session = lock(&self.reading.session);
        let read = |name: &str, from, to| session.lines(self.branch, name, from, to);
        let window = self.app.config.window;
        let most = window.map_or(tool::MOST, |window| tool::MOST.min(window / tool::SHARE));
        let most = most / calls.len().max(1) as u64;
        let calls = calls.into_iter();
        calls
            .map(|call| {
                let shown = tool::answer(&call.arguments, is_last, most, read);
                (call, shown)
            })
            .collect()
    }

    /// Sends the next request, with the lines that the model asks for.
    async fn read_on(&mut self, weave: &mut Weave, calls: Vec<Call>) -> Result<Sent, String> {
        self.record.turn();
        self.record.entry.turns += 1;
        let shown = self.lines(calls, weave.turns() + 1 == TURNS);
        let session = &self.session;
        tracing::info!(
            session,
            calls = shown.len(),
            "the model reads what has left"
        );
        let more = weave.go_on(&shown);
        let (app, route) = (Arc::clone(&self.app), self.route);
        let (headers, text) = (self.parts.headers.clone(), Arc::clone(&self.text));
        let plan = aside(move || planned(&app, route, &headers, &text, &more)).await?;
        self.branch = plan.branch.0;
        if let Some(reading) = plan.reading {
            self.reading = reading;
        }
        let body = plan.changed.ok_or("the next turn has no request")?;
        let place = (&self.parts, &*self.url);
        Ok(send(&self.app, route, place, Some(body.into())).await)
    }

    /// Ends the answer, and keeps the part that the client does not see as an aside.
    async fn close(&mut self, weave: &mut Weave, calls: &[Call]) -> Bytes {
        let shown = self.lines(calls.to_vec(), false);
        if let Some(fault) = weave.fault() {
            tracing::warn!(fault, "an answer passes unread");
            self.record.entry.fault = Some(fault);
        }
        let (seen, aside_of) = weave.close(&shown);
        if let Some(put) = aside_of {
            let (app, session) = (Arc::clone(&self.app), Arc::clone(&self.reading.session));
            let place = self.reading.place;
            let kept = aside(move || {
                let put = Aside {
                    tokens: tokens(&put),
                    ..put
                };
                let kept = app.branches.put_aside(&session, place, put);
                kept.map_err(|error| error.to_string())
            });
            if let Err(error) = kept.await {
                tracing::error!(
                    error,
                    "an answer cannot be kept, and the next list lacks it"
                );
            }
        }
        seen.into()
    }
}

/// Returns the number of tokens of an aside.
fn tokens(aside: &Aside) -> u64 {
    let turns = aside.turns.iter().flat_map(|turn| &turn.items);
    let beside = aside.beside.iter();
    let texts = turns.chain(beside.flat_map(|call| [&call.call, &call.result]));
    let counter = Bpe::o200k_base();
    texts.map(|text| counter.count(text) as u64).sum()
}

impl Way {
    /// Returns the next bytes for the client.
    async fn next(&mut self) -> Option<io::Result<Bytes>> {
        while !self.is_over {
            let seen = match self.answer.next().await {
                Some(Ok(piece)) if self.is_closed => piece,
                Some(Ok(piece)) => {
                    let seen = self.expanding.feed(&mut self.weave, &piece);
                    if self.weave.is_over() {
                        self.turn(seen).await
                    } else {
                        seen.into()
                    }
                }
                Some(Err(error)) => self.stopped(Some(error)).await,
                None => self.stopped(None).await,
            };
            if !seen.is_empty() {
                return Some(Ok(seen));
            }
        }
        self.error.take().map(Err)
    }

    /// Takes note that the provider's stream has stopped. `error` says why, if the stream broke off. A turn that had
    /// ended before is complete. Otherwise the client's stream stops at the same place. Returns all bytes that the
    /// client sees now.
    async fn stopped(&mut self, error: Option<io::Error>) -> Bytes {
        let is_closed = self.is_closed;
        let seen = if is_closed {
            Bytes::new()
        } else if self.weave.stops() {
            self.turn(Vec::new()).await
        } else {
            self.is_closed = true;
            self.expanding.record.breaks();
            self.weave.broken().into()
        };
        // If the answer is not closed now, this turn was not the last one, and the next answer is on its way.
        if self.is_closed {
            self.is_over = true;
            self.expanding.record.entry.whole = error.is_none();
            self.error = error;
        }
        seen
    }

    /// Ends a turn. The client sees the bytes `seen` of it. Returns all bytes that the client sees now.
    async fn turn(&mut self, mut seen: Vec<u8>) -> Bytes {
        let calls = match self.weave.next() {
            Next::Reads(calls) => calls,
            Next::Ends(calls) => {
                seen.extend(self.expanding.close(&mut self.weave, &calls).await);
                self.is_closed = true;
                return seen.into();
            }
            Next::Breaks => {
                self.expanding.record.breaks();
                seen.extend(self.weave.broken());
                self.is_closed = true;
                return seen.into();
            }
        };
        let next = self.expanding.read_on(&mut self.weave, calls).await;
        let error = match next {
            Ok(Ok(next)) if Kind::of(&next, true) == Some(Kind::Stream) => {
                self.expanding.record.watch = Some(Watch::unpacked(next.headers()));
                let next = unpack::pieces(next);
                let mut rest = std::mem::replace(&mut self.answer, next);
                // A connection whose answer was read to its end can be used again.
                tokio::spawn(tokio::time::timeout(REST, async move {
                    while rest.next().await.is_some() {}
                }));
                return seen.into();
            }
            Ok(Ok(other)) => {
                self.expanding.record.entry.status = other.status().as_u16();
                told_instead(other).await
            }
            Ok(Err(error)) => {
                let provider = self.expanding.route.provider;
                let url = self.expanding.app.config.shown(provider);
                Json::from(told(&url, &error))
            }
            Err(fault) => Json::from(fault),
        };
        self.expanding.record.breaks();
        let said = without_keys(&self.expanding.parts.headers, &said(&error));
        let said: String = said.chars().take(FAULT).collect();
        self.expanding.record.entry.fault = Some(format!("a later turn failed: {said}"));
        seen.extend(self.weave.error(&error));
        self.is_over = true;
        seen.into()
    }
}
