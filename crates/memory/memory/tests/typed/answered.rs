//! Requests that look like results, after answers that look like actions.

use std::sync::Arc;

use accp_memory::{
    Form, ListSession, Memory, MessageList, Options, Prices, Promise, SessionId, Window,
};
use proptest::prelude::*;
use serde_json::{Value as Json, json};
use time::OffsetDateTime;

use crate::common::forms::{assistant, call, result, user};
use crate::common::quarters::Quarters;
use crate::typed::shown::Shown;

/// How people begin and end what they type. `#` is a number, `@` the wish itself.
const REQUESTS: [&str; 14] = [
    "Defect: @",
    "Change wanted: @",
    "Wanted change:\n@",
    "[soon] @",
    "[soon]\n@",
    "<i>Wish</i> @",
    "<i>Wish</i>\n@",
    "<wish>\n@\n</wish>",
    "```\n@\n```",
    "```\npanicked at line #\n```\n@",
    "@\n```text\npanicked at line #\n```",
    "Card: #\n@",
    "$ make all\n@\n(Hint: see above)",
    "@",
];

/// How an agent answers.
const ANSWERS: [&str; 5] = [
    "Here it is.\n```rust\nfn part_#() {}\n```",
    "```\npart #\n```",
    "<part>\n#\n</part>",
    "Answer: part # is made.\nNext: the docs.",
    "Part # is made, Kim.",
];

/// The system messages before a conversation.
const OPENINGS: [&str; 3] = [
    "You are a helper of Kim.",
    "Write code as\n```rust\nfn main() {}\n```\nand parts as <part>\n</part>.",
    "Answer: what you made\nNext: what is left",
];

fn filled(template: &str, number: usize) -> String {
    let wish = format!("Part {number} has to be shade q{number}, please.");
    let text = template.replace('@', &wish);
    text.replace('#', &(100 + number).to_string())
}

fn named(mut message: Json, name: Option<&str>) -> Json {
    if let Some(name) = name {
        message["name"] = name.into();
    }
    message
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn a_request_that_looks_like_a_result_stands(
        request in prop::sample::select(REQUESTS.to_vec()),
        answer in prop::sample::select(ANSWERS.to_vec()),
        opening in prop::sample::select(OPENINGS.to_vec()),
        names in prop::sample::select(vec![[None, None], [None, Some("kim")], [Some("kim"), Some("lou")]]),
        begins_alike in any::<bool>(),
        count in 4..9_usize,
    ) {
        let form = Form::OpenAi;
        let first = if begins_alike { request } else { "@" };
        let mut typed = vec![filled(first, 0)];
        let mut messages = vec![
            json!({ "role": "system", "content": opening }),
            named(user(form, &typed[0]), names[0]),
        ];
        for number in 1..count {
            messages.push(assistant(form, &filled(answer, number)));
            typed.push(filled(request, number));
            messages.push(named(user(form, &typed[number]), names[1]));
        }
        for number in 0..7 {
            let id = format!("c{number}");
            messages.push(call(form, &id, "look", &json!({ "part": number })));
            messages.push(result(form, &id, &format!("lamp{number} ").repeat(500)));
        }
        let texts: Vec<_> = messages.iter().map(Json::to_string).collect();
        let list = MessageList::of(form, texts.iter().map(String::as_str)).unwrap();
        let window = Window::of(4_000).unwrap();
        let options = Options::new(&window, &Quarters, OffsetDateTime::UNIX_EPOCH);
        let session = ListSession::new(SessionId::new("s").unwrap(), form);
        let plan = session.plan(&list, &options, &(), &mut ()).unwrap();
        let shown = Shown::of(&plan.list(&list));
        prop_assert!(!shown.intent.is_empty());
        for text in &typed {
            prop_assert!(shown.place(text).is_some(), "{text:?} in {}", shown.intent);
        }
        let prices = Prices::default();
        let mut memory = Memory::new(window, prices, Promise::Window).with_counter(Arc::new(Quarters));
        let (sent, report) = memory.to_send(&list, OffsetDateTime::UNIX_EPOCH);
        let shown = Shown::of(&sent);
        prop_assert!(report.left > 0);
        for text in &typed {
            prop_assert!(shown.stands(text), "{text:?} in {sent:?}");
        }
    }
}
