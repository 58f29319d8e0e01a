//! Counts what the demo costs in tokens.

use accp_frame::{DynamicFrame, Frame, TokenCounter as _};
use accp_registry::Registry;
use accp_tokens::Bpe;

use crate::words::{stated, without_metadata};
use accp_console::table::Table;

/// The tokens of all frames, and of the same content as compact JSON.
pub(super) struct TokenCosts {
    counter: Bpe,
    frames: u64,
    /// The cost of sending each frame once: with envelopes, and without them.
    sent: [Cost; 2],
    /// The cost for a model that reads its whole context again at each frame.
    read: Cost,
    /// The tokens of the context at the end.
    context: usize,
}

/// The tokens of the frames, and of the JSON with the same content.
#[derive(Debug, Clone, Copy, Default)]
struct Cost {
    frames: usize,
    json: usize,
}

impl TokenCosts {
    pub(super) fn new(counter: Bpe) -> Self {
        Self {
            counter,
            frames: 0,
            sent: [Cost::default(); 2],
            read: Cost::default(),
            context: 0,
        }
    }

    /// Counts a frame that was sent.
    pub(super) fn frame(&mut self, text: &str) {
        let registry = Registry::shared();
        let (Ok(frame), Ok(mut message)) =
            (Frame::parse(text), DynamicFrame::decode(text, registry))
        else {
            return;
        };
        // The JSON has only the fields that the frame states.
        let stated = stated(&frame, &message, registry);
        message.payload = stated
            .into_iter()
            .map(|(name, value)| (name.to_owned(), value.clone()))
            .collect();
        let mut json = message.to_json();
        let count = |text: &str| self.counter.count(text);
        self.sent[0].frames += count(text);
        self.sent[0].json += count(&json.to_string());
        if let Some(json) = json.as_object_mut() {
            json.remove("metadata");
        }
        self.sent[1].frames += count(without_metadata(text));
        self.sent[1].json += count(&json.to_string());
        self.frames += 1;
    }

    /// Counts one reading by a model: of the context, or of everything that was sent.
    pub(super) fn read(&mut self, context: &str) {
        self.context = self.counter.count(context);
        self.read.frames += self.context;
        self.read.json += self.sent[1].json;
    }

    pub(super) fn table(&self) -> Table {
        let heading = ["tokens (o200k_base)", "as frames", "as compact JSON"];
        let mut table = Table::headed(heading).indented(2);
        let mut row = |what: &str, cost: Cost| {
            let Cost { frames, json } = cost;
            table.row([
                what.to_owned(),
                format!("{frames:>9}"),
                format!("{json:>15}"),
            ]);
        };
        let with = format!("{} frames with their envelopes", self.frames);
        row(&with, self.sent[0]);
        row("the same without envelopes", self.sent[1]);
        let context = Cost {
            frames: self.context,
            json: self.sent[1].json,
        };
        row("what a model reads at the end", context);
        row("what it has read at all frames", self.read);
        table
    }
}
