//! Types whose values are texts of one form: a grammar, a JSON Schema and a decoder accept the same texts.

use std::sync::LazyLock;

use accp_registry::{Format, lexical};
use accp_runtime::{DynamicFrame, Registry};
use accp_tests::machine::Machine;
use accp_tests::messages;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use regex_automata::meta::Regex;

use super::{Export, Options};

struct Judge {
    format: Format,
    registry: Registry,
    lark: Machine,
    json: Regex,
}

static JUDGES: LazyLock<Vec<Judge>> = LazyLock::new(|| Format::ALL.map(judge).into());

fn judge(format: Format) -> Judge {
    let registry = serde_json::json!({ "schemas": { "a": {
        "code": "A", "fields": ["x"], "types": { "x": format.word() }, "required": ["x"],
        "frames": [{ "intent": "req", "operation": "stamp" }] } } });
    let registry = Registry::from_json(&registry.to_string()).unwrap();
    let export = Export::of(&registry, &Options::default()).unwrap();
    let lark = Machine::lark(export.grammar(Export::DEPTH).unwrap().to_lark());
    let schema: serde_json::Value =
        serde_json::from_str(&export.json_schema(Export::DEPTH).unwrap()).unwrap();
    let of = &schema["anyOf"][0]["properties"]["payload"]["properties"]["x"]["anyOf"][0];
    let name = format.json_schema().filter(|_| format != Format::Url);
    assert_eq!(of["format"].as_str(), name);
    let json = Regex::new(of["pattern"].as_str().unwrap()).unwrap();
    Judge {
        format,
        registry,
        lark,
        json,
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn near_texts_have_one_verdict(
        (at, text) in (0..Format::ALL.len())
            .prop_flat_map(|at| (Just(at), messages::formatted(Format::ALL[at]))),
        place in any::<Index>(),
        change in 0..4,
        new in select("0129-:.TZPYMDWHS+/=%aAgz~,@[".chars().collect::<Vec<_>>()),
    ) {
        let Judge { format, registry, lark, json } = &JUDGES[at];
        let mut text: Vec<char> = text.chars().collect();
        if change > 0 && !text.is_empty() {
            let place = place.index(text.len());
            match change {
                1 => text[place] = new,
                2 => text.insert(place, new),
                _ => drop(text.remove(place)),
            }
        }
        let text = String::from_iter(text);
        let mut wire = String::new();
        lexical::write_string(&mut wire, &text);
        let frame = format!("@a>req:stamp{{x:{wire}|schema:A}}");
        let is_read = DynamicFrame::decode(&frame, registry).is_ok();
        prop_assert_eq!(is_read, format.holds(&text), "{}", frame);
        prop_assert_eq!(is_read, lark.takes(&frame), "{}", frame);
        prop_assert_eq!(is_read, json.is_match(&text), "{}", text);
    }
}
