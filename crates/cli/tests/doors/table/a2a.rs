//! The door of A2A: a client that uses the official Rust types of the protocol.

use a2a::{
    JsonRpcResponse, Message, Part, Role, SendMessageConfiguration, SendMessageRequest,
    SendMessageResponse, Task, TaskState,
};
use serde_json::{Value as Json, json};

use super::command::{at_work, data, frame, params};
use super::{ByHand, Door, Late, Setup};

/// A client that sends each frame as a part of an A2A message.
pub(super) struct A2a(tokio::runtime::Runtime);

/// The media type of frames.
const ACCP: &str = "application/accp";

impl A2a {
    /// Sends a frame, and returns the task. With `waits`, the hub answers only when the task has ended.
    fn run(&self, setup: &Setup, frame: &str, waits: bool) -> Result<Task, String> {
        let part = Part::text(frame).with_media_type(ACCP);
        let request = SendMessageRequest {
            message: Message::new(Role::User, vec![part]),
            configuration: Some(SendMessageConfiguration {
                accepted_output_modes: None,
                task_push_notification_config: None,
                history_length: None,
                return_immediately: Some(!waits),
            }),
            metadata: None,
            tenant: None,
        };
        let answer = self.call(
            setup,
            "SendMessage",
            &serde_json::to_value(request).unwrap(),
        )?;
        let is_fine = |task: &Task| match task.status.state {
            TaskState::Completed => true,
            TaskState::Submitted | TaskState::Working => !waits,
            _ => false,
        };
        match answer {
            SendMessageResponse::Task(task) if !is_fine(&task) => {
                Err(serde_json::to_string(&task.status).unwrap())
            }
            SendMessageResponse::Task(task) => Ok(task),
            SendMessageResponse::Message(message) => Err(format!("{message:?}")),
        }
    }

    /// Calls a method of the hub.
    fn call<T: serde::de::DeserializeOwned>(
        &self,
        setup: &Setup,
        method: &str,
        params: &Json,
    ) -> Result<T, String> {
        let call = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
        let url = format!("{}/a2a/team/dev", setup.hub.http());
        let text = self.0.block_on(async {
            let request = super::mcp::http().post(url).header("a2a-version", "1.0");
            request
                .body(call.to_string())
                .send()
                .await
                .unwrap()
                .text()
                .await
                .unwrap()
        });
        let answer: JsonRpcResponse = serde_json::from_str(&text).unwrap();
        match answer.error {
            Some(error) => Err(serde_json::to_string(&error).unwrap()),
            None => Ok(serde_json::from_value(answer.result.unwrap()).unwrap()),
        }
    }
}

impl Door for A2a {
    /// This is about the size of the largest frame. Over A2A, a client cannot send a value outside of its frame.
    const MOST: usize = 30_000;

    /// A client can only send a `req`, which begins a task. It cannot send `esc` and `comp`.
    const TRIGGERS: &[&str] = &["hot"];

    fn open(_: &Setup) -> Self {
        Self(
            tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .unwrap(),
        )
    }

    fn send(&mut self, setup: &Setup, message: &Json) -> Result<(), String> {
        // No agent answers a note that begins with `quiet`.
        let text = message["payload"]["text"].as_str().unwrap_or_default();
        let waits = !text.starts_with("quiet");
        self.run(setup, &frame(message), waits).map(drop)
    }

    fn ask(&mut self, setup: &Setup, message: &Json) -> Result<Json, String> {
        let task = self.run(setup, &frame(message), true)?;
        let artifacts = task.artifacts.unwrap();
        let mut parts = artifacts[0].parts.iter();
        let part = parts
            .find(|part| part.media_type.as_deref() == Some(ACCP))
            .unwrap();
        params(setup, part.as_text().unwrap())
    }

    fn pieces(&mut self, setup: &Setup, message: &Json) -> Vec<String> {
        let task = self.run(setup, &frame(message), true).unwrap();
        let artifacts = task.artifacts.unwrap();
        let parts = artifacts.iter().flat_map(|artifact| &artifact.parts);
        let texts: Vec<_> = parts.filter_map(Part::as_text).collect();
        data(&texts.join("\n"))
    }

    fn cancel(&mut self, setup: &Setup, message: &Json) {
        let task = self.run(setup, &frame(message), false).unwrap();
        at_work(setup);
        let task: Task = self
            .call(setup, "CancelTask", &json!({ "id": task.id }))
            .unwrap();
        assert_eq!(task.status.state, TaskState::Canceled);
    }
}

impl Late for A2a {
    fn late(self, setup: &mut Setup, message: &Json) -> Self {
        let late = format!("{}[ts:1000,ttl:5]", frame(message));
        let said = self.run(setup, &late, true).unwrap_err();
        assert!(said.contains("E3001"), "{said}");
        self
    }
}

impl ByHand for A2a {
    fn by_hand(&mut self, setup: &Setup, frame: &str) -> Result<(), String> {
        self.run(setup, frame, false).map(drop)
    }
}
