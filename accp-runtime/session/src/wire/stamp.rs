//! The head of the frames that a side writes about the link: its name and the position that it holds.

use crate::log::mid::Mid;
use crate::wire::link::mid_value;
use accp_context::Time;
use accp_frame::{
    AgentId, EncodeError, EncodeFrame, EncodeOptions, Envelope, Intent, Typed, Value,
};

/// The frame that a link frame is about, if any. `Frame(None)` is `~`: the frame could not be read.
#[derive(Debug, Clone, Copy)]
pub(crate) enum About<'m> {
    Nothing,
    Frame(Option<&'m Mid>),
}

/// The sender's data in every link frame.
#[derive(Debug)]
pub(crate) struct Stamp<'s> {
    pub agent: &'s AgentId<'static>,
    pub mid: String,
    /// The last position that the sender holds. For a peer of the draft alone: the last number that was
    /// sent to the peer, or taken from it.
    pub held: u64,
    /// True for a peer of the draft alone. It gets no pairs but those of the draft, and `of`.
    pub draft: bool,
    pub now: Time,
}

impl Stamp<'_> {
    /// Returns the head for a peer that knows only the draft, if there is a number: the last that was
    /// sent to the peer, or taken from it.
    pub(crate) fn for_draft(self, number: Option<u64>) -> Self {
        match number {
            Some(held) => Self {
                held,
                draft: true,
                ..self
            },
            None => self,
        }
    }

    /// Writes `@hub>ack:frame{}[mid:..,seq:57,ts:..,of:101000001001,at:12,up:56]`. It tells a sender
    /// that its frames up to this one, which took the `seq` 12, have arrived, and that those among them
    /// that were accepted are in the log up to position 56.
    ///
    /// For a peer that knows only the draft, the pairs are
    /// `[mid:..,seq:12,ts:..,cid:101000001001,of:101000001001]`: the frame of the peer has taken this `seq`. An
    /// `ack` without an id says that another frame has taken it.
    pub(crate) fn ack(&self, of: Option<(&Mid, u64, u64)>) -> String {
        let Self {
            agent,
            mid,
            held,
            draft,
            now,
        } = self;
        let ts = now.as_secs();
        match of {
            Some((of, ..)) if *draft => {
                let of = mid_value(of);
                format!("@{agent}>ack:frame{{}}[mid:{mid},seq:{held},ts:{ts},cid:{of},of:{of}]")
            }
            Some((of, at, up)) => {
                let of = mid_value(of);
                format!(
                    "@{agent}>ack:frame{{}}[mid:{mid},seq:{held},ts:{ts},of:{of},at:{at},up:{up}]"
                )
            }
            None => format!("@{agent}>ack:frame{{}}[mid:{mid},seq:{held},ts:{ts}]"),
        }
    }

    /// Writes `@a>ping:link{}` or its answer.
    pub(crate) fn beat(&self, intent: Intent) -> String {
        let Self {
            agent,
            mid,
            held,
            now,
            ..
        } = self;
        let ts = now.as_secs();
        format!("@{agent}>{intent}:link{{}}[mid:{mid},seq:{held},ts:{ts}]")
    }

    /// Writes any other link frame.
    ///
    /// # Errors
    /// When the payload is over the limits of a frame.
    pub(crate) fn frame(
        &self,
        frame: impl EncodeFrame,
        of: About<'_>,
    ) -> Result<String, EncodeError> {
        let mut envelope = Envelope::new(self.mid.as_str(), self.held).at(self.now.as_secs());
        if let About::Frame(of) = of {
            if let Some(of) = of.filter(|_| self.draft) {
                envelope.correlation_id = Some(of.to_string().into());
            }
            envelope
                .extra
                .insert("of", of.map_or(Value::Null, mid_value));
        }
        let options = EncodeOptions {
            inline: true,
            ..EncodeOptions::default()
        };
        let mut text = String::new();
        Typed::new(self.agent.clone(), frame, envelope).encode_into(&mut text, options)?;
        Ok(text)
    }
}
