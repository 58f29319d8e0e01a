//! Tests of `accp aacp encode --english`, `route` and `registry`.

use serde_json::{Value as Json, json};

use super::{Folder, Run, Words};

pub(super) const ENGLISH: &str = "Collect the parking permits of Ada for August 2024";
pub(super) const PACKET: &str =
    "FETCH|CS|return:AGENT|p:1|aacp:1.1|res:parking_permit|period:2024-08|filter:emp=Ada";

/// Returns a folder with recorded answers to one instruction.
fn folder() -> Folder {
    let answers = [
        json!({ "english": ENGLISH, "dom": "CS", "answer": PACKET }),
        json!({ "english": "Collect two lines", "answer": format!("{PACKET}\n{PACKET}") }),
        json!({ "english": "Collect for Eve", "answer": format!("{PACKET}|return:EVIL") }),
    ];
    let text = answers.map(|answer| format!("{answer}\n")).concat();
    Folder::with(&[("answers.jsonl", &text)])
}

/// Runs a command on an instruction. Returns its exit code and the last object on stdout.
fn ask(folder: &Folder, command: &str, english: &str, more: impl Words) -> (Option<i32>, Json) {
    let command = ["aacp", command, "--english", english];
    let run = folder.run((command, "--format json --registry r.aacp", more), "");
    (run.code, run.json().pop().unwrap_or(Json::Null))
}

/// Runs `accp aacp registry` on a file.
fn registry(folder: &Folder, file: &str, args: &str) -> Run {
    folder.run(("aacp registry --registry", file, args), "")
}

pub(super) const CS: &str = "--dom CS --return Desk --llm-recorded answers.jsonl";
const NO_LLM: &str = "--dom CS --return Desk --no-llm";

#[test]
fn aacp_38_accepts_the_first_tier_that_answers() {
    let folder = folder();
    let (code, first) = ask(&folder, "encode", ENGLISH, CS);
    let packet =
        "FETCH|CS|return:Desk|p:2|aacp:1.1|res:parking_permit|period:2024-08|filter:emp=Ada";
    let id = first["id"].clone();
    assert_eq!(id.as_str().map(str::len), Some(64));
    let wanted = json!({
        "packet": packet, "tier": 3, "source": "llm", "id": id, "times_seen": 1, "score": null,
        "llm_calls": 1, "warnings": [], "entry": id, "rule": null,
    });
    assert_eq!((code, first), (Some(0), wanted));
    let (_, again) = ask(&folder, "encode", &format!("  {ENGLISH} "), NO_LLM);
    let wanted = json!({
        "packet": packet, "tier": 1, "source": "hash", "id": id, "times_seen": 2, "score": 1.0,
        "llm_calls": 0, "warnings": [], "entry": id, "rule": null,
    });
    assert_eq!(again, wanted);
    let other = "Please collect the parking permits of Bob for September 2024";
    let (_, found) = ask(&folder, "encode", other, (NO_LLM, "--p 3"));
    let packet =
        "FETCH|CS|return:Desk|p:3|aacp:1.1|res:parking_permit|period:2024-09|filter:emp=Bob";
    assert_eq!(found["packet"], packet);
    assert_eq!(
        (&found["source"], &found["tier"]),
        (&json!("pattern"), &json!(2))
    );
    assert_eq!((&found["times_seen"], &found["entry"]), (&json!(3), &id));
}

#[test]
fn a_rule_needs_no_entry_and_the_text_is_the_packet() {
    let folder = folder();
    let run = folder.run(
        "aacp encode --english 'Fetch the salaries of all active employees for August 2024' \
         --dom HR --return HR-Agent --p 1 --registry r.aacp",
        "",
    );
    run.code_is(0);
    assert_eq!(
        run.stdout,
        "FETCH|HR|return:HR-Agent|p:1|aacp:1.1|res:emp_salary|period:2024-08|filter:status=active|\
         fmt:json\n",
    );
}

#[test]
fn route_says_the_tier_and_changes_nothing() {
    let folder = folder();
    let before = folder.names();
    let (code, found) = ask(&folder, "route", ENGLISH, CS);
    assert_eq!(
        (code, &found["tier"], &found["packet"]),
        (Some(0), &json!(3), &Json::Null)
    );
    let (code, found) = ask(&folder, "route", ENGLISH, NO_LLM);
    assert_eq!((code, &found["tier"]), (Some(1), &Json::Null));
    assert_eq!(folder.names(), before);
    ask(&folder, "encode", ENGLISH, CS);
    for _ in 0..2 {
        let (code, found) = ask(&folder, "route", ENGLISH, NO_LLM);
        assert_eq!(
            (code, &found["tier"], &found["times_seen"]),
            (Some(0), &json!(1), &json!(1))
        );
    }
}

#[test]
fn aacp_38_refuses_what_no_tier_answers_and_says_why() {
    let folder = folder();
    for (english, more, code, name) in [
        ("Collect two lines", CS, 2, "model-refused"),
        ("Collect for Eve", CS, 2, "model-refused"),
        (
            "Collect what nobody has recorded",
            CS,
            2,
            "model-unreachable",
        ),
        ("Collect it", NO_LLM, 1, "no-match"),
        (" \t ", NO_LLM, 1, "instruction-invalid"),
        ("Collect it", "--dom 'C S' --return Desk", 1, "dom-invalid"),
        (
            "Collect it",
            "--dom CS --return a|return:b",
            1,
            "request-invalid",
        ),
        ("Collect it", "--dom CS --return ''", 1, "return-empty"),
    ] {
        let (found, json) = ask(&folder, "encode", english, more);
        let errors = json["errors"].as_array().unwrap();
        assert_eq!((found, errors.len()), (Some(code), 1), "{english}");
        assert_eq!(errors[0]["code"], name);
        assert!(json.get("packet").is_none());
        assert!(!json.to_string().contains("EVIL"));
    }
    let run = folder.run("aacp registry list --registry r.aacp", "");
    assert_eq!((run.code, &run.stdout[..]), (Some(0), ""));
}

#[test]
fn options_that_do_not_fit_together_are_a_misuse() {
    let folder = folder();
    for args in [
        "encode --english x",
        "encode --registry r.aacp",
        "encode --english x --dom CS --return A --registry r --workflow it",
        "encode file --english x --dom CS --return A --registry r",
        "encode --english x --dom CS --return A --registry r --threshold 2",
        "encode --english x --dom CS --return A --registry r --llm-url http://127.0.0.1:1",
        "encode --english x --dom CS --return A --registry r --llm-url ftp://x --llm-model m",
        "encode --english x --dom CS --return A --registry r \
         --llm-url http://127.0.0.1:1 --llm-model m --llm-key-env ACCP_NO_SUCH_VARIABLE",
        "route --dom CS",
        "registry list",
        "registry list --registry none.aacp",
    ] {
        let run = folder.run(("aacp", args), "");
        run.code_is(2);
        assert_eq!(run.stdout, "");
    }
    assert_eq!(folder.names(), ["answers.jsonl"]);
}

#[test]
fn the_lines_of_a_file_are_answered_in_their_order() {
    let folder = folder();
    let line = |english: &str| json!({ "english": english, "dom": "CS", "return": "Desk", "p": 3 });
    let mut lines: Vec<String> = (0..100)
        .map(|index| line(&ENGLISH.replace("2024", &(1950 + index).to_string())).to_string())
        .collect();
    lines.insert(7, "{}".to_owned());
    lines.insert(0, line(ENGLISH).to_string());
    ask(&folder, "encode", ENGLISH, CS);
    let args = "aacp encode --english-file - --registry r.aacp --no-llm --jobs 8 --format json";
    let run = folder.run(args, lines.join("\n"));
    let found = run.json();
    assert_eq!((run.code, found.len()), (Some(1), 102), "{}", run.stderr);
    assert_eq!(
        (&found[8]["line"], &found[8]["errors"][0]["code"]),
        (&json!(9), &json!("json"))
    );
    let packets = found
        .iter()
        .filter_map(|found| found["packet"].as_str())
        .skip(1);
    for (index, packet) in packets.enumerate() {
        let packet_of = format!(
            "|p:3|aacp:1.1|res:parking_permit|period:{}-08|",
            1950 + index
        );
        assert!(packet.contains(&packet_of), "{index}: {packet}");
    }
    let run = folder.run("aacp registry list --registry r.aacp --format json", "");
    // `ask` counted the instruction once. The run with 102 lines counted it 101 times, because one line has no
    // packet.
    assert_eq!(run.json()[0]["times_seen"], 102);
}

#[test]
fn entries_are_added_shown_taken_elsewhere_and_removed() {
    let folder = folder();
    let registry = |args: &str, file: &str| registry(&folder, file, args);
    let add = |packet: &str| format!("add --english '{ENGLISH}' --packet {packet}");
    registry(&add(PACKET), "r.aacp").code_is(0);
    registry(&add(PACKET), "r.aacp").code_is(0);
    registry(&add(&PACKET.replace("Ada", "Bob")), "r.aacp")
        .code_is(1)
        .stderr_has("remove it first");
    let list = registry("list --format json", "r.aacp").json();
    let id = list[0]["id"].as_str().unwrap();
    let show = registry(&format!("show {}", &id[..8]), "r.aacp");
    insta::assert_snapshot!(show.stdout.replace(id, "ID"), @r"
    Collect the parking permits of Ada for August 2024
      id: ID
      dom: CS
      task: FETCH
      res: parking_permit
      period: 2024-08
      filter: emp=Ada
      times seen: 0
      keywords: 2024-08, Ada, collect, parking, permits
    ");
    let export = registry("export", "r.aacp").stdout;
    std::fs::write(folder.path("e.json"), &export).unwrap();
    registry("import e.json", "other.aacp").code_is(0);
    assert_eq!(registry("export", "other.aacp").stdout, export);
    std::fs::write(folder.path("bad.json"), export.replace("\"CS\"", "\"C S\"")).unwrap();
    registry("import bad.json", "new.aacp")
        .code_is(1)
        .stderr_has("bad.json:4:5 at /entries/0");
    assert!(!folder.path("new.aacp").exists());
    let remove = format!("remove {id}");
    registry(&remove, "r.aacp").code_is(0);
    registry(&remove, "r.aacp").code_is(1);
    assert_eq!(registry("list", "r.aacp").stdout, "");
}

#[test]
fn a_damaged_entry_is_named_left_out_and_removed() {
    let folder = folder();
    let registry = |args: &str| registry(&folder, "r.aacp", args);
    for (english, packet) in [(ENGLISH, PACKET), ("Close it", "FLAG|CS|return:A|aacp:1.1")] {
        registry(&format!("add --english '{english}' --packet {packet}")).code_is(0);
    }
    let id = registry("list --format json").json();
    let of_it = |entry: &&Json| entry["english"] == ENGLISH;
    let id = id.iter().find(of_it).unwrap()["id"].clone();
    let id = id.as_str().unwrap();
    let path = folder.path("r.aacp");
    let mut bytes = std::fs::read(&path).unwrap();
    for at in 0..bytes.len() - 3 {
        if bytes[at..].starts_with(b"Ada") {
            bytes[at..at + 3].copy_from_slice(b"Eve");
        }
    }
    std::fs::write(&path, bytes).unwrap();
    for command in ["list", "export"] {
        let run = registry(&format!("{command} --format json"));
        run.code_is(2);
        assert!(run.stdout.contains("Close it") && !run.stdout.contains("Eve"));
        assert!(run.stderr.contains(id) && run.stderr.contains("registry remove"));
    }
    registry(&format!("show {id}")).code_is(2);
    registry(&format!("remove {id}")).code_is(0);
    registry("list").code_is(0);
}

#[test]
fn an_empty_file_is_no_registry_until_something_is_added() {
    let folder = folder();
    std::fs::write(folder.path("r.aacp"), "").unwrap();
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let mode = std::fs::Permissions::from_mode(0o600);
        std::fs::set_permissions(folder.path("r.aacp"), mode).unwrap();
    }
    let (code, json) = ask(&folder, "route", ENGLISH, NO_LLM);
    assert_eq!(code, Some(2));
    assert!(
        json["errors"][0]["message"]
            .as_str()
            .unwrap()
            .contains("empty")
    );
    assert_eq!(std::fs::read(folder.path("r.aacp")).unwrap(), b"");
    assert_eq!(ask(&folder, "encode", ENGLISH, CS).0, Some(0));
}

#[test]
fn a_line_that_is_no_instruction_is_at_fault_and_shows_nothing_of_it() {
    let folder = folder();
    let line = |part: &str| {
        format!("{{\"english\":\"Close it\",\"dom\":\"CS\",\"return\":\"A\"{part}}}\n")
    };
    let lines = [
        line(",\"dom\":\"hush-1\""),
        line(",\"hush-2\":1"),
        line("").replace("\"Close it\"", "[\"hush-3\"]"),
        line(",\"p\":[\"hush-4\"]"),
        line(",\"p\":9"),
        "\"hush-5\"\n".to_owned(),
    ];
    std::fs::write(folder.path("lines"), lines.concat()).unwrap();
    let args = "aacp route --registry r.aacp --english-file lines";
    let run = folder.run(args, "");
    run.code_is(1);
    let errors: Vec<&str> = run.stderr.lines().collect();
    assert_eq!(errors.len(), 6, "{}", run.stderr);
    assert!(!run.stderr.contains("hush") && !run.stdout.contains("hush"));
    for (number, error) in (1..).zip(errors) {
        assert!(error.contains(&format!("lines:{number}: ")), "{error}");
    }
}

#[cfg(unix)]
#[test]
fn a_registry_that_others_can_read_is_refused() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = folder();
    ask(&folder, "encode", ENGLISH, CS);
    let path = folder.path("r.aacp");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o644)).unwrap();
    for command in ["encode", "route"] {
        let (code, json) = ask(&folder, command, ENGLISH, NO_LLM);
        assert_eq!(
            (code, &json["errors"][0]["code"]),
            (Some(2), &json!("registry-open-to-others"))
        );
    }
    folder
        .run("aacp registry list --registry r.aacp", "")
        .code_is(2)
        .stderr_has("chmod 600");
}

/// `chmod 600` would lock a folder up, so a folder gets another cure.
#[cfg(unix)]
#[test]
fn a_folder_is_no_registry() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = folder();
    for mode in [0o755, 0o700] {
        let path = folder.path("sub");
        std::fs::create_dir_all(&path).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
        for command in [
            "aacp registry list --registry sub",
            "aacp route --english Hello --dom CS --return Desk --registry sub",
            "aacp encode --english Hello --dom CS --return Desk --registry sub",
        ] {
            let run = folder.run(command, "");
            run.code_is(2);
            assert_eq!(run.stderr, "error: sub: is a directory: name a file\n");
        }
    }
}
