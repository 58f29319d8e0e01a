//! A session with a peer that the test plays by hand.

use accp_runtime::session::{Options, Outbound, Rules};
use accp_runtime::{AgentId, DynamicFrame};

use crate::sessions::room::{Passed, Room};
use crate::sessions::sides::{Node as _, envelope, member, options};

/// A session in which `@qa`, member 102, knows only the draft. The test plays this member by hand.
pub(crate) struct Draft {
    pub(crate) room: Room,
    /// The frames between `@qa` and the host, and notes on what happened elsewhere.
    pub(crate) script: String,
    pub(crate) seen: usize,
}

impl Draft {
    pub(crate) fn new(host: Options, rules: Rules) -> Self {
        let mut room = Room::open(host, rules);
        room.enter(options("dev"));
        Self {
            room,
            script: String::new(),
            seen: 0,
        }
    }

    /// Lets `@qa` join. `@qa` itself does not send a frame.
    pub(crate) fn enters(&mut self) {
        room_enters(&mut self.room);
        self.room.settle();
    }

    /// Returns the frames that the host has sent to `@qa` since the last call.
    pub(crate) fn heard(&mut self) -> Vec<String> {
        self.room.settle();
        let to_qa = |passed: &&Passed| passed.to == member(102);
        let new = self.room.passed[self.seen..].iter().filter(to_qa);
        let new: Vec<_> = new.map(|passed| passed.text.clone()).collect();
        self.seen = self.room.passed.len();
        for text in &new {
            self.script.extend(["hub  ", text.as_str(), "\n"]);
        }
        new
    }

    /// Lets `@qa` say this, and returns the answers of the host.
    pub(crate) fn says(&mut self, text: &str) -> Vec<String> {
        self.script.extend(["qa   ", text, "\n"]);
        let now = self.room.now;
        self.room
            .host
            .session_mut()
            .receive(member(102), text.as_bytes(), now);
        self.heard()
    }

    /// Notes in the script what happens elsewhere.
    pub(crate) fn notes(&mut self, what: &str) {
        self.script.extend(["     (", what, ")\n"]);
    }

    /// Lets `@dev` send a message.
    pub(crate) fn dev(&mut self, message: &DynamicFrame<'_>) -> Vec<String> {
        self.room.say(0, &Outbound::message(message));
        self.heard()
    }
}

fn room_enters(room: &mut Room) {
    room.let_in(&AgentId::new("qa").unwrap(), false).unwrap();
}

/// Opens a session that `@qa` has joined, and clears the script.
pub(crate) fn joined() -> Draft {
    let mut draft = Draft::new(options("hub"), Rules::default());
    draft.enters();
    assert_eq!(draft.says("@qa>sync:registry{v:1|hash:a32838}").len(), 1);
    draft
}

/// Returns the frames without their metadata, each with its `seq`.
pub(crate) fn short_forms(texts: &[String]) -> Vec<String> {
    let short_forms = |text: &String| {
        let (head, _) = text.split_once('[').unwrap();
        format!("{head} {}", envelope(text).unwrap().sequence.unwrap())
    };
    texts.iter().map(short_forms).collect()
}
