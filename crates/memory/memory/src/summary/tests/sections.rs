//! Each section, by conversations written for it.

use super::*;
use crate::summary::constraint::Force;

fn texts(items: &[Item]) -> Vec<&str> {
    items.iter().map(|item| &*item.text).collect()
}

#[test]
fn an_empty_summary_has_its_form() {
    let summary = write(&Talk::default().content(), 8192).unwrap();
    assert_eq!(
        summary,
        "## Session Summary\n\
         **Session ID:** s1\n\
         **Generated:** 2026-01-29 14:25:30 +02:00\n\
         **Context Saved:** 1,234,567 tokens\n\n\
         ### Session Intent\nNone.\n\n\
         ### Artifacts Created\nNone found.\n\n\
         ### Key Decisions\nNone found.\n\n\
         ### Current Progress\n\
         - **Phase:** not begun\n\
         - **Completed:** None found.\n\
         - **Remaining:** None found.\n\
         - **Current request:** None.\n\n\
         ### Critical Facts\nNone found.\n\n\
         ### Next Steps\nNone found.\n\n\
         ### Recovery References\n\
         - **Full conversation:** cache/conversations/s1_full.md\n\
         - **Offloaded content:** None.\n\
         - **Checkpoints:** cache/checkpoints/\n\
         - **Search:** `accp context recover --session s1 WORDS`\n"
    );
}

#[test]
fn a_long_intent_has_its_head_and_tail() {
    let long = format!(
        "Begin here. {} End here.",
        "More words of a long text follow. ".repeat(400)
    );
    let summary = write(&Talk::default().user(&long).content(), 4096).unwrap();
    let intent = section(&summary, "Session Intent");
    assert!(intent.starts_with(
        "VERIFICATION_NEEDED: shortened; the whole is message 0 of cache/conversations/s1_full.md"
    ));
    assert!(intent.contains("> Begin here.") && intent.ends_with("End here."));
}

fn constraints(content: &Content) -> Vec<(&str, Force)> {
    let all = content.constraints.iter();
    all.map(|one| (&*one.item.text, one.force)).collect()
}

#[test]
fn constraints_are_what_users_oblige_and_forbid() {
    let talk = Talk::default()
        .user("Find me a hotel in Lyon.")
        .user("It must have a lift. I don't know the area. The budget is $120 a night at most. Thanks, never mind the noise!")
        .user("I'd prefer a room to the yard. Do I need to pay now? Please book nothing before Friday. I can't find my card.")
        .assistant("You must pay now.")
        .user("```\nif x must never { }\n```\nreturn always(only);");
    let content = talk.content();
    let expected = [
        ("It must have a lift.", Force::Rule),
        ("The budget is $120 a night at most.", Force::Rule),
        ("I'd prefer a room to the yard.", Force::Wish),
        ("Please book nothing before Friday.", Force::Rule),
    ];
    assert_eq!(constraints(&content), expected);
    let summary = write(&content, 8192).unwrap();
    // The summary has each constraint once, in its whole message.
    assert_eq!(summary.matches("It must have a lift.").count(), 1);
    assert_eq!(section(&summary, "Critical Facts"), "None found.");
}

#[test]
fn what_a_speaker_labels_is_kept() {
    let talk = Talk::default()
        .user("Safety rule: the counter stays free of latex. FACT: Priya owns the night shift.")
        .user("Goal state: next up is the audit log. Note: is it late?")
        .assistant("Rule: the model obliges nobody.")
        .user("The audit log: it grows.");
    let content = talk.content();
    let expected = [
        ("Safety rule: the counter stays free of latex.", Force::Rule),
        ("FACT: Priya owns the night shift.", Force::Wish),
        ("Goal state: next up is the audit log.", Force::Wish),
    ];
    assert_eq!(constraints(&content), expected);
}

#[test]
fn the_newest_of_contradicting_constraints_is_marked() {
    let talk = Talk::default()
        .user("Plan the trip.")
        .user("The budget is at most 500 euros.")
        .user("Always book window seats.")
        .user("Actually the budget is 700 euros.")
        .user("Never book window seats.");
    let marks: Vec<_> = talk.content().constraints;
    let marks: Vec<_> = marks
        .iter()
        .map(|one| (one.replaces, one.replaced))
        .collect();
    let expected = [
        (None, Some(3)),
        (None, Some(4)),
        (Some(1), None),
        (Some(2), None),
    ];
    assert_eq!(marks, expected);
    // A summary shows the constraints in their order.
    let summary = write(&talk.content(), 8192).unwrap();
    let intent = section(&summary, "Session Intent");
    let at = |text: &str| intent.find(text).unwrap();
    assert!(at("at most 500") < at("700 euros") && at("Always book") < at("Never book"));
}

#[test]
fn constraints_about_other_things_replace_nothing() {
    let mut talk = Talk::default().user("Print the labels.");
    for number in 0..4 {
        talk = talk.user(&format!(
            "Never use module mod{number}x, always call TAG{number}T first."
        ));
    }
    let talk = talk
        .user("The budget is at most 500 euros for hosting.")
        .user("Actually the budget is at most 900 euros for posters.");
    let found = talk.content().constraints;
    assert_eq!(found.len(), 6);
    for one in found {
        assert_eq!((one.replaces, one.replaced), (None, None), "{one:?}");
    }
}

#[test]
fn a_constraint_that_is_said_again_replaces_its_contradiction() {
    let talk = Talk::default()
        .user("Plan the trip.")
        .user("The budget is at most 500 euros.")
        .user("The budget is at most 500 euros.")
        .user("The budget is at most 700 euros.")
        .user("The budget is at most 500 euros.");
    let found = talk.content().constraints;
    let found: Vec<_> = found
        .iter()
        .map(|one| (one.item.message, one.replaced))
        .collect();
    assert_eq!(found, [(1, Some(3)), (3, Some(4)), (4, None)]);
}

#[test]
fn constraints_of_system_messages_count_once_they_have_left() {
    let talk = Talk::default()
        .say(
            Role::System,
            "You are kind. Never give refunds over 50 euros.",
        )
        .user("Refund me.");
    assert_eq!(talk.content().constraints.len(), 1);
    let stays = BTreeSet::from([0]);
    assert_eq!(
        Content::of(&talk.0, &stays, &Writes::default()).constraints,
        []
    );
}

#[test]
fn decisions_have_their_because() {
    let talk = Talk::default()
        .user("Store the orders.")
        .assistant("I'll use SQLite because one file is enough. I'll use the search tool. Shall we go with rye?")
        .assistant("Let's go with port 8080. This is because 80 is taken.\n```\nlet chosen = going with;\n```")
        .user("I'll take the second one.");
    let expected = [
        "I'll use SQLite because one file is enough.",
        "Let's go with port 8080. This is because 80 is taken.",
        "I'll take the second one.",
    ];
    assert_eq!(texts(&talk.content().decisions), expected);
    let summary = write(&talk.content(), 8192).unwrap();
    assert!(
        section(&summary, "Key Decisions")
            .starts_with("1. I'll use SQLite because one file is enough. (message 1)\n2. ")
    );
}

#[test]
fn artifacts_have_the_state_that_results_report() {
    let file = |path: &str| json!({ "path": path, "content": "x" });
    let talk = Talk::default()
        .user("Write.")
        .call("write_file", file("out/a|b.md"), Some("File written"))
        .call("write_file", file("c.md"), Some("Error: disk full"))
        .call("write_file", file("d.md"), Some("7"))
        .call("read_file", json!({ "path": "e.md" }), Some("File written"))
        .call("write_file", file("f.md"), None);
    let summary = write(&talk.content(), 8192).unwrap();
    assert_eq!(
        section(&summary, "Artifacts Created"),
        "| Artifact | Path | Status |\n|----------|------|--------|\n\
         | a\\|b.md | out/a\\|b.md | Complete |\n| c.md | c.md | Partial |\n| d.md | d.md | Partial |\n\
         | f.md | f.md | Partial |"
    );
}

#[test]
fn facts_that_later_calls_needed_come_first() {
    let order =
        json!({ "order_id": "W77", "total": 31.5, "note": "gift", "store": { "store_id": "S4" } });
    let talk = Talk::default()
        .user("Where is my order?")
        .user("My mail is ann_lee@example.com.")
        .user("Go on.")
        .call(
            "get_order",
            json!({ "order_id": "W77" }),
            Some(&order.to_string()),
        )
        .call(
            "get_store",
            json!({ "store_id": "S4-very-long-store" }),
            Some("[]"),
        );
    let content = talk.content();
    let summary = write(&content, 8192).unwrap();
    let facts = section(&summary, "Critical Facts");
    assert!(!facts.contains("ann_lee"), "{facts}");
    assert!(
        facts.contains("- W77 (message 4): total 31.5; note gift"),
        "{facts}"
    );
    let small = write(&content, 3600).unwrap();
    assert!(section(&small, "Session Intent").contains(": My mail is ann_lee@example.com."));
}

#[test]
fn progress_and_next_steps_follow_the_last_messages() {
    let talk = Talk::default()
        .user("Fix the build.")
        .call("edit_file", json!({ "path": "a.rs", "old_str": "x", "new_str": "y" }), Some("File edited"))
        .assistant("I've fixed the parser. The docs still need to be written. Let me know if you have questions.")
        .call("deploy", json!({ "target": "stage" }), None)
        .assistant("Next I will run the tests. Which target do you use?");
    let summary = write(&talk.content(), 8192).unwrap();
    let progress = section(&summary, "Current Progress");
    assert!(
        progress.starts_with("- **Phase:** waiting for the result of deploy\n"),
        "{progress}"
    );
    assert!(progress.contains(
        "  - edit_file(path: a.rs, old_str: x, new_str: y) succeeded\n  - I've fixed the parser.\n"
    ));
    assert!(progress.contains("- **Remaining:**\n  - The docs still need to be written.\n"));
    assert_eq!(
        section(&summary, "Next Steps"),
        "1. Wait for the result of deploy(target: stage)\n2. Next I will run the tests.\n\
         3. Unanswered: Which target do you use?"
    );
}

#[test]
fn what_is_marked_is_there_or_named() {
    let talk = Talk::default()
        .user("Order bread.")
        .user("The door code is 4711.\nRing twice.")
        .mark()
        .user("Go on.")
        .call(
            "order",
            json!({ "item": "rye" }),
            Some("{\"order_id\":\"B9\"}"),
        )
        .mark();
    let summary = write(&talk.content(), 8192).unwrap();
    let facts = section(&summary, "Critical Facts");
    assert!(facts.contains(
        "- Marked as critical (message 1):\n  > The door code is 4711.\n  > Ring twice."
    ));
    assert!(facts.contains("  > {\"order_id\":\"B9\"}"));
    // The line of the request says where its words stand, and cannot be taken for them.
    let intent = section(&summary, "Session Intent");
    let line = "\n1 (stands under Critical Facts; no answer)\n2 (";
    assert!(intent.contains(line), "{intent}");
    let long = Talk::default()
        .user("Order.")
        .user(&"word ".repeat(500))
        .mark()
        .user("Go on.");
    let refused = write(&long.content(), 1600).unwrap_err();
    assert_eq!(refused.marked.len(), 1);
    let text = refused.to_string();
    assert!(
        text.contains(
            "has room for 320; marked as critical and without room: message 1 (word word"
        ),
        "{text}"
    );
}

#[test]
fn a_marked_intent_stands_verbatim_and_once() {
    let long = "Bake rye bread for all. ".repeat(30);
    let talk = Talk::default().user(long.trim()).mark().user("Go on.");
    let summary = write(&talk.content(), 2300).unwrap();
    assert_eq!(summary.matches(long.trim()).count(), 1);
    assert!(!summary.contains("VERIFICATION_NEEDED"));
}

#[test]
fn what_has_no_room_is_counted() {
    let mut talk = Talk::default().user("Sort the shelf.");
    for number in 0..60 {
        talk = talk.assistant(&format!(
            "I'll use shelf {} for box {number} because it is dry.",
            number * 7 % 10
        ));
    }
    let summary = write(&talk.content(), 2048).unwrap();
    let decisions = section(&summary, "Key Decisions");
    assert!(
        decisions.starts_with("1. I'll use shelf 0 for box 0 "),
        "{decisions}"
    );
    let last = decisions.lines().last().unwrap();
    assert!(
        last.contains(" more in the archive, messages ") && last.ends_with('.'),
        "{last}"
    );
}

#[test]
fn a_summary_without_room_for_counts_points_to_the_archive() {
    let mut talk = Talk::default().say(Role::System, "Box 7 must stay dry, because the paper in it is old and nobody has a copy of the letters.").user("Sort the shelf.");
    for number in 0..60 {
        talk = talk
            .user(&format!("Box {number} must stand on shelf {number}."))
            .assistant("Let's go with oak because it is hard, and dry, and lasts for years in all the rooms of the house, \
                 upstairs and downstairs. I will oil box {number}.");
    }
    let content = talk.content();
    let room = Room {
        total: 200,
        usual: 100,
        intent: 130,
        words: 500,
        good: 240,
        most: 240,
    };
    let summary = content.write(&head(), room, &Bpe::o200k_base()).unwrap();
    let intent = section(&summary, "Session Intent");
    assert!(intent.starts_with("> Sort the shelf.\n"), "{intent}");
    assert!(
        intent.contains("60 left out (messages 2 to 120)"),
        "{intent}"
    );
    let progress = section(&summary, "Current Progress");
    assert!(
        progress.ends_with("- **Current request:** message 120 of the session intent."),
        "{progress}"
    );
    // A section whose items do not fit must not look empty.
    let facts = section(&summary, "Critical Facts");
    assert_eq!(facts, "- VERIFICATION_NEEDED: see the archive.");
    assert!(section(&summary, "Key Decisions").ends_with("See the archive."));
    assert!(section(&summary, "Next Steps").ends_with("See the archive."));
    assert_eq!(section(&summary, "Artifacts Created"), "None found.");
}

#[test]
fn an_intent_within_its_eighth_stands_verbatim_where_the_form_takes_most_of_a_fifth() {
    let intent = "Bake rye bread for all of us. ".repeat(28);
    let content = Talk::default().user(intent.trim()).user("Go on.").content();
    let counter = Bpe::o200k_base();
    let words = counter.count(intent.trim());
    assert!((200..=250).contains(&words), "{words}");
    let room = Room {
        total: 300,
        usual: 150,
        intent: 250,
        words: 1_000,
        good: 500,
        most: 600,
    };
    let summary = content.write(&head(), room, &counter).unwrap();
    assert!(summary.contains(intent.trim()), "{summary}");
    assert!(counter.count(&summary) > 300);
    // If the window has no room for the whole intent, there is no summary.
    let summary = content.write(&head(), Room { most: 300, ..room }, &counter);
    assert!(summary.is_err(), "{summary:?}");
}

#[test]
fn a_shortened_intent_has_whole_words() {
    let words: Vec<_> = (100_000..101_000).map(|word| word.to_string()).collect();
    let summary = write(&Talk::default().user(&words.join(" ")).content(), 4_000).unwrap();
    let intent = section(&summary, "Session Intent");
    let shown = intent.lines().filter(|line| line.starts_with("> 1"));
    let mut count = 0;
    for word in shown.flat_map(|line| line.trim_start_matches("> ").split(' ')) {
        assert!(
            words.iter().any(|known| known == word),
            "{word} in {intent}"
        );
        count += 1;
    }
    assert!(count > 20, "{intent}");
}

#[test]
fn what_was_decided_may_take_a_fifth_and_the_rest_a_tenth() {
    let mut talk = Talk::default().user("Sort the boxes.");
    for at in 0..60 {
        talk = talk
            .assistant(&format!(
                "I'll use shelf {at} for box {at} because it is dry."
            ))
            .call(
                "get_box",
                json!({ "box_id": format!("B{at}") }),
                Some(&json!({ "weight": 100 + at }).to_string()),
            );
    }
    let content = talk.user("Go on.").content();
    let counter = Bpe::o200k_base();
    // The decisions alone take more than a tenth here, so the summary has no fact.
    let summary = write(&content, 8_192).unwrap();
    let tokens = counter.count(&summary);
    assert!(tokens > 8_192 / 10 && tokens <= 8_192 / 4, "{tokens}");
    assert!(
        (0..40).all(|at| summary.contains(&format!("for box {at} because"))),
        "{summary}"
    );
    assert!(!summary.contains("weight 1"), "{summary}");
    // In a larger window, the summary adds facts up to a tenth, and counts those that do not fit.
    let summary = write(&content, 32_768).unwrap();
    assert!(counter.count(&summary) <= 32_768 / 10 + 80);
    assert!(
        summary.contains("weight 159") && summary.contains("for box 59 because"),
        "{summary}"
    );
}
