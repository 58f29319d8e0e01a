//! Runs both processes, kills one of them during the session, and restarts each process that ended too early.

use std::env::current_exe;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Sender, channel};
use std::thread;
use std::time::Duration;

use crate::Result;

/// The longest time to wait for a line of either process.
const PATIENCE: Duration = Duration::from_secs(60);

/// The greatest number of times that a process may end before the session ends. The killed process counts, and each
/// process that fails because its peer is gone.
const MOST_ENDS: usize = 10;

/// A process that ends with the demonstration.
struct Process(Child);

impl Drop for Process {
    fn drop(&mut self) {
        // A process that has ended already cannot be killed.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// An event of a process: it prints a line, or it ends.
type Event = (&'static str, Option<String>);

/// Plays a session to its end. Kills the process `victim` when it prints its line with this number.
pub fn run(folder: &Path, victim: &str, line: usize) -> Result<()> {
    let (sender, events) = channel();
    let folder = folder
        .to_str()
        .ok_or("the name of the folder is not UTF-8")?;
    let start_desk = || start("desk", &["desk", folder], &sender);
    let start_shop = |address: &str| start("shop", &["shop", folder, address], &sender);
    let mut desk = start_desk()?;
    let mut shop: Option<Process> = None;
    let mut address: Option<String> = None;
    let (mut lines, mut ends) = (0, 0);
    loop {
        match events.recv_timeout(PATIENCE)? {
            (who, Some(said)) => {
                println!("{who}: {said}");
                if let Some(at) = said.strip_prefix("listens on ") {
                    address = Some(at.to_owned());
                }
                lines += usize::from(who == victim);
                if who == victim && lines == line {
                    println!("the {who} is killed");
                    if who == "desk" {
                        desk.0.kill()?;
                        address = None;
                    } else if let Some(shop) = &mut shop {
                        shop.0.kill()?;
                    }
                }
            }
            (who, None) => {
                ends += 1;
                if ends > MOST_ENDS {
                    return Err("a process fails again and again".into());
                }
                if who == "desk" {
                    desk = start_desk()?;
                } else if let Some(mut shop) = shop.take()
                    && shop.0.wait()?.success()
                {
                    return Ok(());
                }
            }
        }
        if let (None, Some(address)) = (&shop, &address) {
            shop = Some(start_shop(address)?);
        }
    }
}

/// Starts a process. A thread sends an event for each line that the process prints, and one when it
/// ends.
fn start(who: &'static str, args: &[&str], events: &Sender<Event>) -> Result<Process> {
    let mut child = Command::new(current_exe()?)
        .args(args)
        .stdout(Stdio::piped())
        .spawn()?;
    let lines = BufReader::new(child.stdout.take().ok_or("no output")?).lines();
    let events = events.clone();
    thread::spawn(move || {
        for line in lines.map_while(std::result::Result::ok) {
            let _ = events.send((who, Some(line)));
        }
        let _ = events.send((who, None));
    });
    Ok(Process(child))
}
