//! The doors of programs that use `accp_client`: in the process of their hub, over a WebSocket, and with generated
//! types.

use serde_json::{Value as Json, json};

use super::{Door, Setup};
use crate::doors::processes::Program;

/// An agent in the process of its hub. The program runs its own hub and its own agent `lab`.
pub(super) struct Inside(Program);

/// An agent over a WebSocket.
pub(super) struct Socket(Program);

/// An agent over a WebSocket that uses generated types.
pub(super) struct Types(Program);

fn start(setup: &Setup, part: &str) -> Program {
    let mut program = Program::start(setup.folder.path(), &setup.hub, &format!("table {part}"));
    assert_eq!(program.says(), "ready");
    program
}

fn call(program: &mut Program, what: &str, message: &Json) -> Result<Json, String> {
    program.tell(&json!({ "do": what, "message": message }).to_string());
    let said: Json = serde_json::from_str(&program.says()).unwrap();
    match (said.get("error"), said["answer"].get("refused")) {
        (Some(error), _) | (_, Some(error)) => Err(error.as_str().unwrap().to_owned()),
        _ => Ok(said["answer"].clone()),
    }
}

fn log(program: &mut Program) -> Vec<String> {
    serde_json::from_value(call(program, "log", &Json::Null).unwrap()).unwrap()
}

macro_rules! program {
    ($door:ident, $part:literal, $triggers:expr) => {
        impl Door for $door {
            const TRIGGERS: &[&str] = $triggers;

            fn open(setup: &Setup) -> Self {
                Self(start(setup, $part))
            }

            fn send(&mut self, _: &Setup, message: &Json) -> Result<(), String> {
                call(&mut self.0, "send", message).map(drop)
            }

            fn ask(&mut self, _: &Setup, message: &Json) -> Result<Json, String> {
                call(&mut self.0, "ask", message)
            }

            fn pieces(&mut self, _: &Setup, message: &Json) -> Vec<String> {
                serde_json::from_value(call(&mut self.0, "pieces", message).unwrap()).unwrap()
            }

            fn cancel(&mut self, _: &Setup, message: &Json) {
                call(&mut self.0, "cancel", message).unwrap();
            }

            fn context(&mut self, _: &Setup) -> String {
                let context = call(&mut self.0, "context", &Json::Null).unwrap();
                context.as_str().unwrap().to_owned()
            }

            fn read(&mut self, _: &Setup, key: &str) -> Json {
                call(&mut self.0, "read", &Json::from(format!("cold.{key}"))).unwrap()
            }

            fn state(&mut self, _: &Setup) -> Json {
                call(&mut self.0, "state", &Json::Null).unwrap()
            }

            fn log(&mut self, _: &Setup) -> Vec<String> {
                log(&mut self.0)
            }
        }
    };
}

program!(Inside, "inside", &["esc", "comp", "hot"]);
program!(Socket, "socket", &["esc", "comp", "hot"]);
// No generated type has the intents `esc` and `comp`.
program!(Types, "types", &["hot"]);
