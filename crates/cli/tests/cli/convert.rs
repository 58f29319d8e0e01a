//! Tests of `accp convert`.

use std::fs;

use serde_json::{Value as Json, json};

use crate::cli::{Folder, accp, workspace};

fn example() -> String {
    fs::read_to_string(workspace().join("examples/bakery.jsonl")).unwrap()
}

fn lines(text: &str) -> Vec<Json> {
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

/// A conversation with a tool result and a tool schema that do not fit a frame.
fn awkward() -> String {
    let mut deep = json!("leaf");
    for _ in 0..8 {
        deep = json!({ "in": deep });
    }
    let conversation = json!({
        "id": "awkward", "tools": [{ "parameters": deep }],
        "messages": [
            { "role": "user", "content": "é".repeat(40_000) },
            { "role": "tool", "tool_call_id": "c1", "name": "log", "content": "line\n".repeat(30) },
        ],
    });
    conversation.to_string() + "\n"
}

#[test]
fn the_example_comes_back_equal() {
    let folder = Folder::with(&[("in.jsonl", &example())]);
    let run = folder.run("convert in.jsonl -o out.accp", "");
    assert_eq!((run.code, run.stdout.as_str()), (Some(0), ""));
    let frames = folder.read("out.accp");
    assert_eq!(frames.lines().count(), 21);
    let call = "@assistant>req:tool{tool:stock|args:{item:rye_flour,unit:kg}";
    assert!(
        frames.lines().any(|frame| frame.starts_with(call)),
        "{frames}"
    );
    folder.run("check out.accp", "").code_is(0);

    let run = folder.run("convert --restore out.accp", "");
    assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""));
    assert_eq!(lines(&run.stdout), lines(&example()));
}

#[test]
fn the_summary_as_json_has_these_keys() {
    let run = accp("convert --verify --format json", awkward());
    assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""));
    let summary = &run.json()[0];
    for (key, count) in [
        ("conversations", 1),
        ("restored_equal", 1),
        ("frames", 3),
        ("externalised", 3),
    ] {
        assert_eq!(summary[key], count, "{key}");
    }
    assert_eq!(
        summary["reasons"],
        json!({ "characters": 1, "depth": 1, "limit": 1 })
    );
    let tokens = &summary["tokens"];
    for key in ["json", "frames", "without_envelope", "externalised"] {
        assert!(
            tokens[key].as_u64().is_some_and(|tokens| tokens > 0),
            "{key}"
        );
    }
    assert!(tokens["without_envelope"].as_u64() < tokens["frames"].as_u64());
    let share = summary["inline_share"].as_f64().unwrap();
    assert!(share > 0.0 && share < 0.1, "{share}");
}

#[test]
fn what_does_not_fit_goes_to_the_side_file_and_comes_back() {
    let folder = Folder::with(&[("in.jsonl", &awkward())]);
    folder.run("convert in.jsonl -o out.accp", "").code_is(0);
    let side = lines(&folder.read("out.accp.externals.jsonl"));
    let reasons: Vec<_> = side
        .iter()
        .map(|record| record["reason"].as_str().unwrap())
        .collect();
    assert_eq!(reasons, ["depth", "limit", "characters"]);
    let run = folder.run("convert --restore out.accp", "");
    assert_eq!(lines(&run.stdout), lines(&awkward()));

    // If the file of values is missing or was changed, the command writes nothing.
    let text = folder.read("out.accp.externals.jsonl");
    fs::write(
        folder.path("out.accp.externals.jsonl"),
        text.replacen("line", "lime", 1),
    )
    .unwrap();
    let run = folder.run("convert --restore out.accp -o back.jsonl", "");
    run.code_is(1);
    run.stderr_has("out.accp.externals.jsonl:3");
    fs::remove_file(folder.path("out.accp.externals.jsonl")).unwrap();
    let run = folder.run("convert --restore out.accp -o back.jsonl", "");
    run.code_is(1);
    assert!(
        run.stderr.contains("out.accp:1: ") && run.stderr.contains("--externals"),
        "{}",
        run.stderr
    );
    assert_eq!(folder.names(), ["in.jsonl", "out.accp"]);
}

#[test]
fn long_values_to_stdout_need_a_side_file_or_inline() {
    let run = accp("convert", awkward());
    assert_eq!((run.code, run.stdout.as_str()), (Some(2), ""));
    assert!(
        run.stderr.contains("stdin:1: ") && run.stderr.contains("--externals FILE"),
        "{}",
        run.stderr
    );
    let log = json!([{ "role": "tool", "content": "x y ".repeat(20) }]).to_string();
    let run = accp("convert --inline", log);
    assert_eq!((run.code, run.stdout.lines().count()), (Some(0), 2));
}

/// For a file that is not a conversation, or is cut, the error names the place and the cure, and
/// nothing is written.
#[test]
fn a_faulty_file_is_told_by_its_place() {
    let whole = example();
    let cut = &whole[..whole.len() - 200];
    let start_of_line_2 = whole.find('\n').unwrap() + 1;
    for (text, place, cure) in [
        (
            "Dear all,\nplease find attached\n",
            "in.jsonl:1:",
            "one object a line with `messages`",
        ),
        (cut, "in.jsonl:2:", "the file is cut"),
        (
            &whole[..start_of_line_2 - 30],
            "in.jsonl:1:",
            "the file is cut",
        ),
        (
            "{\"messages\":[]}\n{\"role\":\"user\",\"content\":\"hi\"}\n",
            "in.jsonl:2:",
            "an object whose `messages`",
        ),
        (
            "{\"messages\":[\"hi\"]}",
            "in.jsonl:1:",
            "an object with `role` and `content`",
        ),
        ("[1,2", "in.jsonl:1:", "the file is cut"),
    ] {
        let folder = Folder::with(&[("in.jsonl", text)]);
        let run = folder.run("convert in.jsonl -o out.accp", "");
        assert_eq!((run.code, run.stdout.as_str()), (Some(1), ""), "{text}");
        assert!(
            run.stderr.contains(place) && run.stderr.contains(cure),
            "{}",
            run.stderr
        );
        assert_eq!(folder.names(), ["in.jsonl"]);
    }
}

/// If a frame is cut or missing, the command refuses the frames, and does not restore a shorter conversation.
#[test]
fn cut_frames_are_noticed() {
    let folder = Folder::with(&[("in.jsonl", &example())]);
    folder.run("convert in.jsonl -o out.accp", "").code_is(0);
    let frames = folder.read("out.accp");
    let lines: Vec<&str> = frames.lines().collect();
    let without = |at: usize| {
        let mut lines = lines.clone();
        lines.remove(at);
        lines.join("\n") + "\n"
    };
    for (text, cure) in [
        (frames[..frames.len() - 40].to_owned(), "E1001"),
        (without(lines.len() - 1), "the file is cut"),
        (without(3), "lines are missing"),
        (without(0), "{..}` first, as `accp convert` writes it"),
        (frames.replacen("@owner", "owner", 1), "E1001"),
    ] {
        let folder = Folder::with(&[("out.accp", &text)]);
        let run = folder.run("convert --restore out.accp -o back.jsonl", "");
        run.code_is(1);
        assert!(
            run.stderr.contains("out.accp:") && run.stderr.contains(cure),
            "{cure}: {}",
            run.stderr
        );
        assert_eq!(folder.names(), ["out.accp"]);
    }
}

#[test]
fn a_missing_file_is_a_failure() {
    let run = accp("convert --verify no-such-file.jsonl", "");
    assert_eq!((run.code, run.stdout.as_str()), (Some(2), ""));
    run.stderr_has("no-such-file.jsonl");
}

#[test]
fn documents_show_what_the_command_prints() {
    let run =
        Folder::with(&[("bakery.jsonl", &example())]).run("convert --verify bakery.jsonl", "");
    run.code_is(0);
    let page = fs::read_to_string(workspace().join("docs/howto/convert.md")).unwrap();
    assert!(
        page.contains(&run.stdout),
        "docs/howto/convert.md should show:\n{}",
        run.stdout
    );
    // The README has these token counts.
    let tokens = ["compact JSON", "frames", "frames without envelope"].map(|name| {
        let mut lines = run.stdout.lines().map(str::trim_start);
        let line = lines.rfind(|line| line.starts_with(&format!("{name}  ")));
        let figure = line.unwrap()[name.len()..].split_whitespace().next();
        figure.unwrap().to_owned()
    });
    let [json, frames, bare] = tokens;
    let sentence = format!(
        "{json} tokens of compact JSON are {frames} in frames, and {bare} without envelopes."
    );
    let readme = fs::read_to_string(workspace().join("README.md")).unwrap();
    let words: Vec<_> = readme.split_whitespace().collect();
    let readme = words.join(" ");
    assert!(
        readme.contains(&sentence),
        "README.md should say: {sentence}"
    );
}

/// The command refuses frames in a wrong order, and a frame that occurs twice.
#[test]
fn shuffled_frames_are_noticed() {
    let frames = accp("convert", example()).stdout;
    let mut lines: Vec<&str> = frames.lines().collect();
    lines.swap(2, 3);
    accp("convert --restore", lines.join("\n") + "\n")
        .code_is(1)
        .stderr_has("expected the frame with seq:3");
}

#[test]
fn a_file_is_not_read_and_written_at_once() {
    for arguments in [
        "convert in.jsonl -o in.jsonl",
        "convert in.jsonl -o out --externals out",
        "convert in.jsonl -o out --externals ./in.jsonl",
    ] {
        let folder = Folder::with(&[("in.jsonl", &awkward())]);
        folder
            .run(arguments, "")
            .code_is(2)
            .stderr_has("is named twice");
        assert_eq!(
            (folder.read("in.jsonl"), folder.names()),
            (awkward(), vec!["in.jsonl".to_owned()])
        );
    }
}

/// For frames that were printed before a fault, the side file has all values.
#[test]
fn what_is_printed_leads_somewhere() {
    let folder = Folder::with(&[]);
    let input = awkward() + "{\"messages\":[\n";
    let run = folder.run("convert --externals side.jsonl", &input);
    assert_eq!(
        (run.code, run.stdout.lines().count()),
        (Some(1), 3),
        "{}",
        run.stderr
    );
    assert_eq!(folder.read("side.jsonl").lines().count(), 3);
    let run = folder.run("convert --restore --externals side.jsonl", &run.stdout);
    assert_eq!(lines(&run.stdout), lines(&awkward()));
}

#[test]
fn an_array_of_conversations_is_several() {
    let array = format!("[{}]", example().trim_end().replace('\n', ","));
    let run = accp("convert --verify --format json", array);
    assert_eq!(
        (
            run.json()[0]["conversations"].as_u64(),
            run.json()[0]["restored_equal"].as_u64()
        ),
        (Some(2), Some(2))
    );
}
