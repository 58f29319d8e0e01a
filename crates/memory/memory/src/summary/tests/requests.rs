//! The requests of the user, by conversations written for them.

use super::*;

#[test]
fn requests_are_verbatim_and_numbered_below_the_first() {
    let talk = Talk::default()
        .user("Bake rye bread.\n\n## Rules\n- no | yeast")
        .assistant("Which flour?")
        .user("Dark rye, please.");
    let summary = write(&talk.content(), 8192).unwrap();
    let intent = section(&summary, "Session Intent");
    let expected = "> Bake rye bread.\n>\n> ## Rules\n> - no | yeast\n\n\
        Later requests, each behind the number of its message, and answered if no note says otherwise; where two differ, the \
        later one counts:\n\n\
        2 (no answer): Dark rye, please.";
    assert_eq!(intent, expected);
    assert!(
        section(&summary, "Current Progress")
            .ends_with("- **Current request:** message 2 of the session intent.")
    );
    // If there is only one request, the summary has it only once.
    let once = write(&Talk::default().user("Bake.").content(), 8192).unwrap();
    assert_eq!(once.matches("Bake.").count(), 1);
}

#[test]
fn a_new_objective_joins_the_intent() {
    let talk = Talk::default()
        .user("Hello there!")
        .user("Plan a week of dinners.")
        .user("Add a soup on Monday.")
        .user("New task: write the shopping list.");
    let intent = talk.content().intent;
    let expected = [
        "Hello there!",
        "Plan a week of dinners.",
        "New task: write the shopping list.",
    ];
    let intent: Vec<_> = intent.iter().map(|item| &*item.text).collect();
    assert_eq!(intent, expected);
    let summary = write(&talk.content(), 8192).unwrap();
    assert!(summary.contains("3 (no answer): New task: write the shopping list."));
}

#[test]
fn a_request_says_what_was_done_for_it() {
    let ok = json!({ "status": "ok" }).to_string();
    let error = json!({ "error": "no such tag" }).to_string();
    let talk = Talk::default()
        .user("Fix the build.")
        .user("Push it.")
        .call("push", json!({}), Some(&ok))
        .user("Thanks. And tag it.")
        .call("tag", json!({ "n": 1 }), Some(&error))
        .call("tag", json!({ "n": 2 }), Some(&ok))
        .call("push", json!({}), Some("rejected\nexit code: 1"))
        .user("What is the tag?")
        .assistant("It is 2.")
        .user("Deploy it.")
        .call("deploy", json!({}), Some(&error))
        .user("And the docs.")
        .call("deploy", json!({ "n": 3 }), Some("page 3 of 10 failed"))
        .user("Try again.")
        .call("deploy", json!({}), None);
    let summary = write(&talk.content(), 8192).unwrap();
    let intent = section(&summary, "Session Intent");
    for request in [
        "1 (done: call 2, ok): Push it.",
        "4 (done: calls 5 to 9, 2 of 3 failed): Thanks. And tag it.",
        "11: What is the tag?",
        "13 (done: call 14, failed): Deploy it.",
        "16 (made: call 17, outcome unclear): And the docs.",
        "19 (so far: call 20, 1 of 1 without a result): Try again.",
    ] {
        assert!(intent.contains(request), "{request} in {intent}");
    }
}

#[test]
fn the_longest_requests_are_cut_and_the_oldest_left_out() {
    let long = |name: &str| format!("Begin {name}. {}End {name}.", "more words ".repeat(300));
    let mut talk = Talk::default().user("Sort the shelf.").user(&long("one"));
    for number in 0..8 {
        talk = talk.user(&format!("Box {number} goes to row {number}."));
    }
    let content = talk.user(&long("two")).content();
    let summary = write(&content, 2_000).unwrap();
    let intent = section(&summary, "Session Intent");
    assert!(intent.starts_with("> Sort the shelf.\n\nLater requests"));
    for number in 0..8 {
        let whole = format!("(no answer): Box {number} goes to row {number}.");
        assert!(intent.contains(&whole), "{whole} in {intent}");
    }
    for (message, name) in [(1, "one"), (10, "two")] {
        let heading = format!("{message} (cut; no answer):\n> Begin {name}. more words");
        assert!(intent.contains(&heading), "{heading} in {intent}");
        assert!(intent.contains(&format!("End {name}.")), "{intent}");
    }
    let note = "Not whole: 2 cut. `## N` of cache/conversations/s1_full.md has all of message N.";
    assert!(intent.ends_with(note), "{intent}");
    // With less room, the oldest later requests are left out.
    let room = Room {
        total: 260,
        usual: 130,
        intent: 160,
        words: 200,
        good: 420,
        most: 420,
    };
    let summary = content.write(&head(), room, &Bpe::o200k_base()).unwrap();
    let intent = section(&summary, "Session Intent");
    assert!(intent.starts_with("> Sort the shelf.\n\nLater requests"));
    assert!(
        intent.contains("(no answer): Box 7 goes to row 7."),
        "{intent}"
    );
    assert!(!intent.contains(": Box 0 goes"), "{intent}");
    assert!(
        intent.contains("Not whole: 1 cut, ") && intent.contains(" left out (messages 1 to "),
        "{intent}"
    );
}

/// A part of the line would be a command that does nothing.
#[test]
fn the_line_of_a_picture_is_whole_or_not_there() {
    let line = "[image image/png, 1 x 1 pixels, 70 bytes; `accp context restore --session s1 --message 1` gives it]";
    let mut talk = Talk::default().user("Sort the shelf.");
    for number in 0..12 {
        let wish = format!("Box {number} is red. Look at its label before you put it anywhere.");
        talk = talk.user(&format!("{wish}\n{line}"));
    }
    let summary = write(&talk.content(), 1_600).unwrap();
    let intent = section(&summary, "Session Intent");
    assert!(intent.contains(" (cut; no answer):\n> Box "), "{intent}");
    let whole = intent.matches(line).count();
    for part in ["[image", "--message", "gives it"] {
        assert_eq!(intent.matches(part).count(), whole, "{part} in {intent}");
    }
}

#[test]
fn the_heading_of_a_request_names_its_speaker() {
    let mut talk = Talk::default()
        .user("Mend the build.")
        .user("Only on the branch.")
        .assistant("Done.");
    talk.0[1].name = Some("lead".to_owned());
    let summary = write(&talk.content(), 8192).unwrap();
    let intent = section(&summary, "Session Intent");
    let request = "1 (of lead): Only on the branch.";
    assert!(intent.ends_with(request), "{intent}");
    // Where the first request has a speaker too, a line above it says so: it may be another one.
    talk.0[0].name = Some("ann".to_owned());
    let summary = write(&talk.content(), 8192).unwrap();
    let intent = section(&summary, "Session Intent");
    let first = "0 (of ann):\n> Mend the build.\n\nLater requests";
    assert!(intent.starts_with(first), "{intent}");
    let long = "Mend the build of the mill, and of the shop. ".repeat(60);
    talk.0[0].text = long.trim().to_owned();
    let summary = write(&talk.content(), 1200).unwrap();
    let intent = section(&summary, "Session Intent");
    assert!(
        intent.starts_with("0 (of ann):\nVERIFICATION_NEEDED: shortened; "),
        "{intent}"
    );
}

#[test]
fn a_name_is_not_taken_for_another_part_of_a_heading() {
    for (name, shown) in [
        ("Ann Lee", "Ann Lee"),
        ("ann):", "\"ann):\""),
        ("ann; no answer", "\"ann; no answer\""),
        ("ann\n2 (of bob", "\"ann\\n2 (of bob\""),
    ] {
        let mut talk = Talk::default()
            .user("Mend the build.")
            .user("Only on the branch.")
            .assistant("Done.");
        talk.0[1].name = Some(name.to_owned());
        let summary = write(&talk.content(), 8192).unwrap();
        let intent = section(&summary, "Session Intent");
        let request = format!("\n1 (of {shown}): Only on the branch.");
        assert!(intent.ends_with(&request), "{intent}");
    }
}

#[test]
fn a_program_in_the_place_of_the_user_waits_for_no_answer() {
    let mut talk = Talk::default()
        .user("Mend the build.")
        .assistant("I look.")
        .user("rye: 4");
    let waits = |talk: &Talk| {
        let summary = write(&talk.content(), 8192).unwrap();
        let phase = section(&summary, "Current Progress").contains("the user waits for an answer");
        let next = section(&summary, "Next Steps") == "1. Answer the last message of the user.";
        assert_eq!(phase, next, "{summary}");
        phase
    };
    assert!(waits(&talk));
    // A speaker with the name of an agent is not a person.
    for message in &mut talk.0[1..] {
        message.name = Some("planner".to_owned());
    }
    assert!(!waits(&talk));
}
