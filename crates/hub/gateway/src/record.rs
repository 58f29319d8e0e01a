//! The row of a request in the ledger, which is filled while the request is under way.

use std::sync::Arc;

use axum::http::StatusCode;

use crate::bill::{Bill, Removed};
use crate::config::Policy;
use crate::ledger::Entry;
use crate::plan::Plan;
use crate::prices::Prices;
use crate::route::Route;
use crate::state::App;
use crate::usage::{Usage, Watch};

/// The row of a request, which is written when its answer has ended, or the client has left.
pub(crate) struct Record {
    app: Arc<App>,
    route: Route,
    pub(crate) entry: Entry,
    removed: Removed,
    /// See [`Plan::branch`].
    branch: (i64, usize, bool),
    /// Reads the answer while it passes.
    pub(crate) watch: Option<Watch>,
    /// The counts of the turns so far.
    turns: Vec<Usage>,
    /// How many turns there were before the gateway sent the original request; `None` if it did not send the
    /// original.
    original: Option<usize>,
    /// Whether a later turn has failed, so that the client has no answer.
    is_lost: bool,
}

impl Record {
    pub(crate) fn unread(app: &Arc<App>, route: Route, at: i64) -> Self {
        Self {
            app: Arc::clone(app),
            route,
            entry: Entry {
                at,
                session: String::new(),
                provider: route.provider.name().to_owned(),
                model: String::new(),
                policy: Policy::Off.name().to_owned(),
                status: 0,
                given: 0,
                sent: 0,
                usage: None,
                bill: None,
                added_us: 0,
                repeated: false,
                whole: false,
                fault: None,
                note: None,
                turns: 0,
                given_digest: Vec::new(),
                sent_digest: Vec::new(),
            },
            removed: Removed::default(),
            branch: (0, 0, false),
            watch: None,
            turns: Vec::new(),
            original: None,
            is_lost: false,
        }
    }

    /// Notes that the whole answer has passed.
    pub(crate) fn ended(mut self) -> Self {
        self.entry.whole = true;
        self
    }

    /// Takes over the plan of the request, and returns the body to send, if it differs.
    pub(crate) fn planned(&mut self, plan: &mut Plan) -> Option<String> {
        self.entry.session.clone_from(&plan.session);
        self.entry.model.clone_from(&plan.model);
        self.entry.note = plan.note.take();
        plan.policy.clone_into(&mut self.entry.policy);
        self.entry.given = plan.given;
        self.entry.sent = plan.sent;
        self.removed = plan.removed;
        self.branch = plan.branch;
        plan.changed.take()
    }

    /// Notes that a turn of the model has ended.
    pub(crate) fn turn(&mut self) {
        let told = self.watch.take().map(Watch::told).unwrap_or_default();
        self.entry.model = told
            .model
            .unwrap_or_else(|| std::mem::take(&mut self.entry.model));
        self.turns.extend(told.usage);
    }

    /// Notes that the answer has broken off. If the model had read lines before, those turns have brought the client
    /// nothing.
    pub(crate) fn breaks(&mut self) {
        self.is_lost = self.entry.turns > 0;
    }

    /// Notes that the provider refused the changed request, and got the original. `original` is the status of the
    /// provider's answer to the original request, if there was an answer.
    pub(crate) fn refused(&mut self, original: Option<StatusCode>) {
        self.entry.repeated = true;
        self.original = Some(self.turns.len());
        self.entry.fault = Some("the provider refused the changed request with 400".to_owned());
        self.entry.sent_digest.clone_from(&self.entry.given_digest);
        self.removed = Removed::default();
        let session = &self.entry.session;
        let prices = Prices::of(self.route.provider, &self.entry.model);
        let (branches, at) = (&self.app.branches, self.entry.at);
        let noted = match original {
            Some(status) if status.is_success() => {
                tracing::warn!(
                    session,
                    "the provider refused a changed request; the session stays plain"
                );
                branches.make_plain(session, self.branch.0, prices, at)
            }
            Some(StatusCode::BAD_REQUEST) => {
                tracing::warn!(
                    session,
                    "the provider refused a request, changed and as it came"
                );
                branches.take_back(session, self.branch, prices, at)
            }
            // Nobody knows whether the provider would have taken the original.
            _ => {
                tracing::warn!(session, "the provider refused a changed request");
                Ok(())
            }
        };
        if let Err(error) = noted {
            tracing::error!(%error, "the session may be changed again after a restart");
        }
    }
}

impl Drop for Record {
    fn drop(&mut self) {
        self.turn();
        let prices = Prices::of(self.route.provider, &self.entry.model);
        if !self.turns.is_empty() {
            let original = self.original.filter(|before| *before > 0);
            let bill = if self.is_lost || original.is_some() {
                let original = original.and_then(|before| self.turns.get(before));
                Bill::of_failed(&self.turns, original, prices)
            } else {
                Bill::of(&self.turns, prices, self.removed)
            };
            let mut usage = Usage::default();
            self.turns.iter().for_each(|turn| usage.add(turn));
            self.entry.usage = Some(usage);
            self.entry.bill = Some(bill);
        }
        self.app.writer.write(self.entry.clone());
    }
}
