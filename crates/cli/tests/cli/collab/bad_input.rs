//! Tests of bad input: each command prints a code, the place and the cure, ends with exit code 2, and changes no
//! file.

use std::fs;

use serde_json::Value as Json;

use super::{DOC, INIT, Round, codes};

const APPEND: &str = "append --participant ada --event deliverable_drafted --summary Done --reply-to 1 \
    --doc papers/adr.md --role primary";
const NEXT: &str = "next --participant ada";
const WAIT: &str = "wait --participant bob --timeout 0.01";
const DECLARE: &str = "declare --supporting tests.md --type test-plan";
const RESUME: &str = "init --participant ada --participant bob --objective x --completion y \
    --primary-deliverable-type adr --deliverables-dir papers --resume";

/// The commands that read protocol.json and the log.
const ALL: [&str; 7] = [APPEND, NEXT, WAIT, DECLARE, RESUME, "repair", "status"];

/// Checks that an error has a code, a place, and a message with a cure.
fn speaks(error: &Json) {
    let text = |key: &str| error[key].as_str().unwrap_or_default();
    let has_place = error["file"].is_string() || error["seq"].is_u64();
    assert!(has_place && !text("code").is_empty(), "{error}");
    let (what, cure) = text("message").rsplit_once("; ").unwrap_or_default();
    assert!(!what.is_empty() && cure.contains(' '), "no cure in {error}");
    assert!(text("message").len() < 1_000, "{error}");
}

/// Runs commands that must be refused, each with its output as text and as JSON. Returns the error codes of the last
/// command.
fn refuse(round: &Round, commands: &[&str]) -> Vec<String> {
    let before = round.files();
    let mut found = Vec::new();
    for command in commands {
        let object = round.json(command, 2);
        assert_eq!(object["ok"], false, "{command:?}: {object}");
        object["errors"].as_array().unwrap().iter().for_each(speaks);
        found = codes(&object).into_iter().map(str::to_owned).collect();
        assert!(!found.is_empty(), "{command:?}");
        let run = round.run(command);
        run.code_is(2);
        let said = run.stdout + &run.stderr;
        assert!(
            said.contains(&format!("[{}]", found[0])),
            "{command:?}: {said}"
        );
        assert!(round.files() == before, "{command:?} changed a file");
    }
    found
}

/// Checks that all commands refuse a folder, and that `validate` reports this code first.
fn is_refused(round: &Round, code: &str) {
    refuse(round, &ALL);
    assert_eq!(refuse(round, &["validate"])[0], code);
}

#[test]
fn a_folder_that_is_missing() {
    let round = Round::before();
    let all = [&ALL[..4], &ALL[5..]].concat();
    refuse(&round, &all);
    assert_eq!(refuse(&round, &["validate"]), ["file-required"; 7]);
    assert_eq!(refuse(&round, &[APPEND]), ["protocol-missing"]);
    assert_eq!(round.0.names(), [""; 0]);
    // If a folder is not the folder of a collaboration, the commands write no file into it, not even the lock file.
    fs::create_dir(round.0.path("round")).unwrap();
    refuse(&round, &all);
    assert_eq!(fs::read_dir(round.0.path("round")).unwrap().count(), 0);
    // The commands refuse a path that names a file instead of a folder.
    fs::remove_dir(round.0.path("round")).unwrap();
    fs::write(round.0.path("round"), "Mine.").unwrap();
    refuse(&round, &ALL);
    refuse(&round, &["validate"]);
}

#[cfg(unix)]
#[test]
fn a_folder_that_is_read_only() {
    use std::os::unix::fs::PermissionsExt as _;
    let round = Round::new();
    let folder = round.0.path("round");
    let mode = |mode| fs::set_permissions(&folder, fs::Permissions::from_mode(mode)).unwrap();
    mode(0o555);
    if fs::write(folder.join("probe"), "").is_ok() {
        fs::remove_file(folder.join("probe")).unwrap();
        println!("skipped: this user (root) may write into a read-only folder");
    } else {
        for lock in ["system", "file"] {
            for command in [APPEND, DECLARE] {
                let wrong = refuse(&round, &[&format!("{command} --lock {lock}")]);
                assert_eq!(wrong, ["unwritable"], "{lock}: {command:?}");
            }
        }
        assert_eq!(round.json("validate", 0)["ok"], true);
    }
    mode(0o755);
}

#[test]
fn a_protocol_that_is_cut_or_of_another_kind() {
    let round = Round::new();
    let whole = round.read("protocol.json");
    let write = |text: &str| fs::write(round.path("protocol.json"), text).unwrap();
    for text in [
        &whole[..whole.len() / 2],
        "",
        "[1]",
        "null",
        "{\"a\":1e400}",
        &"[".repeat(100_000),
    ] {
        write(text);
        is_refused(&round, "unreadable");
    }
    for version in ["1", "3", "\"2\"", "null"] {
        write(&whole.replace(
            "\"schemaVersion\": 2",
            &format!("\"schemaVersion\": {version}"),
        ));
        is_refused(&round, "schema-version");
    }
    write(&whole.replace("\"protocol\": \"acp\"", "\"protocol\": \"other\""));
    is_refused(&round, "protocol-name");
}

#[test]
fn a_log_of_one_huge_line() {
    let round = Round::new();
    let mut line = vec![b'x'; 60 << 20];
    // Without a line feed, this line counts as cut off. With a line feed, it counts as a damaged
    // event.
    fs::write(round.path("events.jsonl"), &line).unwrap();
    refuse(&round, &ALL[..6]);
    assert_eq!(refuse(&round, &["validate"]), ["state-differs"]);
    line.push(b'\n');
    fs::write(round.path("events.jsonl"), &line).unwrap();
    is_refused(&round, "unreadable");
    let file = fs::File::create(round.path("events.jsonl")).unwrap();
    file.set_len((64 << 20) + 1).unwrap();
    refuse(&round, &[NEXT]);
    assert_eq!(refuse(&round, &["validate"])[0], "unreadable");
}

/// Returns the line of an event in the log.
fn drafted(seq: usize, at: &str, summary: &str) -> String {
    format!(
        "{{\"seq\":{seq},\"from\":\"ada\",\"event\":\"deliverable_drafted\",\"at\":\"{at}\",\"summary\":\"{summary}\",\
         \"doc\":\"{DOC}\",\"reply_to\":1,\"role\":\"primary\"}}\n"
    )
}

/// An event that makes the log too long to be read is refused.
#[test]
fn a_log_that_is_full() {
    let round = Round::new();
    let first = round.read("events.jsonl");
    let line = |seq, summary: &str| drafted(seq, "9999-01-01T00:00:00Z", summary);
    let lines: String = (2..=100_000).map(|seq| line(seq, "Done")).collect();
    fs::write(round.path("events.jsonl"), first.clone() + &lines).unwrap();
    assert_eq!(refuse(&round, &[APPEND]), ["unwritable"]);
    assert_eq!(round.json("validate", 0)["events"], 100_000);

    let rest = (64 << 20) - first.len() - line(2, "").len() - 100;
    let long = line(2, &"x".repeat(rest));
    fs::write(round.path("events.jsonl"), first + &long).unwrap();
    assert_eq!(refuse(&round, &[APPEND]), ["unwritable"]);
    assert_eq!(round.json("validate", 0)["events"], 2);
}

/// RFC 3339 allows a space and a small `t` between date and time. The order of such times is that of other times.
#[test]
fn a_time_with_another_character_between_date_and_time() {
    for (at, expected) in [
        ("2026-01-01 09:59:59Z", &["time-order"][..]),
        ("2026-01-01 10:00:01Z", &[]),
        ("2026-01-01t10:00:01Z", &[]),
        ("2026-01-01t09:59:59Z", &["time-order"]),
        ("2026-01-01_10:00:01Z", &["time"]),
    ] {
        let round = Round::new();
        let text = round.read("events.jsonl");
        let first: Json = serde_json::from_str(&text).unwrap();
        let now = first["at"].as_str().unwrap();
        let text = text.replace(now, "2026-01-01T10:00:00Z") + &drafted(2, at, "Done");
        fs::write(round.path("events.jsonl"), text).unwrap();
        let verdict = round.json("validate", if expected.is_empty() { 0 } else { 2 });
        assert_eq!(codes(&verdict), expected, "{at}");
    }
}

/// A review that does not get into review.md is refused, and so is its event.
#[test]
fn a_review_that_has_no_place() {
    let round = Round::new();
    round.submit();
    let review = "append --participant bob --event review_submitted --summary Done --reply-to 3 \
        --review mine.md";
    let write = |text: &str| fs::write(round.0.path("mine.md"), text).unwrap();
    // The text fits, but not with its escapes in the file in which it waits.
    write(&"\"".repeat(40 << 20));
    assert_eq!(refuse(&round, &[review]), ["unwritable"]);
    // The text fits, but not behind the text of review.md.
    write(&"x".repeat((64 << 20) - 200));
    assert_eq!(refuse(&round, &[review]), ["unwritable"]);
    write("Fine.");
    let texts = round.read("review.md");
    fs::remove_file(round.path("review.md")).unwrap();
    assert_eq!(refuse(&round, &[review]), ["unwritable"]);
    fs::create_dir(round.path("review.md")).unwrap();
    assert_eq!(refuse(&round, &[review]), ["unwritable"]);
    fs::remove_dir(round.path("review.md")).unwrap();
    fs::write(round.path("review.md"), texts).unwrap();
    assert_eq!(round.json(review, 0)["seq"], 4);
}

#[test]
fn a_number_of_an_event_that_is_none() {
    let round = Round::new();
    let whole = round.read("events.jsonl");
    for (seq, code) in [
        ("\"1\"", "seq"),
        ("[1]", "seq"),
        ("1e400", "unreadable"),
        ("1.5", "seq"),
        ("-1", "seq"),
        ("0", "seq"),
        ("18446744073709551615", "seq"),
    ] {
        let text = whole.replace("\"seq\":1", &format!("\"seq\":{seq}"));
        fs::write(round.path("events.jsonl"), text).unwrap();
        is_refused(&round, code);
        assert_eq!(round.json("validate", 2)["errors"][0]["line"], 1);
    }
}

#[test]
fn markdown_that_is_not_utf_8() {
    let text = b"# Title\n\nOne line.\nAnd \xff another.\n";
    for name in [
        "proposal.md",
        "review.md",
        "decisions.md",
        "readiness.md",
        "conclusion.md",
        DOC,
    ] {
        let round = Round::new();
        fs::write(round.path(name), text).unwrap();
        assert_eq!(
            refuse(&round, &[RESUME, "validate"]),
            ["unreadable"],
            "{name}"
        );
        let error = &round.json("validate", 2)["errors"][0];
        assert_eq!((&error["file"], &error["line"]), (&name.into(), &4.into()));
    }
    let round = Round::new();
    fs::write(round.path(DOC), text).unwrap();
    assert_eq!(refuse(&round, &[APPEND]), ["unreadable"]);
    fs::write(round.0.path("mine.md"), text).unwrap();
    let review = "append --participant bob --event review_submitted --summary x --reply-to 1 --review mine.md";
    assert_eq!(refuse(&round, &[review]), ["unreadable"]);
}

#[cfg(unix)]
#[test]
fn links_in_a_circle() {
    use std::os::unix::fs::symlink;
    for name in ["protocol.json", "events.jsonl", "readiness.md", DOC] {
        let round = Round::new();
        fs::remove_file(round.path(name)).unwrap();
        symlink(round.path("other"), round.path(name)).unwrap();
        symlink(round.path(name), round.path("other")).unwrap();
        assert_eq!(
            refuse(&round, &[RESUME, "validate"])[0],
            "unreadable",
            "{name}"
        );
        if name.starts_with(['p', 'e']) && name != DOC {
            refuse(&round, &ALL);
        }
    }
    let round = Round::before();
    symlink(round.0.path("round"), round.0.path("round")).unwrap();
    refuse(&round, &ALL);
    assert_eq!(refuse(&round, &["validate"])[0], "unreadable");
    assert_eq!(refuse(&round, &[INIT])[0], "unwritable");
}

#[test]
fn names_that_lead_out_and_names_that_are_too_long() {
    let round = Round::new();
    let long = "a".repeat(5_000) + ".md";
    for doc in [
        "../secret.md",
        "a/../../b.md",
        "/etc/passwd",
        "external:../x.md",
        &long,
    ] {
        let object = round.json(APPEND.replace(DOC, doc), 2);
        assert!(codes(&object).contains(&"path-escape"), "{object}");
    }
    for (option, value, code) in [
        ("--deliverables-dir", "..", "dir"),
        ("--deliverables-dir", &long, "dir"),
        ("--primary-deliverable-file", "../adr.md", "primary-file"),
        ("--primary-deliverable-file", &long, "primary-file"),
    ] {
        let round = Round::before();
        let init = INIT.replace("--deliverables-dir papers", "");
        let object = round.json((init, [option, value]), 2);
        assert_eq!(codes(&object), [code]);
        assert_eq!(round.0.names(), [""; 0]);
    }
    for (option, value, code) in [
        ("--type adr --supporting", "../tests.md", "supporting-file"),
        ("--type adr --supporting", &long, "supporting-file"),
        ("--attachment", "../secret", "attachment-file"),
        ("--attachment", &long, "attachment-file"),
    ] {
        assert_eq!(
            refuse(&round, &[&format!("declare {option} {value}")]),
            [code]
        );
    }
    // The rules of the protocol allow this long name, but the file system does not.
    let long = "a".repeat(300) + ".md";
    let object = round.json(["declare", "--supporting", &long, "--type", "adr"], 2);
    assert_eq!(codes(&object), ["unwritable"]);
    let folder = "a".repeat(5_000);
    let next = ("collab next --participant ada --folder", folder);
    round.0.run(next, "").code_is(2);
}

#[test]
fn names_in_protocol_json_that_lead_out_or_hold_a_nul() {
    for (from, to, code) in [
        ("\"dir\": \"papers\"", "\"dir\": \"../papers\"", "dir"),
        ("\"dir\": \"papers\"", "\"dir\": \"pa\\u0000pers\"", "dir"),
        (
            "\"file\": \"adr.md\"",
            "\"file\": \"../adr.md\"",
            "primary-file",
        ),
        (
            "\"file\": \"adr.md\"",
            "\"file\": \"a\\u0000dr.md\"",
            "primary-file",
        ),
        (
            "\"id\": \"bob\"",
            "\"id\": \"b\\u0000ob\"",
            "participants-empty",
        ),
        (
            "\"attachments\": []",
            "\"attachments\": [{\"file\": \"a\\u0000\"}]",
            "attachment-file",
        ),
    ] {
        let round = Round::new();
        let whole = round.read("protocol.json");
        assert!(whole.contains(from), "{whole}");
        fs::write(round.path("protocol.json"), whole.replace(from, to)).unwrap();
        refuse(&round, &ALL[..4]);
        assert!(
            refuse(&round, &["validate"]).contains(&code.to_owned()),
            "{to}"
        );
    }
    let round = Round::new();
    let whole = round.read("protocol.json");
    let long = format!("\"file\": \"{}.md\"", "a".repeat(5_000));
    fs::write(
        round.path("protocol.json"),
        whole.replace("\"file\": \"adr.md\"", &long),
    )
    .unwrap();
    assert!(refuse(&round, &["validate"]).contains(&"primary-file".to_owned()));
}

/// A lock whose owner is dead does not block others.
#[test]
fn a_lock_whose_owner_is_gone() {
    for lock in ["system", "file"] {
        let round = Round::new();
        fs::write(round.path(".acp.lock"), "12345").unwrap();
        fs::write(round.path(".acp.lock.7"), r#"{"owner":12345,"until":1}"#).unwrap();
        let object = round.json((APPEND, ["--lock", lock]), 0);
        assert_eq!(object["seq"], 2, "{lock}");
        assert_eq!(round.json("validate", 0)["events"], 2);
        let refused = (APPEND, ["--lock", lock, "--participant", "eve"]);
        round.run(refused).code_is(2);
    }
    Round::new().run((APPEND, "--lock none")).code_is(2);
}
