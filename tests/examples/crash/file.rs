//! Reads the file of the killed process.

use std::fs;
use std::path::{Path, PathBuf};

use accp_session::{Entry, Stored};
use accp_store::{SideId, SqliteStore, Store};

/// The contents of the file for this session.
#[derive(Debug, Default)]
pub(crate) struct Contents {
    pub(crate) entries: Vec<Entry>,
    pub(crate) stored: Stored,
    /// The number of values, and the number of values without bytes.
    pub(crate) values: (usize, usize),
}

/// Reads a copy, so that the process finds its file unchanged.
pub(crate) fn read(file: &Path, side: &SideId) -> Result<Contents, String> {
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    let copy = folder.path().join("copy");
    if !file.exists() {
        return Ok(Contents::default());
    }
    for end in ["", "-wal"] {
        let (from, to) = (with_end(file, end), with_end(&copy, end));
        if from.exists() {
            fs::copy(from, to).map_err(|error| error.to_string())?;
        }
    }
    contents(&copy, side).map_err(|error| error.to_string())
}

fn with_end(file: &Path, end: &str) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push(end);
    name.into()
}

fn contents(file: &Path, side: &SideId) -> Result<Contents, accp_store::StoreError> {
    let mut store = SqliteStore::open(file)?;
    store.check_file()?;
    store.verify(side)?;
    let mut values = (0, 0);
    for key in store.cold_keys(side)? {
        let kept = store.cold(side, &key)?;
        values.0 += 1;
        values.1 += usize::from(kept.is_none_or(|kept| kept.value.bytes.is_none()));
    }
    Ok(Contents {
        entries: store.entries(side, 0, usize::MAX)?,
        stored: store.load(side)?.unwrap_or_default(),
        values,
    })
}
