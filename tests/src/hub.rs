//! A hub as a process: the command `accp serve`.

use std::io::{BufRead as _, BufReader};
use std::net::TcpListener;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

/// How hubs are started.
#[derive(Debug, Clone)]
pub struct HubOptions {
    /// The command `accp`.
    pub accp: PathBuf,
    /// The store: a file, or the URL of a database. Without it a hub keeps its sessions in memory.
    pub store: Option<String>,
    /// The file of settings.
    pub config: PathBuf,
    /// Environment variables of the hub, added to those of this process.
    pub variables: Vec<(&'static str, &'static str)>,
}

/// A hub that runs until it is dropped.
#[derive(Debug)]
pub struct HubProcess {
    options: HubOptions,
    address: String,
    child: Option<Child>,
}

impl HubProcess {
    /// Starts a hub on a free port. A restart uses the same port.
    ///
    /// # Errors
    /// If the hub does not start.
    pub fn start(options: &HubOptions) -> Result<Self, String> {
        let free = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr());
        let address = free.map_err(|error| error.to_string())?.to_string();
        let mut process = Self {
            options: options.clone(),
            address,
            child: None,
        };
        process.restart()?;
        Ok(process)
    }

    /// Returns the address on which the hub listens.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// Returns the process id of the hub; 0 when the hub does not run.
    pub fn id(&self) -> u32 {
        self.child.as_ref().map_or(0, Child::id)
    }

    /// Starts the hub that was killed.
    ///
    /// # Errors
    /// If the hub does not start.
    pub fn restart(&mut self) -> Result<(), String> {
        self.child = Some(spawn(&self.options, &self.address)?);
        Ok(())
    }

    /// Kills the hub (SIGKILL).
    pub fn kill(&mut self) {
        if let Some(mut child) = self.child.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }

    /// Sends a signal to the hub: `STOP`, say.
    ///
    /// # Errors
    /// If the hub does not run.
    pub fn signal(&self, signal: &str) -> Result<(), String> {
        let pid = self.child.as_ref().ok_or("the hub does not run")?.id();
        let pid = pid.to_string();
        let sent = Command::new("kill").args(["-s", signal, &pid]).status();
        sent.map(drop).map_err(|error| error.to_string())
    }

    /// Asks the hub to end (SIGTERM).
    ///
    /// # Errors
    /// If the hub ends with an error.
    pub fn stop(mut self) -> Result<(), String> {
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

impl Drop for HubProcess {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Starts a hub, and waits until it listens.
fn spawn(options: &HubOptions, address: &str) -> Result<Child, String> {
    let mut command = Command::new(&options.accp);
    command.args(["serve", "--listen", address, "--config"]);
    command.arg(&options.config);
    command.envs(options.variables.iter().copied());
    match &options.store {
        // A URL may have a password. Other users would see it among the arguments, so the URL goes
        // into the environment.
        Some(store) => command.env("ACCP_STORE", store),
        None => command.arg("--memory"),
    };
    let child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn();
    let mut child = child.map_err(|error| format!("{}: {error}", options.accp.display()))?;
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
    // A thread reads what the hub prints later, so that the pipe does not fill up.
    std::thread::spawn(move || std::io::copy(&mut errors, &mut std::io::sink()));
    Ok(child)
}
