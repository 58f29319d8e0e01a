//! The agent `lab` of the scenarios: the types of its frames, and its answers.

use std::borrow::Cow;

use accp_client::{Agent, Cx, Error};
use accp_runtime::profiles::{
    ChatDone, ChatReq, InferStream, ScheduleDone, ScheduleReq, ToolDone, ToolReq, TransactionDone,
    TransactionReq,
};
use accp_runtime::session::Outbound;
use accp_runtime::{AccpFrame, Value};

/// Declares the struct for a frame of a schema.
macro_rules! frame {
    ($name:ident, $schema:literal, $intent:literal, $operation:literal: $($field:ident: $kind:ty),*) => {
        #[derive(AccpFrame, Debug, Clone, PartialEq)]
        #[accp(registry = "tests/doors/registry.json", schema = $schema)]
        #[accp(intent = $intent, operation = $operation)]
        pub(crate) struct $name<'a> {
            $(pub(crate) $field: $kind,)*
        }
    };
}

frame!(NoteReq, "NOTE", "req", "note": text: Cow<'a, str>, size: Option<i64>, more: Option<Value<'a>>);
frame!(NoteDone, "NOTE", "done", "note": text: Cow<'a, str>, size: Option<i64>, more: Option<Value<'a>>);

/// An enumeration whose values have symbols.
#[derive(AccpFrame, Debug, Clone, Copy, PartialEq)]
pub(crate) enum Way {
    #[accp(symbol = "+")]
    Up,
    #[accp(symbol = "-")]
    Down,
}

/// A request with a value of the enumeration.
#[derive(AccpFrame, Debug, Clone, Copy, PartialEq)]
#[accp(registry = "tests/doors/registry.json", schema = "WAY")]
#[accp(intent = "req", operation = "report")]
pub(crate) struct ReportReq {
    pub(crate) way: Way,
}

/// The answer to a report, with a value of the enumeration.
#[derive(AccpFrame, Debug, Clone, Copy, PartialEq)]
#[accp(registry = "tests/doors/registry.json", schema = "WAY")]
#[accp(intent = "done", operation = "report")]
pub(crate) struct ReportDone {
    pub(crate) way: Way,
}

/// The frame with which `lab` says that it works on a question.
#[derive(AccpFrame, Debug, Clone, PartialEq)]
#[accp(intent = "wait", operation = "note")]
struct NoteWait<'a> {
    text: Cow<'a, str>,
}

/// Answers each note with its own text and the number of its bytes, and answers the requests of the standard
/// profiles.
pub(super) fn echo(agent: &Agent) {
    agent.serve(|note: NoteReq<'static>, cx| answer(note, cx));
    agent.serve(
        |report: ReportReq, cx| async move { cx.reply(ReportDone { way: report.way }).await },
    );
    agent.serve(
        |said: ChatReq<'static>, cx| async move { cx.reply(ChatDone::new(said.content)).await },
    );
    agent.serve(|task: ScheduleReq<'static>, cx| async move {
        cx.reply(ScheduleDone::new(task.task).status("done")).await
    });
    agent.serve(|call: ToolReq<'static>, cx| async move {
        let done = ToolDone {
            tool_name: call.tool_name,
            arguments: None,
            result: Some(Value::Integer(4)),
            status: "ok".into(),
            error_code: None,
        };
        cx.reply(done).await
    });
    agent.serve(|pay: TransactionReq<'static>, cx| async move {
        let done = TransactionDone {
            transaction_id: pay.transaction_id,
            reference: None,
            status: "settled".into(),
        };
        cx.reply(done).await
    });
}

/// Answers a note: at once, after pieces in a wrong order, or never. The text of the note decides this.
async fn answer(note: NoteReq<'static>, cx: Cx) -> Result<(), Error> {
    let NoteReq { text, more, .. } = note;
    let agent = cx.agent()?;
    let answering = |outbound: Outbound<'static>| outbound.answering(cx.inbound()).unwrap();
    if text == "in pieces" {
        for (index, data) in [(1, "two"), (0, "one"), (1, "two"), (2, "three")] {
            let piece = InferStream::new(index, data).is_final(index == 2);
            agent.send_with(answering(Outbound::owned(piece))).await?;
        }
    }
    if text.starts_with("quiet") {
        std::future::pending::<()>().await;
    }
    if text.starts_with("slow") {
        let wait = NoteWait {
            text: "at work".into(),
        };
        agent.send_with(answering(Outbound::owned(wait))).await?;
        cx.inbound().cancel_token().cancelled().await;
        let (text, size, more) = ("stopped".into(), None, None);
        agent.send(NoteReq { text, size, more }).await?;
    }
    let size = Some(text.len() as i64);
    cx.reply(NoteDone { text, size, more }).await
}
