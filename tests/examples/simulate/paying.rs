//! Agents ask for transactions, and some ask again for the same transaction or with other fields. Handlers answer
//! them.

use accp_runtime::{Decimal, DynamicFrame, Value};

use super::World;
use super::node::{REGISTRY, Result, said};

/// How many transactions an agent has. They are few, so that most requests ask again.
const EACH: u64 = 4;

impl World {
    /// Lets an agent ask for a transaction, perhaps again. Returns whether the agent could send the request.
    pub(super) fn pay(&mut self, who: usize) -> Result<bool> {
        let id = self.rng.below(EACH);
        let mut cents = 100 + i128::from(id);
        if self.rng.per_mille(120) {
            cents += 1;
        }
        let amount = Decimal::from_millionths(cents * 10_000).ok_or("no amount")?;
        let agent = self.nodes[who].agent;
        let mut message = DynamicFrame::new(agent, "req", "transaction").map_err(said)?;
        message = message.with("transaction_id", format!("t{id}"));
        message = message.with("amount", amount).under("TX");
        if self.rng.per_mille(200) && !self.nodes[who].plain {
            // The session puts this long value under a different key each time.
            message = message.with("reference", "invoice ".repeat(10));
        }
        if self.rng.per_mille(200) {
            message = message.with("status", "pending");
        }
        let known = &self.nodes[who].known;
        let chain = known.get(self.rng.below(known.len() as u64) as usize);
        let chain = chain.map(|(_, chain)| chain.to_string());
        if self.rng.per_mille(150) {
            message.envelope.correlation_id = chain.map(Into::into);
        }
        if self.rng.per_mille(100) {
            message.envelope.ttl = Some(1 + self.rng.below(40) as i64);
        }
        Ok(self.sends(who, &message, false)?.is_some())
    }
}

/// Returns the answer of a handler that settles a transaction, or fails to.
pub(super) fn settles(
    agent: &'static str,
    position: u64,
    text: &str,
) -> Result<DynamicFrame<'static>> {
    let of = |intent, operation| DynamicFrame::new(agent, intent, operation).map_err(said);
    let fails = |code: &'static str, retry| -> Result<DynamicFrame<'static>> {
        let failure = of("fail", "error")?.with("code", code).with("msg", "no");
        Ok(failure.with("retry", retry).under("ER"))
    };
    match position / 2 % 4 {
        0 => fails("E3001", true),
        1 => fails("E5002", false),
        _ => {
            let asked = DynamicFrame::decode(text, &REGISTRY)
                .map_err(said)?
                .into_owned();
            let id = asked.payload.get("transaction_id").cloned();
            let id = id.unwrap_or(Value::Null);
            let done = of("done", "transaction")?.with("transaction_id", id);
            Ok(done.with("status", "settled").under("TX"))
        }
    }
}
