//! The files below a root, read and compared without times.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use accp_store::{SideId, SqliteStore, Store as _};
use accp_tests::program::Result;

use crate::command::{SESSION, copy};

/// The texts of the files that people read, each under the name of its file.
pub(crate) type Files = BTreeMap<String, String>;

/// Reads all files that people read.
pub(crate) fn read(root: &Path) -> Result<Files> {
    let mut all = Files::new();
    for folder in ["offloaded", "conversations", "checkpoints", "intermediate"] {
        let Ok(entries) = fs::read_dir(root.join("cache").join(folder)) else {
            continue;
        };
        for entry in entries {
            let path = entry?.path();
            let bytes = fs::read(&path)?;
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            let text = String::from_utf8_lossy(&bytes).into_owned();
            all.insert(format!("cache/{folder}/{name}"), text);
        }
    }
    Ok(all)
}

/// Returns files in which `TIME` takes the place of each time in names and texts.
pub(crate) fn timeless(files: &Files) -> Files {
    let files = files.iter();
    files
        .map(|(name, text)| (without_times(name), without_times(text)))
        .collect()
}

/// Returns how many steps cold state has. Reads a copy, so that the root stays as the kill has left it.
pub(crate) fn steps(root: &Path) -> Result<usize> {
    if !root.join("cache/cold.accp").exists() {
        return Ok(0);
    }
    let folder = tempfile::tempdir()?;
    copy(root, folder.path())?;
    let keys = SqliteStore::open(folder.path().join("cache/cold.accp"))
        .and_then(|mut store| store.cold_keys(&SideId::new(SESSION, "context")))
        .map_err(|error| format!("cold state after a kill: {error}"))?;
    Ok(keys.iter().filter(|key| key.starts_with("step.")).count())
}

/// The forms of times in names and texts: `d` is a digit.
const TIMES: [&str; 2] = ["dddddddd_dddddd", "dddd-dd-ddTdd:dd:dd"];

/// Returns a text in which `TIME` takes the place of each time.
pub(crate) fn without_times(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let length = TIMES.iter().find(|time| begins(rest, time)).map(|time| {
            out.push_str("TIME");
            time.len()
        });
        if length.is_none() {
            out.push(first);
        }
        rest = &rest[length.unwrap_or(first.len_utf8())..];
    }
    out
}

fn begins(text: &str, time: &str) -> bool {
    let is_like = |(found, like): (u8, u8)| match like {
        b'd' => found.is_ascii_digit(),
        like => found == like,
    };
    text.len() >= time.len() && text.bytes().zip(time.bytes()).all(is_like)
}
