//! The summary with views: first all that the rules require, then as many of the newest messages that left as fit.

use std::sync::Arc;

use accp_memory::disk::Context;
use accp_memory::{Form, MessageList, Options, SessionId, Summarizer, Tier, Views, Window};
use proptest::prelude::*;
use serde_json::{Value as Json, json};
use time::OffsetDateTime;

use crate::common::lists;
use crate::common::lists::render;
use crate::common::quarters::Quarters;

const SECTIONS: [&str; 8] = [
    "### Session Intent",
    "### Artifacts Created",
    "### Key Decisions",
    "### Current Progress",
    "### Critical Facts",
    "### Next Steps",
    "### Recovery References",
    "### Messages That Left",
];

/// Returns the compressed list, and whether tier 3 acted.
fn compressed(
    list: &MessageList,
    size: u64,
    summarizer: &dyn Summarizer,
) -> Option<(MessageList, bool)> {
    let root = tempfile::tempdir().unwrap();
    let window = Window::of(size).unwrap();
    let options = Options {
        summarizer,
        ..Options::new(&window, &Quarters, OffsetDateTime::UNIX_EPOCH)
    };
    let mut context = Context::open(root.path(), SessionId::new("s").unwrap()).unwrap();
    let done = context.compress(list, &options, &mut ()).ok()?;
    assert!(done.after <= window.room());
    let has_summed_up = done.events.iter().any(|event| event.tier == Tier::Three);
    Some((done.list, has_summed_up))
}

/// Returns the text of the only summary.
fn summary(list: &MessageList) -> String {
    let text = list.to_string();
    let all: Json = serde_json::from_str(&text).unwrap();
    let texts = all
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|message| message["content"].as_str());
    let mut found = texts.filter(|text| text.contains(SECTIONS[0]));
    let summary = found.next().unwrap().to_owned();
    assert_eq!(found.next(), None);
    summary
}

/// A conversation of this many turns about flour. The first message states a constraint.
fn talk(turns: usize) -> MessageList {
    let mut all = vec![
        json!({ "role": "user", "content": "Plan the bread of the week. Never use more than 40 kg of rye." }),
    ];
    for turn in 0..turns {
        all.push(json!({ "role": "assistant", "content": format!("On day {turn} we bake loaf {turn}: {}", "a long dough. ".repeat(12)) }));
        all.push(json!({ "role": "user", "content": format!("And day {}?", turn + 1) }));
    }
    MessageList::read(&Json::from(all).to_string(), Some(Form::OpenAi)).unwrap()
}

#[test]
fn the_newest_messages_that_left_stand_behind_what_the_rules_say() {
    let list = talk(40);
    let views = Views::new(Arc::new(Quarters));
    let (by_rules, _) = compressed(&list, 2_500, &()).unwrap();
    let (by_views, _) = compressed(&list, 2_500, &views).unwrap();
    let (by_rules, by_views) = (summary(&by_rules), summary(&by_views));
    assert!(!by_rules.contains(SECTIONS[7]));
    let mut rest = &*by_views;
    for section in SECTIONS {
        rest = rest.split_once(section).expect(section).1;
    }
    // No message is missing between two that the summary shows: the days follow without a gap.
    let days: Vec<usize> = rest
        .lines()
        .filter_map(|line| {
            line.strip_prefix("user: And day ")?
                .strip_suffix('?')?
                .parse()
                .ok()
        })
        .collect();
    assert!(days.len() > 1, "{rest}");
    assert!(
        days.windows(2).all(|pair| pair[1] == pair[0] + 1),
        "{days:?}"
    );
    assert!(by_views.contains("Never use more than 40 kg of rye."));
    assert!(by_views.contains("> Plan the bread of the week."));
}

#[test]
fn messages_that_left_name_their_speakers() {
    let mut all = vec![json!({ "role": "user", "content": "Plan the bread of the week." })];
    for turn in 0..40 {
        let dough = format!("We bake loaf {turn}: {}", "a long dough. ".repeat(12));
        all.push(json!({ "role": "assistant", "content": dough }));
        let name = ["ann", "bob"][turn % 2];
        all.push(json!({ "role": "user", "name": name, "content": format!("And day {turn}?") }));
    }
    let list = MessageList::read(&Json::from(all).to_string(), Some(Form::OpenAi)).unwrap();
    let views = Views::new(Arc::new(Quarters));
    let (by_views, _) = compressed(&list, 2_500, &views).unwrap();
    let summary = summary(&by_views);
    let (_, left) = summary.split_once(SECTIONS[7]).unwrap();
    assert!(
        left.contains("\nann: And day ") && left.contains("\nbob: And day "),
        "{left}"
    );
    assert!(!left.contains("\nuser: "), "{left}");
}

#[test]
fn without_room_the_rules_stand() {
    let list = talk(40);
    let views = Views::new(Arc::new(Quarters));
    let mut alike = [0, 0];
    for size in (400..2_000).step_by(50) {
        let by_rules = compressed(&list, size, &()).map(|(list, _)| summary(&list));
        let by_views = compressed(&list, size, &views).map(|(list, _)| summary(&list));
        assert_eq!(by_rules.is_some(), by_views.is_some());
        let (Some(by_rules), Some(by_views)) = (by_rules, by_views) else {
            continue;
        };
        let has_views = by_views.contains(SECTIONS[7]);
        assert!(has_views || by_views == by_rules, "{by_views}");
        alike[usize::from(has_views)] += 1;
    }
    // Some summaries had views, and some had none.
    assert!(alike[0] > 0 && alike[1] > 0, "{alike:?}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    /// In each form the list is valid and inside its window, with views and without.
    #[test]
    fn lists_with_views_are_valid_and_fit(script in lists::script(), size in 600u64..3_000) {
        let views = Views::new(Arc::new(Quarters));
        for form in Form::ALL {
            let list = lists::list(form, &render::messages(form, &script));
            let by_rules = compressed(&list, size, &());
            let by_views = compressed(&list, size, &views);
            prop_assert_eq!(by_rules.is_some(), by_views.is_some());
            if let Some((list, _)) = by_views {
                prop_assert_eq!(accp_memory::check(&list), [], "{}", list);
            }
        }
    }
}
