//! `accp-lab bench`.

mod rivals;

use serde_json::{Value as Json, json};

use crate::{Folder, Run, accp, workspace};

/// A booking whose last call needs values that the user and a tool have said.
fn booking() -> Json {
    let call = |name: &str, arguments: Json| {
        json!({ "role": "assistant", "content": null, "tool_calls": [
            { "id": "c1", "name": name, "arguments": arguments }] })
    };
    let rows = json!([
        { "slot": "K17", "day": "2024-05-20", "price": 118 },
        { "slot": "K18", "day": "2024-05-21", "price": 264 },
    ]);
    json!({ "id": "booking", "messages": [
        { "role": "system", "content": "You book slots." },
        { "role": "user", "content": "I am ann_lee_3668." },
        call("slots", json!({ "user": "ann_lee_3668" })),
        { "role": "tool", "tool_call_id": "c1", "name": "slots", "content": rows.to_string() },
        { "role": "assistant", "content": "K17 costs 118." },
        { "role": "user", "content": "Take the second one." },
        call("book", json!({ "slot": "K18", "price": 264, "sure": true })),
    ] })
}

/// A conversation of two agents that read one transcript.
fn shared() -> Json {
    json!({ "id": 7, "messages": [
        { "role": "user", "content": "Read src/lib.rs" },
        { "role": "agent", "name": "a", "content": "b, open src/lib.rs" },
        { "role": "agent", "name": "b", "content": "src/lib.rs has MyType." },
        { "role": "agent", "name": "a", "content": "MyType it is." },
    ] })
}

fn files() -> Folder {
    Folder::with(&[
        ("booking.jsonl", &format!("{}\n", booking())),
        ("shared.jsonl", &format!("{}\n", shared())),
    ])
}

/// Returns the table without the times in its last column.
fn table(run: &Run) -> String {
    let lines = run.stdout.lines().map(|line| match line.rsplit_once("  ") {
        Some((row, time)) if time.trim().parse::<u64>().is_ok() => row.trim_end(),
        _ => line,
    });
    lines.collect::<Vec<_>>().join("\n")
}

fn without_times(run: &Run) -> Vec<Json> {
    let mut rows = run.json();
    for row in &mut rows {
        row.as_object_mut().unwrap().remove("milliseconds");
    }
    rows
}

#[test]
fn the_table_has_every_policy_of_every_corpus() {
    let run = files().run(
        [
            "bench",
            "booking.jsonl",
            "shared.jsonl",
            "--policy",
            "toon",
            "--policy",
            "last:2",
            "--policy",
            "clear-tool-uses:20,0",
        ],
        "",
    );
    assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""));
    insta::assert_snapshot!(table(&run), @"
    booking: 1 conversations, 3 prompts, 3 needs; cost of `list`: system 0.12, new 0.88
      policy                net    95 %  real   worst  dearer  steps  refused  lost    seen   task  later  did    decided  misquoted  tokens  cost   p95  peak  with windows  no cache  no min  ms
      list                  1.000  -     1.000  1.000  0 %     0      0        0.0000  1.000  -     1.000  1.000  -        -          1.000   1.000  100  100   100           1.000     1.000
      toon                  1.396  -     1.396  1.396  100 %   0      -        0.0000  1.000  -     1.000  1.000  -        -          1.396   1.396  138  138   138           1.396     1.382
      last:2                4.099  -     4.099  4.099  100 %   2      0        0.6667  1.000  -     1.000  0.500  -        -          0.574   0.574  68   68    68            4.099     7.060
      clear-tool-uses:20,0  4.421  -     4.421  4.421  100 %   0      0        0.0000  0.750  -     1.000  1.000  -        -          0.673   0.673  67   67    105           4.594     6.853
      net (worst, dearer)   claude                claude-hour           gpt                   gpt-5
      list                  1.000 (1.000, 0 %)    1.000 (1.000, 0 %)    1.000 (1.000, 0 %)    1.000 (1.000, 0 %)
      toon                  1.396 (1.396, 100 %)  1.396 (1.396, 100 %)  1.396 (1.396, 100 %)  1.396 (1.396, 100 %)
      last:2                4.913 (4.913, 100 %)  6.168 (6.168, 100 %)  5.309 (5.309, 100 %)  4.891 (4.891, 100 %)
      clear-tool-uses:20,0  5.230 (5.230, 100 %)  6.480 (6.480, 100 %)  5.635 (5.635, 100 %)  5.217 (5.217, 100 %)

    shared: 1 conversations, 3 prompts, 3 needs; cost of `list`: new 1.00
      policy                net    95 %  real   worst  dearer  steps  refused  lost    seen   task   later  did  decided  misquoted  tokens  cost   p95  peak  with windows  no cache  no min  ms
      list                  1.000  -     1.000  1.000  0 %     0      0        0.0000  1.000  1.000  -      -    -        -          1.000   1.000  33   33    33            1.000     1.000
      toon                  1.607  -     1.607  1.607  100 %   0      -        0.0000  1.000  1.000  -      -    -        -          1.607   1.607  50   50    50            1.607     1.528
      last:2                0.869  -     0.869  0.869  0 %     1      0        0.0000  1.000  0.667  -      -    -        -          0.869   0.869  25   25    25            0.869     1.295
      clear-tool-uses:20,0  1.000  -     1.000  1.000  0 %     0      0        0.0000  1.000  1.000  -      -    -        -          1.000   1.000  33   33    33            1.000     1.000
      net (worst, dearer)   claude                claude-hour           gpt                   gpt-5
      list                  1.000 (1.000, 0 %)    1.000 (1.000, 0 %)    1.000 (1.000, 0 %)    1.000 (1.000, 0 %)
      toon                  1.607 (1.607, 100 %)  1.607 (1.607, 100 %)  1.607 (1.607, 100 %)  1.607 (1.607, 100 %)
      last:2                0.869 (0.869, 0 %)    0.869 (0.869, 0 %)    0.869 (0.869, 0 %)    0.869 (0.869, 0 %)
      clear-tool-uses:20,0  1.000 (1.000, 0 %)    1.000 (1.000, 0 %)    1.000 (1.000, 0 %)    1.000 (1.000, 0 %)

    Tokens of o200k_base. Shares are of `list`; a token in the cache costs 0.1, any other 1.25, one of output 5; the cache keeps 1024 tokens or more; windows of 800 tokens. The rules: accp-lab bench --help
    ");
}

#[test]
fn the_example_is_measured_by_default() {
    let text = std::fs::read_to_string(workspace().join("examples/bakery.jsonl")).unwrap();
    let run = accp(["bench", "-", "--format", "json"], text);
    assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""));
    let rows = run.json();
    let policies: Vec<_> = rows
        .iter()
        .map(|row| row["policy"].as_str().unwrap())
        .collect();
    assert_eq!(policies[..4], ["list", "json", "plain", "once:400"]);
    assert_eq!(policies[11..15], ["draft", "views", "memory:own", "memory"]);
    assert_eq!(policies[15..], ["append", "save"]);
    assert_eq!(
        (&rows[0]["cost"], &rows[0]["net"]),
        (&json!(1.0), &json!(1.0))
    );
    let ours = |row: &&Json| row["default"] == json!(true);
    assert!(rows.iter().filter(ours).count() == 1 && ours(&&rows[14]));
    assert_eq!(rows[0]["results"], json!(1.0));
    let shown = |row: usize| rows[row]["shown_results"].as_u64().unwrap();
    // Row 11 is the context of a session. It does not tell which part shows which message, so it has no share of
    // results.
    assert_eq!((shown(11), &rows[11]["results"]), (0, &Json::Null));
    assert!(shown(0) > 0 && shown(12) == shown(0));
    assert!(rows[12]["results"].as_f64().unwrap() < 1.0);
    for row in &rows[11..] {
        assert_eq!(row["bytes"]["share"], json!(1.0), "{}", row["policy"]);
    }
}

/// The page is one file with its charts and prompts, and a browser fetches nothing for it. Nothing
/// that a conversation says becomes markup.
#[test]
fn the_page_stands_alone() {
    let folder = files();
    let mut conversation = shared();
    conversation["id"] = json!("</script><script src='http://x'>");
    std::fs::write(folder.path("a&b.jsonl"), conversation.to_string()).unwrap();
    let page = |more: &[&str]| {
        let files = ["bench", "booking.jsonl", "a&b.jsonl"];
        let run = folder.run([&files[..], &["--html", "page.html"], more].concat(), "");
        assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""));
        folder.read("page.html")
    };
    let all = page(&[]);
    assert_eq!(all.matches("<svg ").count(), 6);
    assert!(all.contains("<h2>a&amp;b</h2>") && all.contains("&lt;/script"));
    assert!(all.contains("default-src 'none'"));
    assert!(!all.contains(" src=\"") && !all.contains("href") && !all.contains("NaN"));
    let scripts = |page: &str| {
        let scripts = page.split("<script").skip(1);
        let scripts: Vec<String> = scripts.map(str::to_owned).collect();
        assert_eq!(page.matches("</script").count(), scripts.len());
        let scenes = scripts[0].split_once('>').unwrap().1;
        let scenes = scenes.split_once("</script>").unwrap().0;
        (scripts.len(), serde_json::from_str::<Json>(scenes).unwrap())
    };
    let (count, scenes) = scripts(&all);
    assert_eq!((count, scenes.as_array().unwrap().len()), (2, 2));
    assert_eq!(scenes[1]["conversation"], conversation["id"]);
    let one = page(&["--show", conversation["id"].as_str().unwrap()]);
    let (_, scenes) = scripts(&one);
    assert_eq!(scenes.as_array().unwrap().len(), 1);
    assert!(one.contains("Conversations here: 0 of 1 of booking, 1 of 1 of a&amp;b."));
    let unknown = ["bench", "booking.jsonl", "--html", "x.html", "--show", "y"];
    let run = folder.run(unknown, "");
    assert_eq!(run.code, Some(1));
    insta::assert_snapshot!(run.stderr, @"error: --show: found no conversation `y`; give the `id` that the file has, or `conversation N`");
}

/// Only the owner of a dump or a page may read what people have said, whatever the umask allows.
#[cfg(unix)]
#[test]
fn dumps_and_pages_are_their_owner_s() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = files();
    let out = ["--policy", "plain", "--dump", "dump", "--html", "page.html"];
    let run = folder.run([&["bench", "booking.jsonl"], &out[..]].concat(), "");
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    for name in ["dump", "page.html"] {
        let mode = folder.path(name).metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{name}");
    }
}

#[test]
fn prices_tools_and_encoding_are_the_given_ones() {
    let folder = files();
    let base = |args: &[&str]| {
        let run = folder.run(
            [
                &[
                    "bench",
                    "booking.jsonl",
                    "--policy",
                    "json",
                    "--format",
                    "json",
                ],
                args,
            ]
            .concat(),
            "",
        );
        assert_eq!(run.code, Some(0), "{}", run.stderr);
        // The row of `json`. The short list has equally many tokens in both encodings.
        without_times(&run).remove(1)
    };
    let plain = base(&[]);
    let free = base(&[
        "--cached-price",
        "0",
        "--fresh-price",
        "1",
        "--min-prefix",
        "0",
    ]);
    let cached: u64 = free["kinds"]
        .as_object()
        .unwrap()
        .values()
        .map(|kind| kind["cached"].as_u64().unwrap())
        .sum();
    let tokens = plain["tokens"].as_u64().unwrap();
    assert_eq!(free["cost_total"], json!((tokens - cached) as f64));
    let tools = folder.path("tools.json");
    std::fs::write(&tools, "[ { \"name\": \"slots\" } ]").unwrap();
    let tool_tokens = |args: &[&str]| base(args)["kinds"]["tools"]["tokens"].as_u64().unwrap();
    assert_eq!(tool_tokens(&["--tools", "shared=tools.json"]), 0);
    let all = tool_tokens(&["--tools", "tools.json"]);
    assert!(all > 0 && all == tool_tokens(&["--tools", "booking=tools.json"]));
    assert_ne!(
        base(&["--encoding", "cl100k_base"])["tokens"],
        plain["tokens"]
    );
}

/// Prices are named by a profile or by its file, and single prices override the profile. An unknown name is an
/// error that lists the known names.
#[test]
fn the_prices_are_those_of_a_profile() {
    let folder = files();
    let run = |prices: &[&str]| {
        let policies = [
            "--policy", "cut:0", "--policy", "last:2", "--format", "json",
        ];
        folder.run(
            [&["bench", "booking.jsonl"], &policies[..], prices].concat(),
            "",
        )
    };
    let figures = |prices: &[&str]| {
        let run = run(prices);
        assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""));
        without_times(&run)
    };
    let claude = figures(&["--prices", "claude"]);
    for row in &claude {
        assert_eq!(row["net"], row["profiles"]["claude"]["net"], "{row}");
        assert_eq!(row["worst"], row["profiles"]["claude"]["worst"]);
    }
    assert_eq!(claude[0]["profiles"]["gpt-5"]["net"], json!(1.0));
    let profile = json!({ "name": "ours", "read": 0.05, "write": 1.25, "output": 5, "minimum": 512,
        "seconds": 300, "matching": { "marks": 20 } });
    std::fs::write(folder.path("ours.json"), profile.to_string()).unwrap();
    assert_eq!(figures(&["--prices", "ours.json"]), claude);
    let other = figures(&["--prices", "claude", "--output-price", "50"]);
    assert!(other[1]["net"].as_f64() > claude[1]["net"].as_f64());
    std::fs::write(folder.path("half.json"), "{\"name\":\"half\",\"read\":-1}").unwrap();
    let fault = |file: &str| {
        let run = run(&["--prices", file]);
        format!("{}: {}", run.code.unwrap(), run.stderr)
    };
    insta::assert_snapshot!(fault("half.json"), @"1: error: half.json: expected `matching` to be an object, found nothing; `accp-lab bench --help` shows a profile");
    assert!(
        fault("no-such")
            .starts_with("2: error: expected a profile of prices or its file, found `no-such`")
    );
}

#[test]
fn the_order_of_policies_at_other_prices_is_told() {
    let folder = files();
    let run = |args: &[&str]| {
        let policies = ["--policy", "cut:0", "--policy", "last:2"];
        let all = [&["bench", "booking.jsonl"], &policies[..], args].concat();
        let run = folder.run(&all, "");
        assert_eq!(run.code, Some(0), "{}", run.stderr);
        run
    };
    let text = run(&["--sensitivity"]).stdout;
    let heading = "  policy  net        window 400  window 1600  output 2  output 10  min prefix 0";
    assert!(text.contains(heading), "{text}");
    let rows = run(&["--format", "json"]).json();
    let dear = run(&["--format", "json", "--output-price", "10"]).json();
    assert_eq!(rows[1]["sensitivity"]["output 10"]["net"], dear[1]["net"]);
    assert!(rows[1]["sensitivity"]["output 2"]["place"].is_u64());
}

#[test]
fn the_halves_are_the_whole() {
    let conversations = (0..20)
        .map(|id| {
            let mut conversation = booking();
            conversation["id"] = json!(format!("c{id}"));
            conversation.to_string()
        })
        .collect::<Vec<_>>()
        .join("\n");
    let folder = Folder::with(&[("all.jsonl", &conversations)]);
    let tokens = |args: &[&str]| {
        let run = folder.run(
            [&["bench", "all.jsonl", "--format", "json"], args].concat(),
            "",
        );
        assert_eq!(run.code, Some(0), "{}", run.stderr);
        run.json()[0]["tokens"].as_u64().unwrap()
    };
    let (learn, measure) = (
        tokens(&["--split", "learn"]),
        tokens(&["--split", "measure"]),
    );
    assert!(learn > 0 && measure > 0);
    assert_eq!(learn + measure, tokens(&[]));
}

#[test]
fn faults_have_their_place_and_their_cure() {
    let dump_line = "{\"corpus\":\"shared\",\"conversation\":\"7\",\"turn\":1,\"policy\":\"other\",\"segments\":[]}";
    let folder = Folder::with(&[
        ("empty.jsonl", "\n"),
        ("notes.jsonl", "{\"note\":1}\n"),
        (
            "odd.jsonl",
            "{\"messages\":[]}\n{\"messages\":[{\"content\":\"x\"}]}\n",
        ),
        ("shared.jsonl", &shared().to_string()),
        (
            "dump.jsonl",
            &format!("{dump_line}\n{{\"policy\":\"other\"}}\n"),
        ),
        (
            "kind.jsonl",
            &dump_line.replace("[]", "[{\"kind\":\"note\",\"text\":\"\"}]"),
        ),
        (
            "place.jsonl",
            &dump_line.replace("[]", "[{\"kind\":\"call\",\"text\":\"\",\"message\":-1}]"),
        ),
        ("part.jsonl", dump_line),
        ("twice.jsonl", &format!("{dump_line}\n{dump_line}\n")),
        (
            "turn.jsonl",
            &(0..4)
                .map(|turn| dump_line.replace(":1,", &format!(":{turn},")) + "\n")
                .collect::<String>(),
        ),
        ("elsewhere.jsonl", &dump_line.replace("shared", "common")),
        ("unknown.jsonl", &dump_line.replace("\"7\"", "\"8\"")),
        ("tools.json", "[\n"),
    ]);
    let fault = |args: &[&str]| {
        let run = folder.run([&["bench"], args].concat(), "");
        assert_eq!(run.stdout, "", "{args:?}");
        format!("{}: {}", run.code.unwrap(), run.stderr)
    };
    insta::assert_snapshot!(fault(&["empty.jsonl"]), @"1: error: empty.jsonl: expected conversations to measure, found none; record each as one object a line with `messages`");
    insta::assert_snapshot!(fault(&["notes.jsonl"]), @"1: error: notes.jsonl:1: expected a conversation: an object whose `messages` is an array of objects with `role` and `content`, or that array, or another of the formats openai, responses, anthropic, gemini, langchain, langsmith, otel, sharegpt, claude-code, pydantic-ai, ai-sdk, gemini-cli, codex, openai-agents, langgraph, swe-agent, mini-swe-agent, openhands, aider (`--format-in` forces one); found an object with `note`");
    insta::assert_snapshot!(fault(&["odd.jsonl"]), @"1: error: odd.jsonl:2: expected `messages[0]` to be an object with a `role`, found an object without it; give the message a role: system, user, assistant, agent or tool");
    insta::assert_snapshot!(fault(&["shared.jsonl", "--split", "learn"]), @"1: error: shared.jsonl: expected conversations to measure, found none of its 1 in this half; measure without --split");
    let unknown = fault(&["shared.jsonl", "--policy", "last"]);
    insta::assert_snapshot!(unknown.lines().next().unwrap(), @"2: error: expected a policy, found `last`; there are");
    assert!(
        unknown.contains(
            "
  last:N "
        ),
        "{unknown}"
    );
    insta::assert_snapshot!(fault(&["shared.jsonl", "--policy", "file:dump.jsonl"]), @"1: error: dump.jsonl:2: expected `segments` to be an array; write prompts as `accp-lab bench --dump` does");
    insta::assert_snapshot!(fault(&["shared.jsonl", "--policy", "file:kind.jsonl"]), @"1: error: kind.jsonl:1: segments[0]: expected `kind` to be one of system, tools, primer, user, agent, call, result, facts; write prompts as `accp-lab bench --dump` does");
    insta::assert_snapshot!(fault(&["shared.jsonl", "--policy", "file:place.jsonl"]), @"1: error: place.jsonl:1: segments[0]: expected `message` to be the index of a message; write prompts as `accp-lab bench --dump` does");
    insta::assert_snapshot!(fault(&["shared.jsonl", "--policy", "file:part.jsonl"]), @"1: error: part.jsonl:1: expected a prompt for turn 2 of conversation `7` of `shared`, found none; write prompts for all turns of a conversation, or for none");
    insta::assert_snapshot!(fault(&["shared.jsonl", "--policy", "file:twice.jsonl"]), @"1: error: twice.jsonl:2: expected `turn` to be another turn than in an earlier line; write prompts as `accp-lab bench --dump` does");
    insta::assert_snapshot!(fault(&["shared.jsonl", "--policy", "file:turn.jsonl"]), @"1: error: turn.jsonl:1: expected no prompt for turn 0 of conversation `7` of `shared`, found one; as `turn` write the index of an agent's message, counted from 0");
    insta::assert_snapshot!(fault(&["shared.jsonl", "--policy", "file:elsewhere.jsonl"]), @"1: error: elsewhere.jsonl:1: expected prompts for `shared`, found `common`; as `corpus` write the name of the file of conversations without its extension");
    insta::assert_snapshot!(fault(&["shared.jsonl", "--policy", "file:unknown.jsonl"]), @"1: error: unknown.jsonl:1: expected a conversation of `shared`, found `8`; as `conversation` write the `id` that the file has, or without one `conversation N`, counted from 1");
    insta::assert_snapshot!(fault(&["shared.jsonl", "--policy", "file:empty.jsonl"]), @"1: error: empty.jsonl: expected prompts as `accp-lab bench --dump` writes them, found none");
    insta::assert_snapshot!(fault(&["shared.jsonl", "--tools", "tools.json"]), @"1: error: tools.json:2: expected tool schemas as JSON: EOF while parsing a list at line 2 column 0");
    for args in [
        &[][..],
        &["no-such.jsonl"],
        &["shared.jsonl", "--fresh-price", "-1"],
    ] {
        assert!(fault(args).starts_with("2: "), "{args:?}");
    }
}
