//! The hub as a process.

use std::io::{BufRead as _, BufReader};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

pub(crate) struct Process {
    accp: PathBuf,
    store: Option<PathBuf>,
    settings: Option<PathBuf>,
    address: String,
    child: Child,
}

impl Process {
    /// Starts a hub on a free port, which it keeps. Without a store it keeps its sessions in memory. Its
    /// settings are those of a file, or the defaults.
    pub(crate) fn start(
        accp: &Path,
        store: Option<PathBuf>,
        settings: Option<PathBuf>,
    ) -> Result<Self, String> {
        let free = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr());
        let address = free.map_err(|error| error.to_string())?.to_string();
        let child = spawn(accp, store.as_deref(), settings.as_deref(), &address)?;
        Ok(Self {
            accp: accp.to_owned(),
            store,
            settings,
            address,
            child,
        })
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Returns the number of the process.
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Kills the hub (SIGKILL), and starts it again.
    pub(crate) fn kill_and_start(&mut self) -> Result<(), String> {
        self.kill();
        let (store, settings) = (self.store.as_deref(), self.settings.as_deref());
        self.child = spawn(&self.accp, store, settings, &self.address)?;
        Ok(())
    }

    /// Asks the hub to end (SIGTERM). It has to end well.
    pub(crate) fn stop(mut self) -> Result<(), String> {
        let pid = self.child.id().to_string();
        let asked = Command::new("kill").arg(pid).status();
        asked.map_err(|error| error.to_string())?;
        let ended = self.child.wait().map_err(|error| error.to_string())?;
        if ended.success() {
            Ok(())
        } else {
            Err(format!("the hub ended with {ended}"))
        }
    }

    fn kill(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Starts a hub, and waits until it listens.
fn spawn(
    accp: &Path,
    store: Option<&Path>,
    settings: Option<&Path>,
    address: &str,
) -> Result<Child, String> {
    let mut command = Command::new(accp);
    command.args(["serve", "--listen", address]);
    if let Some(settings) = settings {
        command.arg("--config").arg(settings);
    }
    match store {
        Some(store) => command.arg(store),
        None => command.arg("--memory"),
    };
    let child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn();
    let mut child = child.map_err(|error| format!("{}: {error}", accp.display()))?;
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
