//! Agents that answer as a test wants.

use accp_client::{Agent, Cx, Error};
use accp_runtime::Registry;
use accp_runtime::profiles::{InferStream, ScheduleDone, ScheduleReq};
use accp_runtime::session::Outbound;
use tokio::sync::{mpsc, oneshot};

pub const TASK: &str = "@me>req:schedule{asgn:dev|task:impl_auth|schema:TA}";

/// Answers each request with the name of its task.
pub fn works(agent: &Agent) {
    agent.serve(|task: ScheduleReq, cx| async move {
        cx.reply(ScheduleDone::new(task.task).status("done")).await
    });
}

/// A frame that a test handles.
pub struct HeldRequest {
    pub cx: Cx,
    /// Keeps the handler running: the frame counts as handled when its handler ends.
    pub _open: oneshot::Sender<()>,
}

impl HeldRequest {
    /// Holds a frame whose handler does not wait for the test.
    pub fn of(cx: Cx) -> Self {
        let (open, _) = oneshot::channel();
        Self { cx, _open: open }
    }

    pub fn chain(&self) -> String {
        let registry = Registry::standard();
        let message = self.cx.inbound().message(&registry).unwrap();
        message.envelope.correlation_id.unwrap().into_owned()
    }

    /// Says something in the chain of the frame.
    pub async fn say(&self, outbound: Outbound<'static>) {
        let agent = self.cx.agent().unwrap();
        agent
            .send_with(outbound.in_chain(self.chain()))
            .await
            .unwrap();
    }

    pub async fn done(self) {
        self.cx.reply(ScheduleDone::new("impl_auth")).await.unwrap();
    }
}

/// Hands out the frames that come to an agent, so that a test answers when it wants.
pub fn by_hand(agent: &Agent) -> mpsc::UnboundedReceiver<HeldRequest> {
    let (given, taken) = mpsc::unbounded_channel();
    agent.serve_others(move |cx| {
        let ((open, ends), given) = (oneshot::channel(), given.clone());
        async move {
            let _ = given.send(HeldRequest { cx, _open: open });
            let _ = ends.await;
            Ok::<_, Error>(())
        }
    });
    taken
}

/// Sends pieces, and then the answer.
pub async fn streams(asked: HeldRequest, pieces: &[&str]) {
    for (index, piece) in pieces.iter().enumerate() {
        let is_last = index + 1 == pieces.len();
        let piece = InferStream::new(index as i64, (*piece).to_owned()).is_final(is_last);
        asked.say(Outbound::owned(piece)).await;
    }
    asked.done().await;
}
