//! A folder as the link of an ACCP session.
//!
//! The folder has a folder `accp/` with one file for each agent, `NAME.frames`. Only that agent writes into it,
//! at its end, so there is no lock. A line has the receiver, the length of the frame and the frame. Readers continue
//! where they stopped, and ignore a line without its line feed.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};

use accp_frame::AgentId;
use accp_session::{MemberId, Transmit};
use accp_store::Link;

/// The folder of the files.
const FOLDER: &str = "accp";
/// The end of the names of the files.
const FRAMES: &str = "frames";
/// The most bytes that are read of a file at once.
const MOST: u64 = 1 << 20;

/// A link through a shared folder.
///
/// By convention, the host is the agent of the proposal's owner. The link itself does not need the files of the
/// collaboration protocol.
///
/// ```
/// use accp_collab::disk::FolderLink;
/// use accp_frame::AgentId;
/// use accp_session::{MemberId, Transmit};
/// use accp_store::Link as _;
///
/// let dir = tempfile::tempdir()?;
/// let (ada, bob) = (AgentId::new("ada").unwrap(), AgentId::new("bob").unwrap());
/// let mut host = FolderLink::open(dir.path(), &ada)?;
/// let mut member = FolderLink::open(dir.path(), &bob)?;
/// let number = MemberId::new(101).unwrap();
/// host.name(number, &bob);
/// host.send(Transmit { to: number, text: "@ada>req:sync{}".into() });
/// assert_eq!(member.receive()?, [("ada".to_owned(), "@ada>req:sync{}".to_owned())]);
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug)]
pub struct FolderLink {
    folder: PathBuf,
    me: String,
    out: File,
    /// For each number, the agent that it means.
    names: BTreeMap<MemberId, String>,
    /// How far the file of each agent was read.
    read: BTreeMap<String, u64>,
}

impl FolderLink {
    /// Opens the link of an agent, and continues where the agent stopped reading.
    ///
    /// # Errors
    /// The errors of the system.
    pub fn open(folder: &Path, me: &AgentId<'_>) -> io::Result<Self> {
        let folder = folder.join(FOLDER);
        fs::create_dir_all(&folder)?;
        let me = me.as_str().to_owned();
        let path = folder.join(format!("{me}.{FRAMES}"));
        let mut out = OpenOptions::new()
            .create(true)
            .append(true)
            .read(true)
            .open(path)?;
        // An incomplete line gets a line feed, so that the next frame begins a new line.
        if out.seek(SeekFrom::End(0))? > 0 {
            out.seek(SeekFrom::End(-1))?;
            let mut last = [0];
            out.read_exact(&mut last)?;
            if last != *b"\n" {
                out.write_all(b"\n")?;
            }
        }
        let stopped = fs::read(folder.join(format!("{me}.read"))).unwrap_or_default();
        let mut link = Self {
            folder,
            me,
            out,
            names: BTreeMap::new(),
            read: BTreeMap::new(),
        };
        // If the file `NAME.read` is missing, the link reads lines again. That does no harm: a session recognises
        // frames that it has already received.
        if let Ok(serde_json::Value::Object(stopped)) = serde_json::from_slice(&stopped) {
            let stopped = stopped.into_iter();
            link.read = stopped
                .filter_map(|(agent, at)| Some((agent, at.as_u64()?)))
                .collect();
        }
        Ok(link)
    }

    /// Sets which agent a number means: a host names its members, a member names
    /// [`MemberId::HOST`].
    pub fn name(&mut self, member: MemberId, agent: &AgentId<'_>) {
        self.names.insert(member, agent.as_str().to_owned());
    }

    /// Returns the number of an agent.
    pub fn number(&self, agent: &str) -> Option<MemberId> {
        let mut names = self.names.iter();
        names
            .find(|(_, name)| *name == agent)
            .map(|(number, _)| *number)
    }

    /// Returns the frames that have arrived for this agent, each with its sender.
    ///
    /// # Errors
    /// The errors of the system.
    pub fn receive(&mut self) -> io::Result<Vec<(String, String)>> {
        let mut found = Vec::new();
        let mut has_read = false;
        for entry in fs::read_dir(&self.folder)? {
            let path = entry?.path();
            let agent = path
                .file_stem()
                .and_then(|name| name.to_str())
                .unwrap_or_default()
                .to_owned();
            if path.extension().is_none_or(|end| end != FRAMES) || agent == self.me {
                continue;
            }
            let start = self.read.get(&agent).copied().unwrap_or(0);
            let bytes = read_from(&path, start)?;
            let whole = bytes
                .iter()
                .rposition(|byte| *byte == b'\n')
                .map_or(0, |at| at + 1);
            for line in bytes
                .get(..whole)
                .unwrap_or_default()
                .split(|byte| *byte == b'\n')
            {
                if let Some(frame) = std::str::from_utf8(line)
                    .ok()
                    .and_then(|line| self.mine(line))
                {
                    found.push((agent.clone(), frame.to_owned()));
                }
            }
            if whole > 0 {
                self.read.insert(agent, start + whole as u64);
                has_read = true;
            }
        }
        if has_read {
            self.remember()?;
        }
        Ok(found)
    }

    /// Returns the frame of a line if it is whole and for this agent.
    fn mine<'l>(&self, line: &'l str) -> Option<&'l str> {
        let (to, rest) = line.split_once(' ')?;
        let (length, frame) = rest.split_once(' ')?;
        (to == self.me && length.parse() == Ok(frame.len())).then_some(frame)
    }

    fn remember(&self) -> io::Result<()> {
        let read: serde_json::Value = self
            .read
            .iter()
            .map(|(agent, at)| (agent.clone(), *at))
            .collect();
        let path = self.folder.join(format!("{}.read", self.me));
        let beside = self.folder.join(format!("{}.read.new", self.me));
        fs::write(&beside, read.to_string())?;
        fs::rename(beside, path)
    }
}

/// Reads a piece of a file.
fn read_from(path: &Path, start: u64) -> io::Result<Vec<u8>> {
    let mut file = File::open(path)?;
    file.seek(SeekFrom::Start(start))?;
    let mut bytes = Vec::new();
    file.take(MOST).read_to_end(&mut bytes)?;
    Ok(bytes)
}

impl Link for FolderLink {
    fn send(&mut self, frame: Transmit) {
        let Some(to) = self.names.get(&frame.to) else {
            return;
        };
        let text = frame.text;
        let line = format!("{to} {} {text}\n", text.len());
        // The session sends a lost frame again later.
        let _ = self.out.write_all(line.as_bytes());
    }
}
