//! A host that takes checkpoints, and the frames that it is given.

use accp_context::{Checkpointer, Hot, Turn, Warm, render_context};
use accp_runtime::context::{Checkpoint, ContextLimits, Digest, Headers, Trigger};
use accp_runtime::session::Time;
use accp_runtime::{AgentId, DynamicFrame, Envelope, Registry};

use super::Quarters;

/// The end of a phase, with no request in flight.
pub(crate) const QUIET: Turn<'static> = Turn {
    current: None,
    parent: None,
    in_flight: &[],
    triggers: &[Trigger::Phase],
    at: Time::from_secs(0),
    version: 0,
    late: None,
};

/// A host that takes a checkpoint on demand.
#[derive(Default)]
pub(crate) struct Table {
    pub(crate) hot: Hot,
    pub(crate) warm: Warm,
    pub(crate) position: u64,
}

impl Table {
    pub(crate) fn say(&mut self, frame: &str) -> u64 {
        self.position += 1;
        self.hot
            .push(self.position, frame, &Quarters, &ContextLimits::DRAFT)
            .expect("a frame");
        self.position
    }

    pub(crate) fn checkpointer() -> Checkpointer<'static> {
        Checkpointer {
            registry: Registry::shared(),
            counter: &Quarters,
            summarizer: &Headers,
            limits: ContextLimits::DRAFT,
        }
    }

    /// Takes a checkpoint that leaves only the requests in flight hot.
    pub(crate) fn phase(&mut self, in_flight: &[u64]) -> Checkpoint {
        self.turn(Turn { in_flight, ..QUIET })
    }

    pub(crate) fn turn(&mut self, turn: Turn<'_>) -> Checkpoint {
        let checkpointer = Self::checkpointer();
        let checkpoint = checkpointer.take(&checkpointer.freeze(&self.hot, &self.warm, turn));
        self.hot.apply(&checkpoint);
        self.warm.apply(&checkpoint);
        checkpoint
    }

    /// Returns the facts of frames that leave, in one line.
    pub(crate) fn facts(frames: &[&str]) -> String {
        let mut table = Self::default();
        for frame in frames {
            table.say(frame);
        }
        let checkpoint = table.phase(&[]);
        assert_eq!(
            Checkpoint::decode(&frame(&checkpoint)).as_ref(),
            Ok(&checkpoint)
        );
        let line = checkpoint.digest().map(Digest::line).unwrap_or_default();
        let facts = line
            .split_once("|facts:")
            .map_or("none", |(_, facts)| facts);
        facts.trim_end_matches('}').to_owned()
    }

    pub(crate) fn context(&self) -> String {
        render_context(&self.warm, &self.hot)
    }
}

/// Returns the checkpoint as the host writes it, and checks the default limits of a frame.
pub(crate) fn frame(checkpoint: &Checkpoint) -> String {
    let hub = AgentId::new("hub").expect("an id");
    let text = checkpoint
        .encode(&hub, Envelope::default())
        .expect("a frame");
    DynamicFrame::decode(&text, Registry::shared()).expect("within the limits");
    text
}

/// Makes a frame with so many facts that no checkpoint has room for them.
pub(crate) fn telling(agent: &str, name: &str) -> String {
    let rows = (0..100).map(|row| format!("{{{name}_id:{name}{row},amount:{row}.25}}"));
    let rows: Vec<_> = rows.collect();
    format!("@{agent}>req:plan{{data:[{}]}}", rows.join(","))
}
