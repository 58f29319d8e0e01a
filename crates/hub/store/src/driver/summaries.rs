//! Late summaries: a model writes the summary of a checkpoint after the checkpoint was taken.

use accp_frame::DynamicFrame;
use accp_session::Time;

use super::error::DriverError;
use super::values::SummaryFrames;
use super::{Driver, Link};
use crate::store::Store;

impl<S: Store, L: Link> Driver<S, L> {
    /// Reads the frames that left hot state with the last checkpoint, for a model that sums them up
    /// ([`Event::SummaryWanted`](accp_session::Event::SummaryWanted)). The frames have no envelope. If this side has
    /// the value of a reference, the value takes the place of the reference. Frames under a schema that this host does
    /// not know any more are left out. Only for a host with
    /// [`Rules::late_summaries`](accp_session::Rules::late_summaries): on any other side, there are no such frames.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use accp_runtime::session::{Event, Input, Options, Outbound, Rules, Time, Transmit};
    /// # use accp_runtime::view::View;
    /// # use accp_runtime::{AgentId, DynamicFrame, Registry};
    /// # use accp_store::{Driver, MemoryStore};
    /// # struct Words;
    /// # impl accp_runtime::TokenCounter for Words {
    /// #     fn name(&self) -> &str { "words" }
    /// #     fn count(&self, text: &str) -> usize { text.split(|c: char| !c.is_alphanumeric()).count() }
    /// # }
    /// # let now = Time::from_secs(1_714_000_000);
    /// # let registry = Arc::new(Registry::standard());
    /// # let options = Options::new("shop", AgentId::new("shop")?, registry.clone());
    /// # let options = options.counting(Arc::new(Words));
    /// # let (store, link) = (MemoryStore::new(), Vec::<Transmit>::new());
    /// # let model = |prompt: &str| { assert!(prompt.contains("order W7")); "A customer asks for order W7." };
    /// let rules = Rules { late_summaries: true, ..Rules::default() };
    /// let mut shop = Driver::open_host(store, link, options, rules, now)?;
    /// # let text = "Good morning, could you please tell me where my order W7 is by now?";
    /// # let question = DynamicFrame::new("shop", "done", "chat")?.with("content", text).under("CH");
    /// # shop.send(&Outbound::message(&question), now)?;
    /// # shop.session_mut()?.handle(Input::Phase, now)?;
    /// let view = View::new(registry);
    /// for event in shop.serve(now, |_| Ok(vec![]))? {
    ///     if let Event::SummaryWanted { checkpoint, .. } = event {
    ///         let frames = shop.frames_to_sum_up()?;
    ///         let prompt: String = frames.iter().map(|frame| view.block(frame).text).collect();
    ///         let text = model(&prompt); // in a real program: later, elsewhere
    ///         shop.supply_summary(checkpoint, text, now)?;
    ///     }
    /// }
    /// # shop.session_mut()?.handle(Input::Phase, now)?;
    /// # assert!(shop.session().context().contains("@facts ckpt_2: A customer asks for order W7."));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`DriverError::Store`], after which the session is not put aside.
    pub fn frames_to_sum_up(&mut self) -> Result<Vec<DynamicFrame<'static>>, DriverError> {
        let mut frames = SummaryFrames::of(self.session());
        self.run_lookup(&mut frames)?;
        Ok(frames.into_messages(&self.session().options().registry))
    }

    /// Supplies a late summary as [`Session::supply_summary`](accp_session::Session::supply_summary) does. A frame
    /// only refers to its long values, but the text of the summary may state them, too.
    ///
    /// # Errors
    /// [`DriverError::Input`] when the session refuses the text, and the errors of
    /// [`frames_to_sum_up`](Self::frames_to_sum_up).
    pub fn supply_summary(
        &mut self,
        checkpoint: u64,
        text: &str,
        now: Time,
    ) -> Result<(), DriverError> {
        let frames = self.frames_to_sum_up()?;
        self.machine.supply_summary(checkpoint, text, frames, now)
    }
}
