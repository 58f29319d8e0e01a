//! The intents and operations that an application may send in a session.

use std::fmt::Write as _;

use accp_registry::OPERATIONS;
use accp_runtime::session::{Outbound, Rules};
use accp_runtime::{DynamicFrame, ErrorCode, Intent, Map};

use crate::sessions::sides::{NOW, Node, open_host, options};

/// The documentation of `Session::send`.
const DOCS: &str = include_str!("../../../accp-runtime/session/src/session/shorthands.rs");

/// The operations of a session's own frames that are not in the draft.
const OWN: [&str; 13] = [
    "registry",
    "bytes",
    "open",
    "join",
    "leave",
    "grant",
    "expire",
    "put",
    "schemas",
    "level",
    "veto",
    "checkpoint",
    "note",
];

/// An application cannot send the frames that the session sends itself. The error gives the reason,
/// and the docs list these frames. All other frames can be sent, and go into the log.
#[test]
fn op_02_refuses_what_the_session_says_itself() {
    let mut said = String::new();
    for intent in Intent::ALL {
        let operations = OPERATIONS.iter().copied();
        let mut taken = Vec::new();
        for operation in operations.chain(OWN) {
            let mut host = open_host(options("hub"), Rules::default());
            let message = DynamicFrame::new("hub", intent.as_str(), operation).unwrap();
            let message = match intent.as_str() {
                "sync" if operation == "state" => {
                    message.with("v", 1_i64).with("delta", Map::new())
                }
                _ => message,
            };
            let before = host.session().position();
            let chain = Outbound::message(&message).in_chain("c");
            match host.session_mut().send(&chain, NOW) {
                Ok(_) => assert_eq!(host.session().position(), before + 1),
                Err(error) => {
                    assert_eq!(
                        error.code(),
                        ErrorCode::POLICY_DENIED,
                        "{intent}:{operation}"
                    );
                    assert_eq!(host.session().position(), before);
                    taken.push((operation, error.to_string()));
                }
            }
        }
        let is_all = taken.len() == OPERATIONS.len() + OWN.len();
        if is_all {
            assert!(DOCS.contains(&format!("`{intent}`")), "{intent}");
            taken.truncate(1);
        }
        for (operation, error) in taken {
            let pair = format!("`{intent}:{operation}`");
            assert!(
                is_all || DOCS.contains(&pair),
                "the docs of `send` lack {pair}"
            );
            writeln!(said, "{intent}:{operation}: {error}").unwrap();
        }
    }
    insta::assert_snapshot!(said, @"
    sync:registry: E5001: expected a frame of the session; sync:registry speaks about the link
    sync:bytes: E5001: expected a frame of the session; sync:bytes speaks about the link
    sync:open: E5001: expected a frame of an application; sync:open is about the session itself, which a host writes when it begins: see Session::host
    sync:join: E5001: expected a frame of an application; sync:join is about the session itself, which a host writes for Input::Join
    sync:leave: E5001: expected a frame of an application; sync:leave is about the session itself, which a host writes for Input::Leave
    sync:grant: E5001: expected a frame of an application; sync:grant is about the session itself, which a host writes for Input::Grant
    sync:expire: E5001: expected a frame of an application; sync:expire is about the session itself, which a host writes for Input::Expire
    sync:put: E5001: expected a frame of an application; sync:put is about the session itself, which a session writes for values that go by reference
    sync:schemas: E5001: expected a frame of an application; sync:schemas is about the session itself, which a host writes for Input::Register
    sync:level: E5001: expected a frame of an application; sync:level is about the session itself, which a host writes when its settings change: see Options::level
    sync:veto: E5001: expected a frame of an application; sync:veto is about the session itself, which a host writes for CheckpointHooks
    sync:checkpoint: E5001: expected a frame of an application; sync:checkpoint is about the session itself, which a host writes for Input::Phase and the other triggers
    qry:bytes: E5001: expected a frame of the session; qry:bytes speaks about the link
    ack:analyze: E5001: expected a frame of the session; ack:analyze speaks about the link
    ping:analyze: E5001: expected a frame of the session; ping:analyze speaks about the link
    pong:analyze: E5001: expected a frame of the session; pong:analyze speaks about the link
    ");
}
