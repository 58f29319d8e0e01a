use serde_json::{Value as Json, json};

use super::*;
use crate::counters::QUARTERS;
use accp_context::{Recorded, view::View};
use accp_registry::Registry;

fn memory(layout: Layout) -> Memory {
    let opening = Opening {
        tools: None,
        counter: Arc::new(QUARTERS),
        view: View::new(Arc::new(Registry::standard())),
    };
    Memory::new(&opening, layout)
}

fn push(memory: &mut Memory, json: &Json) {
    let index = memory.entries.len();
    memory.push(&Message::new(index, Recorded::of(json)).unwrap());
}

/// Returns the prompt of an agent, without the definition of the tool.
fn prompt(memory: &mut Memory, agent: &str) -> Vec<String> {
    let agent = Agent {
        name: agent.into(),
        cache: "".into(),
    };
    let prompt = memory.prompt(&agent);
    let messages = prompt.iter().filter(|segment| segment.kind != Kind::Tools);
    messages.map(|segment| segment.text.to_string()).collect()
}

fn numbers(count: usize) -> String {
    let lines: Vec<String> = (1..=count).map(|n| format!("line {n} of it")).collect();
    lines.join("\n")
}

fn calls(tool: &str, arguments: &Json) -> Json {
    let call = json!({ "id": "c1", "name": tool, "arguments": arguments });
    json!({ "role": "assistant", "content": "I look.", "tool_calls": [call] })
}

#[test]
fn a_result_is_whole_once_and_the_result_of_one_call_needs_no_name() {
    let mut memory = memory(Layout::Shared);
    push(&mut memory, &json!({ "role": "user", "content": "Go on." }));
    push(&mut memory, &calls("log", &json!({ "of": "K17" })));
    push(
        &mut memory,
        &json!({ "role": "tool", "name": "log", "content": numbers(400) }),
    );
    let first = prompt(&mut memory, "assistant");
    assert_eq!(first[1], "assistant: I look.\n> log(of: K17)\n");
    assert_eq!(first[2], format!("p2 = {}\n", numbers(400)));
    push(
        &mut memory,
        &json!({ "role": "assistant", "content": "And so on." }),
    );
    let second = prompt(&mut memory, "assistant");
    assert!(
        second[2].starts_with("p2 = line 1 of it\n"),
        "{}",
        second[2]
    );
    let mark = second[2].lines().find(|line| line.starts_with('['));
    assert_eq!(mark, Some("[... p2:51-375: line 51 of it]"));
    assert_eq!(second[..2], first[..2]);
    assert_eq!(second, prompt(&mut memory, "assistant"));
}

#[test]
fn definitions_stay_when_the_middle_of_their_message_leaves() {
    let mut memory = memory(Layout::Shared);
    let rows: Vec<Json> = (0..900)
        .map(|n| json!({ "number of it": n, "of": "the day" }))
        .collect();
    let flights: Vec<Json> = (0..2000)
        .map(|n| json!({ "number": n, "note": "a b" }))
        .collect();
    for content in [json!(rows), json!(flights)] {
        push(
            &mut memory,
            &json!({ "role": "tool", "name": "list", "content": content.to_string() }),
        );
    }
    prompt(&mut memory, "assistant");
    let second = prompt(&mut memory, "assistant");
    let text = &second[1];
    assert!(
        text.starts_with("p1 list: @=R1(number,note)\nR1["),
        "{}",
        &text[..99]
    );
    assert!(text.contains("\n[... p1:"), "{} bytes", text.len());
}

#[test]
fn the_words_around_results_are_said_once() {
    let mut memory = memory(Layout::Shared);
    let around = |text: &str| {
        format!("the command of the user has ended with code 0\n{text}\nand no more was said of it")
    };
    for text in ["a", "b", "c"] {
        push(
            &mut memory,
            &json!({ "role": "tool", "name": "bash", "content": around(text) }),
        );
    }
    let texts = prompt(&mut memory, "assistant");
    let definition = format!(
        "[From here on, bash' says a text with 2 lines around it:\n{}]\n",
        around("..")
    );
    assert_eq!(texts[0], format!("bash: {}\n", around("a")));
    assert_eq!(texts[1], format!("bash': {definition}b\n"));
    assert_eq!(texts[2], "bash': c\n");
}

#[test]
fn a_reference_leads_to_the_same_lines_for_an_agent_who_sees_both_messages_first() {
    let mut memory = memory(Layout::Shared);
    let said = |name: &str, text: String| json!({ "role": "agent", "name": name, "content": text });
    let end = format!("line 30 of it\n{}", "and so on\n".repeat(40));
    // Ann repeats the lines 1 to 99, so her prompt has a reference in their place. The numbers of later lines stay.
    push(&mut memory, &said("ann", numbers(99)));
    push(&mut memory, &said("ann", format!("{}\n{end}", numbers(99))));
    prompt(&mut memory, "bob");
    prompt(&mut memory, "ann");
    push(&mut memory, &said("ann", "Well.".to_owned()));
    prompt(&mut memory, "ann");
    push(&mut memory, &json!({ "role": "tool", "content": end }));
    let last = prompt(&mut memory, "ann");
    assert!(
        last[1].starts_with("p1 ann: [as in p0:1-99: line 1 of it]\nline 30"),
        "{}",
        last[1]
    );
    let first = prompt(&mut memory, "carl");
    assert_eq!(first[1].matches("line 30 of it").count(), 2);
    let mark = "[as in p1:100-140: line 30 of it]";
    for prompt in [&last, &first] {
        assert!(prompt[3].contains(mark), "{}", prompt[3]);
    }
}

#[test]
fn names_that_read_as_something_else_stand_in_quotes() {
    for (name, shown) in [
        ("bash'", "\"bash'\""),
        ("p7 bash", "\"p7 bash\""),
        ("= bash", "\"= bash\""),
        ("desk: rye", "\"desk: rye\""),
        ("planner", "planner"),
        ("p7", "p7"),
    ] {
        let mut memory = memory(Layout::Shared);
        push(
            &mut memory,
            &json!({ "role": "tool", "name": name, "content": "4" }),
        );
        assert_eq!(prompt(&mut memory, "ann"), [format!("{shown}: 4\n")]);
    }
}

#[test]
fn a_result_of_another_tool_than_was_called_says_its_name() {
    let mut memory = memory(Layout::Shared);
    push(&mut memory, &calls("log", &json!({ "of": "K17" })));
    push(
        &mut memory,
        &json!({ "role": "tool", "name": "list", "content": "4" }),
    );
    assert_eq!(prompt(&mut memory, "assistant")[1], "list: 4\n");
}

#[test]
fn agents_share_the_transcript_and_an_own_layout_shows_no_system_prompt_of_another() {
    let said = [
        json!({ "role": "system", "name": "ann", "content": "You plan." }),
        json!({ "role": "system", "name": "bob", "content": "You build." }),
        json!({ "role": "agent", "name": "ann", "content": "A plan." }),
    ];
    let mut shared = memory(Layout::Shared);
    let mut own = memory(Layout::Own);
    for message in &said {
        push(&mut shared, message);
        push(&mut own, message);
    }
    let [plan, build, words] = [
        "system to ann: You plan.\n",
        "system to bob: You build.\n",
        "ann: A plan.\n",
    ];
    assert_eq!(
        prompt(&mut shared, "bob"),
        [plan, build, words, "You are bob.\n"]
    );
    assert_eq!(prompt(&mut own, "bob"), [words, build]);
    assert_eq!(prompt(&mut own, "ann"), [words, plan]);
}

#[test]
fn a_part_that_is_switched_off_leaves_its_texts_as_they_are() {
    let wrapped = |text: &str| {
        format!("the command has ended with code 0\n{text}\nand no more was said of it")
    };
    let page = "     1\tfn a() {\n     2\t    b()\n     3\t}";
    let json = json!([{ "number": 1, "note": "a b" }, { "number": 2, "note": "a b" }]).to_string();
    for (part, texts) in [
        (Part::Shapes, [json.clone(), json]),
        (Part::Wrappers, [wrapped("a"), wrapped("b")]),
        (Part::Spaces, [page.to_owned(), page.to_owned()]),
        (Part::Repeats, [numbers(40), numbers(40)]),
        (Part::Cuts, [numbers(2000), String::new()]),
    ] {
        let show = |mut memory: Memory| {
            for text in &texts {
                push(
                    &mut memory,
                    &json!({ "role": "tool", "name": "run", "content": text }),
                );
                prompt(&mut memory, "assistant");
            }
            prompt(&mut memory, "assistant")
        };
        let plain = show(memory(Layout::Shared).without(part));
        for (shown, text) in plain.iter().zip(&texts) {
            assert!(
                shown.ends_with(&format!("run: {text}\n")),
                "{part:?}: {shown}"
            );
        }
        assert_ne!(show(memory(Layout::Shared)), plain, "{part:?}");
    }
}

#[test]
fn the_tool_is_declared_before_the_first_message_that_may_lose_lines() {
    let said = [
        json!({ "role": "system", "name": "ann", "content": "You plan." }),
        json!({ "role": "tool", "name": "log", "content": numbers(40) }),
        json!({ "role": "tool", "name": "log", "content": numbers(400) }),
        json!({ "role": "tool", "name": "log", "content": numbers(4000) }),
    ];
    for layout in [Layout::Shared, Layout::Own] {
        let kinds = |mut memory: Memory, count: usize| {
            for message in &said[..count] {
                push(&mut memory, message);
            }
            let agent = Agent {
                name: "bob".into(),
                cache: "".into(),
            };
            let prompt = memory.prompt(&agent);
            let place = prompt.iter().position(|one| one.kind == Kind::Tools);
            place.map(|at| prompt[at + 1].text.chars().take(20).collect::<String>())
        };
        assert_eq!(kinds(memory(layout), 2), None);
        let before = kinds(memory(layout), 4).unwrap();
        assert!(before.starts_with("p2 log: line 1"), "{before}");
        let before = kinds(memory(layout).declared(), 2).unwrap();
        assert!(!before.starts_with("p2"), "{before}");
    }
}
