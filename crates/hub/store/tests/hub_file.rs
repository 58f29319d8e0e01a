//! Only one hub can take a file. The errors of other hubs name that hub.

use crate::common;

use std::fs;
use std::path::Path;
use std::process;

use accp_store::{HubFile, SqliteStore, Store, StoreError, StoreErrorKind};

fn shown(error: &StoreError, folder: &Path) -> String {
    let text = error.to_string();
    let text = text.replace(&folder.display().to_string(), "FOLDER");
    let text = text.replace(&process::id().to_string(), "PID");
    format!("{:?}: {text}", error.kind())
}

#[test]
fn a_second_hub_is_refused_and_told_who_has_the_file() {
    let (folder, path) = common::place("hub.accp");
    let first = HubFile::take(&path, "at 127.0.0.1:7337").unwrap();
    assert!(!path.exists(), "only an opened store has a file");
    common::fill(&mut first.open().unwrap()).unwrap();
    let second = HubFile::take(&path, "at 127.0.0.1:7338").unwrap_err();
    insta::assert_snapshot!(shown(&second, folder.path()), @"Busy: FOLDER/hub.accp: another hub has this file: process PID at 127.0.0.1:7337; use that hub, end it, or name another file");
    // The lock does not stop readers, writers of single sides, or the hub itself when it opens its store again.
    SqliteStore::open_read_only(&path)
        .unwrap()
        .check_file()
        .unwrap();
    common::lapse(&mut SqliteStore::open(&path).unwrap()).unwrap();
    assert_eq!(first.open().unwrap().list().unwrap().len(), 2);

    drop(first);
    let lock = folder.path().join("hub.accp-hub");
    assert!(lock.exists(), "it is not removed");
    let next = HubFile::take(&path, "at [::1]:1").unwrap();
    let line = fs::read_to_string(&lock).unwrap();
    assert_eq!(line, format!("process {} at [::1]:1\n", process::id()));
    drop(next);
}

#[cfg(unix)]
#[test]
fn a_link_leads_to_the_same_lock() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("data")).unwrap();
    let (path, link) = (folder.path().join("data/a"), folder.path().join("link"));
    std::os::unix::fs::symlink("data/a", &link).unwrap();
    // The target of the link does not exist yet.
    let first = HubFile::take(&link, "a").unwrap();
    let refused = |path: &Path| HubFile::take(path, "b").unwrap_err().kind();
    assert_eq!(refused(&path), StoreErrorKind::Busy);
    drop(first.open().unwrap());
    assert_eq!(refused(&path), StoreErrorKind::Busy);
    assert_eq!(refused(&link), StoreErrorKind::Busy);
    assert!(path.exists() && fs::symlink_metadata(&link).unwrap().is_symlink());
}

#[test]
fn a_hub_does_not_go_on_with_another_file() {
    let (folder, path) = common::place("hub.accp");
    let hub = HubFile::take(&path, "a").unwrap();
    common::fill(&mut hub.open().unwrap()).unwrap();
    let away = folder.path().join("away.accp");
    fs::rename(&path, &away).unwrap();
    insta::assert_snapshot!(shown(&hub.open().unwrap_err(), folder.path()), @"Gone: FOLDER/hub.accp: the file was removed or moved away while it was open, so that no other process finds what is committed now: put the file back, or a copy from a backup, then open the store anew");
    assert!(!path.exists(), "no empty store is made");
    fs::copy(&away, &path).unwrap();
    assert_eq!(hub.open().unwrap_err().kind(), StoreErrorKind::Gone);
    fs::rename(&away, &path).unwrap();
    assert_eq!(hub.open().unwrap().list().unwrap().len(), 2);
}

#[test]
fn a_folder_that_is_missing_is_said() {
    let (folder, path) = common::place("missing/hub.accp");
    let error = HubFile::take(&path, "a").unwrap_err();
    insta::assert_snapshot!(shown(&error, folder.path()), @"Io: FOLDER/missing/hub.accp: No such file or directory (os error 2): check that the folder exists and that this user may write in it");
    let error = SqliteStore::open(&path).unwrap_err();
    insta::assert_snapshot!(shown(&error, folder.path()), @"Io: FOLDER/missing/hub.accp: No such file or directory (os error 2): check that the folder exists and that this user may write in it");
}
