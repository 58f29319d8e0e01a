//! Tests of `accp collab`: the output of the commands, as text and as JSON, and their exit codes.

mod bad_input;
mod link;
mod standing;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value as Json, json};

use crate::cli::{Folder, Run, Words};

/// The command that makes a new folder, without the name of the folder.
pub(super) const INIT: &str = "init --participant ada --participant bob --objective 'Choose a store' \
    --completion 'It is fast' --primary-deliverable-type adr --deliverables-dir papers";

/// The file of the primary deliverable.
const DOC: &str = "papers/adr.md";

/// A collaboration in the folder `round` of a temporary directory, in which the commands run.
struct Round(Folder);

impl Round {
    /// Makes a collaboration with [`INIT`].
    fn new() -> Self {
        let round = Self::before();
        round.run(INIT).code_is(0);
        round
    }

    fn before() -> Self {
        Self(Folder::with(&[]))
    }

    /// Runs a command on the folder.
    fn run(&self, args: impl Words) -> Run {
        self.0.run(("collab", args, "--folder round"), "")
    }

    /// Runs a command that must end with this code, and returns the one object that it prints.
    fn json(&self, args: impl Words, code: i32) -> Json {
        let run = self.run((args, "--format json"));
        run.code_is(code);
        let mut objects = run.json();
        assert_eq!(objects.len(), 1, "{}", run.stdout);
        objects.remove(0)
    }

    /// Appends an event that must be accepted.
    fn append(&self, who: &str, event: &str, more: impl Words) -> Json {
        let event = ["--participant", who, "--event", event];
        self.json(("append --summary Done", event, more), 0)
    }

    /// Appends the events for the draft and for the proposal.
    fn submit(&self) {
        let primary = ["--reply-to", "1", "--doc", DOC, "--role", "primary"];
        self.append("ada", "deliverable_drafted", primary);
        self.append("ada", "proposal_submitted", "--reply-to 2");
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path("round").join(name)
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap()
    }

    /// Returns all files with their bytes, except the files of the lock.
    fn files(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        let mut found = BTreeMap::new();
        collect(&self.0.path(""), &mut found);
        found
    }
}

fn collect(folder: &Path, found: &mut BTreeMap<PathBuf, Vec<u8>>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap();
        if path.is_dir() && !path.is_symlink() {
            collect(&path, found);
        } else if !name.starts_with(".acp.lock") {
            // A broken link cannot be read, so it counts as empty.
            let bytes = fs::read(&path).unwrap_or_default();
            found.insert(path, bytes);
        }
    }
}

/// Returns the codes of the errors of an object.
fn codes(object: &Json) -> Vec<&str> {
    let errors = object["errors"].as_array().unwrap().iter();
    errors
        .map(|error| error["code"].as_str().unwrap())
        .collect()
}

/// Removes a member from an object and returns its value. Used for members whose value differs from run to run.
fn take(object: &mut Json, key: &str) -> String {
    let value = object.as_object_mut().unwrap().remove(key).unwrap();
    value.as_str().unwrap().to_owned()
}

#[test]
fn init_says_what_it_has_made() {
    let round = Round::before();
    let made = json!({
        "ok": true, "folder": "round", "primary": DOC, "phase": "drafting",
        "files": [
            DOC, "README.md", "proposal.md", "review.md", "decisions.md", "readiness.md",
            "conclusion.md", "events.jsonl", "protocol.json",
        ],
    });
    assert_eq!(round.json(INIT, 0), made);
    // A second `init` in the same folder is refused, and accepted with --resume.
    let before = round.files();
    let refused = json!({ "ok": false, "errors": [{
        "code": "exists", "file": "protocol.json",
        "message": "the folder already contains protocol.json; add --resume if you know it, or name another folder",
    }] });
    assert_eq!(round.json(INIT, 2), refused);
    let resumed =
        json!({ "ok": true, "folder": "round", "primary": DOC, "phase": "drafting", "files": [] });
    assert_eq!(round.json((INIT, "--resume"), 0), resumed);
    let run = round.run(INIT);
    assert_eq!((run.code, &run.stdout[..]), (Some(2), ""));
    assert!(run.stderr.starts_with("error: protocol.json: ") && run.stderr.ends_with("[exists]\n"));
    assert!(round.files() == before);

    let run = Round::before().run(INIT);
    assert_eq!(
        run.stdout,
        "made the folder round; the primary deliverable is papers/adr.md\n"
    );
    assert_eq!((run.code, &run.stderr[..]), (Some(0), ""));
}

#[test]
fn init_has_the_flags_of_the_original() {
    let round = Round::before();
    fs::create_dir(round.0.path("docs")).unwrap();
    let args = "init --participant ada --participant bob --objective O --completion One --completion Two \
        --primary-deliverable-type custom --primary-deliverable-file memo.md \
        --primary-deliverable-check Question --primary-deliverable-check Answer \
        --deliverables-mode external --deliverables-dir docs --repo-root ..";
    let made = round.json(args, 0);
    assert_eq!(made["primary"], "external:memo.md");
    assert_eq!(made["files"][0], "external:memo.md");
    let text = fs::read_to_string(round.0.path("docs/memo.md")).unwrap();
    assert!(text.ends_with("\n## Question\n\n\n## Answer\n\n"), "{text}");
    // By default, the directory is `deliverables`, and the file has the name of its type.
    let round = Round::before();
    assert_eq!(
        round.json(INIT.replace("--deliverables-dir papers", ""), 0)["primary"],
        "deliverables/adr.md"
    );
    // A new round takes these settings over from the round that `--from` names.
    let args = "collab init --folder next --from round --format json";
    let run = round.0.run(args, "");
    run.code_is(0);
    assert_eq!(run.json()[0]["primary"], "deliverables/adr.md");
    let protocol = |name: &str| -> Json {
        serde_json::from_str(&round.0.read(&format!("{name}/protocol.json"))).unwrap()
    };
    for key in [
        "objective",
        "participants",
        "completionGates",
        "deliverables",
        "proposalOwner",
    ] {
        assert_eq!(protocol("next")[key], protocol("round")[key], "{key}");
    }
}

#[test]
fn init_refuses_what_is_missing_with_all_reasons() {
    let round = Round::before();
    let args = "init --participant ada --objective ' ' --completion ''";
    let refused = round.json(args, 2);
    let all = [
        "primary-type",
        "objective-blank",
        "participants-few",
        "gates-empty",
    ];
    assert_eq!(codes(&refused)[..4], all);
    let args = INIT.replace("adr", "memo");
    assert!(codes(&round.json(&args, 2)).contains(&"primary-type"));
    let args = (INIT, "--deliverables-mode both");
    assert_eq!(codes(&round.json(args, 2)), ["mode"]);
    // The command needs a folder, and an empty name is not allowed.
    for folder in ["", "--folder ''"] {
        let run = round.0.run(("collab", INIT, folder), "");
        assert_eq!((run.code, &run.stdout[..]), (Some(2), ""));
        run.stderr_has("--folder <DIR>");
    }
    assert_eq!(round.0.names(), [""; 0]);
}

#[test]
fn append_says_what_stands() {
    let round = Round::new();
    let primary = ["--reply-to", "1", "--doc", DOC, "--role", "primary"];
    let mut object = round.append("ada", "deliverable_drafted", primary);
    let at = take(&mut object, "at");
    assert!(
        round
            .read("events.jsonl")
            .contains(&format!("\"at\":\"{at}\""))
    );
    let appended = json!({
        "ok": true, "seq": 2, "event": "deliverable_drafted", "phase": "drafting",
        "proposal_owner": "ada", "waiting_for": ["ada"],
    });
    assert_eq!(object, appended);
    let args = "append --participant ada --event proposal_submitted";
    let run = round.run((args, "--summary 'Please review' --reply-to 2"));
    let said = "appended seq 3: proposal_submitted; the phase is reviewing, asked: bob\n";
    assert_eq!(
        (run.code, &run.stdout[..], &run.stderr[..]),
        (Some(0), said, "")
    );
}

#[test]
fn append_says_all_reasons_of_a_refusal_and_changes_nothing() {
    let round = Round::new();
    round.submit();
    let before = round.files();
    let args = "append --participant ada --event review_submitted --summary x";
    let refused = json!({ "ok": false, "errors": [{
        "code": "turn", "seq": 4,
        "message": "review_submitted is reserved for bob; wait for the turn with `accp collab wait`",
    }] });
    assert_eq!(round.json((args, "--reply-to 3"), 2), refused);
    let run = round.run((args, "--reply-to 3"));
    assert_eq!((run.code, &run.stdout[..]), (Some(2), ""));
    assert_eq!(
        run.stderr,
        "error: seq 4: review_submitted is reserved for bob; wait for the turn with `accp collab wait` [turn]\n"
    );
    for (more, all) in [
        ("--reply-to -1", &["reply-unknown", "turn"][..]),
        ("--doc ../x", &["reply-missing", "path-escape", "turn"]),
        ("--reply-to 3 --role main", &["role-missing"]),
    ] {
        assert_eq!(codes(&round.json((args, more), 2)), all);
    }
    assert!(round.files() == before);
}

#[test]
fn append_puts_a_review_under_its_heading_and_computes_the_hash() {
    let round = Round::new();
    round.submit();
    fs::write(round.0.path("mine.md"), "Review Scope:\n- All of it\n").unwrap();
    let more = "--reply-to 3 --doc review.md --review mine.md";
    let at = take(&mut round.append("bob", "review_submitted", more), "at");
    let review = format!("\n## {at} - bob - seq 4\n\nReview Scope:\n- All of it\n");
    assert!(
        round.read("review.md").ends_with(&review),
        "{}",
        round.read("review.md")
    );
    // The values of --doc, --role and --sha256 are stored as the user gives them.
    let more = "--reply-to 4 --doc notes.md --role supporting --sha256 00";
    round.append("ada", "proposal_revised", more);
    let line = round.read("events.jsonl");
    let line = line.lines().last().unwrap();
    let end = r#""doc":"notes.md","reply_to":4,"role":"supporting","sha256":"00"}"#;
    assert!(line.ends_with(end), "{line}");
    // With `--hash`, the event gets the hash of the file. Here the file has the state Frozen
    // and a text in each section.
    let text = round
        .read(DOC)
        .replace("Draft", "Frozen")
        .replace("\n\n", "\nText.\n");
    fs::write(round.path(DOC), text).unwrap();
    let readiness = round
        .read("readiness.md")
        .replace("[unresolved]", "[resolved]");
    fs::write(round.path("readiness.md"), readiness).unwrap();
    round.append("ada", "question_classified", "--reply-to 5");
    round.append("bob", "decision_accepted", "--reply-to 6");
    round.append("ada", "decision_accepted", "--reply-to 7");
    let more = [
        "--reply-to",
        "8",
        "--doc",
        DOC,
        "--role",
        "primary",
        "--hash",
    ];
    round.append("ada", "deliverable_frozen", more);
    let status = round.json("status", 0);
    assert_eq!(
        (&status["frozen"], &status["events"]),
        (&json!([DOC]), &json!(9))
    );
    assert_eq!(
        round.json("next --participant ada", 0)["action"],
        "check-gates"
    );
}
