//! Registries with many names: the time of their checks, and the length of what is said of them.
#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use accp_registry::Registry;

/// Returns the problems of a document.
fn problems(text: &str) -> String {
    Registry::from_json(text)
        .expect_err("this has no fault")
        .to_string()
}

/// If the time of the check grew with the cube of what a registry has, this test would take minutes.
#[test]
fn many_variants_and_a_long_cycle_are_checked_at_once() {
    const ALL: usize = 1_000;
    let fields: Vec<String> = (0..ALL).map(|at| format!("\"f{at}\"")).collect();
    let variants = (0..ALL).map(|at| format!("{{ \"name\": \"v{at}\", \"fields\": [\"f{at}\"] }}"));
    let variants: Vec<String> = variants.collect();
    let text = format!(
        r#"{{ "schemas": {{ "a": {{ "code": "A", "fields": ["k", {}], "union": "k", "variants": [{}] }} }} }}"#,
        fields.join(", "),
        variants.join(", ")
    );
    let registry = Registry::from_json(&text).unwrap();
    assert_eq!(registry.schema("A").unwrap().variants.len(), ALL);

    // Each record holds the next one, and the last one holds the first.
    let schemas = (0..ALL).map(|at| {
        let next = (at + 1) % ALL;
        format!(
            r#""s{at:03}": {{ "code": "S{at:03}", "fields": ["x"], "types": {{ "x": "S{next:03}" }}, "required": ["x"] }}"#
        )
    });
    let schemas: Vec<String> = schemas.collect();
    let problems = problems(&format!("{{ \"schemas\": {{ {} }} }}", schemas.join(", ")));
    assert!(
        problems.contains(
            "a `s000` requires `x`, and so holds a `S000` without end: s000.x > s001.x > "
        )
    );
    assert_eq!(problems.matches("without end").count(), 1);
}

/// Each of 4,000 records holds the next one. If the time of the check grew with the square of their number, this test
/// would take a minute.
#[test]
fn a_long_way_to_an_end_or_to_a_cycle_is_walked_once() {
    const ALL: usize = 4_000;
    let chain = |last: &str| {
        let schemas = (0..ALL).map(|at| {
            let next = format!("S{:04}", at + 1);
            let ty = if at + 1 < ALL { next.as_str() } else { last };
            format!(
                r#""s{at:04}": {{ "code": "S{at:04}", "fields": ["x"], "types": {{ "x": "{ty}" }}, "required": ["x"] }}"#
            )
        });
        let schemas: Vec<String> = schemas.collect();
        format!("{{ \"schemas\": {{ {} }} }}", schemas.join(", "))
    };
    assert!(Registry::from_json(&chain("integer")).is_ok());
    // The last two records hold each other, and the others only lead to them.
    let problems = problems(&chain("S3998"));
    let cycle =
        "a `s3998` requires `x`, and so holds a `S3998` without end: s3998.x > s3999.x > s3998\n";
    assert!(problems.contains(cycle), "{problems}");
    assert_eq!(problems.matches("without end").count(), 1);
}

/// The cycle is reported at the schema whose name comes first, also if another schema leads into its middle.
#[test]
fn a_cycle_begins_with_the_name_that_comes_first() {
    let schema = |name: &str, next: &str| {
        format!(
            r#""{name}": {{ "code": "{}", "fields": ["x"], "types": {{ "x": "{next}" }}, "required": ["x"] }}"#,
            name.to_uppercase()
        )
    };
    let schemas = [
        schema("a", "D"),
        schema("b", "C"),
        schema("c", "D"),
        schema("d", "B"),
        schema("e", "E"),
    ];
    let problems = problems(&format!("{{ \"schemas\": {{ {} }} }}", schemas.join(", ")));
    for cycle in ["b.x > c.x > d.x > b\n", "e.x > e\n"] {
        assert!(
            problems.contains(&format!("without end: {cycle}")),
            "{problems}"
        );
    }
    assert_eq!(problems.matches("without end").count(), 2);
}

/// A search for the name that was meant compares each wrong name with all names, so only the first mistakes have one.
#[test]
fn only_the_first_of_many_wrong_names_are_compared_with_all_names() {
    let names = |name: &str| -> String {
        let names = (0..1_000).map(|at| format!("\"{name}{at:03}\""));
        names.collect::<Vec<_>>().join(", ")
    };
    let (fields, wrong) = (names("field_"), names("fields_"));
    let problems = problems(&format!(
        r#"{{ "schemas": {{ "a": {{ "code": "A", "fields": [{fields}], "required": [{wrong}] }} }} }}"#
    ));
    assert_eq!(
        problems.matches("there is no field `fields_").count(),
        1_000
    );
    assert_eq!(problems.matches("did you mean `field_").count(), 100);
    let later = "there is no field `fields_999`\n    correct the first 100 mistakes; then this message names the fields";
    assert!(problems.contains(later), "{problems}");
}

/// The mistakes before a wrong name may be of another kind, and then they name no fields.
#[test]
fn a_wrong_name_behind_many_other_mistakes_says_how_to_get_the_names() {
    let keys = (0..120).map(|at| format!("\"key_{at}\": 1"));
    let keys: Vec<String> = keys.collect();
    let document = |keys: &[String]| {
        let first = [r#""code": "A", "fields": ["x"]"#];
        let first = first.into_iter().chain(keys.iter().map(String::as_str));
        let first: Vec<&str> = first.collect();
        let second = r#""b": { "code": "B", "fields": ["gamma"], "required": ["gama"] }"#;
        format!(
            r#"{{ "schemas": {{ "a": {{ {} }}, {second} }} }}"#,
            first.join(", ")
        )
    };
    let all = problems(&document(&keys));
    let later = "there is no field `gama`\n    correct the first 100 mistakes; then this message names the fields";
    assert!(all.contains(later), "{all}");
    let rest = problems(&document(&keys[100..]));
    assert!(
        rest.contains("there is no field `gama`\n    did you mean `gamma`?"),
        "{rest}"
    );
}
