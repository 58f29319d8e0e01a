//! Generated code as text: the goldens, and the runtime's own profiles.
//!
//! `ACCP_BLESS=1 cargo test -p accp-tests --test all generated_text` writes the files anew.

use std::env;
use std::fs;
use std::path::Path;

use accp_build::{Builder, Options, check, generate, write};
use accp_registry::Registry;

/// The registries in `goldens/`, each with the text that is generated from it.
const GOLDENS: &[&str] = &[
    "draft",
    "enums",
    "every_type",
    "formats",
    "frames",
    "names",
    "nested",
    "renamed",
    "unions",
];

/// The settings of the builder for a golden, besides its registry.
type Asks = fn(Builder) -> Builder;

/// Derives that the feature `serde` of the runtime makes possible.
const SERDE: &str = "#[derive(serde::Serialize, serde::Deserialize)]";

/// Goldens with settings of their own, each with the golden whose registry it uses.
const ASKING: &[(&str, &str, Asks)] = &[
    ("every_type_owned", "every_type", |builder| {
        builder.owned(true).type_attribute(".", SERDE)
    }),
    ("every_type_serde", "every_type", |builder| {
        builder
            .type_attribute(".", SERDE)
            .field_attribute("StoreDone", "#[serde(default)]")
            .field_attribute("sample.note", r#"#[serde(rename = "remark")]"#)
            .field_attribute("SampleLevel.low", r#"#[serde(rename = "LOW")]"#)
    }),
    ("enums_open", "enums", |builder| builder.open_enums(true)),
    ("unions_open", "unions", |builder| builder.open_enums(true)),
    ("unions_owned", "unions", |builder| {
        builder
            .owned(true)
            .open_enums(true)
            .type_attribute(".", SERDE)
    }),
    ("formats_owned", "formats", |builder| builder.owned(true)),
    ("nested_owned", "nested", |builder| {
        builder.owned(true).type_attribute(".", SERDE)
    }),
];

fn is_blessing() -> bool {
    env::var_os("ACCP_BLESS").is_some_and(|value| value == "1")
}

#[test]
fn goldens_are_what_the_registries_give() {
    let mut stale = Vec::new();
    let plain = GOLDENS
        .iter()
        .map(|name| (*name, *name, (|builder| builder) as Asks));
    for (name, registry, ask) in plain.chain(ASKING.iter().copied()) {
        let builder = Builder::new().registry(format!("goldens/{registry}.json"));
        let text = ask(builder).generate().unwrap();
        let golden = format!("goldens/{name}.rs");
        if is_blessing() {
            write(&golden, &text).unwrap();
        }
        stale.extend(check(&golden, &text).err());
    }
    assert!(
        stale.is_empty(),
        "{stale:#?}\nbless with ACCP_BLESS=1 if the change is meant"
    );
}

#[test]
fn every_registry_in_the_folder_is_a_golden() {
    let files = fs::read_dir("goldens")
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let mut names: Vec<String> = files
        .filter(|path| path.extension().is_some_and(|end| end == "json"))
        .map(|path| path.file_stem().unwrap().to_string_lossy().into_owned())
        .collect();
    names.sort();
    assert_eq!(names, GOLDENS);
}

#[test]
fn the_profiles_of_the_runtime_are_what_the_standard_registry_gives() {
    let options = Options {
        standard_profiles: true,
        runtime: "crate".to_owned(),
        ..Options::default()
    };
    let text = generate(&Registry::empty(), &options).unwrap();
    let file = Path::new("../accp-runtime/frame/src/profiles.rs");
    if is_blessing() {
        write(file, &text).unwrap();
    }
    let repair = "cargo run -p accp-cli -- generate --standard --runtime crate \
                  -o accp-runtime/frame/src/profiles.rs";
    assert!(
        check(file, &text).is_ok(),
        "{} is out of date; run `{repair}`",
        file.display()
    );
}

/// A registry in one file and in several files gives the same text, in any order of the files.
#[test]
fn the_text_depends_on_what_the_registry_says_only() {
    let whole: serde_json::Value =
        serde_json::from_str(&fs::read_to_string("goldens/nested.json").unwrap()).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let mut texts = Vec::new();
    for (round, reversed) in [false, true].into_iter().enumerate() {
        let folder = folder.path().join(round.to_string());
        fs::create_dir(&folder).unwrap();
        let schemas = whole["schemas"].as_object().unwrap();
        for (index, (name, schema)) in schemas.iter().enumerate() {
            let place = if reversed {
                schemas.len() - index
            } else {
                index
            };
            let document = serde_json::json!({ "schemas": { name: schema } });
            fs::write(folder.join(format!("{place}.json")), document.to_string()).unwrap();
        }
        let options = Options {
            registry: Some("goldens/nested.json".to_owned()),
            ..Options::default()
        };
        texts.push(generate(&Registry::load(&folder).unwrap(), &options).unwrap());
    }
    assert_eq!(texts[0], texts[1]);
    assert_eq!(texts[0], fs::read_to_string("goldens/nested.rs").unwrap());
}
