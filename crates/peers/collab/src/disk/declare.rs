//! Declares supporting deliverables and attachments.

use std::fs;
use std::io;
use std::path::Path;

use serde_json::{Value as Json, json};

use super::append::{NEW_PROTOCOL, now};
use super::{Shared, source, unwritable};
use crate::finding::{Code, Finding};
use crate::folder::{Folder, Scope};
use crate::kind::Kind;
use crate::protocol::{Mode, Protocol};
use crate::settings::{name_reserved, reserved, template};
use accp_store::files::Files;

/// A declaration. The file is relative to the directory of deliverables.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Declaration {
    /// A supporting deliverable. A declaration of the same file is replaced.
    Supporting {
        /// The file, which ends in `.md`.
        file: String,
        /// Its type; `None` for `custom`.
        kind: Option<Kind>,
        /// Whether it has to be frozen.
        is_frozen: bool,
    },
    /// An attachment. Its file must exist.
    Attachment(String),
}

impl<F: Files> Shared<F> {
    /// Adds a declaration to `protocol.json`, under the lock. If a supporting deliverable does not exist, it is made
    /// from the template of its type.
    ///
    /// # Errors
    /// Every mistake in the declaration, with the codes of the folder; [`Code::Phase`] when the collaboration
    /// is over; [`Code::Busy`] and [`Code::Unwritable`]. The folder does not change then.
    pub fn declare(&self, declaration: &Declaration) -> Result<Folder, Vec<Finding>> {
        let held = self.lock_there()?;
        let folder = self.read(Scope::All);
        let (protocol, state) = folder.begun()?;
        if state.phase().is_over() {
            let text = format!(
                "the collaboration is {}, and takes no declaration; begin a new round in a new folder",
                state.phase()
            );
            return Err(vec![Finding::new(Code::Phase, text)]);
        }
        let mut json = Json::Object(protocol.json().clone());
        let (list, file, entry) = match declaration {
            Declaration::Supporting {
                file,
                kind,
                is_frozen,
            } => {
                let kind = kind.map_or("custom", Kind::as_str);
                (
                    "supporting",
                    file,
                    json!({ "file": file, "type": kind, "frozen": is_frozen }),
                )
            }
            Declaration::Attachment(file) => ("attachments", file, json!({ "file": file })),
        };
        let entries = &mut json["deliverables"][list];
        if !entries.is_array() {
            *entries = json!([]);
        }
        let entries = entries.as_array_mut().into_iter();
        for entries in entries {
            let same = entries
                .iter_mut()
                .find(|one| one.get("file") == entry.get("file"));
            match same {
                Some(Json::Object(same)) => {
                    same.extend(entry.as_object().cloned().unwrap_or_default());
                }
                _ => entries.push(entry.clone()),
            }
        }
        let declared = Protocol::from_json(json.to_string().as_bytes())?;
        let path = declared.path_of(file);
        if declared.mode == Mode::Internal
            && let Some(name) = reserved(&path)
        {
            return Err(vec![name_reserved(name)]);
        }
        let root = match declared.root() {
            Some(root) => source::root_of(&self.files, &self.path, root)
                .map_err(|why| vec![Finding::new(Code::RepoRoot, why)])?,
            None => self.path.clone(),
        };
        let path = root.join(path);
        source::refuse_link(&self.files, &root, &path, file)?;
        let is_there = match self.files.resolve(&path) {
            Ok(_) => true,
            Err(error) if error.kind() == io::ErrorKind::NotFound => false,
            Err(error) => return Err(vec![unwritable(&path, &error)]),
        };
        if matches!(declaration, Declaration::Attachment(_)) && !is_there {
            let text = "the attachment is not there; write the file first";
            return Err(vec![
                Finding::new(Code::AttachmentMissing, text).within(file, None),
            ]);
        }
        held.check()?;
        let text = declared.to_text(state, &now());
        self.prepare(text.as_bytes())
            .map_err(|finding| vec![finding])?;
        let new_protocol = self.path.join(NEW_PROTOCOL);
        let is_made = !is_there;
        if let Declaration::Supporting { kind, .. } = declaration
            && is_made
            && let Err(finding) = self.make_supporting(&path, *kind)
        {
            // The prepared protocol.json is useless now. The next writer replaces it if it
            // remains.
            let _ = self.files.remove(&new_protocol);
            return Err(vec![finding]);
        }
        if let Err(finding) = self.publish() {
            // If protocol.json is replaced already, it declares the new deliverable, so the
            // deliverable stays.
            if self.files.remove(&new_protocol).is_ok() && is_made {
                let _ = self.files.remove(&path);
            }
            return Err(vec![finding]);
        }
        Ok(self.read(Scope::All))
    }

    /// Makes a supporting deliverable from the template of its type.
    fn make_supporting(&self, path: &Path, kind: Option<Kind>) -> Result<(), Finding> {
        let of = |error| unwritable(path, &error);
        let sections = kind.map(Kind::sections).unwrap_or_default();
        let sections: Vec<String> = sections.iter().map(|one| (*one).to_owned()).collect();
        let title = kind.map_or("Custom Deliverable", Kind::title);
        let name = kind.map_or("custom", Kind::as_str);
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent).map_err(of)?;
        }
        let text = template(title, name, &sections);
        let made = self.files.create(path, text.as_bytes());
        if let Err(error) = made.and_then(|()| self.files.sync(path)) {
            if error.kind() != io::ErrorKind::AlreadyExists {
                let _ = self.files.remove(path);
            }
            return Err(of(error));
        }
        Ok(())
    }
}
