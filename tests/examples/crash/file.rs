//! Reads the file of the killed process.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use accp_session::{Entry, Stored};
use accp_store::{Kept, SideId, SqliteStore, Store};

/// The contents of the file for this session.
#[derive(Debug, Default)]
pub(crate) struct Contents {
    pub(crate) entries: Vec<Entry>,
    /// The first position whose text is kept.
    pub(crate) first: u64,
    pub(crate) stored: Stored,
    pub(crate) values: BTreeMap<String, Kept>,
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
    let mut values = BTreeMap::new();
    for key in store.cold_keys(side)? {
        let kept = store.cold(side, &key)?;
        values.extend(kept.map(|kept| (key, kept)));
    }
    let summary = store.summary(side)?;
    Ok(Contents {
        entries: store.entries(side, 0, usize::MAX)?,
        first: summary.map_or(0, |summary| summary.first),
        stored: store.load(side)?.unwrap_or_default(),
        values,
    })
}
