//! Kills processes while they append events.

use std::fmt;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use accp_collab::disk::Shared;
use accp_collab::{Event, Protocol, Scope, validate};
use accp_testkit::Rng;
use accp_tests::program::{self, Killed, Result};

use crate::command::{Collab, REVIEW, append, of_deliverable};

/// The number of kills in one folder before a new folder is used.
const EACH: u64 = 100;

/// The counts of the kills, by the fate of the event.
#[derive(Default)]
pub(crate) struct Counts {
    kills: u64,
    acknowledged: u64,
    there: u64,
    absent: u64,
    torn: u64,
    reviews: u64,
}

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rows = [
            ("kills of `accp collab append`", self.kills),
            ("  after the acknowledgement", self.acknowledged),
            ("  with the event in the log, not acknowledged", self.there),
            ("  without the event", self.absent),
            ("  with a line that was cut", self.torn),
            ("  of a review that goes into review.md", self.reviews),
        ];
        program::write_counts(f, &rows)
    }
}

/// Kills processes, in one folder after another, until `kills` processes were killed.
pub(crate) fn run(accp: &Path, lock: &str, kills: u64, seed: u64) -> Result<Counts> {
    let mut rng = Rng::new(seed);
    let mut counts = Counts::default();
    while counts.kills < kills {
        let folder = tempfile::tempdir()?;
        let until = kills.min(counts.kills + EACH);
        let mut bench = Bench::new(accp, lock, &folder.path().join("round"))?;
        while counts.kills < until {
            bench.step(&mut rng, &mut counts).map_err(|what| {
                format!(
                    "{counts}FAILED with seed {seed} in {}: {what}",
                    bench.collab.folder().display()
                )
            })?;
        }
    }
    Ok(counts)
}

struct Bench {
    collab: Collab,
    shared: Shared,
    /// The events that are in the log.
    events: Vec<Event>,
    /// How long an append takes.
    takes: Duration,
}

/// The participant and the event of each append. These five appends are repeated.
const ROUND: [(&str, &str); 5] = [
    ("ada", "proposal_submitted"),
    ("bob", "review_submitted"),
    ("cy", "review_submitted"),
    ("ada", "deliverable_revised"),
    ("ada", "deliverable_revised"),
];

impl Bench {
    fn new(accp: &Path, lock: &str, folder: &Path) -> Result<Self> {
        let participants = ["ada", "bob", "cy"].map(str::to_owned);
        let begin = Instant::now();
        let collab = Collab::init(accp, lock, folder, &participants)?;
        std::fs::write(folder.join("review.txt"), REVIEW)?;
        let shared = Shared::new(folder);
        let events = shared.read(Scope::Log).log().events().to_vec();
        Ok(Self {
            collab,
            shared,
            events,
            // Two commands ran in this time.
            takes: begin.elapsed() / 2,
        })
    }

    /// Appends the next event, and kills the process.
    fn step(&mut self, rng: &mut Rng, counts: &mut Counts) -> Result<()> {
        let done = self.events.len();
        let (from, event) = ROUND[(done - 2) % ROUND.len()];
        let reply = done.to_string();
        let review = self.collab.folder().join("review.txt");
        let review = review.to_string_lossy().into_owned();
        let is_review = event == "review_submitted";
        let mut args = if event == "deliverable_revised" {
            of_deliverable(from, event, &reply)
        } else {
            append(from, event, &reply)
        };
        if is_review {
            args.extend(["--review", &review]);
        }
        let child = self.collab.command(&args).spawn()?;
        let fuse = self.takes.as_micros() as u64;
        thread::sleep(Duration::from_micros(rng.below(fuse + fuse / 4)));
        let Killed { had_ended, stdout } = program::kill(child)?;
        let is_acknowledged = stdout.ends_with("}\n");
        if is_acknowledged && !stdout.starts_with("{\"ok\":true") {
            return Err(format!("the append was refused: {stdout}").into());
        }
        if !had_ended {
            counts.kills += 1;
            counts.acknowledged += u64::from(is_acknowledged);
            counts.reviews += u64::from(is_review);
        }
        let folder = self.shared.read(Scope::All);
        counts.torn += u64::from(folder.log().torn().is_some());
        let protocol = std::fs::read(self.collab.folder().join("protocol.json"));
        Protocol::from_json(&protocol?)
            .map_err(|findings| format!("protocol.json: {findings:?}"))?;
        folder
            .standing()
            .map_err(|findings| format!("{findings:?}"))?;
        let events = folder.log().events();
        if !events.starts_with(&self.events) {
            return Err("an event that was in the log is gone".into());
        }
        let new = &events[done..];
        let is_there = match new {
            [] => false,
            [one] => one.event.as_str() == event && one.from == from,
            _ => return Err("the event is there more than once".into()),
        };
        if is_acknowledged && !is_there {
            return Err("an acknowledged event is missing".into());
        }
        if !had_ended && !is_acknowledged {
            counts.there += u64::from(is_there);
            counts.absent += u64::from(!is_there);
        }
        self.events = events.to_vec();
        // In half of the cases, a missing event is appended again without a kill. Then the folder must be valid.
        if !is_there && rng.below(2) == 0 {
            self.collab.succeed(&args)?;
            let folder = self.shared.read(Scope::All);
            let wrong = validate(&folder);
            if !wrong.is_empty() {
                return Err(format!("after the next append: {wrong:?}").into());
            }
            if folder.log().events().len() != done + 1 {
                return Err("the next append has not appended one event".into());
            }
            self.events = folder.log().events().to_vec();
        }
        Ok(())
    }
}
