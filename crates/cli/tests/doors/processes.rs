//! Starts hubs and programs with agents, each as a separate process.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};

use accp_client::{Agent, Error};
use accp_runtime::AgentId;
use accp_runtime::session::Options;
use accp_store::{MemoryStore, SqliteStore};
use accp_tokens::Bpe;

use super::REGISTRY;
use crate::cli::Words;

/// Runs `accp` in a folder, and returns whether it succeeds and what it prints.
pub(crate) fn accp(folder: &Path, args: impl Words) -> (bool, String) {
    finish(command(folder).args(args.words()))
}

/// Returns a command that runs `accp` in a folder.
pub(crate) fn command(folder: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_accp"));
    command.current_dir(folder);
    command
}

fn finish(command: &mut Command) -> (bool, String) {
    let done = command.output().unwrap();
    let output = [done.stdout, done.stderr].map(|bytes| String::from_utf8(bytes).unwrap());
    (done.status.success(), output.concat())
}

/// A hub in a folder. It keeps its port when it starts again.
pub(crate) struct Hub {
    folder: std::path::PathBuf,
    port: u16,
    running: Option<Child>,
}

impl Hub {
    /// Chooses a port, but does not start the hub.
    pub(crate) fn new(folder: &Path) -> Self {
        Self::with(folder, REGISTRY)
    }

    /// Does the same as [`new`](Self::new), with another registry.
    pub(crate) fn with(folder: &Path, registry: &str) -> Self {
        std::fs::write(folder.join("registry.json"), registry).unwrap();
        let port = TcpListener::bind("127.0.0.1:0")
            .unwrap()
            .local_addr()
            .unwrap()
            .port();
        Self {
            folder: folder.to_owned(),
            port,
            running: None,
        }
    }

    /// Makes a folder, and starts a hub with this registry in it.
    pub(crate) fn started(registry: &str) -> (tempfile::TempDir, Self) {
        let folder = tempfile::tempdir().unwrap();
        let mut hub = Self::with(folder.path(), registry);
        hub.start();
        (folder, hub)
    }

    /// Starts the hub, and waits until it listens.
    pub(crate) fn start(&mut self) {
        drop(self.start_with(""));
    }

    /// Does the same as [`start`](Self::start), with more arguments. Returns the further lines that the hub prints.
    pub(crate) fn start_with(&mut self, more: &str) -> impl Iterator<Item = String> + use<> {
        let listen = format!("127.0.0.1:{}", self.port);
        let serve = (
            "serve hub.accp --registry registry.json --listen",
            listen,
            more,
        );
        let mut child = command(&self.folder)
            .args(serve.words())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let said = BufReader::new(child.stderr.take().unwrap()).lines();
        let mut said = said.map_while(Result::ok);
        // Before this line, the hub may print which standard profiles its registry replaces.
        let listens = said.find(|line| line.starts_with("hub at "));
        assert!(listens.is_some(), "the hub has ended");
        self.running = Some(child);
        // The hub goes on even if the test does not read these lines.
        said
    }

    pub(crate) fn kill(&mut self) {
        if let Some(mut child) = self.running.take() {
            child.kill().unwrap();
            child.wait().unwrap();
        }
    }

    pub(crate) fn url(&self) -> String {
        format!("ws://{}", self.address())
    }

    pub(crate) fn address(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    /// Returns the URL for HTTP clients.
    pub(crate) fn http(&self) -> String {
        format!("http://{}", self.address())
    }

    /// Returns a command that runs `accp` with the session `team` of this hub.
    pub(crate) fn command(&self) -> Command {
        let mut command = command(&self.folder);
        command
            .env("ACCP_HUB", self.http())
            .env("ACCP_SESSION", "team");
        command
    }

    /// Runs `accp` with the session `team` of this hub. Returns whether it succeeds and what it prints.
    pub(crate) fn accp(&self, args: impl Words) -> (bool, String) {
        finish(self.command().args(args.words()))
    }

    /// Returns what [`accp`](Self::accp) prints.
    pub(crate) fn output(&self, args: impl Words) -> String {
        self.accp(args).1
    }

    /// Returns the frames about notes in the log.
    pub(crate) fn log(&self) -> Vec<String> {
        let mut frames = self.frames();
        frames.retain(|frame| frame.contains(":note{"));
        frames
    }

    /// Returns the frames in the log, as `GET /accp/v1/sessions/team/frames` has them.
    pub(crate) fn frames(&self) -> Vec<String> {
        let tail = self.command().args(["tail", "--no-follow"]).output();
        let text = String::from_utf8(tail.unwrap().stdout).unwrap();
        text.lines().map(str::to_owned).collect()
    }
}

impl Drop for Hub {
    fn drop(&mut self) {
        self.kill();
    }
}

/// A hub, and the folder in which the hub and the programs have their stores.
pub(crate) struct TestHub {
    pub(crate) folder: tempfile::TempDir,
    pub(crate) hub: Hub,
}

impl TestHub {
    /// Makes a folder and chooses a port, but does not start the hub.
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let hub = Hub::new(folder.path());
        Self { folder, hub }
    }

    /// Does the same as [`new`](Self::new), and starts the hub.
    pub(crate) fn started() -> Self {
        let mut test = Self::new();
        test.hub.start();
        test
    }

    /// Starts a program.
    pub(crate) fn start(&self, part: &str) -> Program {
        Program::start(self.folder.path(), &self.hub, part)
    }
}

/// A program that a test starts: the test binary itself, with the name of its part in the
/// environment.
pub(crate) struct Program {
    child: Child,
    lines: std::io::Lines<BufReader<std::process::ChildStdout>>,
}

/// The variables that tell a program its part, and where the hub is.
pub(crate) const PART: &str = "DOORS_PART";
pub(crate) const HUB: &str = "DOORS_HUB";

impl Program {
    /// Starts a program in a folder. `part` says what the program does.
    pub(crate) fn start(folder: &Path, hub: &Hub, part: &str) -> Self {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args("--exact doors::agents::plays_a_part --nocapture --test-threads=1".words())
            .env(PART, part)
            .env(HUB, hub.url())
            .current_dir(folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        Self { child, lines }
    }

    /// Writes a line to the program's stdin.
    pub(crate) fn tell(&mut self, line: &str) {
        let stdin = self.child.stdin.as_mut().unwrap();
        stdin.write_all(format!("{line}\n").as_bytes()).unwrap();
    }

    /// Returns the next line that the program prints.
    pub(crate) fn says(&mut self) -> String {
        let said = self.lines.find_map(|line| {
            let line = line.unwrap();
            line.strip_prefix("part: ").map(str::to_owned)
        });
        said.unwrap_or_else(|| "it has ended".to_owned())
    }

    /// Kills the program, so that it cannot finish anything.
    pub(crate) fn kill(self) {
        drop(self);
    }

    pub(crate) fn wait(mut self) -> ExitStatus {
        self.child.wait().unwrap()
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Connects an agent to the hub that the environment names. If `keeps` is true, the agent's store is a file, and
/// otherwise memory.
pub(crate) async fn connect(name: &'static str, keeps: bool) -> Result<Agent, Error> {
    // The program runs in the folder of the hub, which has the registry of the hub.
    let registry = std::fs::read_to_string("registry.json").unwrap();
    let options = Options::from_json("team", AgentId::new(name).unwrap(), &registry).unwrap();
    let options = options.counting(std::sync::Arc::new(Bpe::o200k_base()));
    let connecting = Agent::connect(std::env::var(HUB).unwrap(), "team", name).options(options);
    if keeps {
        let file = format!("{name}.accp");
        connecting.store(SqliteStore::open(file).unwrap()).await
    } else {
        connecting.store(MemoryStore::new()).await
    }
}
