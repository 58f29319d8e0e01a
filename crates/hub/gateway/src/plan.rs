//! Plans what to send in place of a request.

use std::sync::{Arc, Mutex};

use accp_memory::{Form, Formed, MessageList, Promise, Report, Why};
use axum::http::HeaderMap;
use serde_json::Value as Json;
use time::OffsetDateTime;

use crate::aside;
use crate::bill::Removed;
use crate::branches::Branches;
use crate::config::Policy;
use crate::digest::{Place, is_kept, keep_text, places};
use crate::headers;
use crate::ledger::LedgerError;
use crate::list::{self, key};
use crate::lock::lock;
use crate::prices::Prices;
use crate::read::Read;
use crate::route::Provider;
use crate::session::{Branch, Session};
use crate::{mark, splice, tool};

/// A request with a list.
pub(crate) struct Asked<'r> {
    pub(crate) provider: Provider,
    pub(crate) form: Form,
    pub(crate) headers: &'r HeaderMap,
    pub(crate) text: &'r str,
    /// Messages to send after the list: the turns of the answer so far.
    pub(crate) more: &'r [String],
    pub(crate) now: OffsetDateTime,
}

/// What to send in place of a request.
#[derive(Default)]
pub(crate) struct Plan {
    pub(crate) session: String,
    pub(crate) model: String,
    /// What happens to the request, as the ledger names it.
    pub(crate) policy: &'static str,
    /// The body to send, if it differs from that of the request.
    pub(crate) changed: Option<String>,
    pub(crate) given: u64,
    pub(crate) sent: u64,
    pub(crate) removed: Removed,
    /// The branch, how many of its messages an earlier request had, and whether a thought binds the list.
    pub(crate) branch: (i64, usize, bool),
    pub(crate) note: Option<String>,
    /// Set if the model gets the tool that the gateway answers. This value keeps the session open until the answer
    /// has passed.
    pub(crate) reading: Option<Reading>,
}

/// What the gateway needs for the answer to a request with the tool.
pub(crate) struct Reading {
    pub(crate) session: Arc<Mutex<Session>>,
    /// The place of the answer in the client's list.
    pub(crate) place: Place,
    /// Whether the client reads the text of the answer by a schema.
    pub(crate) is_structured: bool,
    /// Whether the client asks for a stream.
    pub(crate) is_stream: bool,
    /// Keeps the branch open.
    pub(crate) _in_use: Arc<()>,
}

impl Branches {
    /// Returns what to send in the place of a request.
    ///
    /// # Errors
    /// Why the request is to go out as it is.
    pub(crate) fn plan(&self, policy: Policy, asked: &Asked<'_>) -> Result<Plan, String> {
        let owner = headers::owner(self.secret(), asked.headers);
        let client = self.reader.read(owner, asked.form, asked.text)?;
        let request = Arc::clone(&client.head);
        let mut plan = Plan {
            model: request.json["model"]
                .as_str()
                .unwrap_or_default()
                .to_owned(),
            policy: policy.name(),
            ..Plan::default()
        };
        if request.json[key(asked.form)].is_string() {
            // Responses also takes a text in place of a list. A text stays as it is.
            return Ok(plan);
        }
        let hint = headers::session_hint(asked.headers, asked.form, &request.json);
        plan.session = self.name(policy, owner, hint.as_deref(), (asked.form, &client));
        let prices = Prices::of(asked.provider, &plan.model);
        let handle = self
            .session(&plan.session, prices)
            .map_err(|error| failed(&error))?;
        let mut session = lock(&handle);
        let bytes = asked.text.len() + session.asides.bytes();
        self.weigh(&plan.session, bytes);
        // A session that has sent changed lists goes on doing so: its thoughts and caches depend on what was sent.
        if session.branches.is_empty() && self.is_held_out(&plan.session) {
            plan.policy = "holdout";
            return Ok(plan);
        }
        let obstacle = tool::obstacle(&request.json, asked.form);
        let is_bound = client.items.iter().any(|item| item.is_bound);
        let is_bound = is_bound && !request.drops_thoughts();
        let mut promise = match self.effect {
            Policy::Save => Promise::Save,
            Policy::Window => Promise::Window,
            _ => Promise::Append,
        };
        if let (true, Some(obstacle)) = (self.effect.cuts(), obstacle) {
            if policy.changes() {
                plan.policy = Policy::Append.name();
            }
            plan.note = Some(obstacle.to_owned());
        }
        if is_bound || obstacle.is_some() {
            // Messages that were sent must not change.
            promise = Promise::Append;
        }
        let now = asked.now.unix_timestamp();
        let is_dear = session.cost > session.plain && policy.cuts() && !session.is_plain;
        // Only the list of this request goes back to the client's texts. Other lists of the session keep their forms,
        // because thoughts may be bound to these forms.
        let goes_back = is_dear && !is_bound && session.is_cold(now, prices);
        if goes_back {
            let saved = session.plain - session.cost;
            self.stays_plain(&mut session, now)
                .map_err(|error| failed(&error))?;
            let note = format!(
                "the bill passed that of the plain twin by {:.0}: plain again",
                -saved
            );
            tracing::info!(session = plan.session, note);
            plan.note = Some(note);
        }
        if session.is_plain {
            plan.policy = "plain";
        }
        let is_plain = session.is_plain || session.is_unkept;
        if is_plain {
            promise = Promise::Append;
        }
        let digests = client.digests();
        let place = places(&digests).pop().unwrap_or_default();
        let asides = if goes_back {
            Vec::new()
        } else {
            session.asides(&digests)
        };
        let restored = aside::restored(asked.form, asked.text, key(asked.form), &asides);
        let (mut whole, put) = restored.map_or((None, 0), |(text, put)| (Some(text), put));
        if !asked.more.is_empty() {
            let text = whole.as_deref().unwrap_or(asked.text);
            let more = splice::with_items(text, key(asked.form), asked.more);
            whole = Some(more.ok_or("the list is not where it was read")?);
        }
        let mut reads = vec![client];
        if let Some(text) = &whole {
            let read = self.reader.read(owner, asked.form, text);
            reads.push(read.map_err(|error| format!("the list does not go on: {error}"))?);
        }
        let text = whole.as_deref().unwrap_or(asked.text);
        let Some(read) = reads.last() else {
            return Ok(plan);
        };
        if is_bound && policy.changes() {
            let bound = read.items.iter().rposition(|item| item.is_bound);
            let given = read.digests();
            let of_list = (given.as_slice(), bound.unwrap_or(0));
            let taken = self.take_over(&mut session, of_list, prices);
            taken.map_err(|error| failed(&error))?;
        }
        let is_structured = tool::is_structured(&request.json);
        let is_stream = request.json["stream"] == true;
        let found = self.branch(&mut session, &read.digests(), (prices, promise));
        let (branch, had) = found.map_err(|error| failed(&error))?;
        if goes_back {
            self.go_back(branch, prices);
        }
        plan.branch = (branch.number, had, is_bound);
        let list = kept(branch, read, asked.form, had, is_plain)?;
        let before = branch.given;
        let (sent, report) = branch.memory.to_send(&list, asked.now);
        branch.last = now;
        let places_of_items = read.places.clone();
        branch.held = reads;
        branch.given = report.given.saturating_sub(put);
        let (number, in_use) = (branch.number, Arc::clone(&branch.in_use));
        // The list goes out as the memory makes it even if the ledger cannot be written: thoughts and caches depend on what
        // was sent.
        let kept = self.keep(&plan.session, branch);
        if let Err(error) = kept.as_ref().map_err(failed)
            && !session.is_unkept
        {
            tracing::error!(
                session = plan.session,
                error,
                "new results keep their text until the ledger can be written again"
            );
        }
        session.is_unkept = kept.is_err();
        plan.given = report.given.saturating_sub(put);
        plan.sent = report.sent;
        plan.removed = removed(&report, plan.given, had, policy.changes());
        if let Some(told) = told(&report) {
            let why = report.step.as_ref().map(|step| step.why);
            let is_warm = why.is_some_and(|why| why != Why::Free);
            if !policy.changes() {
                // A cache keeps no list below its minimum.
                let same = Some(report.same).filter(|same| *same >= prices.minimum);
                plan.removed.step = why.map(|_| (report.sent, same.unwrap_or(0)));
                plan.note = Some(format!("it would be {told}"));
                return Ok(plan);
            }
            plan.removed.step = (is_warm && before > 0).then_some((plan.given, before));
            tracing::info!(
                session = plan.session,
                branch = number,
                told,
                "a list gets shorter"
            );
            self.tell(event(&plan.session, number, &told, &report));
            plan.note = Some(told);
        }
        if !policy.changes() {
            return Ok(plan);
        }
        let mut new = list::put(text, &places_of_items, &list, &sent, report.left)?;
        if report.needs_tool {
            if let Some(obstacle) = obstacle {
                return Err(format!("the list has marks, and {obstacle}"));
            }
            new = tool::with_definition(&new, asked.form)
                .ok_or("the tools of the request are not a list")?;
            plan.reading = Some(Reading {
                session: Arc::clone(&handle),
                place,
                is_structured,
                is_stream,
                _in_use: in_use,
            });
        }
        if asked.form == Form::Anthropic && report.step.is_some() {
            let ends = [report.same_messages, report.settled];
            new = mark::around_change(&new, ends).unwrap_or(new);
        }
        plan.changed = (new != asked.text).then_some(new);
        Ok(plan)
    }
}

fn failed(error: &LedgerError) -> String {
    error.to_string()
}

/// Signs the messages of a list that keep the text that they came with, so that the memory leaves them as they are.
fn kept(
    branch: &mut Branch,
    read: &Read,
    form: Form,
    had: usize,
    is_plain: bool,
) -> Result<MessageList, String> {
    // A thought is bound to the messages before it, as these were when the model made the thought. The gateway has
    // not changed the messages that are new to this branch, so those before a thought keep their text.
    let bound = read.items.iter().rposition(|item| item.is_bound);
    let until = if is_plain {
        read.items.len()
    } else {
        bound.unwrap_or(0)
    };
    let new = branch.digests.iter_mut().take(until).skip(had);
    new.for_each(keep_text);
    let items = read.items.iter().zip(&branch.digests);
    let messages = items.map(|(item, digest)| {
        if is_kept(*digest) {
            item.signed(form)
        } else {
            Some(item.message.clone())
        }
    });
    let messages = messages.collect::<Option<_>>();
    let messages = messages.ok_or("a message cannot be signed")?;
    Ok(read.list(messages))
}

/// Returns the tokens that only the plain list has.
fn removed(report: &Report, given: u64, had: usize, is_sent: bool) -> Removed {
    let signed = |tokens: u64| i64::try_from(tokens).unwrap_or(i64::MAX);
    let all = signed(given) - signed(report.sent);
    let forms = report.forms.iter();
    let new = forms.map(|form| signed(form.before - form.after)).sum();
    let new = if had == 0 { all } else { new };
    Removed {
        old: all - new,
        new,
        is_sent,
        sent: if is_sent { report.sent } else { given },
        step: None,
    }
}

/// Returns what leaves a list and why, if something does.
fn told(report: &Report) -> Option<String> {
    let lost = |cuts: &[Formed]| -> u64 { cuts.iter().map(|cut| cut.before - cut.after).sum() };
    let new = (!report.cut.is_empty()).then(|| {
        format!(
            "at first sight: {} new results show only their ends and lose {} tokens",
            report.cut.len(),
            lost(&report.cut)
        )
    });
    // A large new result may be the reason for adding the tool. Then the list changes without another cut.
    let brings = |why: Why, cuts: &[Formed]| why == Why::Pays && cuts.is_empty() && new.is_some();
    let step = report.step.as_ref();
    let step = step.filter(|step| !brings(step.why, &step.cut));
    let step = step.map(|step| {
        let why = match step.why {
            Why::Free => "free",
            Why::Forced => "forced",
            Why::Pays => "pays",
        };
        let (results, tokens, left) = (step.cut.len(), lost(&step.cut), report.left);
        let cut = (results > 0).then(|| format!("{results} results lose {tokens} tokens"));
        let left = (left > 0).then(|| format!("messages before {left} have left"));
        let what: Vec<String> = cut.into_iter().chain(left).collect();
        if what.is_empty() {
            format!("{why}: the list changes, and nothing leaves")
        } else {
            format!("{why}: {}", what.join(", "))
        }
    });
    let parts: Vec<String> = step.into_iter().chain(new).collect();
    (!parts.is_empty()).then(|| parts.join("; "))
}

/// Returns the event of a list that gets shorter, as JSON.
fn event(session: &str, branch: i64, told: &str, report: &Report) -> String {
    let cut = report.step.iter().flat_map(|step| &step.cut);
    let cut = cut.chain(&report.cut);
    let cut: Vec<Json> = cut
        .map(|cut| serde_json::json!({ "message": cut.message, "result": cut.result, "before": cut.before, "after": cut.after }))
        .collect();
    serde_json::json!({
        "session": session, "branch": branch, "what": told, "cut": cut, "left": report.left,
        "given": report.given, "sent": report.sent,
    })
    .to_string()
}
