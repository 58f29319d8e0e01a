//! The process that is killed. It reads its orders as lines. It writes a line for each frame that leaves, and for
//! each fact that has become durable.
//!
//! | To the process | |
//! |---|---|
//! | `MS from MEMBER FRAME` | a frame arrives |
//! | `MS say N WORD` | say number `N`, in the form of this [`Word`] |
//! | `MS do CHORE` | do this [`Chore`] |
//! | `MS go` | do all the work that waits |
//!
//! | From the process | |
//! |---|---|
//! | `open` | the session is open |
//! | `to MEMBER FRAME` | a frame leaves |
//! | a [`Fact`] | this is durable |
//! | `done quiet`, `done busy` | the work is done, and the side has nothing more to do (`quiet`), or has (`busy`) |

use std::io::{self, BufRead as _, Write as _};
use std::process::ExitCode;
use std::sync::{Arc, Mutex};

use accp_runtime::session::{MemberId, Scope, Time, Transmit};
use accp_store::{Link, SqliteStore, Store};

use super::fact::Fact;
use super::plant::planted;
use super::side::{Kind, Side};
use super::words::{Chore, Word};

/// The first argument of the process.
pub(crate) const WORD: &str = "child-that-is-killed";
/// The exit code of a process that fails by itself.
pub(crate) const FAULT: u8 = 3;

pub(crate) fn run(args: &[String]) -> ExitCode {
    match live(args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(what) => {
            eprintln!("the process that is killed: {what}");
            ExitCode::from(FAULT)
        }
    }
}

fn live(args: &[String]) -> Result<(), String> {
    let [kind, scope, now, file, rest @ ..] = args else {
        return Err("the arguments do not say which side to play".into());
    };
    let kind = kind.parse::<Kind>()?;
    let plant = rest.first().and_then(|plant| plant.parse().ok());
    let store = SqliteStore::open(file).map_err(|error| error.to_string())?;
    let store = Arc::new(Mutex::new(planted(store, plant)));
    let leave = |frame: Transmit| print(&format!("to {} {}", frame.to, frame.text));
    match kind {
        Kind::Host => {
            let scopes = [Scope::Shared, Scope::Sender];
            let scope = scopes.into_iter().find(|known| known.as_str() == scope);
            let scope = scope.ok_or("a scope")?;
            obey(Side::host(store, leave, scope, time(now)?)?)
        }
        Kind::Member => obey(Side::member(1, store, leave, time(now)?)?),
    }
}

/// Obeys the orders until the input ends.
fn obey<S: Store + Clone, L: Link>(mut side: Side<S, L>) -> Result<(), String> {
    print("open");
    for line in io::stdin().lock().lines() {
        let line = line.map_err(|error| error.to_string())?;
        let mut words = line.splitn(4, ' ');
        let mut word = || words.next().unwrap_or_default();
        let (now, verb) = (time(word())?, word());
        let done = match verb {
            "from" => side.hear(member(word())?, word(), now),
            "say" => {
                let (n, form): (_, Word) = (word().parse(), word().parse()?);
                side.say(n.unwrap_or(0), form, now)
            }
            "do" => {
                let chore: Chore = word().parse()?;
                side.work(&chore, now)
            }
            _ => side.turn(now, &mut |fact: Fact| {
                print(&fact.to_string());
                Ok(())
            }),
        };
        done?;
        if verb == "go" {
            let quiet = if side.is_quiet() { "quiet" } else { "busy" };
            print(&format!("done {quiet}"));
        }
    }
    Ok(())
}

/// Prints one line in one write. A line that nobody reads is lost.
fn print(line: &str) {
    let _ = io::stdout().write_all(format!("{line}\n").as_bytes());
}

fn time(word: &str) -> Result<Time, String> {
    let millis = word.parse().map_err(|_| format!("a time, not `{word}`"))?;
    Ok(Time::from_millis(millis))
}

fn member(word: &str) -> Result<MemberId, String> {
    let member = word.parse().ok().and_then(MemberId::new);
    member.ok_or_else(|| format!("a member, not `{word}`"))
}
