//! What a program writes in the user's place does not count as a request.

use accp_memory::{Form, ListSession, MessageList, Options, SessionId, Window};
use serde_json::{Value as Json, json};
use time::OffsetDateTime;

use crate::common::forms::{assistant, call, result, user};
use crate::common::quarters::Quarters;
use crate::typed::shown::{Shown, quoted};

/// Returns the requests in the summary of a conversation that goes on for long.
pub(crate) fn intent(form: Form, mut messages: Vec<Json>) -> String {
    let agent = messages.iter().rev().find(|one| one["role"] == "assistant");
    let name = agent.and_then(|agent| agent.get("name")).cloned();
    let end = messages.len();
    messages.push(assistant(form, &"rye ".repeat(2_500)));
    messages.push(call(form, "c", "look", &json!({})));
    messages.push(result(form, "c", "done"));
    messages.push(assistant(form, "Done."));
    // The agent keeps its name.
    let own = messages[end..].iter_mut();
    for message in own.filter(|one| one["role"] == "assistant") {
        if let Some(name) = &name {
            message["name"] = name.clone();
        }
    }
    let texts: Vec<_> = messages.iter().map(Json::to_string).collect();
    let list = MessageList::of(form, texts.iter().map(String::as_str)).unwrap();
    let window = Window::of(3_400).unwrap();
    let options = Options::new(&window, &Quarters, OffsetDateTime::UNIX_EPOCH);
    let session = ListSession::new(SessionId::new("s").unwrap(), form);
    let plan = session.plan(&list, &options, &(), &mut ()).unwrap();
    Shown::of(&plan.list(&list)).intent
}

/// A conversation in which an agent acts in text, as its instructions say, and a program answers.
struct Harness {
    instructions: &'static str,
    action: Words,
    result: Words,
}

/// Words of a message with this number.
type Words = fn(usize) -> String;

impl Harness {
    /// Returns the messages. A person speaks in between and at the end.
    fn messages(&self, form: Form) -> Vec<Json> {
        let task = format!("Mend the build.\n{}", self.instructions);
        let mut messages = vec![user(form, &task)];
        for number in 0..6 {
            messages.push(assistant(form, &(self.action)(number)));
            messages.push(user(form, &(self.result)(number)));
            if number == 2 {
                messages.push(assistant(form, &(self.action)(number)));
                messages.push(user(form, "Nicht ohne Tests, bitte."));
            }
        }
        messages.push(assistant(form, "It is mended."));
        messages.push(user(form, "Danke, und nun die Doku."));
        messages
    }
}

const BASH: &str = "Write one command:\n```bash\nls\n```";

fn bash(number: usize) -> String {
    format!("THOUGHT: look.\n\n```bash\nls {number}\n```")
}

/// Harnesses like those of programs that are in use.
fn harnesses() -> [Harness; 6] {
    [
        Harness {
            instructions: BASH,
            action: bash,
            result: |n| {
                format!(
                    "<returncode>{}</returncode>\n<output>\nfile-{n}\n</output>",
                    n / 5 * 127
                )
            },
        },
        Harness {
            instructions: "Answer so:\nThought: your thought\nAction: a tool\nAction Input: its input\nObservation: what it says",
            action: |n| format!("Thought: look\nAction: search\nAction Input: {{\"q\": {n}}}"),
            result: |n| format!("Observation: file-{n}\nand more"),
        },
        Harness {
            instructions: "For example:\n<execute_bash>\nls\n</execute_bash>\nUSER: EXECUTION RESULT of [bash]:\nsrc",
            action: |n| format!("I look.\n<execute_bash>\nls {n}\n</execute_bash>"),
            result: |n| format!("EXECUTION RESULT of [bash]:\nfile-{n}"),
        },
        Harness {
            instructions: BASH,
            action: bash,
            result: |n| format!("[Command finished with exit code {}]\nfile-{n}", n % 2),
        },
        Harness {
            instructions: BASH,
            action: bash,
            result: |n| format!("exitcode: {} (as it was)\nCode output: file-{n}", n % 2),
        },
        Harness {
            instructions: BASH,
            action: bash,
            result: |n| {
                format!("file-{n}\n(Open file: n/a)\n(Current directory: /src/{n})\nbash-$")
            },
        },
    ]
}

#[test]
fn results_in_the_users_place_are_no_requests() {
    for form in Form::ALL {
        for harness in harnesses() {
            let intent = intent(form, harness.messages(form));
            assert!(!intent.contains("file-"), "{intent}");
            assert!(intent.contains(": Nicht ohne Tests, bitte.\n"), "{intent}");
        }
    }
}

#[test]
fn the_newest_message_of_the_user_is_a_request() {
    for form in Form::ALL {
        for harness in harnesses() {
            let mut messages = harness.messages(form);
            messages.truncate(messages.len() - 2);
            messages.push(assistant(form, &(harness.action)(9)));
            messages.push(user(form, &(harness.result)(9)));
            let intent = intent(form, messages);
            assert!(intent.contains("file-9"), "{intent}");
            assert!(!intent.contains("file-4"), "{intent}");
        }
    }
}

#[test]
fn without_instructions_no_message_is_a_result() {
    for form in Form::ALL {
        for harness in harnesses() {
            let harness = Harness {
                instructions: "",
                ..harness
            };
            let intent = intent(form, harness.messages(form));
            for number in 0..6 {
                assert!(intent.contains(&format!("file-{number}")), "{intent}");
            }
        }
    }
}

/// Returns a conversation in which all messages of the person look alike, and all answers of the agent look alike.
fn talk(form: Form, answer: fn(usize) -> String, wish: Words) -> Vec<Json> {
    let mut messages = vec![user(form, "Mend the build.")];
    for number in 0..6 {
        messages.push(assistant(form, &answer(number)));
        messages.push(user(form, &wish(number)));
    }
    messages
}

#[test]
fn answers_of_a_person_in_a_form_that_the_instructions_ask_for_are_requests() {
    let instructions = "Write code as\n```python\nprint(1)\n```\nThe user answers with\nFeedback:\ntheir words\nor with \
        <feedback>\ntheir words\n</feedback>";
    let wishes: [Words; 2] = [
        |number| format!("Feedback:\nNever use module mod{number}x."),
        |number| format!("<feedback>\nthe head is blue like q{number}\n</feedback>"),
    ];
    for form in Form::ALL {
        for wish in wishes {
            let answer =
                |number: usize| format!("Version {number}:\n```python\nprint({number})\n```");
            let mut messages = talk(form, answer, wish);
            messages[0] = user(form, &format!("Mend the build.\n{instructions}"));
            let intent = intent(form, messages);
            for number in 0..6 {
                let text = quoted(&wish(number));
                assert!(intent.contains(&text), "{text} in {intent}");
            }
            assert!(!intent.contains("replaced"), "{intent}");
        }
    }
}

#[test]
fn answers_of_a_person_to_an_agent_that_acts_by_labels_are_requests() {
    let instructions = "Write so:\nThought: your thought\nAction: what you do\n\nThe user answers with\nFeedback: their words";
    for form in Form::ALL {
        let mut messages = talk(
            form,
            |number| format!("Thought: look.\nAction: part {number}"),
            |number| format!("Feedback: part {number} is too long."),
        );
        messages[0] = user(form, &format!("Mend the build.\n{instructions}"));
        let intent = intent(form, messages);
        for number in 0..6 {
            let whole = format!(": Feedback: part {number} is too long.");
            assert!(intent.contains(&whole), "{intent}");
        }
    }
}

#[test]
fn a_person_who_writes_alike_beside_an_agent_that_calls_tools_is_heard() {
    for form in Form::ALL {
        let messages = talk(
            form,
            |number| format!("Issue {number} is fixed."),
            |number| format!("Issue {number}: the export is empty in <b>{number}</b>"),
        );
        let intent = intent(form, messages);
        for number in 0..6 {
            let whole = format!(": Issue {number}: the export is empty in <b>{number}</b>");
            assert!(intent.contains(&whole), "{intent}");
        }
    }
}

#[test]
fn names_of_agents_and_tools_are_not_persons() {
    let named = |name: &str, text: &str| json!({ "role": "user", "name": name, "content": text });
    let messages = vec![
        user(Form::OpenAi, "Mend the build."),
        named("environment", "The token is in the file."),
        assistant(Form::OpenAi, "I look."),
        user(Form::OpenAi, "Only on the branch."),
        named("reviewer", "I would rewrite it."),
        assistant(Form::OpenAi, "Done."),
    ];
    // A name alone does not tell a person from a program.
    let intent = self::intent(Form::OpenAi, messages);
    for words in [
        "Only on the branch.",
        "The token is in",
        "I would rewrite it.",
    ] {
        assert!(intent.contains(&format!("): {words}")), "{intent}");
    }
    // A speaker whose name is that of an agent or of a tool is not a person.
    let messages = vec![
        named("ann", "Mend the build."),
        json!({ "role": "assistant", "name": "planner", "content": "I look." }),
        named("bob", "Only on the branch."),
        named("planner", "I would rewrite it."),
        named("look", "rye: 4"),
        named("coder", "```sh\nmake\n```\nand\n```sh\nmake install\n```"),
    ];
    let intent = self::intent(Form::OpenAi, messages);
    assert!(intent.contains(": Only on the branch."), "{intent}");
    assert!(
        !intent.contains("rewrite") && !intent.contains("rye: 4"),
        "{intent}"
    );
    assert!(intent.contains("make install"), "{intent}");
    // In a group whose speakers all have names, a speaker counts as an agent if another speaker
    // calls it before each of its messages, or if many of its messages have the same first line. A
    // person also speaks without a call.
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
    assert!(
        intent.contains("(of bob): And so does wish 12."),
        "{intent}"
    );
    assert!(
        intent.contains("(of bob; no answer): No. Wish 2 counts."),
        "{intent}"
    );
    assert!(
        !intent.contains("clicked") && !intent.contains("Facts"),
        "{intent}"
    );
}
