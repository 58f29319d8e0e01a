//! What a program writes in the user's place does not count as a request.

use accp_memory::{Form, ListSession, MessageList, Options, SessionId, Window};
use serde_json::{Value as Json, json};
use time::OffsetDateTime;

use crate::common::forms::{assistant, call, result, user};
use crate::common::quarters::Quarters;
use crate::typed::shown::Shown;

/// Returns the requests in the summary of a conversation that goes on for long.
fn intent(form: Form, mut messages: Vec<Json>) -> String {
    messages.push(assistant(form, &"rye ".repeat(2_500)));
    messages.push(call(form, "c", "look", &json!({})));
    messages.push(result(form, "c", "done"));
    messages.push(assistant(form, "Done."));
    let texts: Vec<_> = messages.iter().map(Json::to_string).collect();
    let list = MessageList::of(form, texts.iter().map(String::as_str)).unwrap();
    let window = Window::of(3_400).unwrap();
    let options = Options::new(&window, &Quarters, OffsetDateTime::UNIX_EPOCH);
    let session = ListSession::new(SessionId::new("s").unwrap(), form);
    let plan = session.plan(&list, &options, &(), &mut ()).unwrap();
    Shown::of(&plan.list(&list)).intent
}

/// Returns a conversation in which an agent acts in text, and a program answers; a person speaks in between.
fn acting(form: Form, action: fn(usize) -> String, result: fn(usize) -> String) -> Vec<Json> {
    let mut messages = vec![user(form, "Mend the build.")];
    for number in 0..6 {
        messages.push(assistant(form, &action(number)));
        messages.push(user(form, &result(number)));
        if number == 2 {
            messages.push(assistant(form, &action(number)));
            messages.push(user(form, "Nicht ohne Tests, bitte."));
        }
    }
    messages
}

/// Words of a message with this number.
type Words = fn(usize) -> String;

#[test]
fn results_in_the_users_place_are_no_requests() {
    let bash = |number| format!("THOUGHT: look.\n\n```bash\nls {number}\n```");
    let react =
        |number| format!("Thought: look\nAction: search\nAction Input: {{\"q\": {number}}}");
    let tagged = |number| format!("I look.\n<execute_bash>\nls {number}\n</execute_bash>");
    let kinds: [(Words, Words); 6] = [
        (bash, |n| {
            format!("<returncode>0</returncode>\n<output>\nfile-{n}\n</output>")
        }),
        (react, |n| format!("Observation: file-{n}\nand more")),
        (tagged, |n| format!("EXECUTION RESULT of [bash]:\nfile-{n}")),
        (bash, |n| {
            format!("[Command finished with exit code {n}]\nfile-{n}")
        }),
        (bash, |n| format!("```\nfile-{n}\n```")),
        (bash, |n| {
            format!("file-{n}\n(Open file: n/a)\n(Current directory: /src/{n})\nbash-$")
        }),
    ];
    for form in Form::ALL {
        for (action, result) in kinds {
            let intent = intent(form, acting(form, action, result));
            assert!(!intent.contains("file-"), "{intent}");
            assert!(intent.contains("\n> Nicht ohne Tests, bitte."), "{intent}");
        }
    }
}

#[test]
fn a_person_who_writes_alike_beside_an_agent_that_calls_tools_is_heard() {
    for form in Form::ALL {
        let messages = acting(
            form,
            |number| format!("Issue {number} is fixed."),
            |number| format!("Issue {number}: the export is empty in <b>{number}</b>"),
        );
        let intent = intent(form, messages);
        for number in 0..6 {
            let whole = format!("> Issue {number}: the export is empty in <b>{number}</b>");
            assert!(intent.contains(&whole), "{intent}");
        }
    }
}

#[test]
fn a_block_that_a_program_adds_is_no_part_of_a_request() {
    let kinds: [fn(usize) -> String; 4] = [
        |n| {
            format!(
                "Wish {n}.\n<environment_details>\n# Open files\nsrc/{n}.rs\n# Time\n{n}:00\n</environment_details>"
            )
        },
        |n| {
            format!(
                "<system-reminder>\nThe list of tasks is empty. Leave it so.\n</system-reminder>\nWish {n}."
            )
        },
        |n| format!("<context>\nsrc/main.rs\nsrc/lib.rs\n</context>\nWish {n}.\n\nAnd {n} more."),
        |n| format!("Wish {n}.\n```state\nopen: src/main.rs\n```"),
    ];
    for form in Form::ALL {
        for kind in kinds {
            let messages = acting(form, |n| format!("Wish {n} is done."), kind);
            let intent = intent(form, messages);
            for number in 0..6 {
                assert!(intent.contains(&format!("> Wish {number}.")), "{intent}");
            }
            for added in ["Open files", "system-reminder", "src/", "Time"] {
                assert!(!intent.contains(added), "{intent}");
            }
        }
        // The intent keeps a person's own words that have a tag around them.
        let wrapped = |n| format!("<user_query>\nWish {n}, as I said.\n</user_query>");
        let intent = intent(
            form,
            acting(form, |n| format!("Wish {n} is done."), wrapped),
        );
        for number in 0..6 {
            assert!(
                intent.contains(&format!("> Wish {number}, as I said.")),
                "{intent}"
            );
        }
    }
}

#[test]
fn named_messages_beside_unnamed_ones_are_another_speakers() {
    let named = |name: &str, text: &str| json!({ "role": "user", "name": name, "content": text });
    let messages = vec![
        user(Form::OpenAi, "Mend the build."),
        named("environment", "The token is in the file."),
        assistant(Form::OpenAi, "I look."),
        user(Form::OpenAi, "Only on the branch."),
        named("reviewer", "I would rewrite it."),
        assistant(Form::OpenAi, "Done."),
    ];
    let intent = self::intent(Form::OpenAi, messages);
    assert!(intent.contains("\n> Only on the branch."), "{intent}");
    assert!(
        !intent.contains("token") && !intent.contains("rewrite"),
        "{intent}"
    );
    // If all speakers have names, their behaviour tells persons from agents.
    let messages = vec![
        named("ann", "Mend the build."),
        json!({ "role": "assistant", "name": "planner", "content": "I look." }),
        named("bob", "Only on the branch."),
        named("planner", "I would rewrite it."),
        named("coder", "```sh\nmake\n```\nand\n```sh\nmake install\n```"),
    ];
    let intent = self::intent(Form::OpenAi, messages);
    assert!(intent.contains("\n> Only on the branch."), "{intent}");
    assert!(
        !intent.contains("rewrite") && !intent.contains("make"),
        "{intent}"
    );
    // A speaker counts as an agent if another speaker calls it before each of its messages, or if
    // many of its messages begin in the same way. A person also speaks without a call.
    let own = |text: &str| json!({ "role": "assistant", "name": "lead", "content": text });
    let mut messages = vec![named("ann", "Mend the build.")];
    for number in 0..4 {
        messages.push(own(&format!("Step {number}. Next speaker: browser")));
        messages.push(named("browser", &format!("I clicked link {number}.")));
        messages.push(named("ledger", &format!("Facts of {number}:\nnone so far")));
        messages.push(own("Bob, coffee?"));
        messages.push(named("bob", &format!("No. Wish {number} counts.")));
        messages.push(named("bob", &format!("And so does wish 1{number}.")));
    }
    messages.push(own("Done."));
    let intent = self::intent(Form::OpenAi, messages);
    assert!(intent.contains("\n> And so does wish 12."), "{intent}");
    assert!(intent.contains("\n> No. Wish 2 counts."), "{intent}");
    assert!(
        !intent.contains("clicked") && !intent.contains("Facts"),
        "{intent}"
    );
}
