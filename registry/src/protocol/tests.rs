//! The stages of a registry under a protocol unlike ACCP.

use alloc::string::{String, ToString as _};
use alloc::vec::Vec;

use crate::testing::TOY;
use crate::{ACCP, Registry};

#[test]
fn a_registry_has_the_head_and_the_keys_of_its_protocol() {
    let registry = Registry::standard_of(&TOY);
    let schema = registry.schema("P").unwrap();
    let shorts: Vec<_> = schema
        .fields
        .iter()
        .map(|field| field.short.as_str())
        .collect();
    assert_eq!(shorts, ["schema", "priority", "parts"]);
    let required = |head: &[&str]| schema.required(head).collect::<Vec<_>>();
    assert_eq!(required(&["FETCH", "HR"]), ["priority"]);
    assert_eq!(required(&["FETCH-ALL", "HR"]), [""; 0]);
    assert!(schema.frame(&["HR", "FETCH"]).is_none());

    let text = registry.to_json().to_string();
    assert_eq!(Registry::from_json_of(&TOY, &text), Ok(registry.clone()));
    let mut merged = Registry::empty_of(&TOY);
    merged.merge(registry.clone()).unwrap();
    assert_eq!(merged.protocol(), &TOY);
    assert_eq!(merged.schema("P"), registry.schema("P"));
    assert_ne!(Registry::empty_of(&TOY), Registry::empty());
}

#[test]
fn mistakes_are_reported_in_its_words() {
    let errors = |text| {
        Registry::from_json_of(&TOY, text)
            .map_or_else(|problems| problems.to_string(), |_| String::from("none"))
    };
    insta::assert_snapshot!(errors(r#"{ "schemas": { "a": { "code": "A",
        "fields": ["2nd", "map", "rows", "item"],
        "types": { "map": "{any}", "rows": "[[string]]", "item": "A" },
        "frames": [
            { "task": "FETCH" },
            { "task": "a b", "area": "HR", "envelope": ["cid"] },
            { "task": "FETCH", "area": "HR" },
            { "task": "FETCH", "area": "HR" },
            { "intent": "req", "operation": "plan" }
        ]
    } } }"#), @r#"
    registry:2:20 at /schemas/a/fields/0: `2nd` is not a valid field name
        it is one or more of A-Z, a-z, 0-9 and `_`, a letter first
    registry:3:20 at /schemas/a/types/map: `{any}` nests, but the values of a packet cannot nest
        use a list, or split the field
    registry:3:36 at /schemas/a/types/rows: `[[string]]` nests, but the values of a packet cannot nest
        use a list, or split the field
    registry:3:58 at /schemas/a/types/item: `A` nests, but the values of a packet cannot nest
        use a list, or split the field
    registry:5:13 at /schemas/a/frames/0: the packet has no `area`
        a packet is { "task": "FETCH", "area": "HR" }
    registry:6:15 at /schemas/a/frames/1/task: `a b` is not a valid task
        it is one or more of A-Z, a-z, 0-9, `_` and `-`
    registry:6:44 at /schemas/a/frames/1/envelope: unknown key `envelope`
        the keys here are task, area, required, fields, doc
    registry:8:13 at /schemas/a/frames/3: the packet FETCH|HR stands twice
        make one entry of the two
    registry:9:13 at /schemas/a/frames/4: the packet has no `task`
        a packet is { "task": "FETCH", "area": "HR" }
    registry:9:13 at /schemas/a/frames/4: the packet has no `area`
        a packet is { "task": "FETCH", "area": "HR" }
    registry:9:15 at /schemas/a/frames/4/intent: unknown key `intent`
        the keys here are task, area, required, fields, doc
    registry:9:32 at /schemas/a/frames/4/operation: unknown key `operation`
        the keys here are task, area, required, fields, doc
    "#);
}

#[test]
fn each_protocol_refuses_the_documents_of_the_other() {
    let of = |protocol, text: &str| Registry::from_json_of(protocol, text);
    let toy = Registry::standard_of(&TOY).to_json().to_string();
    let accp = Registry::standard().to_json().to_string();
    assert!(of(&TOY, &toy).is_ok() && of(&ACCP, &accp).is_ok());
    assert!(of(&ACCP, &toy).is_err() && of(&TOY, &accp).is_err());
}

#[cfg(feature = "tools")]
#[test]
fn tools_write_its_heads_and_marks() {
    use crate::export::{Export, Options};

    let new = Registry::standard_of(&TOY);
    let mut json = new.to_json();
    json["schemas"]["packet"]["frames"]
        .as_array_mut()
        .unwrap()
        .remove(0);
    let old = Registry::from_json_of(&TOY, &json.to_string()).unwrap();
    let changes = crate::diff(&old, &new);
    assert_eq!(changes[0].description, "the packet FETCH|HR was added");

    let export = Export::of(&new, &Options::default()).unwrap();
    let lark = export.grammar(1).unwrap().to_lark();
    let rules: Vec<_> = lark.lines().filter(|line| line.contains("HR|")).collect();
    insta::assert_snapshot!(rules.join("\n"), @r#"
    fetch_hr_p: "FETCH|HR|" ("schema:" string_value "|")? "priority:" given_integer ("|" "parts:" list_of_string_1)?
    fetch_all_hr_p: "FETCH-ALL|HR|" (("schema:" string_value ("|" "priority:" integer_value)? | "priority:" integer_value) ("|" "parts:" list_of_string_1)? | "parts:" list_of_string_1)?
    "#);
}
