//! A hub as a process.

use std::io::{BufRead as _, BufReader};
use std::net::TcpListener;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

/// How hubs are started.
#[derive(Clone)]
pub(crate) struct Start {
    pub(crate) accp: PathBuf,
    /// The store: a file, or the URL of a database. Without it a hub keeps its sessions in memory.
    pub(crate) store: Option<String>,
    /// The file of settings.
    pub(crate) config: PathBuf,
    /// Variables of its environment, beside those of this process.
    pub(crate) variables: Vec<(&'static str, &'static str)>,
}

pub(crate) struct Process {
    start: Start,
    address: String,
    child: Option<Child>,
}

impl Process {
    /// Starts a hub on a free port, which it keeps.
    pub(crate) fn start(start: &Start) -> Result<Self, String> {
        let free = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr());
        let address = free.map_err(|error| error.to_string())?.to_string();
        let mut process = Self {
            start: start.clone(),
            address,
            child: None,
        };
        process.again()?;
        Ok(process)
    }

    pub(crate) fn address(&self) -> &str {
        &self.address
    }

    /// Returns the number of the process; 0 when it does not run.
    pub(crate) fn id(&self) -> u32 {
        self.child.as_ref().map_or(0, Child::id)
    }

    /// Starts the hub that was killed.
    pub(crate) fn again(&mut self) -> Result<(), String> {
        self.child = Some(spawn(&self.start, &self.address)?);
        Ok(())
    }

    /// Kills the hub (SIGKILL).
    pub(crate) fn kill(&mut self) {
        if let Some(mut child) = self.child.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }

    /// Sends a signal to the hub: `STOP`, say.
    pub(crate) fn signal(&self, signal: &str) -> Result<(), String> {
        let pid = self.child.as_ref().ok_or("the hub does not run")?.id();
        let pid = pid.to_string();
        let sent = Command::new("kill").args(["-s", signal, &pid]).status();
        sent.map(drop).map_err(|error| error.to_string())
    }

    /// Asks the hub to end (SIGTERM). It has to end well.
    pub(crate) fn stop(mut self) -> Result<(), String> {
        self.signal("TERM")?;
        let mut child = self.child.take().ok_or("the hub does not run")?;
        let ended = child.wait().map_err(|error| error.to_string())?;
        if ended.success() {
            Ok(())
        } else {
            Err(format!("the hub ended with {ended}"))
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Starts a hub, and waits until it listens.
fn spawn(start: &Start, address: &str) -> Result<Child, String> {
    let mut command = Command::new(&start.accp);
    command.args(["serve", "--listen", address, "--config"]);
    command.arg(&start.config);
    command.envs(start.variables.iter().copied());
    match &start.store {
        // A URL may have a password, which other users see among the arguments.
        Some(store) => command.env("ACCP_STORE", store),
        None => command.arg("--memory"),
    };
    let child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn();
    let mut child = child.map_err(|error| format!("{}: {error}", start.accp.display()))?;
    let errors = child.stderr.take().ok_or("no stderr")?;
    let mut line = String::new();
    let mut errors = BufReader::new(errors);
    errors
        .read_line(&mut line)
        .map_err(|error| error.to_string())?;
    if !line.starts_with("hub at ") {
        let _ = child.kill();
        return Err(format!("the hub did not start: {line}"));
    }
    // What the hub says later must not fill the pipe.
    std::thread::spawn(move || std::io::copy(&mut errors, &mut std::io::sink()));
    Ok(child)
}
