//! Tests of `accp grammar export`.

use std::time::{Duration, Instant};

use serde_json::Value as Json;

use crate::cli::{Folder, Run, Words, accp};

const REGISTRY: &str = r#"{ "schemas": {
    "report": {
        "code": "RP", "fields": ["title", "lines", "trend"],
        "types": { "title": "text", "lines": "[LN]", "trend": "enum(up=+,down=-)" },
        "required": ["title"],
        "frames": [
            { "intent": "req", "operation": "report" },
            { "intent": "done", "operation": "report", "required": ["lines"], "envelope": ["cid"] }
        ]
    },
    "line": { "code": "LN", "fields": ["name", "sure"], "types": { "name": "string", "sure": "boolean" } }
} }"#;

fn export(registry: &str, args: impl Words) -> Run {
    let folder = Folder::with(&[("ours.json", registry)]);
    folder.run(("grammar export --registry ours.json", args), "")
}

/// Returns the output of an export that must succeed.
fn written(args: impl Words) -> String {
    let run = export(REGISTRY, args);
    assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""));
    run.stdout
}

#[test]
fn lark() {
    let text = written("--format lark --frame done:report");
    insta::assert_snapshot!(text, @r#"
    // The frames of a registry, by `accp grammar export --format lark`; do not edit.

    start: "@" AGENT ">" frame
    frame: done_report_rp
    done_report_rp: "done:report{" "title:" given_string "|" "lines:" given_list_of_record_ln_5 "|" ("trend:" enum_up_down_value "|")? "schema:RP}" "[" "cid:" SCALAR "]"
    given_string: SCALAR | REFERENCE
    given_list_of_record_ln_5: "[" (given_record_ln_4 ("," given_record_ln_4)*)? "]" | REFERENCE
    given_record_ln_4: "{" ("name:" string_value ("," "sure:" boolean_value)? | "sure:" boolean_value)? "}" | REFERENCE
    string_value: SCALAR | "~" | REFERENCE
    boolean_value: "true" | "false" | "~" | REFERENCE
    enum_up_down_value: "+" | "-" | "~" | REFERENCE
    SCALAR: /(?:[\x21-\x23\x25-\x2B\x2D-9\x3B-\x3D\x3FA-Z\x5E-z]|\\[\x24\x2C\x3A\x3E\x40\x5B-\x5D\x7B-\x7E])+/
    REFERENCE: /\$[\x2E0-9A-Z\x5Fa-z]+/
    AGENT: /[\x2D0-9A-Z\x5Fa-z]+/
    "#);
}

#[test]
fn lark_of_views() {
    let text = written("--form view --format lark --frame done:report");
    insta::assert_snapshot!(text, @r#"
    // The views of a registry's frames, by `accp grammar export --form view --format lark`; do not edit.

    start: block+
    block: "@" AGENT ">" done_report_rp
    done_report_rp: "done:report RP(" given_value_string_0 "," given_value_list_of_record_ln_5 ("," value_enum_up_down_0?)? ")\n" | "done:report RP(" "|" "," given_value_list_of_record_ln_5 ("," value_enum_up_down_0?)? ")\n" NEXT? ("\n" NEXT?)* "\n"
    given_value_string_0: BARE | QUOTED | REFERENCE
    given_value_list_of_record_ln_5: "[" (given_value_record_ln_4 ("," given_value_record_ln_4)*)? "]" | "LN[" ("\n" cells_ln_3)+ "]" | REFERENCE
    given_value_record_ln_4: "LN(" cells_ln_3 ")" | "{" ("name:" value_string_0 ("," "sure:" value_boolean_0)? | "sure:" value_boolean_0)? "}" | REFERENCE
    cells_ln_3: value_string_0? ("," value_boolean_0?)?
    value_string_0: BARE | QUOTED | "~" | REFERENCE
    value_boolean_0: "true" | "false" | "~" | REFERENCE
    value_enum_up_down_0: "up" | "down" | "~" | REFERENCE
    BARE: /[0-9A-Z\x5Fa-z\u00C0-\u00D6\u00D8-\u00F6\u00F8-\u02AF\u0391-\u03A1\u03A3-\u03F5\u0400-\u0481\u048A-\u052F\u05D0-\u05EA\u0620-\u064A\u0904-\u0939\u3041-\u3096\u30A1-\u30FA\u4E00-\u9FFF\uAC00-\uD7A3](?:[\x20-\x21\x23-\x27\x2A-\x2B\x2D-Z\x5E-z\x7E\u00A0-\u00AC\u00AE-\u061B\u061D-\u200A\u2010-\u2027\u202F-\u205F\u2070-\uD7FF\uE000-\uFEFE\uFF00-\uFFF8\uFFFC-\U000DFFFF\U000E0080-\U0010FFFF]*[\x21\x23-\x27\x2A-\x2B\x2D-Z\x5E-z\x7E\u00A0-\u00AC\u00AE-\u061B\u061D-\u200A\u2010-\u2027\u202F-\u205F\u2070-\uD7FF\uE000-\uFEFE\uFF00-\uFFF8\uFFFC-\U000DFFFF\U000E0080-\U0010FFFF])?/
    QUOTED: /"(?:[\x20-\x21\x23-\x5B\x5D-\x7E\u00A0-\u00AC\u00AE-\u061B\u061D-\u200A\u2010-\u2027\u202F-\u205F\u2070-\uD7FF\uE000-\uFEFE\uFF00-\uFFF8\uFFFC-\U000DFFFF\U000E0080-\U0010FFFF]|\\(?:[\x22\x2F\x5Cbfnrt]|u(?:[0-9A-CE-Fa-ce-f][0-9A-Fa-f]{3}|[Dd][0-7][0-9A-Fa-f]{2}|[Dd][8-9A-Ba-b][0-9A-Fa-f]{2}\\u[Dd][C-Fc-f][0-9A-Fa-f]{2})))*"/
    REFERENCE: /\$[\x2E0-9A-Z\x5Fa-z]+/
    NEXT: /[\x09\x20-\x3FA-\x7E\u00A0-\u00AC\u00AE-\u061B\u061D-\u200A\u2010-\u2027\u202F-\u205F\u2070-\uD7FF\uE000-\uFEFE\uFF00-\uFFF8\uFFFC-\U000DFFFF\U000E0080-\U0010FFFF][\x09\x20-\x7E\u00A0-\u00AC\u00AE-\u061B\u061D-\u200A\u2010-\u2027\u202F-\u205F\u2070-\uD7FF\uE000-\uFEFE\uFF00-\uFFF8\uFFFC-\U000DFFFF\U000E0080-\U0010FFFF]*/
    AGENT: /[\x2D0-9A-Z\x5Fa-z]+/
    "#);
    let misuse = "error: a view has no metadata and no JSON form; leave out --envelope, and take --format lark, gbnf or regex";
    for args in ["--format json-schema", "--envelope --format=lark"] {
        let error = refused(REGISTRY, ("--form view", args));
        assert_eq!(error, format!("2 {misuse}\n"));
    }
}

#[test]
fn lark_of_several_frames_with_metadata() {
    let frames = "--frame done:report --frame req:report";
    let text = written(("--format lark --envelope", frames));
    let lines = |name: &str| {
        let line = text.lines().find(|line| line.starts_with(name));
        line.unwrap_or_default().to_owned()
    };
    insta::assert_snapshot!(lines("frame:"), @"frame: req_report_rp | done_report_rp");
    insta::assert_snapshot!(lines("req_report_rp:"), @r#"req_report_rp: "req:report{" "title:" given_string "|" ("lines:" list_of_record_ln_5 "|")? ("trend:" enum_up_down_value "|")? "schema:RP}" "[" "mid:" SCALAR "," "seq:" NATURAL ("," "ts:" INTEGER)? ("," "cid:" SCALAR)? ("," "aid:" SCALAR)? ("," "sid:" SCALAR)? ("," "ttl:" INTEGER)? "]""#);
}

#[test]
fn gbnf() {
    let text = written("--format gbnf --frame done:report");
    insta::assert_snapshot!(text, @r#"
    # The frames of a registry, by `accp grammar export --format gbnf`; do not edit.

    root ::= "@" agent ">" frame
    frame ::= done-report-rp
    done-report-rp ::= "done:report{" "title:" given-string "|" "lines:" given-list-of-record-ln-5 "|" ("trend:" enum-up-down-value "|")? "schema:RP}" "[" "cid:" scalar "]"
    given-string ::= scalar | reference
    given-list-of-record-ln-5 ::= "[" (given-record-ln-4 ("," given-record-ln-4)*)? "]" | reference
    given-record-ln-4 ::= "{" ("name:" string-value ("," "sure:" boolean-value)? | "sure:" boolean-value)? "}" | reference
    string-value ::= scalar | "~" | reference
    boolean-value ::= "true" | "false" | "~" | reference
    enum-up-down-value ::= "+" | "-" | "~" | reference
    scalar ::= ([\x21-\x23\x25-\x2B\x2D-9\x3B-\x3D\x3FA-Z\x5E-z] | "\\" [\x24\x2C\x3A\x3E\x40\x5B-\x5D\x7B-\x7E])+
    reference ::= "$" [\x2E0-9A-Z\x5Fa-z]+
    agent ::= [\x2D0-9A-Z\x5Fa-z]+
    "#);
}

#[test]
fn regex() {
    let text = written("--format regex --frame req:report");
    insta::assert_snapshot!(text, @r"@[\x2D0-9A-Z\x5Fa-z]+>req:report\{title:(?:(?:[\x21-\x23\x25-\x2B\x2D-9\x3B-\x3D\x3FA-Z\x5E-z]|\\[\x24\x2C\x3A\x3E\x40\x5B-\x5D\x7B-\x7E])+|\$[\x2E0-9A-Z\x5Fa-z]+)\|(?:lines:(?:\[(?:(?:\{(?:name:(?:(?:[\x21-\x23\x25-\x2B\x2D-9\x3B-\x3D\x3FA-Z\x5E-z]|\\[\x24\x2C\x3A\x3E\x40\x5B-\x5D\x7B-\x7E])+|~|\$[\x2E0-9A-Z\x5Fa-z]+)(?:,sure:(?:true|false|~|\$[\x2E0-9A-Z\x5Fa-z]+))?|sure:(?:true|false|~|\$[\x2E0-9A-Z\x5Fa-z]+))?\}|\$[\x2E0-9A-Z\x5Fa-z]+)(?:,(?:\{(?:name:(?:(?:[\x21-\x23\x25-\x2B\x2D-9\x3B-\x3D\x3FA-Z\x5E-z]|\\[\x24\x2C\x3A\x3E\x40\x5B-\x5D\x7B-\x7E])+|~|\$[\x2E0-9A-Z\x5Fa-z]+)(?:,sure:(?:true|false|~|\$[\x2E0-9A-Z\x5Fa-z]+))?|sure:(?:true|false|~|\$[\x2E0-9A-Z\x5Fa-z]+))?\}|\$[\x2E0-9A-Z\x5Fa-z]+))*)?\]|~|\$[\x2E0-9A-Z\x5Fa-z]+)\|)?(?:trend:(?:\+|-|~|\$[\x2E0-9A-Z\x5Fa-z]+)\|)?schema:RP\}");
}

#[test]
fn json_schema() {
    let text = written("--format json-schema --frame req:report");
    insta::assert_snapshot!(text, @r##"
    {
      "$schema": "https://json-schema.org/draft/2020-12/schema",
      "$comment": "The frames of a registry, by `accp grammar export --format json-schema`; do not edit.",
      "anyOf": [
        {
          "type": "object",
          "properties": {
            "agent": {
              "type": "string",
              "pattern": "^(?:[\\x2D0-9A-Z\\x5Fa-z]+)$"
            },
            "intent": {
              "const": "req"
            },
            "operation": {
              "const": "report"
            },
            "schema": {
              "const": "RP"
            },
            "payload": {
              "type": "object",
              "properties": {
                "title": {
                  "anyOf": [
                    {
                      "type": "string"
                    },
                    {
                      "$ref": "#/$defs/reference"
                    }
                  ]
                },
                "lines": {
                  "anyOf": [
                    {
                      "type": "array",
                      "items": {
                        "$ref": "#/$defs/record_LN_4_given"
                      }
                    },
                    {
                      "$ref": "#/$defs/null_or_reference"
                    }
                  ]
                },
                "trend": {
                  "anyOf": [
                    {
                      "enum": [
                        "up",
                        "down"
                      ]
                    },
                    {
                      "$ref": "#/$defs/null_or_reference"
                    }
                  ]
                }
              },
              "required": [
                "title"
              ],
              "additionalProperties": false
            }
          },
          "required": [
            "agent",
            "intent",
            "operation",
            "schema",
            "payload"
          ],
          "additionalProperties": false
        }
      ],
      "$defs": {
        "null_or_reference": {
          "anyOf": [
            {
              "type": "null"
            },
            {
              "type": "object",
              "properties": {
                "$ref": {
                  "type": "string",
                  "pattern": "^(?:[\\x2E0-9A-Z\\x5Fa-z]+)$"
                }
              },
              "required": [
                "$ref"
              ],
              "additionalProperties": false
            }
          ]
        },
        "record_LN_4_given": {
          "anyOf": [
            {
              "type": "object",
              "properties": {
                "name": {
                  "anyOf": [
                    {
                      "type": "string"
                    },
                    {
                      "$ref": "#/$defs/null_or_reference"
                    }
                  ]
                },
                "sure": {
                  "anyOf": [
                    {
                      "type": "boolean"
                    },
                    {
                      "$ref": "#/$defs/null_or_reference"
                    }
                  ]
                }
              },
              "required": [],
              "additionalProperties": false
            },
            {
              "$ref": "#/$defs/reference"
            }
          ]
        },
        "reference": {
          "type": "object",
          "properties": {
            "$ref": {
              "type": "string",
              "pattern": "^(?:[\\x2E0-9A-Z\\x5Fa-z]+)$"
            }
          },
          "required": [
            "$ref"
          ],
          "additionalProperties": false
        }
      }
    }
    "##);
}

#[test]
fn the_standard_profiles_are_the_default() {
    accp("grammar export --format lark", "")
        .code_is(0)
        .stdout_has("req_schedule_ta: ");
    let both = written("--format lark");
    assert!(both.contains("req_schedule_ta: ") && both.contains("req_report_rp: "));
}

#[test]
fn it_goes_to_a_file() {
    let folder = Folder::with(&[]);
    let export = "grammar export --format lark";
    let run = folder.run((export, "-o frames.lark"), "");
    assert_eq!((run.code, run.stdout.as_str()), (Some(0), ""));
    let to_stdout = folder.run(export, "");
    assert_eq!(folder.read("frames.lark"), to_stdout.stdout);
}

/// Returns the exit code and the error of an export that must fail.
fn refused(registry: &str, args: impl Words) -> String {
    let run = export(registry, args);
    assert_eq!(run.stdout, "");
    format!("{} {}", run.code.unwrap_or_default(), run.stderr)
}

#[test]
fn a_frame_that_is_not_there() {
    let near = refused(REGISTRY, "--format lark --frame req:reprot");
    insta::assert_snapshot!(near, @"2 error: there is no frame `req:reprot`; did you mean `req:report`?");
    let far = refused(REGISTRY, "--format lark --frame plan");
    insta::assert_snapshot!(far, @"2 error: there is no frame `plan`; the registry has done:chat, done:execute, done:report, done:schedule, done:tool, done:transaction, fail:error, req:chat, req:execute, req:report, req:schedule, req:tool, req:transaction, stream:infer");
}

#[test]
fn a_format_that_there_is_not() {
    insta::assert_snapshot!(refused(REGISTRY, "--format bnf"), @r"
    2 error: invalid value 'bnf' for '--format <FORMAT>'
      [possible values: lark, gbnf, regex, json-schema]

      tip: a similar value exists: 'gbnf'

    For more information, try '--help'.
    ");
    insta::assert_snapshot!(refused(REGISTRY, ""), @r"
    2 error: the following required arguments were not provided:
      --format <FORMAT>

    Usage: accp grammar export --format <FORMAT> --registry <PATH>

    For more information, try '--help'.
    ");
}

#[test]
fn a_registry_at_fault() {
    let faulty = REGISTRY.replace("[LN]", "[LM]");
    insta::assert_snapshot!(refused(&faulty, "--format gbnf"), @r"
    1 error: ours.json:4:37 at /schemas/report/types/lines: `LM` is neither a type nor the code of a schema
        did you mean `LN`?
    ");
    accp("grammar export --format gbnf --registry no-such.json", "").code_is(2);
    let underscore = REGISTRY
        .replace(r#""sure"]"#, r#""_"]"#)
        .replace(r#""sure":"#, r#""_":"#);
    insta::assert_snapshot!(refused(&underscore, "--format gbnf"), @"
    1 error: ours.json:11:48 at /schemas/line/fields/1: a field cannot be called `_`
        `_` is the key of the pairs in a map; take another name
    ");
}

#[test]
fn a_depth_that_does_not_do() {
    let flat = refused(REGISTRY, "--format lark --depth 1");
    insta::assert_snapshot!(flat, @"2 error: the field `RP.lines` of type [LN] needs 2 levels of arrays and maps, the grammar has 1; take a depth of 2");
    let tree = REGISTRY.replace(r#""sure": "boolean""#, r#""sure": "[LN]""#);
    insta::assert_snapshot!(refused(&tree, "--format regex"), @"2 error: the field `RP.lines` of type [LN] needs any number of levels of arrays and maps, the grammar has 2; take a depth of 5, the most that decoders read");
    // A schema whose 120 fields all hold records of itself has 120^5 paths of five levels.
    let fields = (0..120).map(|field| format!(r#""f{field}""#));
    let fields: Vec<_> = fields.collect();
    let types = fields.iter().map(|field| format!(r#"{field}: "WD""#));
    let types: Vec<_> = types.collect();
    let wide = format!(
        r#"{{ "schemas": {{ "wide": {{ "code": "WD", "fields": [{}], "types": {{ {} }},
            "frames": [{{ "intent": "req", "operation": "widen" }}] }} }} }}"#,
        fields.join(", "),
        types.join(", ")
    );
    let since = Instant::now();
    let wide = refused(&wide, "--format regex --frame req:widen");
    let (took, most) = (since.elapsed(), Duration::from_secs(20));
    assert!(took < most, "{took:?}");
    insta::assert_snapshot!(wide, @"2 error: the field `WD.f0` of type WD needs any number of levels of arrays and maps, the grammar has 2; take a depth of 5, the most that decoders read");
    insta::assert_snapshot!(refused(REGISTRY, "--format regex --depth 5"), @"2 error: the regular expression would have 767990 bytes, but engines take at most 262144; take a lower depth, fewer frames, or another format");
    let beyond = refused(REGISTRY, "--format lark --depth 6");
    insta::assert_snapshot!(beyond, @r"
    2 error: invalid value '6' for '--depth <N>': 6 is not in 0..=5

    For more information, try '--help'.
    ");
}

/// A model chooses a variant first. If only `cash` could begin with `kind`, a constrained model that means `card` would
/// write `cash`.
#[test]
fn the_tag_of_a_union_may_come_first() {
    let registry = r#"{ "schemas": {
        "payment": { "code": "PM", "fields": ["amount", "kind", "iban"],
            "types": { "amount": "decimal", "iban": "string" }, "union": "kind",
            "variants": [{ "name": "card", "fields": ["amount"], "required": ["iban"] }, { "name": "cash" }] },
        "paying": { "code": "PY", "fields": ["pay"], "types": { "pay": "PM" }, "required": ["pay"],
            "frames": [{ "intent": "req", "operation": "pay" }] }
    } }"#;
    let text = |args: &str| export(registry, (args, "--frame req:pay")).stdout;

    let gbnf = text("--format gbnf");
    let written = r#""{" ("amount:" decimal-value ",")? "iban:" given-string "," "kind:card" "}""#;
    let led = r#""{" "kind:card" ("," "amount:" decimal-value)? "," "iban:" given-string "}""#;
    let cash = r#""{" "kind:cash" "}""#;
    let all = format!("{written} | {led} | {cash}");
    assert!(gbnf.contains(&all), "{gbnf}");

    // A primer names the tag and then the fields in the order of the schema.
    let view = text("--form view --format lark");
    let led = r#""{" "kind:" "card" ("," "amount:" value_decimal_0)? "," "iban:" given_value_string_0 "}""#;
    assert!(view.contains(led), "{view}");

    // Constrained decoders write the keys of JSON in the order of the schema.
    let folder = Folder::with(&[("ours.json", registry)]);
    let tools = folder.run("generate ours.json --tools anthropic", "");
    let tools: Json = serde_json::from_str(&tools.stdout).unwrap();
    let schema: Json = serde_json::from_str(&text("--format json-schema")).unwrap();
    for options in [
        &tools[0]["input_schema"]["properties"]["pay"]["anyOf"],
        &schema["$defs"]["record_PM_5_given"]["anyOf"],
    ] {
        let properties = options[0]["properties"].as_object().unwrap();
        let keys: Vec<_> = properties.keys().collect();
        assert_eq!(keys, ["kind", "amount", "iban"]);
    }
}

#[test]
fn export_and_the_options_of_grammar_do_not_mix() {
    accp("grammar --abnf export --format lark", "").code_is(2);
}

const WORDS: &str = "words = word *( \",\" word )\nword = *ALPHA\n";

#[test]
fn a_grammar_of_ones_own() {
    let folder = Folder::with(&[("words.abnf", WORDS)]);
    let run = folder.run("grammar words.abnf -o words.pest", "");
    assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""));
    let pest = folder.read("words.pest");
    assert!(
        pest.starts_with("// Generated by `accp grammar words.abnf -o words.pest` from words.abnf. Do not edit.\n"),
        "{pest}"
    );
    assert!(pest.contains("word = { ALPHA* }"), "{pest}");
    for check in [
        "grammar words.abnf -o words.pest --check",
        "grammar --check words.abnf -o words.pest",
        "grammar words.abnf --check words.pest",
    ] {
        let run = folder.run(check, "");
        assert_eq!(
            (run.code, run.stdout.as_str(), run.stderr.as_str()),
            (Some(0), "", "")
        );
    }
    std::fs::write(folder.path("words.abnf"), WORDS.replace("ALPHA", "DIGIT")).unwrap();
    folder
        .run("grammar words.abnf -o words.pest --check", "")
        .code_is(1)
        .stderr_has("words.pest:6:")
        .stderr_has("run `accp grammar words.abnf -o words.pest`");
    assert_eq!(folder.read("words.pest"), pest);
}

#[test]
fn mistakes_in_a_grammar_of_ones_own() {
    let folder = Folder::with(&[
        ("x.abnf", "r = s\ns = *\"x\" \"x\"\n"),
        ("x.overrides", "s as 1*\"x\" ; the same\n"),
        ("bad.overrides", "\ns as *\"x\" ; not the same\n"),
        ("latin.abnf", "r = \"x\"\n"),
    ]);
    let run = folder.run("grammar x.abnf", "");
    assert_eq!((run.code, run.stdout.as_str()), (Some(1), ""));
    run.stderr_has("x.abnf:2: `s`: `*\"x\"` takes all it can");
    let run = folder.run("grammar x.abnf --overrides x.overrides", "");
    run.code_is(0);
    run.stdout_has("s = { ^\"x\"+ }");
    let run = folder.run("grammar x.abnf --overrides bad.overrides", "");
    run.code_is(1);
    run.stderr_has("bad.overrides:2: `s`: `as` has the text \"\"");

    std::fs::write(folder.path("latin.abnf"), b"r = \"\xE9\"\n").unwrap();
    let run = folder.run("grammar latin.abnf", "");
    run.code_is(1);
    run.stderr_has("byte 5 is not UTF-8; save the file as UTF-8");
    for misuse in [
        "grammar x.abnf --check",
        "grammar --overrides x.overrides",
        "grammar x.abnf --aacp",
        "grammar -o x.pest",
    ] {
        folder.run(misuse, "").code_is(2);
    }
}
