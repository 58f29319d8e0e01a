//! A walk: a folder, and steps that follow from a seed. After each step, both judges check the folder.

use std::collections::{BTreeMap, BTreeSet};

use accp_collab::{Event, EventName, Finding, Folder, FolderSettings, Kind, Mode, Role, Scope};
use serde_json::{Value as Json, json};

use crate::walks::declared::{self, Codes};
use crate::walks::edits;
use crate::walks::fit;
use crate::walks::judge::{Judge, Memory, Verdict};
use crate::walks::line::Line;
use crate::walks::rng::Rng;
use crate::walks::step::{Step, Writes};
use crate::walks::steps;
use crate::walks::world::{ROOT, Reader, World};

/// The name of a step that reverts an edit.
const UNDO: &str = "undo";

/// The counts of all walks.
#[derive(Default)]
pub(crate) struct Tally {
    pub walks: u64,
    pub steps: u64,
    pub edits: u64,
    /// Walks in which a folder was completed.
    pub completed: u64,
    /// How many times each event was accepted and refused.
    pub events: BTreeMap<String, (u64, u64)>,
    /// Codes that were found, by an append or in a folder.
    pub codes: BTreeSet<&'static str>,
    /// Actions that `next` returned.
    pub actions: BTreeSet<&'static str>,
}

pub(crate) struct Walk {
    rng: Rng,
    world: World,
    memory: Memory,
    /// The folder as the crate has read it, and the verdict of the judge, after the last step.
    folder: Folder,
    verdict: Verdict,
    undo: Vec<Writes>,
    /// The number of steps after the end of the collaboration.
    over: usize,
    pub history: Vec<String>,
}

impl Walk {
    pub(crate) fn new(seed: u64) -> Self {
        let mut rng = Rng::new(seed);
        let world = begin(&mut rng);
        let folder = Folder::read(&mut Reader(&world), Scope::All);
        Self {
            rng,
            world,
            memory: Memory::default(),
            folder,
            verdict: Verdict::default(),
            undo: Vec::new(),
            over: 0,
            history: Vec::new(),
        }
    }

    /// Takes the steps of the walk.
    ///
    /// # Errors
    /// The difference between the judges, with the number of the step.
    pub(crate) fn go(&mut self, steps: usize, tally: &mut Tally) -> Result<(), String> {
        let mut is_completed = false;
        for number in 1..=steps {
            let phase = self.step(tally);
            let phase = phase.map_err(|error| format!("step {number}: {error}"))?;
            tally.steps += 1;
            is_completed |= phase == "completed";
            let is_over = phase == "completed" || phase == "blocked";
            self.over = if is_over { self.over + 1 } else { 0 };
            if self.over > 4 {
                self.history.clear();
                self.undo.clear();
                self.world = begin(&mut self.rng);
                self.folder = Folder::read(&mut Reader(&self.world), Scope::All);
                self.verdict = Verdict::default();
            }
        }
        tally.walks += 1;
        tally.completed += u64::from(is_completed);
        Ok(())
    }

    /// Takes a step, asks both judges, and returns the phase.
    fn step(&mut self, tally: &mut Tally) -> Result<String, String> {
        let step = self.choose();
        match step {
            Step::Append(line) => {
                self.history.push(format!("append {line:?}"));
                let judge = Judge::new(&self.world, &mut self.memory);
                let verdict = judge.may(&line);
                let found = accp_collab::check(&event(&line), &self.folder);
                let (errors, warnings) = split(&found);
                tally.codes.extend(&errors);
                compare("append", &verdict, &errors, &warnings)?;
                let counts = tally.events.entry(line.event.clone()).or_default();
                if errors.is_empty() {
                    same("line", &event(&line).to_line(), &fit::line(&line))?;
                    counts.0 += 1;
                    self.append(&line);
                } else {
                    counts.1 += 1;
                }
            }
            Step::Write(what, writes) => {
                tally.edits += 1;
                let before = writes.iter().map(|(name, _)| {
                    let old = self.world.files.get(name);
                    (name.clone(), old.cloned())
                });
                let before: Writes = before.collect();
                if what != UNDO {
                    self.undo.push(before);
                }
                self.write(writes);
                self.history.push(what);
            }
        }
        self.ask_both(tally)
    }

    fn write(&mut self, writes: Writes) {
        for (name, bytes) in writes {
            match bytes {
                Some(bytes) => self.world.set(&name, bytes),
                None => {
                    self.world.files.remove(&name);
                }
            }
        }
    }

    fn choose(&mut self) -> Step {
        let judge = Judge::new(&self.world, &mut self.memory);
        let rng = &mut self.rng;
        let is_broken = judge.story().is_none();
        let is_wrong = is_broken || !self.verdict.errors.is_empty();
        let undo = if is_broken { 700 } else { 150 };
        if is_wrong && !self.undo.is_empty() && rng.in_thousand(undo) {
            let writes = self.undo.pop().expect("an edit");
            return Step::Write(UNDO.to_owned(), writes);
        }
        let drawn = rng.below(1000);
        if drawn < 730 && !is_broken {
            let sensible = steps::sensible(&self.world, &judge, &self.verdict, rng);
            return match sensible {
                Some(Step::Append(line)) if rng.in_thousand(60) => {
                    Step::Append(steps::with_mistake(line, &judge, rng))
                }
                Some(step) => step,
                None => Step::Append(steps::random(&self.world, &judge, rng)),
            };
        }
        match drawn {
            0..870 => {
                let line = steps::random(&self.world, &judge, rng);
                if rng.in_thousand(300) {
                    return Step::Append(steps::with_mistake(line, &judge, rng));
                }
                Step::Append(line)
            }
            870..875 => Step::Append(steps::blocked(&judge, rng)),
            _ => edits::edit(&self.world, &judge, rng),
        }
    }

    /// Writes an accepted event, and removes a cut line before it. In most cases, the copy of the state is written,
    /// too.
    fn append(&mut self, line: &Line) {
        let log = Judge::new(&self.world, &mut self.memory).log;
        let mut text = self.world.text("events.jsonl");
        if log.is_torn {
            text.truncate(text.rfind('\n').map_or(0, |end| end + 1));
        } else if !text.is_empty() && !text.ends_with('\n') {
            text.push('\n');
        }
        self.world.set("events.jsonl", text + &fit::line(line));
        self.undo
            .retain(|writes| writes.iter().all(|(name, _)| name != "events.jsonl"));
        if !self.rng.in_thousand(30) {
            let judge = Judge::new(&self.world, &mut self.memory);
            let text = fit::protocol(&judge, self.world.bytes("protocol.json"));
            self.world.set("protocol.json", text);
        }
    }

    /// Compares the state, the findings in the folder, and the actions of all participants.
    fn ask_both(&mut self, tally: &mut Tally) -> Result<String, String> {
        let judge = Judge::new(&self.world, &mut self.memory);
        self.folder = Folder::read(&mut Reader(&self.world), Scope::All);
        let folder = &self.folder;
        let mut phase = String::new();
        let mut people = vec!["stranger".to_owned()];
        if let Some((declared, story)) = judge.story() {
            let expected = story.sum();
            let state = folder.state().ok_or("there is no state")?;
            let found = (state.phase().as_str(), state.owner().unwrap_or(""));
            let asked: Vec<&str> = state.waiting_for().iter().map(|one| &one[..]).collect();
            same("state", &(found.0, found.1, asked), &expected)?;
            let count = judge.log.events.len();
            same("events", &folder.log().events().len(), &count)?;
            expected.0.clone_into(&mut phase);
            people.extend(declared.participants.iter().cloned());
        }
        let verdict = judge.validate();
        let (errors, warnings) = split(&accp_collab::validate(folder));
        tally.codes.extend(errors.iter().chain(&warnings));
        compare("validate", &verdict, &errors, &warnings)?;
        for who in people {
            let found = accp_collab::next(folder, &who);
            let found = found.map(|next| (next.action.as_str(), next.is_asked));
            match (judge.todo(&who), found) {
                // Before the first event, `next` has no action to compare.
                _ if phase == "new" => {}
                (Ok(expected), Ok(found)) => {
                    tally.actions.insert(found.0);
                    let expected = (expected, judge.is_asked(&who));
                    same(&format!("next of {who}"), &found, &expected)?;
                }
                (Err(expected), Err(found)) if expected.is_subset(&split(&found).0) => {}
                (expected, found) => {
                    return Err(format!("next of {who}: {found:?}, expected {expected:?}"));
                }
            }
        }
        self.verdict = verdict;
        Ok(phase)
    }
}

fn same<T: PartialEq + std::fmt::Debug>(what: &str, found: &T, expected: &T) -> Result<(), String> {
    if found == expected {
        Ok(())
    } else {
        Err(format!("{what}: found {found:?}, expected {expected:?}"))
    }
}

/// Returns the codes of errors and of warnings.
fn split(findings: &[Finding]) -> (Codes, Codes) {
    let of = |is_warning| {
        let all = findings
            .iter()
            .filter(move |one| one.is_warning == is_warning);
        all.map(|one| one.code.as_str()).collect()
    };
    (of(false), of(true))
}

fn compare(what: &str, verdict: &Verdict, errors: &Codes, warnings: &Codes) -> Result<(), String> {
    let Verdict { is_exact, .. } = verdict;
    let is_same = verdict.errors.is_empty() == errors.is_empty()
        && verdict.errors.is_subset(errors)
        && (!is_exact || verdict.errors == *errors && verdict.warnings == *warnings);
    if is_same {
        return Ok(());
    }
    let expected = (&verdict.errors, &verdict.warnings);
    let found = (errors, warnings);
    Err(format!(
        "{what}: found {found:?}, expected {expected:?} (exact: {is_exact})"
    ))
}

/// Makes the event of a line, to check it.
fn event(line: &Line) -> Event {
    Event {
        seq: line.seq,
        from: line.from.clone(),
        event: EventName::named(&line.event).expect("a name of an event"),
        at: line.at.clone(),
        summary: line.summary.clone(),
        doc: line.doc.clone(),
        reply_to: line.reply_to,
        role: line.role.as_deref().and_then(Role::named),
        sha256: line.sha256.clone(),
    }
}

/// Makes a folder: two to five participants, any type, and either mode. Some folders have supporting deliverables and
/// an attachment.
fn begin(rng: &mut Rng) -> World {
    let mut names = vec!["ada", "Bob", "cy d", "dörte", "eve"];
    let owner = names.remove(rng.below(names.len()));
    names.truncate(1 + rng.below(4));
    let participants = std::iter::once(owner).chain(names).map(str::to_owned);
    let kind = Kind::ALL.get(rng.below(7)).copied();
    let is_external = rng.in_thousand(400);
    let settings = FolderSettings {
        participants: participants.collect(),
        objective: "Choose a store".to_owned(),
        gates: vec!["The first gate".to_owned(), "Über [all] gates".to_owned()],
        kind,
        file: (kind.is_none() || rng.in_thousand(300)).then(|| "notes.md".to_owned()),
        checklist: match kind {
            Some(_) => Vec::new(),
            None => vec!["Überblick".to_owned(), "Context".to_owned()],
        },
        mode: if is_external {
            Mode::External
        } else {
            Mode::Internal
        },
        dir: rng.pick(&["deliverables", "docs/more"]).to_owned(),
        repo_root: is_external.then(|| ROOT.to_owned()),
    };
    assert_eq!(settings.check(), []);
    let mut world = World::default();
    for file in settings.files("2026-01-01T00:00:00Z") {
        let is_outside = is_external && file.is_deliverable;
        let before = if is_outside { "repo:" } else { "" };
        world.set(&format!("{before}{}", file.path), file.text);
    }
    declare(&mut world, rng);
    world
}

/// Declares supporting deliverables and an attachment, and writes them.
fn declare(world: &mut World, rng: &mut Rng) {
    let bytes = world.bytes("protocol.json");
    let mut json: Json = serde_json::from_slice(bytes).expect("a protocol.json");
    let kinds = ["test-plan", "custom", "adr"];
    let all = (0..rng.below(3)).map(|at| {
        json!({
            "file": format!("more-{at}.md"), "type": rng.pick(&kinds), "frozen": rng.in_thousand(400),
            "checklist": ["Part"],
        })
    });
    json["deliverables"]["supporting"] = all.collect();
    if rng.in_thousand(300) {
        json["deliverables"]["attachments"] = json!([{ "file": "figures/one.png" }]);
    }
    world.set("protocol.json", json.to_string());
    let (declared, _) = declared::read(world.bytes("protocol.json"));
    let declared = declared.expect("declarations without a mistake");
    for doc in &declared.supporting {
        world.set(&doc.name, fit::deliverable(doc, "Draft", ""));
    }
    for (_, name) in &declared.attachments {
        world.set(name, "PNG");
    }
}
