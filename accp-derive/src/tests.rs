//! Tests of which identifiers and literals the generated code contains.

use accp_registry::testing::TOY;
use accp_registry::{AACP, ACCP, Protocol};
use proc_macro2::{TokenStream, TokenTree};

/// Returns every identifier and literal of the code for a frame.
fn words(item: &str) -> Vec<String> {
    words_of(&ACCP, item)
}

/// Returns every identifier and literal of the code for an item.
fn words_of(protocol: &'static Protocol, item: &str) -> Vec<String> {
    fn walk(tokens: TokenStream, words: &mut Vec<String>) {
        for tree in tokens {
            match tree {
                TokenTree::Group(group) => walk(group.stream(), words),
                TokenTree::Punct(_) => {}
                other => words.push(other.to_string()),
            }
        }
    }
    let mut words = Vec::new();
    let code = super::expand(protocol, &syn::parse_str(item).unwrap());
    walk(code, &mut words);
    words
}

const ITEMS: &[&str] = &[
    r#"#[accp(crate = renamed::runtime, schema = "TA", intent = "req", operation = "schedule")]
       struct Task<'a, T> {
           assignee: String,
           task: T,
           #[accp(default)] priority: Option<Priority>,
           deps: Vec<Cow<'a, str>>,
           #[accp(skip)] seen: bool,
           #[accp(flatten)] others: Map<'a>,
       }"#,
    r#"#[accp(crate = renamed::runtime, schema = "TX")] struct Payment { transaction_id: String }"#,
    r#"#[accp(crate = "renamed::runtime")] struct Range { from: i64, to: Option<i64> }"#,
    r#"#[accp(crate = renamed::runtime)] enum Trend { #[accp(symbol = "+")] Up, Down }"#,
    r#"#[accp(crate = renamed::runtime)]
       enum Work { Task(Task), #[accp(intent = "ping", operation = "link")] Ping { n: i64 } }"#,
    // This item has a mistake, so the derive writes the stubs for it.
    r#"#[accp(crate = renamed::runtime, schema = "TA", intent = "req", operation = "schedule")]
       struct Task { asignee: String }"#,
];

#[test]
fn a_renamed_runtime_is_the_only_one_asked() {
    for item in ITEMS {
        let words = words(item);
        assert!(words.iter().any(|word| word == "renamed"), "{item}");
        assert!(!words.iter().any(|word| word == "accp_runtime"), "{item}");
    }
}

#[test]
fn nothing_public_is_written() {
    for item in ITEMS {
        assert!(!words(item).iter().any(|word| word == "pub"), "{item}");
    }
}

#[test]
fn the_same_item_gives_the_same_code() {
    for item in ITEMS {
        assert_eq!(words(item), words(item));
    }
}

/// The code must have the head, the keys and the runtime of the given protocol. Here this is a protocol that differs
/// from ACCP.
#[test]
fn another_protocol_has_its_own_head_and_runtime() {
    let item = r#"#[toy(task = "FETCH", area = "HR")]
        struct Fetch<'a> { priority: i64, schema: Option<Cow<'a, str>>, #[toy(extra)] others: Map<'a> }"#;
    let words = words_of(&TOY, item);
    let has = |word: &str| words.iter().any(|other| other == word);
    for word in [
        "toy_runtime",
        "task",
        "\"FETCH\"",
        "area",
        "\"HR\"",
        "\"priority\"",
        "\"schema\"",
        "extra",
        "demand",
        "\"schema P\"",
    ] {
        assert!(has(word), "{word}");
    }
    for word in [
        "compile_error",
        "accp_runtime",
        "intent",
        "operation",
        "Intent",
        "envelope",
        "\"pri\"",
        // These functions refuse or skip unknown keys.
        "unknown",
        "skip",
    ] {
        assert!(!has(word), "{word}");
    }
    // The generated code never reads the code of a schema: `code` occurs only once, as the parameter of a closure.
    assert_eq!(words.iter().filter(|word| *word == "code").count(), 1);
    // This protocol refuses unknown keys by default.
    let item =
        r#"#[toy(task = "FETCH-ALL", area = "HR")] struct FetchAll { priority: Option<i64> }"#;
    assert!(words_of(&TOY, item).iter().any(|word| word == "unknown"));
}

#[test]
fn another_protocol_has_its_own_mistakes() {
    let errors = |item: &str| {
        let words = words_of(&TOY, item);
        let pairs = words.iter().zip(words.iter().skip(1));
        let errors = pairs.filter(|(word, _)| *word == "compile_error");
        errors
            .map(|(_, text)| text.clone())
            .collect::<Vec<_>>()
            .join("\n")
    };
    insta::assert_snapshot!(errors(r#"#[toy(task = "FETCH")] struct A { priority: i64 }"#), @r#"
    "a packet has a task and an area: add `area = \"..\"`"
    "#);
    insta::assert_snapshot!(errors(r#"#[toy(tsk = "FETCH", area = "H R")] struct A { priority: i64 }"#), @r#"
    "unknown attribute `tsk`; did you mean `task`? On a struct or an enum: task, area, registry, crate, deny_unknown_fields, ignore, new, transparent, rename_all, bound"
    "`H R` is not a valid area: letters, digits, '_' and '-' only"
    "#);
    insta::assert_snapshot!(errors(r#"#[toy(schema = "P", task = "FETCH", area = "HR")] struct A { pri: i64, #[toy(flatten)] rest: Map }"#), @r#"
    "unknown attribute `schema`; on a struct or an enum there are task, area, registry, crate, deny_unknown_fields, ignore, new, transparent, rename_all, bound"
    "unknown attribute `flatten`; on a field there are default, rename, alias, skip, extra, with"
    "schema P has no field `pri`; its fields: schema, priority, parts"
    "#);
    insta::assert_snapshot!(errors(r#"#[toy(task = "FETCH", area = "HR")] struct A { prority: i64, parts: String }"#), @r#"
    "schema P has no field `prority`; did you mean `priority`? (its fields: schema, priority, parts)"
    "schema P declares `parts` as [string]: `String` cannot hold it; use a `Vec`"
    "#);
    insta::assert_snapshot!(errors("struct A { priority: i64 }"), @r#"
    "a packet has an area and a task: add `task = \"..\"`"
    "a packet has a task and an area: add `area = \"..\"`"
    "#);
    insta::assert_snapshot!(errors("enum A { B { priority: i64 }, C }"), @r#"
    "a variant with fields is a packet: add `#[toy(task = \"..\", area = \"..\")]`"
    "`A` has packets as variants: `C` must hold one, as in `C(Packet)`, or have fields in `{}`"
    "#);
}

/// The code for a packet must use the runtime of packets, and must need no registry.
#[test]
fn aacp_35_a_packet_has_its_own_traits_and_no_registry() {
    let item = r#"#[aacp(task = "FETCH", dom = "HR", crate = renamed::aacp)]
        struct Fetch<'p> { fields: Vec<&'p str>, r#return: Cow<'p, str>, #[aacp(extra)] others: Vec<(String, String)> }"#;
    let words = words_of(&AACP, item);
    let has = |word: &str| words.iter().any(|other| other == word);
    for word in [
        "renamed",
        "TASK",
        "\"FETCH\"",
        "DOM",
        "\"HR\"",
        "EncodePacket",
        "\"1.1\"",
    ] {
        assert!(has(word), "{word}");
    }
    for word in [
        "compile_error",
        "accp_aacp",
        "option_env",
        "FrameType",
        "unknown",
        "pub",
    ] {
        assert!(!has(word), "{word}");
    }
    // The code writes `return` before the version, and both before all other fields, regardless of their order in the
    // struct.
    let place = |word: &str| words.iter().position(|other| other == word).unwrap();
    assert!(place("\"return\"") < place("\"aacp\""));
    assert!(place("\"aacp\"") < place("\"fields\""));
}
