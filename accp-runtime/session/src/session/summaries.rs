//! Summaries that come after their checkpoint.

use super::{Role, Session};
use crate::interface::input::{Input, InputError};
use accp_context::Time;

impl Session {
    /// Host: returns the frames that left hot state with the last checkpoint, if a summary of them is wanted
    /// ([`Event::SummaryWanted`](crate::Event::SummaryWanted)). Each frame has its position, and its text without
    /// metadata. `accp_store::Driver::frames_to_sum_up` also reads the values that the frames refer to.
    pub fn frames_to_sum_up(&self) -> impl Iterator<Item = (u64, &str)> {
        let frames = match &self.role {
            Role::Host(host) => host.gate.numbers.summary.as_deref(),
            Role::Member(_) => None,
        };
        let frames = frames.into_iter().flat_map(|wanted| &wanted.frames);
        frames.map(|(at, text)| (*at, &**text))
    }

    /// Host: supplies a summary of the last checkpoint, which a model may have written. The next checkpoint carries
    /// the summary to all sides, cut to 100 tokens. From then on, the summary replaces the one by
    /// [`Rules::summarizer`](crate::Rules::summarizer) in merged checkpoints, and as the value of references such as
    /// `$warm.ckpt_1.summary`. Lines that the context shows already stay as they are. So nobody waits for a model. If
    /// this function is called twice for a checkpoint, the second text counts.
    ///
    /// A value in warm state is verbatim or absent (draft section 5.3). So each word of the summary that looks like a
    /// value must occur, letter by letter, in a frame that left hot state. A word looks like a value if it has a
    /// digit, `_`, `@` or `\`, or both `/` and `.`: numbers, amounts, dates, codes, addresses, paths. Numbers that
    /// are spelt out (`twelve`) are not checked.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use accp_runtime::context::ContextLimits;
    /// use accp_runtime::session::{Event, InputError, Rules, SummaryError};
    /// # use accp_runtime::session::{Input, Options, Outbound, Session, Time};
    /// # use accp_runtime::{AgentId, DynamicFrame, Registry};
    /// # use accp_session::Output;
    /// # struct Words;
    /// # impl accp_runtime::TokenCounter for Words {
    /// #     fn name(&self) -> &str { "words" }
    /// #     fn count(&self, text: &str) -> usize { text.split(|c: char| !c.is_alphanumeric()).count() }
    /// # }
    /// # let now = Time::from_secs(1_714_000_000);
    /// # let options = Options::new("s1", AgentId::new("hub")?, Arc::new(Registry::standard()));
    /// # let options = options.counting(Arc::new(Words));
    /// # let model = |_: &str| "Hub has tested order W7.".to_owned();
    /// let rules = Rules { late_summaries: true, ..Rules::default() };
    /// let mut host = Session::host(options, rules, now);
    /// let done = DynamicFrame::new("hub", "done", "test")?.with("order", "W7");
    /// # host.send(&Outbound::message(&DynamicFrame::new("hub", "sync", "note")?.with("order", "W7")), now)?;
    /// host.send(&Outbound::message(&done), now)?; // takes a checkpoint
    /// while let Some(Output::Batch(batch)) = host.poll() {
    ///     for event in batch.events {
    ///         if let Event::SummaryWanted { checkpoint, .. } = event {
    ///             let frames: Vec<_> = host.frames_to_sum_up().map(|(_, text)| text).collect();
    ///             let text = model(&frames.join("\n")); // in a real program: later, elsewhere
    ///             host.supply_summary(checkpoint, &text, now)?;
    ///
    ///             let refused = host.supply_summary(checkpoint, "It was order W8.", now);
    ///             let invented = SummaryError::Invented(vec!["W8".into()]);
    ///             assert_eq!(refused, Err(InputError::Summary(invented)));
    ///         }
    ///     }
    /// }
    /// host.handle(Input::Phase, now)?;
    /// assert!(host.context().contains("@facts ckpt_1: Hub has tested order W7.\n"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`InputError::Summary`] for a text with an invented value, for an empty text, and if no summary of this
    /// checkpoint is wanted; [`InputError::HostOnly`] on a member.
    pub fn supply_summary(
        &mut self,
        checkpoint: u64,
        text: &str,
        now: Time,
    ) -> Result<(), InputError> {
        let values = &[];
        let summary = Input::Summary {
            checkpoint,
            text,
            values,
        };
        self.handle(summary, now).map(drop)
    }
}
