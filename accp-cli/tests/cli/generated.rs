//! `accp generate`, `accp grammar`, `accp completions` and `accp man`.

use std::fs;

use crate::{Folder, accp, workspace};

const REGISTRY: &str = r#"{ "schemas": { "sales_report": {
    "code": "SR", "version": 1, "fields": ["period"],
    "frames": [{ "intent": "done", "operation": "analyze" }] } } }"#;

#[test]
fn generate_writes_what_check_accepts() {
    let folder = Folder::with(&[("registry.json", REGISTRY)]);
    let to_stdout = folder.run(&["generate", "registry.json"], "");
    assert_eq!(to_stdout.code, Some(0), "{}", to_stdout.stderr);
    assert!(
        to_stdout.stdout.contains("pub struct AnalyzeDone"),
        "{}",
        to_stdout.stdout
    );

    let generate = ["generate", "registry.json", "-o", "frames.rs"];
    let check = ["generate", "registry.json", "-o", "frames.rs", "--check"];
    let run = folder.run(&check, "");
    assert_eq!(run.code, Some(1));
    assert_eq!(
        run.stderr,
        "error: frames.rs is not there; run `accp generate registry.json -o frames.rs`\n"
    );
    assert_eq!(folder.run(&generate, "").code, Some(0));
    assert_eq!(folder.read("frames.rs"), to_stdout.stdout);
    assert_eq!(folder.run(&check, "").code, Some(0));

    fs::write(folder.path("frames.rs"), "edited").unwrap();
    assert_eq!(folder.run(&check, "").code, Some(1));
    assert_eq!(folder.read("frames.rs"), "edited");
}

#[test]
fn generate_refuses_a_registry_with_mistakes() {
    let folder = Folder::with(&[("registry.json", &REGISTRY.replace("done", "finished"))]);
    let run = folder.run(&["generate", "registry.json", "-o", "frames.rs"], "");
    assert_eq!(run.code, Some(1));
    assert!(run.stderr.contains("registry.json:3:"), "{}", run.stderr);
    assert_eq!(folder.names(), ["registry.json"]);
}

#[test]
fn generate_without_anything_to_generate_is_misuse() {
    assert_eq!(accp(&["generate"], "").code, Some(2));
    assert_eq!(accp(&["generate", "no-such.json"], "").code, Some(2));
    assert_eq!(
        accp(&["generate", "--standard", "--check"], "").code,
        Some(2)
    );
    assert_eq!(
        accp(&["generate", "--standard", "--runtime", "1st"], "").code,
        Some(2)
    );
    assert_eq!(accp(&["generate", "--standard"], "").code, Some(0));
}

#[test]
fn the_grammar_in_the_repository_is_the_generated_one() {
    let pest = workspace().join("grammar/accp.pest");
    let run = accp(&["grammar", "--check", pest.to_str().unwrap()], "");
    assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""));
    assert_eq!(
        accp(&["grammar"], "").stdout,
        fs::read_to_string(&pest).unwrap()
    );
    assert_eq!(
        accp(&["grammar", "--pest"], "").stdout,
        fs::read_to_string(&pest).unwrap()
    );
    let abnf = fs::read_to_string(workspace().join("grammar/accp.abnf")).unwrap();
    assert_eq!(accp(&["grammar", "--abnf"], "").stdout, abnf);
}

#[test]
fn a_grammar_that_was_edited_is_named_with_the_command_that_repairs_it() {
    let folder = Folder::with(&[("accp.pest", "edited\n")]);
    let run = folder.run(&["grammar", "--check", "accp.pest"], "");
    assert_eq!(run.code, Some(1));
    insta::assert_snapshot!(run.stderr, @"error: accp.pest:1: this is not what the ABNF and the overrides give; run `accp grammar --write accp.pest`");
    assert_eq!(
        folder.run(&["grammar", "--write", "accp.pest"], "").code,
        Some(0)
    );
    assert_eq!(
        folder.run(&["grammar", "--check", "accp.pest"], "").code,
        Some(0)
    );
    assert_eq!(
        folder.run(&["grammar", "--check", "nothing"], "").code,
        Some(2)
    );
}

#[test]
fn every_shell_gets_its_completions() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let run = accp(&["completions", shell], "");
        assert_eq!(run.code, Some(0));
        for word in ["syntax-only", "demo", "replay", "debug"] {
            assert!(run.stdout.contains(word), "{shell} {word}");
        }
    }
    assert_eq!(accp(&["completions", "cmd"], "").code, Some(2));
}

#[test]
fn every_command_has_its_page() {
    let run = accp(&["man"], "");
    assert!(run.stdout.contains(".TH accp 1"), "{}", run.stdout);
    let run = accp(&["man", "registry", "diff"], "");
    assert!(
        run.stdout.contains(".TH accp-registry-diff 1"),
        "{}",
        run.stdout
    );
    for command in ["list", "show", "replay", "export", "verify", "import"] {
        let run = accp(&["man", "session", command], "");
        let title = format!(".TH accp-session-{command} 1");
        assert!(run.stdout.contains(&title), "{}", run.stdout);
    }
    assert!(
        accp(&["man", "demo"], "")
            .stdout
            .contains(".TH accp-demo 1")
    );
    assert_eq!(accp(&["man", "nothing"], "").code, Some(2));
    assert_eq!(accp(&["man", "check", "nothing"], "").code, Some(2));
}

#[test]
fn generate_writes_the_tools_of_a_model() {
    let folder = Folder::with(&[("registry.json", REGISTRY)]);
    let run = folder.run(&["generate", "registry.json", "--tools", "anthropic"], "");
    insta::assert_snapshot!(run.stdout, @r#"
    [
    {"name":"analyze_done","description":"analyze_done","input_schema":{"type":"object","properties":{"period":{"type":["string","null"],"description":"JSON in a string."}},"required":["period"],"additionalProperties":false}}
    ]
    "#);
    let chosen = [
        "generate",
        "--standard",
        "--tools",
        "openai",
        "--frame",
        "req:schedule",
    ];
    let run = accp(&chosen, "");
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    assert_eq!(run.stdout.lines().count(), 3);
    let unknown = [
        "generate",
        "--standard",
        "--tools",
        "mcp",
        "--frame",
        "req:schedul",
    ];
    let run = accp(&unknown, "");
    assert_eq!(run.code, Some(2));
    insta::assert_snapshot!(run.stderr, @"error: there is no frame `req:schedul`; did you mean `req:schedule`?");
    assert_eq!(
        accp(&["generate", "--standard", "--frame", "req:schedule"], "").code,
        Some(2)
    );
}
