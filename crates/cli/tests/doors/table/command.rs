//! The door of the command: `accp send` and `accp ask`.

use accp_runtime::{DynamicFrame, EncodeOptions, Registry};
use serde_json::Value as Json;

use super::{ByHand, Door, Late, Setup};
use crate::doors::REGISTRY;
use crate::doors::answers::within;
use crate::doors::http;

/// A door that runs the command once for each frame.
pub(super) struct Command;

/// Returns a message as a frame of the agent `dev` without metadata, as a person would write it.
pub(super) fn frame(message: &Json) -> String {
    let registry = registry();
    let mut message = message.clone();
    message["agent"] = "dev".into();
    let mut message = DynamicFrame::from_json(&message).unwrap();
    let options = || EncodeOptions {
        inline: true,
        ..EncodeOptions::default()
    };
    // If the frame does not fit the registry, the test encodes it without the registry, so that the hub can refuse
    // it.
    let text = message.encode_with(&registry, options());
    text.unwrap_or_else(|_| {
        let code = message.schema.take().unwrap();
        let untyped = message.encode_with(&Registry::empty(), options()).unwrap();
        format!("{}|schema:{code}}}", untyped.strip_suffix('}').unwrap())
    })
}

pub(super) fn registry() -> Registry {
    Registry::from_json(REGISTRY).unwrap().with_profiles()
}

/// Returns the params of a frame. References are replaced by the values that the hub gives for them.
pub(super) fn params(setup: &Setup, text: &str) -> Result<Json, String> {
    let message = DynamicFrame::decode(text, &registry()).unwrap();
    if message.intent.as_str() == "fail" {
        return Err(text.to_owned());
    }
    let mut params = message.to_exact_json()["payload"].take();
    for value in params.as_object_mut().unwrap().values_mut() {
        if let Some(key) = value["$ref"].as_str() {
            let head = format!("GET /accp/v1/sessions/team/values/{key}");
            let (status, body) = http::request(&setup.hub, &head, "");
            assert_eq!(status, 200, "{body}");
            *value = serde_json::from_str(&body).unwrap();
        }
    }
    Ok(params)
}

/// Finds the pieces of a stream among the lines, and returns their data.
pub(super) fn data(lines: &str) -> Vec<String> {
    let frames = lines
        .lines()
        .filter_map(|line| DynamicFrame::decode(line, &Registry::standard()).ok());
    let pieces = frames.filter(|frame| frame.intent.as_str() == "stream");
    let data = pieces.map(|piece| {
        piece.to_json()["payload"]["data"]
            .as_str()
            .unwrap()
            .to_owned()
    });
    data.collect()
}

/// Waits until `lab` has begun to work on a question.
pub(super) fn at_work(setup: &Setup) {
    let works = |frame: &String| frame.starts_with("@lab>wait:note");
    let patience = std::time::Duration::from_secs(20);
    within(patience, || {
        setup.hub.frames().iter().any(works).then_some(())
    });
}

impl Command {
    fn run(setup: &Setup, verb: &str, frame: &str) -> Result<String, String> {
        let (fine, said) = setup.hub.accp([verb, frame]);
        if fine { Ok(said) } else { Err(said) }
    }
}

impl Door for Command {
    /// The greatest length of a text in an argument of a command.
    const MOST: usize = 30_000;

    fn open(_: &Setup) -> Self {
        Self
    }

    fn send(&mut self, setup: &Setup, message: &Json) -> Result<(), String> {
        Self::run(setup, "send", &frame(message)).map(drop)
    }

    fn ask(&mut self, setup: &Setup, message: &Json) -> Result<Json, String> {
        let said = Self::run(setup, "ask", &frame(message))?;
        // After the answer, the command may print a line about a value that was too long for the frame.
        let mut lines = said.lines().rev();
        params(setup, lines.find(|line| line.starts_with('@')).unwrap())
    }

    fn pieces(&mut self, setup: &Setup, message: &Json) -> Vec<String> {
        data(&Self::run(setup, "ask", &frame(message)).unwrap())
    }

    fn cancel(&mut self, setup: &Setup, message: &Json) {
        Self::run(setup, "send", &format!("{}[cid:c1]", frame(message))).unwrap();
        at_work(setup);
        Self::run(setup, "send", "@dev>cancel:note{}[cid:c1]").unwrap();
    }
}

impl Late for Command {
    fn late(self, setup: &mut Setup, message: &Json) -> Self {
        let late = format!("{}[ts:1000,ttl:5]", frame(message));
        Self::run(setup, "send", &late).unwrap();
        self
    }
}

impl ByHand for Command {
    fn by_hand(&mut self, setup: &Setup, frame: &str) -> Result<(), String> {
        Self::run(setup, "send", frame).map(drop)
    }
}
