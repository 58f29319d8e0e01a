//! Disks that fail, files that somebody changed, and processes that run at the same time. No returned list names an
//! incomplete file, and the next call returns what it would return without the disturbance.

mod faulty;

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::thread;

use accp_memory::disk::{Compressed, Context, ContextError};
use accp_memory::{Form, MessageList, Options, SessionId, Tier, Window};
use accp_store::files::{Files, Os};
use serde_json::{Value as Json, json};
use tempfile::TempDir;
use time::{Duration, OffsetDateTime};

use crate::common::quarters::Quarters;
use faulty::{Fault, Faulty};

/// The turns of the conversation.
const TURNS: usize = 4;
/// More than the number of places at which a disk can fail in one turn.
const MOST: usize = 1_000;

/// Returns the conversation: in each turn, two calls at once have results of different lengths.
fn conversation() -> Vec<Json> {
    let mut all =
        vec![json!({"role": "system", "content": "You keep the ledger. Never delete an entry."})];
    for turn in 0..TURNS {
        let ids = [format!("a{turn}"), format!("b{turn}")];
        let ask = format!(
            "Balance of account {turn}?{}",
            " Look at each entry.".repeat(30)
        );
        all.push(json!({"role": "user", "content": ask}));
        let call = |id| json!({"id": id, "type": "function", "function": {"name": "entries", "arguments": "{}"}});
        let calls: Vec<Json> = ids.iter().map(call).collect();
        all.push(json!({"role": "assistant", "content": null, "tool_calls": calls}));
        for (id, lines) in ids.iter().zip([60 + 40 * turn, 220]) {
            let text = (0..lines).fold(String::new(), |mut text, line| {
                let _ = writeln!(text, "entry {line} of {id}: 12.50");
                text
            });
            all.push(json!({"role": "tool", "tool_call_id": id, "content": text}));
        }
        let answer = format!("The balance of account {turn} is {}.", turn * 100);
        all.push(json!({"role": "assistant", "content": answer}));
    }
    all
}

/// Returns the list after this many turns.
fn list(turns: usize) -> MessageList {
    let all = conversation();
    let text = Json::from(all[..=turns * 5].to_vec()).to_string();
    MessageList::read(&text, Some(Form::OpenAi)).expect("a list")
}

fn open<F: Files>(root: &Path, files: F) -> Result<Context<F>, ContextError> {
    let context = Context::open_on(root, SessionId::new("s").expect("an id"), files)?;
    Ok(context.with_work("nowhere"))
}

/// Compresses the list after this many turns. The clock depends only on the number of turns, so a second try has the
/// same time.
fn compress<F: Files>(context: &mut Context<F>, turns: usize) -> Result<Compressed, ContextError> {
    let window = Window::of(4_000).expect("a window");
    let second = i64::try_from(turns).expect("few");
    let options = Options::new(
        &window,
        &Quarters,
        OffsetDateTime::UNIX_EPOCH + Duration::seconds(second),
    );
    context.compress(&list(turns), &options, &mut ())
}

/// Returns all files of a root but those of databases and locks, in order.
fn files(root: &Path) -> Vec<(String, String)> {
    let mut all = Vec::new();
    for folder in ["offloaded", "conversations", "checkpoints", "intermediate"] {
        // A root where nothing was kept yet has no folders.
        let entries = fs::read_dir(root.join("cache").join(folder));
        for entry in entries.into_iter().flatten() {
            let path = entry.expect("an entry").path();
            let name = path
                .strip_prefix(root)
                .expect("below")
                .display()
                .to_string();
            all.push((name, fs::read_to_string(&path).expect("a file")));
        }
    }
    all.sort();
    all
}

/// The lists and roots of a run without any failure.
struct Undisturbed {
    /// The list after each turn.
    lists: Vec<String>,
    /// The root before the first turn and after each.
    roots: Vec<TempDir>,
}

fn undisturbed() -> Undisturbed {
    let mut roots = vec![tempfile::tempdir().expect("a folder")];
    let mut lists = Vec::new();
    let mut tiers = Vec::new();
    for turns in 1..=TURNS {
        let root = copied(roots[turns - 1].path());
        let mut context = open(root.path(), Os).expect("a session");
        let done = compress(&mut context, turns).expect("a list");
        tiers.extend(done.events.iter().map(|event| event.tier));
        lists.push(done.list.to_string());
        roots.push(root);
    }
    assert!(
        tiers.contains(&Tier::One) && tiers.contains(&Tier::Three),
        "{tiers:?}"
    );
    let count = files(roots[TURNS].path()).len();
    assert!(count > 3, "{count}");
    Undisturbed { lists, roots }
}

/// Returns a copy of a root that nobody has open.
fn copied(root: &Path) -> TempDir {
    let copy = tempfile::tempdir().expect("a folder");
    copy_into(root, copy.path());
    copy
}

fn copy_into(from: &Path, to: &Path) {
    for entry in fs::read_dir(from).expect("a folder") {
        let path = entry.expect("an entry").path();
        let into = to.join(path.file_name().expect("a name"));
        if path.is_dir() {
            fs::create_dir(&into).expect("it is made");
            copy_into(&path, &into);
        } else {
            fs::copy(&path, &into).expect("it is copied");
        }
    }
}

/// Checks that an error names the place and says what to do.
fn says_enough(error: &ContextError, root: &Path) {
    assert!(matches!(error, ContextError::Files { .. }), "{error}");
    let (said, root) = (error.to_string(), root.display().to_string());
    assert!(said.starts_with(&root), "{said}");
    assert!(said.contains("try again"), "{said}");
}

/// Gives the list after this many turns until a list is returned. Returns whether the disk failed.
fn survives(told: &Undisturbed, turns: usize, disk: &Faulty, lasts: bool) -> bool {
    let root = copied(told.roots[turns - 1].path());
    let mut context = open(root.path(), disk.clone()).expect("nothing is undone");
    let done = match compress(&mut context, turns) {
        Ok(done) => done,
        Err(error) => {
            says_enough(&error, root.path());
            if lasts {
                let error = compress(&mut context, turns).expect_err("it is not mended");
                says_enough(&error, root.path());
                drop(context);
                // If nothing was kept yet, there is nothing to finish, and the session opens
                // without an error.
                if let Err(error) = open(root.path(), disk.clone()) {
                    says_enough(&error, root.path());
                }
                disk.mend();
                context = open(root.path(), disk.clone()).expect("it is mended");
            }
            compress(&mut context, turns).expect("the disk is sound")
        }
    };
    assert_eq!(done.list.to_string(), told.lists[turns - 1]);
    assert_eq!(files(root.path()), files(told.roots[turns].path()));
    disk.broke()
}

#[test]
fn a_disk_that_fails_anywhere_costs_no_list_and_no_file() {
    let told = undisturbed();
    for fault in [Fault::Full, Fault::Half, Fault::Sync] {
        for lasts in [false, true] {
            let places = |turns| {
                let fails =
                    |place| survives(&told, turns, &Faulty::after(place, fault, lasts), lasts);
                (0..MOST).take_while(|place| fails(*place)).count()
            };
            let places: usize = (1..=TURNS).map(places).sum();
            assert!(places > 10, "{fault:?}: {places}");
        }
    }
}

/// A root in which the whole conversation was compressed.
fn compressed() -> TempDir {
    undisturbed().roots.pop().expect("the last")
}

/// Returns the files of one folder.
fn of_folder(root: &Path, folder: &str) -> Vec<PathBuf> {
    let all = files(root).into_iter().map(|(name, _)| root.join(name));
    all.filter(|path| path.parent().is_some_and(|parent| parent.ends_with(folder)))
        .collect()
}

#[test]
fn a_file_that_somebody_changed_is_refused() {
    for folder in ["conversations", "offloaded", "checkpoints"] {
        let root = compressed();
        let Some(path) = of_folder(root.path(), folder).pop() else {
            continue;
        };
        let sound = fs::read_to_string(&path).expect("a file");
        fs::write(&path, sound.replacen('e', "E", 1)).expect("it writes");
        let error = open(root.path(), Os).expect_err("it was changed");
        assert!(matches!(error, ContextError::Changed { .. }), "{error}");
        let name = path.strip_prefix(root.path()).expect("below");
        let said = error.to_string();
        assert!(said.starts_with(&name.display().to_string()), "{said}");
        assert!(said.contains("take it back from a copy"), "{said}");
        fs::write(&path, sound).expect("it writes");
        open(root.path(), Os).expect("it is as it was");
    }
}

#[test]
fn a_file_that_is_gone_or_cut_is_written_again() {
    let root = compressed();
    let told = files(root.path());
    for folder in ["conversations", "offloaded"] {
        for path in of_folder(root.path(), folder) {
            fs::remove_file(&path).expect("it is there");
            open(root.path(), Os).expect("it writes");
            assert_eq!(files(root.path()), told);
            let length = fs::metadata(&path).expect("it is there").len();
            Os.cut(&path, length / 3).expect("it cuts");
            open(root.path(), Os).expect("it writes");
            assert_eq!(files(root.path()), told);
        }
    }
}

#[test]
fn cold_state_that_is_torn_gives_an_error_with_a_cure() {
    let root = compressed();
    let cold = root.path().join("cache/cold.accp");
    let sound = fs::read(&cold).expect("a file");
    let torn = [&sound[..sound.len() / 2], &[7; 300], &[]];
    for bytes in torn {
        fs::write(&cold, bytes).expect("it writes");
        let result = open(root.path(), Os).and_then(|mut context| compress(&mut context, TURNS));
        // An empty file counts as a new database. Then the error names a file of the old session
        // that is in the way, and that file is not overwritten.
        let error = result.expect_err("it is torn");
        let said = error.to_string();
        let is_torn = matches!(error, ContextError::Cold(_));
        let is_new = matches!(error, ContextError::Taken { .. });
        assert!(
            is_torn && !bytes.is_empty() || is_new && bytes.is_empty(),
            "{said}"
        );
        assert!(said.contains("copy"), "{said}");
    }
    fs::write(&cold, sound).expect("it writes");
    open(root.path(), Os).expect("it is as it was");
}

#[test]
fn a_session_takes_no_name_that_another_one_has_not_written_yet() {
    let root = tempfile::tempdir().expect("a folder");
    let disk = Faulty::after(1, Fault::Full, true);
    let mut context = open(root.path(), disk).expect("a session");
    compress(&mut context, 1).expect_err("the disk is full");
    drop(context);
    let id = SessionId::new("other").expect("an id");
    let mut context = Context::open_on(root.path(), id, Os).expect("a session");
    // Both sessions move out a result of the same tool in the same second, so both would choose the
    // same name.
    let done = compress(&mut context, 1).expect("a list");
    let other = done.list.to_string();
    drop(context);
    let mut context = open(root.path(), Os).expect("a session");
    let list = compress(&mut context, 1).expect("a list").list.to_string();
    assert_eq!(list, undisturbed().lists[0]);
    assert_ne!(list, other);
}

#[test]
fn a_file_that_lost_its_bytes_before_the_sync_is_written_again() {
    let root = tempfile::tempdir().expect("a folder");
    let told = undisturbed();
    for turns in 1..=TURNS {
        // The disk syncs the note and its folders, and fails when it syncs the files.
        let disk = Faulty::after(3, Fault::Sync, true);
        let mut context = open(root.path(), disk).expect("a session");
        let before = files(root.path());
        if compress(&mut context, turns).is_err() {
            for (name, text) in files(root.path()) {
                let known = before.iter().find(|(known, _)| *known == name);
                let kept = known.map_or(0, |(_, text)| text.len());
                let lost = [&text.as_bytes()[..kept], &vec![0; text.len() - kept]].concat();
                fs::write(root.path().join(&name), lost).expect("it writes");
            }
        }
        drop(context);
        let mut context = open(root.path(), Os).expect("a session");
        let done = compress(&mut context, turns).expect("a list");
        assert_eq!(done.list.to_string(), told.lists[turns - 1]);
    }
    assert_eq!(files(root.path()), files(told.roots[TURNS].path()));
}

#[test]
fn a_second_process_waits_for_the_first() {
    let root = tempfile::tempdir().expect("a folder");
    let mut first = open(root.path(), Os).expect("a session");
    let one = compress(&mut first, 1).expect("a list");
    let (tell, told) = mpsc::channel();
    let path = root.path().to_owned();
    let second = thread::spawn(move || {
        tell.send("begins").expect("somebody listens");
        let mut second = open(&path, Os).expect("a session");
        tell.send("has the root").expect("somebody listens");
        compress(&mut second, 3).expect("a list").list.to_string()
    });
    assert_eq!(told.recv(), Ok("begins"));
    let two = compress(&mut first, 2).expect("a list");
    assert!(told.try_recv().is_err(), "the first has the root");
    drop(first);
    assert_eq!(told.recv(), Ok("has the root"));
    let lists = undisturbed().lists;
    assert_eq!([one, two].map(|done| done.list.to_string()), lists[..2]);
    // The second process continues with the state that the first one has kept.
    assert_eq!(second.join().expect("it ends"), lists[2]);
}

#[test]
fn who_opens_where_nothing_is_yet_goes_on_from_what_another_has_begun() {
    let root = tempfile::tempdir().expect("a folder");
    let mut second = open(root.path(), Os).expect("a session");
    let mut first = open(root.path(), Os).expect("a session");
    let one = compress(&mut first, 1).expect("a list");
    drop(first);
    let two = compress(&mut second, 2).expect("a list");
    let lists = undisturbed().lists;
    assert_eq!([one, two].map(|done| done.list.to_string()), lists[..2]);
}

#[test]
fn texts_of_a_list_name_the_root_that_was_set() {
    let root = tempfile::tempdir().expect("a folder");
    let rows = (0..900).map(|row| format!("row {row}: {row} bags of rye"));
    let rows = rows.collect::<Vec<_>>().join("\n");
    let list = serde_json::json!([
        { "role": "user", "content": "Rye?" },
        { "role": "assistant", "content": null, "tool_calls": [
            { "id": "c1", "type": "function", "function": { "name": "stock", "arguments": "{}" } }] },
        { "role": "tool", "tool_call_id": "c1", "content": rows },
    ]);
    let list = MessageList::read(&list.to_string(), None).expect("a list");
    let window = Window::of(8_000).expect("a window");
    let options = Options::new(&window, &Quarters, OffsetDateTime::UNIX_EPOCH);
    let context = open(root.path(), Os).expect("a session");
    let mut context = context.with_root_in_commands("../kept");
    let done = context.compress(&list, &options, &mut ()).expect("a list");
    let text = done.list.to_string();
    assert!(
        text.contains("`accp context read --root ../kept cache/"),
        "{text}"
    );
    assert!(text.contains("--root ../kept WORDS`"), "{text}");
}
