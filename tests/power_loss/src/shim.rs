//! The border to C: turns SQLite's disk operations into events, and returns the disk's answers.

#![allow(unsafe_code, reason = "the border to C; nothing else is in this file")]

use std::ffi::{CStr, c_char, c_int, c_void};
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// An operation on the disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Event {
    Create(String),
    Write {
        file: String,
        at: u64,
        bytes: Vec<u8>,
    },
    Truncate {
        file: String,
        size: u64,
    },
    Sync(String),
    Delete(String),
    /// Only files in a shared folder or a context have this event, because SQLite renames nothing.
    Rename {
        from: String,
        to: String,
    },
    /// A sync of the names in a folder. The empty text names the uppermost folder.
    SyncFolder(String),
    /// SQLite never causes this event, because it makes no folders.
    MakeFolder(String),
}

impl Event {
    /// Returns the event with its names below a folder. SQLite's events have only the names of files.
    pub(crate) fn below(&self, folder: &str) -> Self {
        let mut event = self.clone();
        match &mut event {
            Self::SyncFolder(name) => folder.clone_into(name),
            Self::Rename { from, to } => {
                *from = format!("{folder}/{from}");
                *to = format!("{folder}/{to}");
            }
            Self::Create(name)
            | Self::Write { file: name, .. }
            | Self::Truncate { file: name, .. }
            | Self::Sync(name)
            | Self::Delete(name)
            | Self::MakeFolder(name) => *name = format!("{folder}/{name}"),
        }
        event
    }
}

/// The disk's answer to an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Answer {
    Done,
    /// A sync that counts as done without the time that a real sync takes.
    DoneAlready,
    /// The disk writes `after` bytes, then fails with an SQLite error code.
    Fails {
        after: usize,
        code: c_int,
    },
}

/// The function that answers each event before it reaches the disk.
type Disk = Box<dyn FnMut(&Event) -> Answer + Send>;

static DISK: Mutex<Option<Disk>> = Mutex::new(None);

unsafe extern "C" {
    fn shim_register(hook: Hook) -> c_int;
}

type Hook = unsafe extern "C" fn(
    op: c_int,
    name: *const c_char,
    at: i64,
    length: c_int,
    data: *const c_void,
    allow: *mut c_int,
) -> c_int;

/// Puts the shim in front of SQLite's file system for all files opened from now on.
pub(crate) fn register() {
    // SAFETY: the hook has the type that C declares, and lives as long as the process.
    let code = unsafe { shim_register(hook) };
    assert_eq!(code, 0, "SQLite takes the shim");
}

/// Sets the disk that answers from now on. Without a disk every event succeeds.
pub(crate) fn set_disk(disk: impl FnMut(&Event) -> Answer + Send + 'static) {
    *lock() = Some(Box::new(disk));
}

fn lock() -> MutexGuard<'static, Option<Disk>> {
    DISK.lock().unwrap_or_else(PoisonError::into_inner)
}

/// # Safety
/// `name` is a C string. `data` holds `length` bytes if it is not null. `allow` may be written. The shim in C
/// guarantees all three.
unsafe extern "C" fn hook(
    op: c_int,
    name: *const c_char,
    at: i64,
    length: c_int,
    data: *const c_void,
    allow: *mut c_int,
) -> c_int {
    // SAFETY: `name` is a C string, as this function requires.
    let name = unsafe { CStr::from_ptr(name) }.to_string_lossy();
    let name = Path::new(name.as_ref()).file_name().unwrap_or_default();
    let file = name.to_string_lossy().into_owned();
    let event = match op {
        0 => Event::Create(file),
        1 => {
            // SAFETY: a write has data, and `data` holds `length` bytes, as this function
            // requires.
            let bytes = unsafe { std::slice::from_raw_parts(data.cast::<u8>(), length as usize) };
            let bytes = bytes.to_vec();
            let at = at as u64;
            Event::Write { file, at, bytes }
        }
        2 => {
            let size = at as u64;
            Event::Truncate { file, size }
        }
        3 => Event::Sync(file),
        4 => Event::Delete(file),
        _ => Event::SyncFolder(String::new()),
    };
    let answer = lock().as_mut().map_or(Answer::Done, |disk| disk(&event));
    let (allowed, code) = match answer {
        Answer::Done => (length, 0),
        Answer::DoneAlready => (0, 0),
        Answer::Fails { after, code } => (after.min(length as usize) as c_int, code),
    };
    // SAFETY: `allow` may be written, as this function requires.
    unsafe { *allow = allowed };
    code
}
