//! Lets many participants work in one folder at the same time, and measures how fast they get their turns.

use std::fmt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Instant;

use accp_collab::disk::Shared;
use accp_collab::{Protocol, Scope, validate};
use accp_tests::program::Result;
use serde_json::Value as Json;

use crate::command::{Collab, REVIEW, append};

/// The results of the rounds.
pub(crate) struct Report {
    participants: usize,
    rounds: u64,
    events: usize,
    reads: u64,
    /// The longest time in milliseconds between the last review and the return of the owner's `wait`.
    longest: u128,
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} participants, {} rounds: {} events, all acknowledged ones there; {} looks at protocol.json, each whole; \
             the owner's wait returned at most {} ms after the last review",
            self.participants, self.rounds, self.events, self.reads, self.longest
        )
    }
}

/// The state that all threads share.
struct Crowd {
    collab: Collab,
    /// When the last review was acknowledged.
    reviewed: Mutex<Option<Instant>>,
    acknowledged: Mutex<Vec<(u64, String)>>,
    longest: Mutex<u128>,
    is_over: AtomicBool,
    reads: AtomicU64,
}

/// Lets all participants but the owner review a proposal in each round.
pub(crate) fn run(
    accp: &Path,
    lock: &str,
    participants: usize,
    rounds: u64,
    within: Option<u128>,
) -> Result<Report> {
    let dir = tempfile::tempdir()?;
    let folder = dir.path().join("round");
    let names: Vec<String> = (0..participants)
        .map(|number| format!("agent-{number}"))
        .collect();
    let collab = Collab::init(accp, lock, &folder, &names)?;
    let review = dir.path().join("review.txt");
    std::fs::write(&review, REVIEW)?;
    let review = review.to_string_lossy().into_owned();
    let crowd = Crowd {
        collab,
        reviewed: Mutex::default(),
        acknowledged: Mutex::default(),
        longest: Mutex::default(),
        is_over: AtomicBool::new(false),
        reads: AtomicU64::new(0),
    };
    let owner = &names[0];
    let result = thread::scope(|scope| {
        let reader = scope.spawn(|| crowd.read(&folder));
        let mut all = vec![scope.spawn(|| crowd.own(owner, rounds))];
        for name in &names[1..] {
            all.push(scope.spawn(|| crowd.review(name, rounds, &review)));
        }
        let ended: Vec<Result<()>> = all.into_iter().map(joined).collect();
        crowd.is_over.store(true, Ordering::Relaxed);
        ended
            .into_iter()
            .chain([joined(reader)])
            .collect::<Result<()>>()
    });
    result?;
    let folder = Shared::new(&folder).read(Scope::All);
    folder
        .standing()
        .map_err(|findings| format!("{findings:?}"))?;
    let wrong = validate(&folder);
    if !wrong.is_empty() {
        return Err(format!("{wrong:?}").into());
    }
    let events = folder.log().events();
    for (seq, from) in crowd
        .acknowledged
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .iter()
    {
        let event = usize::try_from(*seq)
            .ok()
            .and_then(|seq| events.get(seq - 1));
        if event.is_none_or(|event| event.seq != *seq || event.from != *from) {
            return Err(
                format!("the event {seq} of {from} was acknowledged, and is not there").into(),
            );
        }
    }
    let expected = 2 + usize::try_from(rounds).unwrap_or(usize::MAX) * participants;
    if events.len() != expected {
        return Err(format!(
            "{} events are there, and {expected} were appended",
            events.len()
        )
        .into());
    }
    let longest = *crowd.longest.lock().unwrap_or_else(PoisonError::into_inner);
    if within.is_some_and(|within| longest > within) {
        return Err(format!("a wait returned {longest} ms after the last review").into());
    }
    Ok(Report {
        participants,
        rounds,
        events: events.len(),
        reads: crowd.reads.load(Ordering::Relaxed),
        longest,
    })
}

fn joined(thread: thread::ScopedJoinHandle<'_, Result<()>>) -> Result<()> {
    thread
        .join()
        .unwrap_or_else(|_| Err("a thread has panicked".into()))
}

impl Crowd {
    /// Waits until it is the participant's turn. Returns the number of the last event.
    fn wait(&self, who: &str) -> Result<String> {
        let said = self
            .collab
            .succeed(&["wait", "--participant", who, "--timeout", "120"])?;
        if said["reason"] != "turn" {
            return Err(format!("{who} waits for a turn, and hears {said}").into());
        }
        Ok(said["next"]["last"]["seq"].to_string())
    }

    fn acknowledge(&self, said: &Json, who: &str) {
        let seq = said["seq"].as_u64().unwrap_or(0);
        let mut all = self
            .acknowledged
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        all.push((seq, who.to_owned()));
    }

    fn own(&self, owner: &str, rounds: u64) -> Result<()> {
        for round in 0..=rounds {
            let last = self.wait(owner)?;
            if let Some(at) = *self.reviewed.lock().unwrap_or_else(PoisonError::into_inner) {
                let mut longest = self.longest.lock().unwrap_or_else(PoisonError::into_inner);
                *longest = at.elapsed().as_millis().max(*longest);
            }
            if round < rounds {
                let said = self
                    .collab
                    .succeed(&append(owner, "proposal_submitted", &last))?;
                self.acknowledge(&said, owner);
            }
        }
        Ok(())
    }

    fn review(&self, who: &str, rounds: u64, review: &str) -> Result<()> {
        for _ in 0..rounds {
            let last = self.wait(who)?;
            let mut args = append(who, "review_submitted", &last);
            args.extend(["--review", review]);
            let said = self.collab.succeed(&args)?;
            *self.reviewed.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now());
            self.acknowledge(&said, who);
        }
        Ok(())
    }

    /// Reads `protocol.json` again and again until the run is over.
    fn read(&self, folder: &Path) -> Result<()> {
        while !self.is_over.load(Ordering::Relaxed) {
            let bytes = std::fs::read(folder.join("protocol.json"))?;
            Protocol::from_json(&bytes)
                .map_err(|findings| format!("protocol.json: {findings:?}"))?;
            self.reads.fetch_add(1, Ordering::Relaxed);
            thread::yield_now();
        }
        Ok(())
    }
}
