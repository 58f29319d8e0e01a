//! Tests which values a reader finds in an input, and at which places.

use super::*;

fn read(text: &str) -> Vec<Result<(u64, Json), String>> {
    let documents = Documents::new(text.as_bytes());
    let told = documents.map(|document| match document {
        Ok(Document { line, json, .. }) => Ok((line, json)),
        Err(error) => Err(error.to_string()),
    });
    told.collect()
}

#[test]
fn lines_and_whole_documents_are_read() {
    let one = serde_json::json!({ "messages": [] });
    assert_eq!(
        read("{\"messages\":[]}\n\n{\"messages\":[]}"),
        [Ok((1, one.clone())), Ok((3, one.clone()))]
    );
    let pretty = "{\n  \"messages\": []\n}\n";
    assert_eq!(read(pretty), [Ok((1, one.clone()))]);
    assert_eq!(read(&format!("\u{feff}{pretty}")), [Ok((1, one.clone()))]);
    let twice = read(&format!("\n{pretty}{pretty}"));
    assert_eq!(twice, [Ok((2, one.clone())), Ok((5, one))]);
}

#[test]
fn the_elements_of_an_array_are_read_one_by_one() {
    let one = serde_json::json!({ "messages": [{ "role": "user" }] });
    let text =
        "[{\"messages\": [{\"role\": \"user\"}]},\n {\"messages\":\n[{\"role\":\"user\"}]} ]\n";
    assert_eq!(read(text), [Ok((1, one.clone())), Ok((2, one.clone()))]);
    let mut documents = Documents::new(text.as_bytes());
    assert!(documents.next().is_some_and(|first| first.is_ok()));
    assert_eq!(documents.bytes(), 33, "no further than the first element");
    let bare = serde_json::json!([{ "role": "user" }, { "role": "assistant" }]);
    let line = "[{\"role\":\"user\"},{\"role\":\"assistant\"}]";
    let twice = format!("{line}\n{line} []");
    let empty = serde_json::json!([]);
    assert_eq!(
        read(&twice),
        [Ok((1, bare.clone())), Ok((2, bare)), Ok((2, empty))]
    );
    for (text, fault) in [
        ("[{\"messages\":[]}", "1:1: the JSON ends too early"),
        (
            "[{\"messages\":[]} {}]",
            "1:18: not JSON: expected `,` or `]`",
        ),
        ("[{\"messages\":[]},]", "1:18: not JSON: expected value"),
        (
            "[{\"messages\":[]},\n  {\"n\": }]",
            "2:9: not JSON: expected value",
        ),
        ("{\"messages\":[]},", "1:16: not JSON: expected value"),
    ] {
        let found = read(text);
        let message = found.last().unwrap().as_ref().unwrap_err();
        assert!(message.starts_with(fault), "{text}: {message}");
    }
}

#[test]
fn the_message_of_a_document_may_stand_on_the_second_line() {
    let one = serde_json::json!({ "messages": [{ "role": "user" }] });
    let text = "{\"messages\":[\n{\"role\":\"user\"}\n]}\n";
    assert_eq!(read(text), [Ok((1, one))]);
}

#[test]
fn an_integer_that_would_change_is_refused() {
    let text = "{\"messages\":[{\"n\":[1e400,18446744073709551615,-9223372036854775808]}]}";
    assert!(unheld_integer(text.as_bytes()).is_none());
    for digits in [
        "18446744073709551616",
        "-9223372036854775809",
        "123456789012345678901234567890",
    ] {
        let text = format!(
            "{{\"messages\":[]}}\n{{\"messages\":[{{\"t\":\"\\\"{digits}\",\"n\":{digits}}}]}}"
        );
        let found = read(&text);
        let message = found[1].as_ref().unwrap_err();
        assert!(
            message.starts_with("2:") && message.contains(digits),
            "{message}"
        );
    }
}

#[test]
fn the_line_that_is_cut_is_the_one_named() {
    let found = read("{\"messages\":[\n{\"messages\":[]}\n{\"messages\":[]}\n");
    let message = found[0].as_ref().unwrap_err();
    assert!(
        message.starts_with("1:") && message.contains("the file is cut"),
        "{message}"
    );
}

#[test]
fn what_is_no_conversation_file_is_told_by_place() {
    insta::assert_debug_snapshot!(read("Dear all,\nplease find\n"), @r#"
    [
        Err(
            "1:1: not JSON: expected value; expected recorded conversations, one object a line with `messages`, each a `role` and a `content`",
        ),
    ]
    "#);
    insta::assert_debug_snapshot!(read("{\"messages\":[]}\n{\"messages\":[{\"ro"), @r#"
    [
        Ok(
            (
                1,
                Object {
                    "messages": Array [],
                },
            ),
        ),
        Err(
            "2:17: the JSON ends too early (EOF while parsing a string): the file is cut; restore it, or remove this line",
        ),
    ]
    "#);
    insta::assert_debug_snapshot!(read("{\n  \"messages\": [\n    {\"role\": }\n"), @r#"
    [
        Err(
            "3:14: not JSON: expected value",
        ),
    ]
    "#);
}

#[test]
fn lines_of_messages_are_one_conversation() {
    let text = "{\"role\":\"user\",\"content\":\"a\"}\n{\"role\":\"assistant\",\"content\":\"b\"}\n\
                {\"messages\":[]}\n{\"from\":\"gpt\",\"value\":\"c\"}";
    let read = read(text);
    let lines: Vec<u64> = read.iter().map(|read| read.as_ref().unwrap().0).collect();
    assert_eq!(lines, [1, 3, 4]);
    // After whole conversations, a single message is a mistake.
    let alone = &read[2].as_ref().unwrap().1;
    assert!(alone.is_object(), "{alone}");
    let first = &read[0].as_ref().unwrap().1;
    assert_eq!(first[1]["content"], "b");
}

#[test]
fn the_lists_of_a_list_are_conversations() {
    let one = "[{\"role\":\"user\",\"content\":\"a\"}]";
    assert_eq!(read(&format!("[{one},\n{one}]")).len(), 2);
}

#[test]
fn a_stream_of_events_is_told() {
    let found = read("data: {\"choices\":[]}\n\n");
    let message = found[0].as_ref().unwrap_err();
    assert!(
        message.starts_with("1:1: not JSON: a stream of events"),
        "{message}"
    );
}
