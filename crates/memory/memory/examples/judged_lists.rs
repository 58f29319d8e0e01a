//! Writes generated lists as JSON lines, each with the verdict of `check`. Validators by other authors then judge the
//! same lists.
//! Usage: `judged_lists [COUNT]`, the number of conversations for each form.

#[path = "../tests/common/mod.rs"]
mod common;

use accp_memory::{Form, MessageList, check, repair};
use proptest::strategy::{Strategy as _, ValueTree as _};
use proptest::test_runner::TestRunner;
use serde_json::{Value as Json, json};

use common::lists::render;
use common::{lists, plant};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let count = std::env::args().nth(1);
    let count: usize = count.map_or(Ok(100), |count| count.parse())?;
    let mut runner = TestRunner::deterministic();
    for _ in 0..count {
        let script = lists::script().new_tree(&mut runner);
        let script = script
            .map_err(|reason| reason.message().to_owned())?
            .current();
        for form in Form::ALL {
            let messages = render::messages(form, &script);
            let valid = lists::list(form, &messages);
            line(&valid, "valid", None);
            for planted in plant::all(form, &messages) {
                let broken = lists::list(form, &planted.messages);
                let fault = Some((planted.code.as_str(), planted.at));
                line(&broken, "planted", fault);
                let (mended, repairs) = repair(&broken)?;
                if !repairs.is_empty() {
                    line(&mended, "mended", fault);
                }
            }
        }
    }
    Ok(())
}

/// Writes a list as a JSON line. `kind` is `valid`, `planted` or `mended`. `fault` has the code and the message of the
/// planted fault.
fn line(list: &MessageList, kind: &str, fault: Option<(&str, usize)>) {
    let messages: Vec<&Json> = list
        .messages()
        .iter()
        .map(accp_memory::ListMessage::json)
        .collect();
    let line = json!({
        "form": list.form().name(),
        "kind": kind,
        "fault": fault.map(|(code, _)| code),
        "at": fault.map(|(_, at)| at),
        "errors": check(list),
        "messages": messages,
    });
    println!("{line}");
}
