//! A folder that agents share, on a disk that loses power or fails.

use std::fs;
use std::path::Path;

use accp_collab::disk::{Draft, Files, Locking, Shared};
use accp_collab::{Folder, FolderSettings, Kind, LOG_FILE, Mode, Role, Scope, validate};

mod recorded;

use crate::disk::{Disk, instants};
use crate::random::Random;
use crate::shim::Event;
use recorded::Fault;
pub(crate) use recorded::Recorded;

/// With at least this many cuts, some must fall in the middle of each kind of step.
const MANY: usize = 200;
/// How often the proposal is reviewed in one run.
const ROUNDS: usize = 4;
const PRIMARY: &str = "deliverables/decision-memo.md";

/// An append, and the files that are written before it.
struct AppendStep {
    edits: Vec<(&'static str, String)>,
    draft: Draft,
}

/// The appends of a whole collaboration.
fn steps() -> Vec<AppendStep> {
    let mut steps: Vec<AppendStep> = Vec::new();
    let mut add = |from: &str, event: &str, doc: &str, edits: Vec<(&'static str, String)>| {
        let is_of_deliverable = event.starts_with("deliverable_");
        let review = (event == "review_submitted").then(|| {
            format!(
                "Context:\n- Reviewed primary deliverable: `{PRIMARY}`\n\nReview Scope:\n\
                 - Primary deliverable completeness\n\nPosition:\n- {}\n",
                "Good. ".repeat(200)
            )
        });
        let draft = Draft {
            doc: Some(doc.to_owned()),
            reply_to: Some(steps.len() as u64 + 1),
            role: is_of_deliverable.then_some(Role::Primary),
            has_hash: event == "deliverable_frozen",
            review,
            ..Draft::new(from, event, &"Done. ".repeat(150))
        };
        steps.push(AppendStep { edits, draft });
    };
    let memo = |status: &str| {
        let sections = Kind::DecisionMemo.sections().iter();
        let sections: Vec<String> = sections
            .map(|title| {
                format!(
                    "## {title}

Text.

"
                )
            })
            .collect();
        let sections = sections.concat();
        format!("# Memo\n\nStatus: {status}\n\n{sections}")
    };
    let readiness = |sha256: &str| {
        let gates = [
            "It is fast",
            "Primary deliverable exists: `deliverables/decision-memo.md`",
            "Primary deliverable has required `decision-memo` sections",
            "Every accepted decision has `Reflected in`",
            "Every accepted decision is reflected in the primary deliverable",
            "Primary deliverable status is `Frozen`",
            "Primary deliverable SHA-256 snapshot recorded",
            "Ready to implement",
        ];
        let gates: String = gates.map(|gate| format!("- [x] {gate}\n")).concat();
        format!("# Readiness\n\n- [resolved] All.\n\n{gates}\n- SHA-256: {sha256}\n")
    };
    let frozen = sha256_of(&memo("Frozen"));
    let conclusion = format!(
        "# Conclusion\n\n## Decision Outcome\n\n- [proceed] Yes.\n\n## Rationale\n\nR.\n\n## Deliverable Receipt\n\n\
         - Primary: `{PRIMARY}`\n- Type: `decision-memo`\n- SHA-256: {frozen}\n\n## Accepted Decisions Summary\n\nD1.\n\n\
         ## Readiness Result\n\nPassed.\n\n## Assumptions\n\nNone.\n\n## Deferred Follow-ups\n\nNone.\n\n\
         ## Implementation Blockers\n\nNone.\n\n## Next Action\n\nStart.\n"
    );
    add(
        "ada",
        "deliverable_drafted",
        PRIMARY,
        vec![(PRIMARY, memo("Draft"))],
    );
    for _ in 0..ROUNDS {
        add("ada", "proposal_submitted", "proposal.md", vec![]);
        add("bob", "review_submitted", "review.md", vec![]);
        add("cy", "review_submitted", "review.md", vec![]);
    }
    add("ada", "proposal_revised", "proposal.md", vec![]);
    add(
        "ada",
        "question_classified",
        "readiness.md",
        vec![("readiness.md", readiness(""))],
    );
    for from in ["cy", "ada", "bob"] {
        add(from, "decision_accepted", "decisions.md", vec![]);
    }
    add(
        "ada",
        "deliverable_frozen",
        PRIMARY,
        vec![(PRIMARY, memo("Frozen"))],
    );
    add(
        "ada",
        "readiness_passed",
        "readiness.md",
        vec![("readiness.md", readiness(&frozen))],
    );
    add(
        "ada",
        "completed",
        "conclusion.md",
        vec![("conclusion.md", conclusion)],
    );
    steps
}

/// Returns the SHA-256 of a text, as an append computes it.
fn sha256_of(text: &str) -> String {
    let folder = tempfile::tempdir().expect("a folder");
    begin(folder.path());
    fs::write(folder.path().join(PRIMARY), text).expect("it writes");
    Shared::new(folder.path())
        .read(Scope::All)
        .sha256(PRIMARY)
        .expect("the file is there")
}

/// Makes a folder.
fn begin(folder: &Path) {
    let settings = FolderSettings {
        participants: ["ada", "bob", "cy"].map(str::to_owned).to_vec(),
        objective: "Choose a store".to_owned(),
        gates: vec!["It is fast".to_owned()],
        kind: Some(Kind::DecisionMemo),
        file: None,
        checklist: vec![],
        mode: Mode::Internal,
        dir: "deliverables".to_owned(),
        repo_root: None,
    };
    Shared::new(folder)
        .init(settings, false)
        .expect("the disk is sound");
}

/// Opens a folder on files whose syncs do nothing on the real disk, so that they take no time.
fn open(files: &Recorded) -> Shared<Recorded> {
    Shared::on(files.clone(), &files.root).with_locking(Locking::None)
}

fn edit(files: &impl Files, folder: &Path, step: &AppendStep) {
    for (name, text) in &step.edits {
        let path = folder.join(name);
        let above = path.parent().expect("a folder");
        fs::create_dir_all(above).expect("it is made");
        let written = files
            .write(&path, text.as_bytes())
            .and_then(|()| files.sync(&path))
            .and_then(|()| files.sync(above));
        written.expect("the disk is sound");
    }
}

/// Writes the files of a step on a disk that does not fail.
fn edit_quietly(folder: &Path, step: &AppendStep) {
    for (name, text) in &step.edits {
        fs::write(folder.join(name), text).expect("it writes");
    }
}

/// The files of a new folder.
type Start = Vec<(String, Vec<u8>)>;

/// A run as the disk saw it.
struct Recording {
    events: Vec<Event>,
    /// For each step, the number of events after which it was acknowledged.
    acknowledged: Vec<usize>,
}

fn record(steps: &[AppendStep]) -> Recording {
    let folder = tempfile::tempdir().expect("a folder");
    let files = Recorded::new(folder.path());
    begin(folder.path());
    let shared = open(&files);
    for name in names(folder.path()) {
        let bytes = fs::read(folder.path().join(&name)).expect("it reads");
        files.tell(Event::Create(name.clone()));
        let file = name.clone();
        files.tell(Event::Write { file, at: 0, bytes });
        files.tell(Event::Sync(name));
    }
    for folder in ["", "deliverables"] {
        files.tell(Event::SyncFolder(folder.to_owned()));
    }
    let mut acknowledged = vec![files.log.len()];
    for step in steps {
        edit(&files, folder.path(), step);
        shared.append(&step.draft).expect("the disk is sound");
        acknowledged.push(files.log.len());
    }
    Recording {
        events: files.log.take(),
        acknowledged,
    }
}

/// Returns the names of all files of a folder.
fn names(folder: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for (below, prefix) in [("", ""), ("deliverables", "deliverables/")] {
        for entry in fs::read_dir(folder.join(below)).expect("it reads") {
            let entry = entry.expect("it reads");
            if entry.path().is_file() {
                found.push(format!("{prefix}{}", entry.file_name().to_string_lossy()));
            }
        }
    }
    found.sort();
    found
}

/// Cuts the power while agents append to folders, and then makes the disk fail.
pub(crate) fn run(cuts: usize, seed: u64) {
    let steps = steps();
    let recording = record(&steps);
    let counts = cut(&recording, &steps, cuts, seed).unwrap_or_else(|error| panic!("{error}"));
    println!("power cuts of a folder: {counts:?}");
    assert!(
        cuts < MANY || counts.torn > 0 && counts.kept > 0 && counts.lost > 0 && counts.aside > 0,
        "some cuts fell in the middle of something"
    );
    prove(&recording, &steps, seed);
    break_disk(&steps);
}

/// The results of the cuts.
#[derive(Debug, Default)]
struct Counts {
    cuts: usize,
    torn: usize,
    /// Cuts during an append: after `kept` of them the event was there, and after `lost` it was not.
    kept: usize,
    lost: usize,
    /// Last lines of the log that a cut has left incomplete, and that the next append put aside.
    aside: usize,
}

fn cut(
    recording: &Recording,
    steps: &[AppendStep],
    cuts: usize,
    seed: u64,
) -> Result<Counts, String> {
    let mut random = Random::new(seed);
    let mut counts = Counts::default();
    let (events, first) = (&recording.events, recording.acknowledged[0]);
    let is_sync = |event: &Event| matches!(event, Event::Sync(name) if name == LOG_FILE);
    let mut disk = Disk::default();
    for instant in instants(events, first, cuts, &mut random, is_sync) {
        let (folder, torn) = disk.cut_at(instant, events, &mut random);
        let done = recording.acknowledged.partition_point(|at| *at <= instant) - 1;
        let found = recover(folder.path(), steps, done, &mut counts).map_err(|error| {
            format!("seed {seed}, cut after {instant} events and {done} appends: {error}")
        })?;
        counts.cuts += 1;
        counts.torn += usize::from(torn);
        if done < steps.len() {
            counts.kept += usize::from(found > done);
            counts.lost += usize::from(found == done);
        }
    }
    Ok(counts)
}

/// Checks that the log has the events of the first steps and nothing else. Returns the number of these events.
fn appended(folder: &Folder, steps: &[AppendStep]) -> Result<usize, String> {
    folder
        .standing()
        .map_err(|findings| format!("{findings:?}"))?;
    let events = &folder.log().events()[1..];
    for (event, step) in events.iter().zip(steps) {
        if (&event.from, event.event.as_str()) != (&step.draft.from, &step.draft.event) {
            return Err(format!("event {} is another one", event.seq));
        }
    }
    Ok(events.len())
}

/// Opens the folder after a cut, and makes the remaining appends. Returns how many appends were there after the
/// cut.
fn recover(
    folder: &Path,
    steps: &[AppendStep],
    done: usize,
    counts: &mut Counts,
) -> Result<usize, String> {
    let files = Recorded::new(folder);
    let shared = open(&files);
    let before = shared.read(Scope::All);
    let found = appended(&before, steps)?;
    if found < done || found > done + 1 {
        return Err(format!(
            "{found} events are there, and {done} were acknowledged"
        ));
    }
    counts.aside += usize::from(before.log().torn().is_some());
    for (index, step) in steps.iter().enumerate().skip(found.saturating_sub(1)) {
        edit(&files, folder, step);
        if index >= found {
            shared
                .append(&step.draft)
                .map_err(|findings| format!("append {index}: {findings:?}"))?;
        }
    }
    if found == steps.len() {
        shared
            .repair()
            .map_err(|findings| format!("{findings:?}"))?;
    }
    let after = shared.read(Scope::All);
    if appended(&after, steps)? != steps.len() {
        return Err("an event is missing at the end".to_owned());
    }
    let wrong = validate(&after);
    let torn = folder.join("events.jsonl.torn").exists();
    if torn != before.log().torn().is_some() {
        return Err("a line that was cut is not aside".to_owned());
    }
    if wrong.is_empty() {
        Ok(found)
    } else {
        Err(format!("{wrong:?}"))
    }
}

/// Checks that planted mistakes are found: a disk that forgets its syncs, and appends that are acknowledged
/// before they are done.
fn prove(recording: &Recording, steps: &[AppendStep], seed: u64) {
    let start = recording.acknowledged[0];
    let is_kept = |(at, event): &(usize, &Event)| {
        *at < start || !matches!(event, Event::Sync(_) | Event::SyncFolder(_))
    };
    let kept = || recording.events.iter().enumerate().filter(is_kept);
    let forgetful = Recording {
        events: kept().map(|(_, event)| event.clone()).collect(),
        acknowledged: recording
            .acknowledged
            .iter()
            .map(|at| kept().filter(|(index, _)| index < at).count())
            .collect(),
    };
    let mut hasty = recording.acknowledged.clone();
    let after = hasty.len() - 1;
    hasty.copy_within(..after, 1);
    let hasty = Recording {
        events: recording.events.clone(),
        acknowledged: hasty,
    };
    for (what, planted) in [
        ("a disk that forgets its syncs", forgetful),
        ("appends that are acknowledged before they are done", hasty),
    ] {
        let error = cut(&planted, steps, 200, seed).expect_err("a planted mistake is found");
        println!("planted: {what}; found: {error}");
    }
}

/// Lets each operation of the disk fail once, in each way.
fn break_disk(steps: &[AppendStep]) {
    let folder = tempfile::tempdir().expect("a folder");
    begin(folder.path());
    let start = contents(folder.path());
    let all = [
        Fault::Full,
        Fault::StaysFull,
        Fault::ShortWrite,
        Fault::Sync,
        Fault::StaysUnsynced,
        Fault::Rename,
    ];
    for fault in all {
        let (mut places, mut refused) = (0, 0);
        while let Some(errors) = break_once(&start, steps, fault, places) {
            places += 1;
            refused += errors;
        }
        println!("{fault:?} under a folder: {places} places, {refused} appends refused");
        assert!(places > 0 && (refused > 0 || fault == Fault::Rename));
    }
}

/// Returns how many appends were refused when the disk failed at a place; `None` if the disk did not fail.
fn break_once(start: &Start, steps: &[AppendStep], fault: Fault, place: usize) -> Option<usize> {
    let folder = tempfile::tempdir().expect("a folder");
    for (name, bytes) in start {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("it is made");
        fs::write(path, bytes).expect("it writes");
    }
    let files = Recorded::new(folder.path());
    let shared = open(&files);
    let mut refused = 0;
    files.status.borrow_mut().fault = Some((fault, place));
    for step in steps {
        // The fault applies only to the appends, not to this edit.
        edit_quietly(folder.path(), step);
        let before = contents(folder.path());
        if let Err(findings) = shared.append(&step.draft) {
            assert!(
                files.status.borrow().broke,
                "{fault:?} {place}: {findings:?}"
            );
            assert_eq!(
                contents(folder.path()),
                before,
                "{fault:?} {place}: the folder is as it was"
            );
            refused += 1;
            files.status.borrow_mut().fault = None;
            shared.append(&step.draft).expect("the disk is mended");
        }
    }
    files.status.borrow_mut().fault = None;
    shared.repair().expect("the disk is mended");
    let folder = shared.read(Scope::All);
    assert_eq!(
        appended(&folder, steps),
        Ok(steps.len()),
        "{fault:?} {place}"
    );
    assert_eq!(validate(&folder), [], "{fault:?} {place}");
    let broke = files.status.borrow().broke;
    broke.then_some(refused)
}

/// Returns all files of a folder, except for those that begin with a dot. Readers of the folder ignore these.
fn contents(folder: &Path) -> Start {
    let names = names(folder)
        .into_iter()
        .filter(|name| !name.starts_with('.'));
    let read = |name: String| {
        let bytes = fs::read(folder.join(&name)).expect("it reads");
        (name, bytes)
    };
    names.map(read).collect()
}
