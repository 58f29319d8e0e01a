//! Kills processes while they compress a list, and checks what each kill leaves.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Child;
use std::thread;
use std::time::{Duration, Instant};

use accp_testkit::Rng;
use accp_tests::program::{self, Killed, Result};
use serde_json::Value as Json;

use crate::command::{command, compress, copy, succeed};
use crate::conversation::grow;
use crate::counts::{Counts, Fell};
use crate::files::{self, Files, timeless, without_times};

/// Kills in one conversation before the next begins.
const EACH: u64 = 20;
/// Half of the kills come soon after the first write of the process: within 1/8 of the time that the command takes,
/// and mostly near the beginning of this time.
const SOON: u64 = 8;

/// Kills processes, in one conversation after another, until `kills` processes were killed.
pub(crate) fn run(accp: &Path, kills: u64, seed: u64) -> Result<Counts> {
    let mut rng = Rng::new(seed);
    let mut counts = Counts::default();
    while counts.kills < kills {
        let folder = tempfile::tempdir()?;
        let until = kills.min(counts.kills + EACH);
        let mut bench = Bench::new(accp, folder.path());
        while counts.kills < until {
            if let Err(what) = bench.step(&mut rng, &mut counts) {
                let kept = folder.keep();
                let turns = bench.messages.len();
                let kept = kept.display();
                return Err(format!(
                    "{counts}FAILED with seed {seed} at {turns} messages in {kept}: {what}"
                )
                .into());
            }
        }
        counts.roots += 1;
        counts.files += files::read(&bench.root)?.len();
    }
    Ok(counts)
}

/// A conversation, and its root.
struct Bench {
    accp: PathBuf,
    root: PathBuf,
    /// The path to which the root is moved while the command runs undisturbed on a copy.
    aside: PathBuf,
    /// The file with the list that the command gets.
    list: PathBuf,
    messages: Vec<Json>,
    /// The list that the command printed last.
    shown: Vec<Json>,
    /// How long the command takes.
    takes: Duration,
}

impl Bench {
    fn new(accp: &Path, folder: &Path) -> Self {
        Self {
            accp: accp.to_owned(),
            root: folder.join("root"),
            aside: folder.join("aside"),
            list: folder.join("list.json"),
            messages: Vec::new(),
            shown: Vec::new(),
            takes: Duration::ZERO,
        }
    }

    /// Lets the conversation grow by a turn, and kills the process that gets the list.
    fn step(&mut self, rng: &mut Rng, counts: &mut Counts) -> Result<()> {
        let said = self.messages.len();
        grow(&mut self.messages, rng);
        // The command gets the whole conversation, or the list that it printed last with the messages since then.
        let given = if rng.below(2) == 0 {
            self.messages.clone()
        } else {
            [&self.shown[..], &self.messages[said..]].concat()
        };
        self.write(&given)?;

        let (expected, told) = self.undisturbed()?;

        let before = files::steps(&self.root)?;
        let Killed { had_ended, stdout } = self.kill(rng)?;
        let left = files::read(&self.root)?;
        let fell = match files::steps(&self.root)? - before {
            _ if stdout.ends_with("]\n") => Fell::After,
            0 => Fell::Before,
            1 if timeless(&left) == told => Fell::Written,
            1 => Fell::Within,
            more => return Err(format!("{more} steps were kept").into()),
        };
        if had_ended {
            counts.ended += 1;
        } else {
            counts.count(fell);
        }
        if fell == Fell::Before
            && !left
                .keys()
                .all(|name| told.contains_key(&without_times(name)))
        {
            return Err("a file is there that cold state does not know".into());
        }

        let again = succeed(compress(&self.accp, &self.root, &self.list))?;
        self.check(&expected, &told, &again)?;
        if fell == Fell::After && again != stdout {
            return Err(format!("the list came out as\n{stdout}\nand then as\n{again}").into());
        }
        self.shown = parsed(&again)?;
        Ok(())
    }

    /// Runs the command on a copy of the root, and returns the list and the files. The copy takes the place of the
    /// root, because references name the path of the root. At the end, puts the root back unchanged.
    fn undisturbed(&mut self) -> Result<(String, Files)> {
        let was_there = self.root.exists();
        if was_there {
            fs::rename(&self.root, &self.aside)?;
            copy(&self.aside, &self.root)?;
        }
        let begin = Instant::now();
        let expected = succeed(compress(&self.accp, &self.root, &self.list))?;
        self.takes = begin.elapsed();
        let told = timeless(&files::read(&self.root)?);
        fs::remove_dir_all(&self.root)?;
        if was_there {
            fs::rename(&self.aside, &self.root)?;
        }
        Ok((expected, told))
    }

    fn write(&self, list: &[Json]) -> Result<()> {
        let text = Json::from(list.to_vec()).to_string();
        Ok(fs::write(&self.list, text)?)
    }

    /// Starts a process that compresses, and kills it.
    fn kill(&self, rng: &mut Rng) -> Result<Killed> {
        let mut child = compress(&self.accp, &self.root, &self.list).spawn()?;
        let fuse = self.takes.as_micros() as u64;
        if rng.below(2) == 0 {
            thread::sleep(Duration::from_micros(rng.below(fuse + fuse / 8)));
        } else {
            begins_to_write(&self.root, &mut child)?;
            let most = 1 + rng.below(1 + fuse / SOON);
            thread::sleep(Duration::from_micros(rng.below(most)));
        }
        program::kill(child)
    }

    /// Checks the list that the command printed after a kill, and the files in the root.
    fn check(&self, expected: &str, told: &Files, again: &str) -> Result<()> {
        if without_times(again) != without_times(expected) {
            return Err(
                format!("undisturbed, the list is\n{expected}\nand after a kill\n{again}").into(),
            );
        }
        let there = files::read(&self.root)?;
        let timeless = timeless(&there);
        if timeless.len() != there.len() || timeless != *told {
            let names: Vec<_> = there.keys().collect();
            return Err(format!("the files are not those of the copy: {names:?}").into());
        }
        self.check_references(&there, again)?;
        let restored = succeed(command(&self.accp, &self.root, &["restore"]))?;
        let messages = Json::from(self.messages.clone()).to_string();
        if restored != format!("{messages}\n") {
            return Err(format!("the conversation came back as\n{restored}").into());
        }
        fs::write(&self.list, again)?;
        let twice = succeed(compress(&self.accp, &self.root, &self.list))?;
        if twice != again || files::read(&self.root)? != there {
            return Err(format!("nothing was said, and the list became\n{twice}").into());
        }
        Ok(())
    }

    /// Checks that each result that left the list is in exactly one file, and that each file that the list names
    /// exists.
    fn check_references(&self, there: &Files, list: &str) -> Result<()> {
        let contents = self
            .messages
            .iter()
            .filter_map(|one| one["content"].as_str());
        let mut results: Vec<&str> = contents.collect();
        results.sort_unstable();
        let offloaded = |name: &&String| name.starts_with("cache/offloaded/");
        let mut seen = Vec::new();
        for name in there.keys().filter(offloaded) {
            let text = &there[name];
            if results.binary_search(&&text[..]).is_err() {
                return Err(format!("{name} is not a result of the conversation").into());
            }
            if seen.contains(&text) {
                return Err(format!("{name} has what another file has").into());
            }
            seen.push(text);
        }
        for message in parsed(list)? {
            let lines = message["content"].as_str().unwrap_or_default().lines();
            for name in lines.filter_map(|line| line.strip_prefix("**File:** ")) {
                if !there.contains_key(name) {
                    return Err(format!("the list names {name}, which is not there").into());
                }
            }
        }
        Ok(())
    }
}

fn parsed(list: &str) -> Result<Vec<Json>> {
    serde_json::from_str(list).map_err(|error| format!("{error} in\n{list}").into())
}

/// Waits until the process has begun to write, or has ended.
fn begins_to_write(root: &Path, child: &mut Child) -> Result<()> {
    let log = root.join("cache/cold.accp-wal");
    let note = root.join("cache/.unfinished");
    // The process before this one left neither the note nor bytes in the log. So either of them
    // shows that this process has begun to write.
    while !note.exists() && fs::metadata(&log).map_or(0, |about| about.len()) == 0 {
        if child.try_wait()?.is_some() {
            break;
        }
        thread::yield_now();
    }
    Ok(())
}
