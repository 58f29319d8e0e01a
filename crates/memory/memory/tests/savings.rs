//! The tokens that a tier saves are counted in the same way as the tokens of the list.

use accp_memory::{Form, ListSession, MessageList, Options, SessionId, Window};
use serde_json::{Value as Json, json};
use time::OffsetDateTime;

use crate::common::forms::{call, result, user};
use crate::common::quarters::Quarters;

#[test]
fn moving_a_result_out_saves_no_more_than_the_result_had() {
    // Each tab, quote and backslash takes two characters in JSON.
    let rows: Vec<_> = (0..200)
        .map(|row| format!("row {row}\t\"rye\"\t\\n\t{}", "\t".repeat(40)))
        .collect();
    for form in Form::ALL {
        let messages = [
            user(form, "Sort the rows."),
            call(form, "c", "get_rows", &json!({})),
            result(form, "c", &rows.join("\n")),
        ];
        let texts: Vec<_> = messages.iter().map(Json::to_string).collect();
        let list = MessageList::of(form, texts.iter().map(String::as_str)).unwrap();
        let window = Window::of(8_000).unwrap();
        let options = Options::new(&window, &Quarters, OffsetDateTime::UNIX_EPOCH);
        let session = ListSession::new(SessionId::new("s").unwrap(), form);
        let plan = session.plan(&list, &options, &(), &mut ()).unwrap();
        let event = &plan.events[0];
        let of = event.trigger.strip_prefix("a result of ").unwrap();
        let (of, _) = of.split_once(" tokens, over ").unwrap();
        let of: u64 = of.parse().unwrap();
        assert!(event.saved < of, "{form}: {event:?}");
        assert!(of - event.saved < 1_000, "{form}: {event:?}");
    }
}
