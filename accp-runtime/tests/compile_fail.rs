//! Items that `#[derive(AccpFrame)]` refuses, with the messages of the compiler, and large items that it accepts.
//!
//! A file of `tests/ui` has a function for each fault. The compiler finds all faults of one file in the same step,
//! because the errors of one step hide the errors of the next step. A fault that is reported once for each crate has a
//! file of its own. All cases are tests of one crate, the crate that users add, because trybuild builds every
//! dependency of each tested crate again.
//!
//! `TRYBUILD=overwrite cargo test -p accp-runtime --test all compile_fail` writes the expected messages again.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

#[test]
fn every_fault_has_its_message() {
    // trybuild compiles the cases as another crate. The derive looks for registries in the folder of this crate, so
    // the registries are copied into this folder.
    let here = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/registry");
    let project = Path::new(env!("CARGO_TARGET_TMPDIR"))
        .join("../tests/trybuild")
        .join(env!("CARGO_PKG_NAME"))
        .join("registry");
    fs::create_dir_all(&project).unwrap();
    for name in [
        "warehouse.json",
        "faulty.json",
        "large.json",
        "payments.json",
        "stamps.json",
    ] {
        fs::copy(here.join(name), project.join(name)).unwrap();
    }
    trybuild::TestCases::new().compile_fail("tests/ui/*.rs");
}

/// The compiler limits the time for a constant. It would refuse this enum if the derive compared every frame with every
/// other.
#[test]
fn many_frames_compile() {
    let mut source = String::from("use accp_runtime::{AccpFrame, Typed};\n");
    for name in ["First", "Second"] {
        let _ = writeln!(source, "#[derive(AccpFrame)] enum {name} {{");
        for at in 0..700 {
            let _ = writeln!(
                source,
                "    #[accp(intent = \"req\", operation = \"{name}_{at}\")] V{at} {{ a: i64 }},"
            );
        }
        source.push_str("}\n");
    }
    source.push_str(
        "#[derive(AccpFrame)] enum All { First(First), Second(Box<Second>) }
        #[derive(AccpFrame)] enum Any<T> { First(First), Other(T) }
        fn main() {
            let text = \"@a>req:Second_699{a:1}\";
            assert!(matches!(Typed::<All>::decode(text).unwrap().frame, All::Second(_)));
            assert!(matches!(Typed::<Any<Second>>::decode(text).unwrap().frame, Any::Other(_)));
        }
",
    );
    let case = Path::new(env!("CARGO_TARGET_TMPDIR")).join("frames.rs");
    fs::write(&case, source).unwrap();
    trybuild::TestCases::new().pass(case);
}

/// The compiler limits the time for a constant. It would refuse this enum if the derive compared every name with every
/// other.
#[test]
fn many_names_and_many_fields_compile() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let registry = folder.join("many.json");
    let short: Vec<String> = (0..5_000).map(|at| format!("n{at}")).collect();
    let long = |at| format!("a_name_with_as_many_letters_as_some_have_{at}");
    let long: Vec<String> = (0..583).map(long).collect();
    let fields: Vec<String> = (0..2_000).map(|at| format!("field_{at}")).collect();
    let types: Vec<String> = fields
        .iter()
        .map(|field| format!("{field:?}: \"string\""))
        .collect();
    let schemas = format!(
        r#"{{ "schemas": {{
            "names": {{ "code": "NA", "fields": ["short", "long"],
                "types": {{ "short": "enum({})", "long": "enum({})" }} }},
            "fields": {{ "code": "FI", "fields": {fields:?}, "types": {{ {} }} }} }} }}"#,
        short.join(","),
        long.join(","),
        types.join(", "),
    );
    fs::write(&registry, schemas).unwrap();

    let frame = |code: &str| {
        format!(
            "#[derive(AccpFrame)]\n#[accp(schema = {code:?}, intent = \"req\", operation = \"plan\", \
             registry = {registry:?})]\n"
        )
    };
    let mut source = String::from("use accp_runtime::{AccpFrame, AgentId, Envelope, Typed};\n");
    for (name, values) in [("Short", &short), ("Long", &long)] {
        let _ = writeln!(
            source,
            "#[derive(AccpFrame, Debug, PartialEq)] enum {name} {{"
        );
        for (at, value) in values.iter().enumerate() {
            let _ = writeln!(source, "    #[accp(rename = {value:?})] V{at},");
        }
        source.push_str("}\n");
    }
    source += &frame("NA");
    source.push_str("struct Names { short: Option<Short>, long: Option<Long> }\n");
    source += &frame("FI");
    source.push_str("#[derive(Default)] struct Fields {\n");
    for field in &fields {
        let _ = writeln!(source, "    {field}: Option<String>,");
    }
    source.push_str(
        r#"}
        fn main() {
            let a = || AgentId::new("a").unwrap();
            let names = Names { short: Some(Short::V4999), long: Some(Long::V582) };
            let text = Typed::new(a(), names, Envelope::default()).encode().unwrap();
            let names = Typed::<Names>::decode(&text).unwrap().frame;
            assert_eq!((names.short, names.long), (Some(Short::V4999), Some(Long::V582)));
            let fields = Fields { field_1999: Some("x".to_owned()), ..Fields::default() };
            let text = Typed::new(a(), fields, Envelope::default()).encode().unwrap();
            let fields = Typed::<Fields>::decode(&text).unwrap().frame;
            assert_eq!(fields.field_1999.as_deref(), Some("x"));
        }
"#,
    );
    let case = folder.join("many.rs");
    fs::write(&case, source).unwrap();
    trybuild::TestCases::new().pass(case);
}
