//! Checks that answers name what they answer: the chain of the request, and the request itself if it did not begin
//! the chain.

use accp_runtime::session::MemberId;
use accp_session::Entry;

use super::node::Result;
use super::observer::Observer;
use super::text::{field, intent, meta};

impl Observer {
    /// Checks the chain of a handler's answer. The answer has the position of its request in `re`.
    pub(super) fn judge_answer(&self, entry: &Entry) -> Result {
        let (text, sender) = (&*entry.text, entry.sender);
        // A member of the draft alone has positions of its own. After the host has lost a part of its log, `re` may
        // be a position of the lost log.
        let is_known = !self.is_plain(sender) && !self.timeline.has_lost();
        let is_answer = matches!(intent(text), "done" | "wait" | "fail");
        let request = field(text, "re").filter(|_| is_answer && is_known);
        let request = request.and_then(|at| self.log.get(at as usize - 1));
        let Some(request) = request.filter(|_| Some(sender) != self.enemy) else {
            return Ok(());
        };
        let mid = meta(&request.text, "mid");
        let cid = meta(&request.text, "cid").or(mid);
        let aid = mid.filter(|_| cid != mid);
        let is_own = sender == MemberId::HOST;
        let named = [meta(text, "cid"), meta(text, "aid")];
        if named == [cid, aid] || !is_own && self.timeline.was_put_back(sender) {
            return Ok(());
        }
        Err(format!(
            "{} answers {} in {named:?}, and not in {:?}",
            entry.mid,
            request.mid,
            [cid, aid]
        ))
    }
}
