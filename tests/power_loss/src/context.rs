//! Compresses conversations on a disk that loses power. Their cold state is in SQLite, and models read their files.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

mod script;

use accp_memory::disk::{Compressed, Context};
use accp_memory::{Form, MessageList, Options, SessionId, Window};
use accp_testkit::Quarters;
use time::{Duration, OffsetDateTime};

use crate::disk::{Disk, instants};
use crate::folder::Recorded;
use crate::log::{Log, sound};
use crate::random::Random;
use crate::shim::{self, Event};
use script::{ConversationStep, SESSIONS, steps};

/// With at least this many cuts, some must fall in the middle of each kind of step.
const MANY: usize = 200;
/// The tokens of the window. A few results fill the window.
const WINDOW: u64 = 3_000;
/// The folder with all files, below the root. The files of SQLite are in it, too.
const CACHE: &str = "cache";
/// How many steps the program takes after a cut.
const AFTER: usize = 6;

/// A run as the disk recorded it.
struct Recording {
    steps: Vec<ConversationStep>,
    events: Vec<Event>,
    /// What the program knows before the first step and after each step.
    known: Vec<Known>,
}

/// The facts that a program can rely on once a step was acknowledged.
#[derive(Clone, Default)]
struct Known {
    /// The number of events up to the acknowledgement.
    events: usize,
    /// The list of each session.
    lists: [Vec<String>; SESSIONS],
    /// The messages of each session so far.
    said: [Vec<String>; SESSIONS],
    marks: [BTreeSet<usize>; SESSIONS],
    /// The files that models read, by their paths.
    files: Files,
}

/// Files by their paths.
type Files = BTreeMap<String, Vec<u8>>;

/// A program that has one session open at a time, as a process has.
struct Program<'p> {
    root: &'p Path,
    files: Recorded,
    open: Option<(usize, Context<Recorded>)>,
}

impl<'p> Program<'p> {
    fn new(root: &'p Path, log: &Log) -> Self {
        Self {
            root,
            files: Recorded::on(root, log),
            open: None,
        }
    }

    /// Returns a session, and opens it unless it is open already.
    fn session(&mut self, session: usize) -> Result<&mut Context<Recorded>, String> {
        let open = match self.open.take() {
            Some(open) if open.0 == session => open,
            other => {
                // Only one session can be open on this root, so the other session is closed first.
                drop(other);
                let opened = Context::open_on(self.root, id(session), self.files.clone());
                let opened = opened.map_err(|error| error.to_string())?;
                (session, opened.with_work(self.root))
            }
        };
        Ok(&mut self.open.insert(open).1)
    }

    /// Compresses a list, and returns the result.
    fn give(&mut self, session: usize, list: &[String], at: usize) -> Result<Compressed, String> {
        let list = MessageList::of(Form::OpenAi, list.iter().map(String::as_str));
        let list = list.map_err(|error| error.to_string())?;
        let window = Window::of(WINDOW).expect("a window");
        let options = Options::new(&window, &Quarters, now(at));
        let done = self.session(session)?.compress(&list, &options, &mut ());
        done.map_err(|error| error.to_string())
    }

    /// Takes a step, and returns what the program knows after it.
    fn take(
        &mut self,
        step: &ConversationStep,
        at: usize,
        mut known: Known,
    ) -> Result<Known, String> {
        match step {
            ConversationStep::Say { session, messages } => {
                let given = [&known.lists[*session][..], messages].concat();
                known.lists[*session] = raws(&self.give(*session, &given, at)?.list);
                known.said[*session].extend(messages.iter().cloned());
            }
            ConversationStep::Mark { session, message } => {
                let marked = self.session(*session)?.mark(*message, now(at));
                marked.map_err(|error| error.to_string())?;
                known.marks[*session].insert(*message);
            }
            ConversationStep::End => self.open = None,
        }
        known.files = files(self.root);
        Ok(known)
    }

    /// Checks that a session has everything that the program knows of it.
    fn check(&mut self, session: usize, known: &Known) -> Result<(), String> {
        let context = self.session(session)?;
        let begun = context.begun().map_err(|error| error.to_string())?;
        let restored = begun.restored().map_err(|error| error.to_string())?;
        if raws(&restored) != known.said[session] {
            return Err(format!("session {session} does not come back"));
        }
        if begun.marks().collect::<BTreeSet<_>>() != known.marks[session] {
            return Err(format!("a mark of session {session} is lost"));
        }
        Ok(())
    }
}

/// Returns the time of a step. Four steps share a time, so that some names of files are already taken.
fn now(step: usize) -> OffsetDateTime {
    OffsetDateTime::UNIX_EPOCH + Duration::seconds(step as i64 / 4)
}

fn id(session: usize) -> SessionId {
    SessionId::new(["ada", "bob"][session]).expect("an id")
}

fn raws(list: &MessageList) -> Vec<String> {
    let raw = |message: &accp_memory::ListMessage| message.raw().to_owned();
    list.messages().iter().map(raw).collect()
}

/// Returns all files except for those that SQLite writes and the lock.
fn files(root: &Path) -> Files {
    let mut found = Files::new();
    for folder in folders(root) {
        for entry in fs::read_dir(root.join(&folder)).expect("it reads") {
            let path = entry.expect("it reads").path();
            let name = format!(
                "{folder}/{}",
                path.file_name().expect("a name").to_string_lossy()
            );
            // `Path::extension` finds no extension in `.lock`.
            let is_lock = name.rsplit('.').next() == Some("lock");
            if path.is_file() && !is_cold(&name) && !is_lock {
                found.insert(name, fs::read(&path).expect("it reads"));
            }
        }
    }
    found
}

/// Returns whether SQLite writes a file.
fn is_cold(name: &str) -> bool {
    name.contains("cold.accp")
}

/// Returns the folders below a root, the upper ones first.
fn folders(root: &Path) -> Vec<String> {
    let below = fs::read_dir(root.join(CACHE)).into_iter().flatten();
    let below = below.map(|entry| entry.expect("it reads"));
    let names = below
        .filter(|entry| entry.path().is_dir())
        .map(|entry| entry.file_name());
    let below = names.map(|name| format!("{CACHE}/{}", name.to_string_lossy()));
    let mut all: Vec<_> = below.chain([CACHE.to_owned()]).collect();
    all.retain(|folder| root.join(folder).is_dir());
    all.sort();
    all
}

/// Returns the folders that the first list of a root makes, the upper ones first.
fn made() -> Vec<String> {
    let root = tempfile::tempdir().expect("a folder");
    let mut program = Program::new(root.path(), &Log::default());
    let list = [r#"{"role":"user","content":"Rye?"}"#.to_owned()];
    program.give(0, &list, 0).expect("the disk is sound");
    folders(root.path())
}

fn record(seed: u64) -> Recording {
    let root = tempfile::tempdir().expect("a folder");
    let log = Log::default();
    // The program makes its folders before anything else, so the log of events begins with them.
    let made = made().into_iter().map(Event::MakeFolder);
    made.for_each(|event| log.tell(event));
    log.tell_of_sqlite(|event| event.below(CACHE));
    let mut program = Program::new(root.path(), &log);
    let mut known = vec![Known {
        events: log.len(),
        ..Known::default()
    }];
    let steps = steps(seed);
    for (at, step) in steps.iter().enumerate() {
        let before = known.last().cloned().unwrap_or_default();
        let mut now = program.take(step, at, before).expect("the disk is sound");
        now.events = log.len();
        known.push(now);
    }
    drop(program);
    Recording {
        steps,
        events: log.take(),
        known,
    }
}

/// The results of the cuts.
#[derive(Debug, Default)]
struct Counts {
    cuts: usize,
    torn: usize,
    /// Cuts before which a file was named in a list.
    named: usize,
    /// Cuts during a step that writes files.
    writing: usize,
    /// Cuts after which a note named a session whose files were not whole.
    unfinished: usize,
}

/// Cuts the power while conversations are compressed, and checks the files after each cut.
pub(crate) fn run(cuts: usize, seed: u64) {
    let recording = record(seed);
    let counts = cut(&recording, cuts, seed).unwrap_or_else(|error| panic!("{error}"));
    println!("power cuts of conversations: {counts:?}");
    let Counts {
        torn,
        named,
        writing,
        unfinished,
        ..
    } = counts;
    assert!(
        cuts < MANY || torn > 0 && named > 0 && writing > 0 && unfinished > 0,
        "some cuts fell in the middle of something"
    );
    prove(&recording, seed);
}

fn cut(recording: &Recording, cuts: usize, seed: u64) -> Result<Counts, String> {
    let mut random = Random::new(seed);
    let mut counts = Counts::default();
    let (events, first) = (&recording.events, recording.known[0].events);
    let is_sync = |event: &Event| matches!(event, Event::Sync(_) | Event::SyncFolder(_));
    let mut disk = Disk::default();
    for instant in instants(events, first, cuts, &mut random, is_sync) {
        let (root, torn) = disk.cut_at(instant, events, &mut random);
        let done = recording
            .known
            .partition_point(|known| known.events <= instant)
            - 1;
        let known = &recording.known[done];
        counts.cuts += 1;
        counts.torn += usize::from(torn);
        counts.named += usize::from(!known.files.is_empty());
        let next = recording.known.get(done + 1);
        counts.writing += usize::from(next.is_some_and(|next| next.files != known.files));
        counts.unfinished += usize::from(root.path().join("cache/.unfinished").exists());
        shim::set_disk(sound);
        recover(recording, done, root.path(), random.once_in(2)).map_err(|error| {
            format!("seed {seed}, cut after {instant} events and {done} steps: {error}")
        })?;
    }
    Ok(counts)
}

/// Compares the files after a cut with the state that was acknowledged before the cut, and then takes more steps.
fn recover(recording: &Recording, done: usize, root: &Path, other: bool) -> Result<(), String> {
    let known = &recording.known[done];
    // A model may read the files of its list before a session is opened, so they must be whole
    // already.
    let left = files(root);
    for (path, bytes) in &known.files {
        let there = left.get(path).ok_or_else(|| format!("{path} is lost"))?;
        if !there.starts_with(bytes) {
            return Err(format!("{path} is not whole"));
        }
    }
    let mut program = Program::new(root, &Log::default());
    let next = recording
        .steps
        .get(done)
        .and_then(ConversationStep::session)
        .unwrap_or_default();
    // The session that is opened first finishes the step that the other session began.
    let first = if other { 1 - next } else { next };
    for session in [first, 1 - first] {
        // The interrupted step may be stored or not, and its list was never returned. Only the
        // list of the other session is known.
        let is_sure = session != next && !known.said[session].is_empty();
        if is_sure {
            program.check(session, known)?;
            let again = program.give(session, &known.lists[session], done)?;
            if raws(&again.list) != known.lists[session] {
                return Err(format!("the list of session {session} is another"));
            }
        }
    }
    let mut now = known.clone();
    for at in done..recording.steps.len().min(done + AFTER) {
        now = program.take(&recording.steps[at], at, now)?;
        let then = &recording.known[at + 1];
        if now.lists != then.lists {
            return Err(format!("step {at} gives another list"));
        }
        if now.files != then.files {
            return Err(format!(
                "step {at} leaves other files: {}",
                difference(&now, then)
            ));
        }
    }
    for session in 0..SESSIONS {
        if !now.said[session].is_empty() {
            program.check(session, &now)?;
        }
    }
    Ok(())
}

/// Says which files differ.
fn difference(now: &Known, then: &Known) -> String {
    let all = now
        .files
        .keys()
        .chain(then.files.keys())
        .collect::<BTreeSet<_>>();
    let mut differ = all
        .into_iter()
        .filter(|path| now.files.get(*path) != then.files.get(*path));
    differ.next().cloned().unwrap_or_default()
}

/// Checks that planted mistakes are found: a disk that forgets to sync files or folders, and lists that are given
/// out before their step is done.
fn prove(recording: &Recording, seed: u64) {
    let start = recording.known[0].events;
    let without = |forgets: fn(&Event) -> bool| {
        let kept = |(at, event): &(usize, &Event)| *at < start || !forgets(event);
        let events = || recording.events.iter().enumerate().filter(kept);
        let mut known = recording.known.clone();
        for known in &mut known {
            known.events = events().filter(|(at, _)| *at < known.events).count();
        }
        Recording {
            steps: recording.steps.clone(),
            events: events().map(|(_, event)| event.clone()).collect(),
            known,
        }
    };
    let mut known = recording.known.clone();
    for (before, known) in recording.known.iter().zip(&mut known[1..]) {
        known.events = before.events;
    }
    let hasty = Recording {
        steps: recording.steps.clone(),
        events: recording.events.clone(),
        known,
    };
    let files = without(|event| matches!(event, Event::Sync(name) if !is_cold(name)));
    let folders = without(|event| matches!(event, Event::SyncFolder(_)));
    let cold = without(|event| matches!(event, Event::Sync(name) if is_cold(name)));
    for (what, planted) in [
        ("a disk that forgets the syncs of files", files),
        ("a disk that forgets the syncs of folders", folders),
        ("a disk that forgets the syncs of cold state", cold),
        ("lists that leave before their step is done", hasty),
    ] {
        let error = cut(&planted, 300, seed).err();
        let error = error.unwrap_or_else(|| panic!("{what}: not found"));
        println!("planted: {what}; found: {error}");
    }
}
