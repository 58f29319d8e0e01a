//! What to send in the place of a request.

use accp_memory::{Form, MessageList};
use axum::http::HeaderMap;
use serde_json::Value as Json;
use time::OffsetDateTime;

use crate::bare::{is_bound, sign, unmark, unwrap_words};
use crate::bill::Removed;
use crate::branches::{Branches, Digest, digest_of, is_kept, keep_text, lock};
use crate::config::Policy;
use crate::headers;
use crate::prices::Prices;
use crate::route::Provider;
use crate::splice;

/// A request with a list.
pub(crate) struct Asked<'r> {
    pub(crate) provider: Provider,
    pub(crate) form: Form,
    pub(crate) headers: &'r HeaderMap,
    pub(crate) text: &'r str,
    pub(crate) now: OffsetDateTime,
}

/// What to send in its place.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Plan {
    pub(crate) session: String,
    pub(crate) model: String,
    /// What happens to the request, as the ledger names it.
    pub(crate) policy: &'static str,
    /// The body to send, if it differs.
    pub(crate) changed: Option<String>,
    pub(crate) given: u64,
    pub(crate) sent: u64,
    pub(crate) removed: Removed,
    /// The branch, how many of its messages an earlier request had, and whether a thought binds the list.
    pub(crate) branch: (i64, usize, bool),
}

impl Branches {
    /// Returns what to send in the place of a request.
    ///
    /// # Errors
    /// Why the request is to go out as it is.
    pub(crate) fn plan(&self, policy: Policy, asked: &Asked<'_>) -> Result<Plan, String> {
        let mut json: Json = serde_json::from_str(asked.text)
            .map_err(|error| format!("the body is no JSON: {error}"))?;
        let model = json["model"].as_str().unwrap_or_default().to_owned();
        let mut plan = Plan {
            session: String::new(),
            model,
            policy: policy.name(),
            changed: None,
            given: 0,
            sent: 0,
            removed: Removed::default(),
            branch: (0, 0, false),
        };
        if json[key(asked.form)].is_string() {
            // Responses takes words in the place of a list, and words stay as they are.
            return Ok(plan);
        }
        unmark(&mut json);
        let messages = json[key(asked.form)].as_array_mut().into_iter().flatten();
        messages.for_each(unwrap_words);
        // The reader refuses what the one above takes, such as a member that stands twice.
        let read = |text: &str| MessageList::read(text, Some(asked.form));
        let refused = |found: accp_memory::Finding| found.to_string();
        read(asked.text).map_err(refused)?;
        let list = read(&json.to_string()).map_err(refused)?;
        let hint = headers::session_hint(asked.headers, asked.form, &json);
        let owner = headers::owner(self.secret(), asked.headers);
        plan.session = self.name(policy, owner, hint.as_deref(), &list);
        let prices = Prices::of(asked.provider, &plan.model);
        let failed = |error: crate::LedgerError| error.to_string();
        let session = self.session(&plan.session, prices).map_err(failed)?;
        let mut session = lock(&session);
        // A session that has begun otherwise goes on as it began: its thoughts and caches have what was sent.
        if session.branches.is_empty() && self.is_held_out(&plan.session) {
            plan.policy = "holdout";
            return Ok(plan);
        }
        let is_plain = session.is_plain;
        if is_plain {
            plan.policy = "plain";
        }
        let messages = list.messages().iter();
        let digests: Vec<Digest> = messages.map(|message| digest_of(message.raw())).collect();
        let (branch, had) = self
            .branch(&mut session, &digests, prices)
            .map_err(failed)?;
        let items = json[key(asked.form)].as_array_mut();
        let items = items.map(Vec::as_mut_slice).unwrap_or_default();
        // A thought is bound to what stood before it when it was made, and that was not sent from here.
        let bound = items.iter().rposition(is_bound);
        let until = if is_plain {
            digests.len()
        } else {
            bound.unwrap_or(0)
        };
        let new = branch.digests.iter_mut().take(until).skip(had);
        new.for_each(keep_text);
        let mut is_any_kept = false;
        for (item, digest) in items.iter_mut().zip(&branch.digests) {
            if is_kept(*digest) {
                sign(item);
                is_any_kept = true;
            }
        }
        let list = if is_any_kept {
            read(&json.to_string()).map_err(refused)?
        } else {
            list
        };
        plan.branch = (branch.number, had, bound.is_some());
        let (sent, report) = branch.memory.to_send(&list, asked.now);
        let removed = report.given.saturating_sub(report.sent);
        let old = if had == 0 {
            0
        } else {
            branch.removed.min(removed)
        };
        branch.removed = removed;
        self.keep(&plan.session, branch).map_err(failed)?;
        let is_sent = policy == Policy::Append && removed > 0;
        if is_sent {
            plan.changed = Some(changed(asked, &list, &sent)?);
        }
        plan.given = report.given;
        plan.sent = report.sent;
        plan.removed = Removed {
            old,
            new: removed - old,
            is_sent,
            sent: if is_sent { report.sent } else { report.given },
        };
        Ok(plan)
    }
}

/// Returns the member of a request that is its list.
fn key(form: Form) -> &'static str {
    match form {
        Form::Responses => "input",
        Form::Anthropic | Form::OpenAi => "messages",
    }
}

/// Puts the texts of the list to send into the request.
fn changed(asked: &Asked<'_>, list: &MessageList, sent: &MessageList) -> Result<String, String> {
    let moved = || "the messages are not where they were read".to_owned();
    let places = splice::items_of(asked.text, key(asked.form)).ok_or_else(moved)?;
    let same = places.len() == list.messages().len() && places.len() == sent.messages().len();
    same.then_some(()).ok_or_else(moved)?;
    let mut changes = Vec::new();
    for ((place, given), sent) in places.into_iter().zip(list.messages()).zip(sent.messages()) {
        if given.raw() != sent.raw() {
            let text = asked.text.get(place.clone()).ok_or_else(moved)?;
            let new = splice::with_strings(text, sent.json());
            changes.push((
                place,
                new.ok_or("a message would change in more than its texts")?,
            ));
        }
    }
    Ok(splice::replaced(asked.text, &changes))
}
