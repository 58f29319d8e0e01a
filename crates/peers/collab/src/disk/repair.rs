//! Repairs after a crash.

use super::Shared;
use super::append::now;
use super::review;
use crate::finding::Finding;
use crate::folder::{Folder, Scope};
use crate::log::LOG_FILE;
use crate::protocol::PROTOCOL_FILE;
use accp_store::files::Files;

/// What was repaired.
#[derive(Debug, Clone)]
pub struct Repaired {
    /// The files that were repaired, relative to the folder.
    pub files: Vec<&'static str>,
    /// The folder afterwards.
    pub folder: Folder,
}

impl<F: Files> Shared<F> {
    /// Repairs the folder, under the lock: moves an incomplete last line out of the log, and writes the state of the
    /// log into `protocol.json`. Faults that only a person can repair stay.
    ///
    /// # Errors
    /// The reasons why the folder is not valid ([`Folder::standing`]), [`Code::Busy`](crate::Code::Busy) and
    /// [`Code::Unwritable`](crate::Code::Unwritable).
    pub fn repair(&self) -> Result<Repaired, Vec<Finding>> {
        let held = self.lock_there()?;
        review::settle(&self.files, &self.path)?;
        let folder = self.read(Scope::Log);
        let (protocol, state) = folder.begun()?;
        held.check()?;
        let mut files = Vec::new();
        if folder.log().torn().is_some() {
            self.put_torn_aside(&folder)
                .map_err(|finding| vec![finding])?;
            files.push(LOG_FILE);
        }
        if protocol.compare(state).is_some() {
            let text = protocol.to_text(state, &now());
            self.prepare(text.as_bytes())
                .and_then(|()| self.publish())
                .map_err(|finding| vec![finding])?;
            files.push(PROTOCOL_FILE);
        }
        let folder = self.read(Scope::All);
        Ok(Repaired { files, folder })
    }
}
