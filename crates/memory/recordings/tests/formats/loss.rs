//! Nothing of a file is lost: the tests put unknown keys and parts at any place of conversations in each format. The
//! content of the file is compared with the messages and the other keys, by a walk that shares no code with the
//! readers.

use std::collections::HashMap;

use accp_recordings::{Conversation, ConvertOptions, Converter, Documents, Format};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use serde_json::{Map, Value as Json, json};

use super::{Bytes, all, written};

/// A place of a document and what to do there.
#[derive(Debug, Clone)]
struct Change {
    place: prop::sample::Index,
    what: What,
}

#[derive(Debug, Clone)]
enum What {
    /// Replaces the value here.
    Replace(Json),
    /// Adds a key to the object here.
    Key(String, Json),
    /// Adds an item to the array here.
    Item(Json),
    /// Adds the value here once more, under another key of the object or as another item.
    Again(prop::sample::Index),
}

fn json_value() -> impl Strategy<Value = Json> {
    let leaf = prop_oneof![
        Just(Json::Null),
        any::<bool>().prop_map(Json::from),
        any::<i32>().prop_map(Json::from),
        "[a-z]{4,9}".prop_map(Json::from),
        any::<String>().prop_map(Json::from),
        prop::sample::select(vec![
            "{\"a\": 1}",
            "[1, \"x\"]",
            "{}",
            "{\"$\":\"0\"}",
            "",
            "tool"
        ])
        .prop_map(Json::from),
    ];
    leaf.prop_recursive(3, 12, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Json::from),
            prop::collection::btree_map(key(), inner, 0..3)
                .prop_map(|map| Json::Object(map.into_iter().collect())),
        ]
    })
}

/// Makes a key: one that a reader knows somewhere, or any other.
fn key() -> impl Strategy<Value = String> {
    let known = [
        "type",
        "text",
        "content",
        "role",
        "name",
        "id",
        "input",
        "arguments",
        "args",
        "function",
        "tool_calls",
        "function_call",
        "thinking",
        "data",
        "source",
        "url",
        "parts",
        "response",
        "result",
        "output",
        "summary",
        "kwargs",
        "lc",
        "message",
        "value",
        "from",
        "refusal",
        "reasoning_content",
        "is_error",
        "status",
        "tool_use_id",
        "tool_call_id",
        "call_id",
        "functionCall",
        "functionResponse",
        "inlineData",
        "thought",
        "attributes",
        "body",
        "key",
        "stringValue",
        "kvlistValue",
        "arrayValue",
        "additional_kwargs",
        "_recorded",
        "$",
        "$j",
        "title",
        "context",
        "audio",
        "image_url",
        "custom",
        "sessionId",
        "uuid",
        "signature",
    ];
    prop_oneof![
        3 => prop::sample::select(known.to_vec()).prop_map(str::to_owned),
        2 => "[a-z]{5,8}",
        1 => any::<String>(),
    ]
}

fn changes() -> impl Strategy<Value = Vec<Change>> {
    let what = prop_oneof![
        json_value().prop_map(What::Replace),
        (key(), json_value()).prop_map(|(key, value)| What::Key(key, value)),
        json_value().prop_map(What::Item),
        any::<prop::sample::Index>().prop_map(What::Again),
    ];
    let change = (any::<prop::sample::Index>(), what);
    let change = change.prop_map(|(place, what)| Change { place, what });
    prop::collection::vec(change, 0..6)
}

/// Returns the pointers of all values.
fn pointers(json: &Json, at: &str, out: &mut Vec<String>) {
    out.push(at.to_owned());
    match json {
        Json::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                pointers(item, &format!("{at}/{index}"), out);
            }
        }
        Json::Object(map) => {
            for (key, value) in map {
                let key = key.replace('~', "~0").replace('/', "~1");
                pointers(value, &format!("{at}/{key}"), out);
            }
        }
        _ => {}
    }
}

fn change(json: &mut Json, change: &Change) {
    let mut all = Vec::new();
    pointers(json, "", &mut all);
    let place = &all[change.place.index(all.len())];
    let other = match &change.what {
        What::Again(index) => json.pointer(&all[index.index(all.len())]).cloned(),
        _ => None,
    };
    let Some(here) = json.pointer_mut(place) else {
        return;
    };
    match (&change.what, here) {
        (What::Replace(value), here) => *here = value.clone(),
        (What::Key(key, value), Json::Object(map)) => {
            map.insert(key.clone(), value.clone());
        }
        (What::Item(value), Json::Array(items)) => items.push(value.clone()),
        (What::Again(_), Json::Array(items)) => items.extend(other),
        (What::Again(_), Json::Object(map)) => {
            map.insert("again".to_owned(), other.unwrap_or_default());
        }
        _ => {}
    }
}

/// Words of the formats that a reader expresses in the common form. Other words under these keys have to be in the
/// messages.
const WORDS: [(&str, &str); 5] = [
    (
        "kind",
        "request response binary image-url audio-url video-url document-url",
    ),
    (
        "part_kind",
        "system-prompt user-prompt tool-return retry-prompt text thinking tool-call \
         builtin-tool-call builtin-tool-return file",
    ),
    (
        "type",
        "text refusal reasoning reasoning.text reasoning.summary reasoning.encrypted image_url \
         input_audio file image audio video function custom tool_call invalid_tool_call thinking \
         redacted_thinking tool_use server_tool_use mcp_tool_use document tool_result \
         mcp_tool_result human ai system tool developer chat constructor message function_call \
         custom_tool_call function_call_output custom_tool_call_output input_text output_text \
         summary_text reasoning_text input_image input_file tool_call_response blob uri file_data binary image-url \
         audio-url video-url document-url redacted-reasoning media image-data file-data file-url \
         tool-call tool-result step-start dynamic-tool tool-invocation json error-text error-json \
         content execution-denied gemini user",
    ),
    (
        "role",
        "user assistant system tool function model human gpt observation data",
    ),
    (
        "from",
        "human user gpt chatgpt bing bard assistant model observation function_response \
         tool_response function function_call tool_call",
    ),
];

/// Returns whether this is a word of a format. OTLP writes keys as strings under `key`.
fn is_word(format: Format, key: &str, text: &str) -> bool {
    let mut words = WORDS.iter().filter(|(at, _)| *at == key);
    let otel = format == Format::Otel && key == "key";
    otel || words.any(|(_, words)| words.split(' ').any(|word| word == text))
}

/// Returns whether a text under a key says nothing by itself.
type Leave<'l> = &'l dyn Fn(&str, &str) -> bool;

/// Counts the strings, numbers and booleans of JSON.
fn count(json: &Json, key: &str, leave: Leave<'_>, out: &mut HashMap<String, usize>) {
    match json {
        Json::Null => {}
        Json::Array(items) => items.iter().for_each(|item| count(item, "", leave, out)),
        Json::Object(map) => {
            // An entry of OTLP has the name of its value under `key`.
            let entry = map.get("key").and_then(Json::as_str);
            for (own, value) in map {
                let key = match own.as_str() {
                    "value" => entry.unwrap_or(own),
                    "stringValue" | "string_value" => key,
                    own => own,
                };
                count(value, key, leave, out);
            }
        }
        Json::String(text) if text.is_empty() || leave(key, text) => {}
        Json::String(text) => {
            *out.entry(text.clone()).or_default() += 1;
            // If a text of the messages is JSON, its values are counted, too.
            if !leave("type", "text")
                && let Ok(inner @ (Json::Array(_) | Json::Object(_))) = serde_json::from_str(text)
            {
                count(&inner, "", leave, out);
            }
        }
        leaf => *out.entry(leaf.to_string()).or_default() += 1,
    }
}

/// Returns whether `model` has this text, or all leaves of the JSON in this text.
fn is_here(format: Format, text: &str, model: &HashMap<String, usize>) -> bool {
    if model.contains_key(text) {
        return true;
    }
    match serde_json::from_str(text) {
        Ok(inner @ (Json::Array(_) | Json::Object(_))) => {
            let mut leaves = HashMap::new();
            let leave = |key: &str, text: &str| is_word(format, key, text);
            count(&inner, "", &leave, &mut leaves);
            leaves.keys().all(|text| is_here(format, text, model))
        }
        _ => false,
    }
}

/// Checks that the messages and the other keys hold each value of the file, and, unless the format repeats messages,
/// as many times as the file.
pub(super) fn check(json: &Json, conversation: &Conversation) {
    let (mut file, mut model) = (HashMap::new(), HashMap::new());
    let format = conversation.format();
    count(json, "", &|key, text| is_word(format, key, text), &mut file);
    for message in conversation.messages() {
        count(message.as_json(), "", &|_, _| false, &mut model);
    }
    if let Some(json) = json.as_object() {
        // The keys outside the messages are kept as they are, or under these names.
        let names = [
            "id", "id'", "tools", "entries", "entries'", "runs", "repeated", "spans", "messages",
        ];
        let keys = json.keys().map(String::as_str).chain(names);
        for key in keys.collect::<std::collections::BTreeSet<_>>() {
            if let Some(value) = conversation.get(key) {
                count(value, key, &|_, _| false, &mut model);
            }
        }
    } else {
        for key in ["id", "entries", "runs", "repeated", "spans", "answers"] {
            if let Some(value) = conversation.get(key) {
                count(value, key, &|_, _| false, &mut model);
            }
        }
    }
    let repeats = matches!(
        conversation.format(),
        Format::Otel | Format::LangSmith | Format::LangGraph
    );
    for (text, times) in file {
        let here = model.get(&text).copied().unwrap_or(0);
        let enough = if repeats { here > 0 } else { here >= times };
        assert!(
            enough || is_here(format, &text, &model),
            "{text:?} is {times} times in {json}"
        );
    }
}

/// Returns the documents of the samples.
fn documents() -> Vec<(Format, Json)> {
    let documents = all().map(|(_, format, sample)| {
        let document = Documents::new(sample.as_bytes()).next();
        (format, document.expect("a document").unwrap().json)
    });
    documents.collect()
}

#[test]
fn the_samples_lose_nothing() {
    for (_, json) in documents() {
        let conversation = Conversation::new(json.clone()).unwrap();
        check(&json, &conversation);
    }
}

proptest! {
    // The seed is fixed, so a failure comes from the current change. The fuzz target `formats` looks for other
    // failures.
    #![proptest_config(ProptestConfig {
        cases: 400,
        rng_seed: RngSeed::Fixed(1),
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    /// A changed recording is read without loss, whether its format is found out or forced, and is restored from its
    /// frames. A reader may refuse it for another form, but never because of a loss.
    #[test]
    fn nothing_is_lost(sample in any::<prop::sample::Index>(), changes in changes()) {
        let documents = documents();
        let (format, json) = &documents[sample.index(documents.len())];
        let mut json = json.clone();
        for one in &changes {
            change(&mut json, one);
        }
        for read in [Conversation::new(json.clone()), Conversation::read(json.clone(), *format)] {
            match read {
                Ok(conversation) => {
                    check(&json, &conversation);
                    let mut converter = Converter::new(ConvertOptions::default(), Bytes);
                    prop_assert_eq!(converter.verify(&conversation), Ok(()));
                    written::check(&conversation);
                }
                Err(error) => {
                    let error = error.to_string();
                    prop_assert!(!error.contains("would be lost"), "{} of {}", error, json);
                }
            }
        }
    }
}

#[test]
fn what_a_reader_drops_is_noticed() {
    let json = json!({ "messages": [{ "role": "user", "content": "Hello" }] });
    let mut model = HashMap::new();
    count(&Json::Object(Map::new()), "", &|_, _| false, &mut model);
    assert!(!is_here(Format::OpenAi, "Hello", &model));
    let mut file = HashMap::new();
    let leave = |key: &str, text: &str| is_word(Format::OpenAi, key, text);
    count(&json, "", &leave, &mut file);
    assert_eq!(file, HashMap::from([("Hello".to_owned(), 1)]));
}
