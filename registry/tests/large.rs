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
    let later =
        "there is no field `fields_999`\n    correct the first mistakes, which name the fields";
    assert!(problems.contains(later), "{problems}");
}
