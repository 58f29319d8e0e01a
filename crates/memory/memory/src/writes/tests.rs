use serde_json::{Value as Json, json};

use super::*;
use crate::parsed::ParsedResult;

fn of(tool: &str, arguments: &Json) -> Option<Write> {
    Writes::default().of(tool, arguments)
}

fn texts(write: &Write, arguments: &Json) -> Vec<String> {
    let texts = write.texts.iter();
    let texts = texts.map(|place| place.value(arguments).unwrap().as_str().unwrap());
    texts.map(str::to_owned).collect()
}

#[test]
fn known_tools_write_whatever_their_spelling() {
    for tool in [
        "write_file",
        "WriteFile",
        "write-file",
        "mcp__files__write_file",
        "fs.write_file",
    ] {
        let arguments = json!({ "path": "a.md", "content": "x" });
        let write = of(tool, &arguments).unwrap();
        assert_eq!(write.paths, ["a.md"], "{tool}");
        assert_eq!(write.whole.as_deref(), Some("x"), "{tool}");
        assert!(!write.edits, "{tool}");
        assert_eq!(texts(&write, &arguments), ["x"], "{tool}");
    }
}

#[test]
fn edits_have_all_their_texts_and_no_whole() {
    let arguments = json!({ "file_path": "a.rs", "edits": [
        { "old_string": "1", "new_string": "2" }, { "old_string": "3", "new_string": "4" }] });
    let write = of("MultiEdit", &arguments).unwrap();
    assert_eq!(
        (write.paths, write.whole, write.edits),
        (vec!["a.rs".to_owned()], None, true)
    );
    let arguments = json!({ "notebook_path": "n.ipynb", "new_source": "plot()", "cell_id": "c" });
    for tool in ["NotebookEdit", "notebook_edit_cell"] {
        let write = of(tool, &arguments).unwrap();
        assert_eq!(texts(&write, &arguments), ["plot()"]);
        assert!(write.edits);
    }
}

#[test]
fn an_editor_does_what_its_command_says() {
    let call = |command: &str| json!({ "command": command, "path": "/a", "file_text": "whole", "new_str": "n" });
    for tool in [
        "str_replace_editor",
        "str_replace_based_edit_tool",
        "fs_write",
    ] {
        assert_eq!(of(tool, &call("view")), None);
        assert_eq!(of(tool, &call("create")).unwrap().whole.unwrap(), "whole");
        let edit = of(tool, &call("str_replace")).unwrap();
        assert!(edit.edits && edit.whole.is_none());
        assert!(of(tool, &call("insert")).unwrap().edits);
    }
}

#[test]
fn a_patch_names_its_files() {
    let patch = "*** Begin Patch\n*** Update File: src/a.rs\n@@\n-x\n+*** Add File: no\n*** Add File: b.md\n+b\n*** \
                 Delete File: c\n*** End Patch";
    for arguments in [
        json!({ "input": patch }),
        json!(patch),
        json!({ "patch": patch }),
    ] {
        let write = of("apply_patch", &arguments).unwrap();
        assert_eq!(write.paths, ["src/a.rs", "b.md", "c"]);
        assert_eq!(texts(&write, &arguments), [patch]);
        assert!(write.edits);
    }
    let diff = "--- a/x.py\n+++ b/x.py\n@@ -1 +1 @@\n-a\n+b\n--- a/gone\n+++ /dev/null\n";
    assert_eq!(
        of("apply_patch", &json!({ "patch": diff })).unwrap().paths,
        ["x.py", "gone"]
    );
    let add =
        json!({ "input": "*** Begin Patch\n*** Add File: n.md\n+one\n+\n+two\n*** End Patch" });
    let write = of("apply_patch", &add).unwrap();
    assert_eq!(
        (write.whole.as_deref(), write.edits),
        (Some("one\n\ntwo\n"), false)
    );
    let item = json!({ "type": "update_file", "path": "p.py", "diff": "@@\n-a\n+b" });
    assert_eq!(of("apply_patch", &item).unwrap().paths, ["p.py"]);
}

#[test]
fn an_unknown_tool_writes_if_it_has_a_path_and_a_long_text() {
    let long = "line\n".repeat(40);
    assert_eq!(
        of("stash", &json!({ "path": "a", "content": long }))
            .unwrap()
            .paths,
        ["a"]
    );
    assert_eq!(
        of("stash", &json!({ "path": "a", "content": "short" })),
        None
    );
    assert_eq!(of("stash", &json!({ "content": long })), None);
    assert_eq!(
        of("search_file", &json!({ "path": "a", "text": long })),
        None
    );
    assert_eq!(
        of("send_email", &json!({ "file": "a", "body": long })),
        None
    );
    assert_eq!(of("stash", &json!(long)), None);
    assert_eq!(of("stash", &Json::Null), None);
}

#[test]
fn many_files_of_one_call_are_all_named() {
    let arguments = json!({ "files": [
        { "path": "a", "content": "1" }, { "path": "b", "content": "2" }] });
    let write = of("push_files", &arguments).unwrap();
    assert_eq!(write.paths, ["a", "b"]);
    assert_eq!(texts(&write, &arguments), ["1", "2"]);
    assert_eq!(write.whole, None);
}

#[test]
fn schemas_and_users_add_tools() {
    let schema = json!([
        { "type": "function", "function": { "name": "draft", "parameters": { "properties": {
            "file_path": { "type": "string" }, "body": { "type": "string" } } } } },
        { "name": "glance", "input_schema": { "properties": { "path": { "type": "string" } } } },
        7,
    ]);
    let writes = Writes::default().with_schemas(&schema);
    let call = json!({ "file_path": "a", "body": "b" });
    assert_eq!(writes.of("draft", &call).unwrap().whole.unwrap(), "b");
    assert_eq!(writes.of("glance", &json!({ "path": "a" })), None);
    let user = r#"{"tools":[{"name":"Put","path":"to.where","texts":["parts.body"]}]}"#;
    let writes = Writes::default().with(user).unwrap();
    let call = json!({ "to": { "where": "a" }, "parts": [{ "body": "x" }, { "body": "y" }] });
    let write = writes.of("put", &call).unwrap();
    assert_eq!((write.paths, write.texts.len()), (vec!["a".to_owned()], 2));
}

#[test]
fn a_users_file_is_refused_with_its_place() {
    let refused = |json: &str| Writes::default().with(json).unwrap_err().to_string();
    for (json, text) in [
        (
            r#"{"tools":[{"name":"..","path":"p","texts":["t"]}]}"#,
            "tools[0].name",
        ),
        (
            r#"{"tools":[{"name":"a","path":"","texts":["t"]}]}"#,
            "tools[0].path",
        ),
        (
            r#"{"tools":[{"name":"a","path":"p","texts":[""]}]}"#,
            "tools[0].texts",
        ),
        (
            r#"{"tools":[{"name":"a","path":"p"}]}"#,
            "missing field `texts`",
        ),
        (r#"{"tools":[{"nane":"a"}]}"#, "unknown field `nane`"),
        ("[]", "expected"),
    ] {
        assert!(refused(json).contains(text), "{}", refused(json));
    }
}

#[test]
fn a_result_says_success_failure_or_neither() {
    let said = |text: &str| {
        reported(&ParsedResult {
            id: String::new(),
            tool: None,
            text: text.to_owned(),
            failed: false,
        })
    };
    for (text, expected) in [
        ("File created successfully at: /a/error.rs", Some(true)),
        (
            "The file src/errors/failed_login.py has been edited successfully.",
            Some(true),
        ),
        (
            "The file /a has been edited. Here's the result of running `cat -n` on a snippet of /a:\n 1 raise \
          Error('failed')",
            Some(true),
        ),
        ("Wrote 120 bytes, 0 errors", Some(true)),
        ("Saved without errors.", Some(true)),
        ("Updated a.md. Errors: 0", Some(true)),
        ("ok", Some(true)),
        ("Done.", Some(true)),
        ("OK!", Some(true)),
        (r#"{"ok":true}"#, Some(true)),
        (r#"{"status":"success","error":null}"#, Some(true)),
        (r#"{"status":201}"#, Some(true)),
        (r#"{"exit_code":0,"output":""}"#, Some(true)),
        (r#"{"result":{"success":true}}"#, Some(true)),
        ("Process finished.\nexit code: 0", Some(true)),
        ("Applied 3 of 3 edits", Some(true)),
        ("successfully failed to write", Some(false)),
        ("Error: file written partially", Some(false)),
        ("File written partially", Some(false)),
        ("Applied 2 of 3 edits", Some(false)),
        ("0 files updated", Some(false)),
        ("Replaced 0 occurrences", Some(false)),
        ("Hunk #1 FAILED at 3. 1 out of 2 hunks failed", Some(false)),
        ("File was not created", Some(false)),
        ("No such file or directory: a.md", Some(false)),
        ("old_str did not match", Some(false)),
        (
            "No replacement was performed, old_str `x` did not appear verbatim",
            Some(false),
        ),
        ("Permission denied", Some(false)),
        ("You don't have permission to write here", Some(false)),
        (
            "Created temp file\nTraceback (most recent call last):\n  x",
            Some(false),
        ),
        ("Written.\nexit code: 1", Some(false)),
        ("Command exited with 2", Some(false)),
        ("subprocess returned non-zero exit status 1", Some(false)),
        (r#"{"success":true,"error":"disk full"}"#, Some(false)),
        (r#"{"status":"ok","result":{"success":false}}"#, Some(false)),
        (r#"{"exit_code":1,"message":"updated"}"#, Some(false)),
        (r#"{"status":403}"#, Some(false)),
        (r#"{"errors":["x"]}"#, Some(false)),
        ("The file couldn\u{2019}t be saved", Some(false)),
        ("Dry run: a.md updated", Some(false)),
        ("false", Some(false)),
        ("", None),
        ("a.md", None),
        ("The file will be updated later", None),
        ("Shall the file be created?", None),
        ("Is it saved?", None),
        ("Last updated 2020", None),
        (r#"{"error":null}"#, None),
        (r#"{"id":7}"#, None),
        ("[1,2]", None),
        ("Would have written 3 lines", None),
        ("/tmp/created/written.md", None),
    ] {
        assert_eq!(said(text), expected, "{text}");
    }
    let failed = ParsedResult {
        id: String::new(),
        tool: None,
        text: "created".to_owned(),
        failed: true,
    };
    assert_eq!(reported(&failed), Some(false));
}
