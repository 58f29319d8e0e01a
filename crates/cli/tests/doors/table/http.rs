//! The door of HTTP: requests as a program such as curl makes them.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use accp_registry::Hash;
use accp_runtime::Value;
use serde_json::Value as Json;

use super::command::{at_work, data, frame, params};
use super::{ByHand, Door, Late, Setup};
use crate::doors::http::request;

/// A client that writes and numbers its frames itself.
pub(super) struct Http {
    /// The next `seq`.
    next: u64,
    /// The number of values that this client has put.
    puts: u64,
}

/// The most bytes of a value that the client sends inside the frame.
const SHORT: usize = 40_000;

impl Http {
    /// Adds metadata to a frame and sends it. Returns the frames with which the hub answers.
    fn post(&mut self, setup: &Setup, text: &str, prefer: &str) -> Result<String, String> {
        self.post_with(setup, text, prefer, "")
    }

    fn post_with(
        &mut self,
        setup: &Setup,
        text: &str,
        prefer: &str,
        more: &str,
    ) -> Result<String, String> {
        static LAST: AtomicU64 = AtomicU64::new(0);
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
        let mid = format!(
            "{:09}",
            u64::from(now.subsec_millis()) * 1_000_000 + LAST.fetch_add(1, Ordering::Relaxed)
        );
        let head = format!("POST /accp/v1/frames\nContent-Type: application/accp{prefer}");
        loop {
            let seq = self.next;
            let ts = if more.contains("ttl") {
                1000
            } else {
                now.as_secs()
            };
            let whole = format!("{text}[mid:abc{mid},seq:{seq},ts:{ts},sid:team{more}]");
            let (status, said) = request(&setup.hub, &head, &whole);
            let due = said.split("|exp:").nth(1);
            match (status, due) {
                (200 | 202, _) => {
                    self.next += 1;
                    return Ok(said);
                }
                // The error names the number that the hub expects. The client sends the frame again with that number.
                (400, Some(due)) if said.contains("E3003") => {
                    let digits = due.split('|').next().unwrap();
                    assert_ne!(digits.parse(), Ok(self.next), "{said}");
                    self.next = digits.parse().unwrap();
                }
                _ => return Err(said),
            }
        }
    }

    /// If the text of a note is too long for a frame, sends the text before the frame. Returns the message with a
    /// reference instead of the text.
    fn ahead(&mut self, setup: &Setup, message: &Json) -> Json {
        let mut message = message.clone();
        let text = message["payload"]["text"]
            .as_str()
            .unwrap_or_default()
            .to_owned();
        if text.len() <= SHORT {
            return message;
        }
        let bytes = Value::from(text).to_string();
        let (_, state) = request(&setup.hub, "GET /accp/v1/sessions/team/state", "");
        let state: Json = serde_json::from_str(&state).unwrap();
        let mut members = state["members"].as_array().unwrap().iter();
        let me = members.find(|member| member["agents"][0] == "dev").unwrap();
        self.puts = me["put"].as_u64().unwrap() + 1;
        let key = format!("k{}_{}", me["number"], self.puts);
        let digest = Hash::of(bytes.as_bytes());
        let put = format!("@dev>sync:put{{keys:[[{key},\"{digest},{}]]}}", bytes.len());
        self.post(setup, &put, "").unwrap();
        let head = format!("PUT /accp/v1/sessions/team/values/{key}?agent=dev");
        assert_eq!(request(&setup.hub, &head, &bytes).0, 201);
        message["payload"]["text"] = serde_json::json!({ "$ref": format!("cold.{key}") });
        message
    }
}

impl Door for Http {
    fn open(_: &Setup) -> Self {
        Self { next: 1, puts: 0 }
    }

    fn send(&mut self, setup: &Setup, message: &Json) -> Result<(), String> {
        self.post(setup, &frame(message), "").map(drop)
    }

    fn ask(&mut self, setup: &Setup, message: &Json) -> Result<Json, String> {
        let message = self.ahead(setup, message);
        let said = self.post(setup, &frame(&message), "\nPrefer: wait=20")?;
        params(setup, said.trim_end().lines().last().unwrap())
    }

    fn pieces(&mut self, setup: &Setup, message: &Json) -> Vec<String> {
        data(
            &self
                .post(setup, &frame(message), "\nPrefer: wait=20")
                .unwrap(),
        )
    }

    fn cancel(&mut self, setup: &Setup, message: &Json) {
        self.post_with(setup, &frame(message), "", ",cid:c1")
            .unwrap();
        at_work(setup);
        self.post_with(setup, "@dev>cancel:note{}", "", ",cid:c1")
            .unwrap();
    }
}

impl Late for Http {
    fn late(mut self, setup: &mut Setup, message: &Json) -> Self {
        let said = self.post_with(setup, &frame(message), "", ",ttl:5");
        assert_eq!(said.as_deref(), Ok(""), "nothing is said of it");
        self
    }
}

impl ByHand for Http {
    fn by_hand(&mut self, setup: &Setup, frame: &str) -> Result<(), String> {
        self.post(setup, frame, "").map(drop)
    }
}
