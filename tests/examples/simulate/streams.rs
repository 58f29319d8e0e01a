//! Streams: agents send chunks, and handlers put them in order again.

use accp_runtime::DynamicFrame;
use accp_runtime::profiles::InferStream;
use accp_runtime::session::{Inbound, Outbound};

use super::World;
use super::hearing::Sending;
use super::node::{Result, said};
use super::text::{intent, meta};

impl World {
    /// Lets an agent send the next chunk of a stream. Returns whether the agent could send it.
    pub(super) fn stream(&mut self, who: usize, n: u64) -> Result<bool> {
        let agent = self.nodes[who].agent;
        let sending = self.nodes[who].sending.take();
        let is_open = sending.is_some();
        let mut sending =
            sending.unwrap_or_else(|| Sending::new(format!("s_{agent}_{n}"), &mut self.rng));
        if is_open && (sending.left.is_empty() || self.rng.per_mille(80)) {
            // Some streams end too early, and the host refuses such an end.
            let mut message = DynamicFrame::new(agent, "end", "infer").map_err(said)?;
            message.envelope.correlation_id = Some(sending.cid.into());
            return Ok(self.sends(who, &message, false)?.is_some());
        }
        let index = sending.left[0];
        let chunk = sending.next(agent, &mut self.rng);
        let Some((side, now)) = self.session(who)? else {
            return Ok(false);
        };
        let sent = side.send(&Outbound::frame(&chunk).in_chain(sending.cid.clone()), now);
        self.note(|| {
            format!(
                "@{agent} sends chunk {} of {}: {sent:?}",
                chunk.chunk_index, sending.cid
            )
        });
        if let Err(error) = &sent {
            let mut message = DynamicFrame::new(agent, "stream", "infer").map_err(said)?;
            message.envelope.correlation_id = Some(sending.cid.clone().into());
            message = message.with("chunk_index", chunk.chunk_index).under("ST");
            message = message.with("is_final", chunk.is_final);
            message = message.with("data", chunk.data.clone().into_owned());
            if let Some(total) = chunk.total_chunks {
                message = message.with("total_chunks", total);
            }
            self.judge_refusal(who, &message, error)?;
            sending.left.insert(0, index);
        }
        let ends = self.rng.per_mille(500);
        self.nodes[who].sending = Some(sending).filter(|sending| ends || !sending.left.is_empty());
        Ok(sent.is_ok())
    }

    /// Lets a handler take a chunk, and checks which chunks the handler can read now.
    pub(super) fn hear(&mut self, who: usize, inbound: &Inbound) -> Result {
        if intent(inbound.text()) != "stream" {
            return Ok(());
        }
        let (sender, cid) = (self.sender_of(who, inbound), meta(inbound.text(), "cid"));
        // A hostile member may stream anything, so its chunks are not checked.
        let Some(cid) = cid.filter(|_| Some(sender) != self.observer.enemy) else {
            return Ok(());
        };
        let chunk = inbound.decode::<InferStream<'_>>().map_err(said)?.frame;
        let hearing = &mut self.nodes[who].hearing;
        let heard = hearing.take(sender, cid, &chunk);
        let fits = heard.map_err(|why| format!("the stream {cid} at {who}: {why}"))?;
        if sender == inbound.sender() {
            let read = hearing.orders(inbound, cid, chunk.chunk_index);
            read.map_err(|why| format!("the stream {cid} at {who}: {why}"))?;
        }
        self.counts.chunks += u64::from(fits);
        self.counts.odd_chunks += u64::from(!fits);
        Ok(())
    }

    /// Ends all streams at all handlers, and checks which chunks are missing.
    pub(super) fn judge_streams(&mut self) -> Result {
        for (who, node) in self.nodes.iter_mut().enumerate() {
            let ended = node.hearing.end_all();
            ended.map_err(|why| format!("at {who}: {why}"))?;
        }
        Ok(())
    }
}
