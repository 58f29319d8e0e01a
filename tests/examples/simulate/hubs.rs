//! The file of a hub: only one hub takes it, it stays the same file, an application writes rows in it, and an erasure
//! that was cut short is completed.

use std::fs;
use std::path::Path;

use accp_session::Batch;
use accp_store::{
    HubFile, SideId, SqliteStore, Store, StoreError, StoreErrorKind, Transactional, Write,
};

use super::disks::folder;
use super::node::{Result, said};

/// One of this many seeds checks the file of a hub.
const EVERY: u64 = 16;

type Answer<T> = std::result::Result<T, StoreError>;

fn epoch(number: u32) -> Batch {
    Batch::new(false).with(|batch| batch.epoch = Some(number))
}

/// Checks that something fails with an error of this kind, and returns the text of the error.
fn fails<T>(answer: Answer<T>, kind: StoreErrorKind, what: &str) -> Result<String> {
    match answer {
        Err(error) if error.kind() == kind => Ok(error.to_string()),
        Err(error) => Err(format!(
            "hub: {what} fails with {:?}: {error}",
            error.kind()
        )),
        Ok(_) => Err(format!("hub: {what} does not fail with {kind:?}")),
    }
}

fn holds(is_true: bool, what: &str) -> Result {
    is_true.then_some(()).ok_or_else(|| format!("hub: {what}"))
}

/// Takes, moves and reads files of hubs.
pub(super) fn play(seed: u64) -> Result {
    if !seed.is_multiple_of(EVERY) {
        return Ok(());
    }
    let folder = folder().map_err(said)?;
    let path = folder.path().join("hub.accp");
    let side = SideId::new("house", "dev");
    judge_names()?;
    judge_holders(&path, &side)?;
    judge_readers(&path, &side)?;
    judge_rows(&path, &side)?;
    judge_mark(&path)?;
    #[cfg(unix)]
    judge_places(folder.path(), &path)?;
    Ok(())
}

/// Checks how sides are shown, and which errors mean that data is at fault.
fn judge_names() -> Result {
    let shown = [("a", "b"), ("a@b", "c"), (r"a\", "b"), ("a", "b@c")];
    let shown = shown.map(|(session, agent)| SideId::new(session, agent).to_string());
    let wanted = ["a@b", r"a\@b@c", r"a\\@b", r"a@b\@c"];
    holds(shown == wanted, "two sides look the same")?;
    let damage = |kind| StoreError::new(kind, "x").is_damage();
    let kinds = [
        StoreErrorKind::Corrupt,
        StoreErrorKind::Version,
        StoreErrorKind::Foreign,
    ];
    let others = [
        StoreErrorKind::Busy,
        StoreErrorKind::Full,
        StoreErrorKind::Io,
        StoreErrorKind::Gone,
        StoreErrorKind::Conflict,
        StoreErrorKind::Rows,
    ];
    let is_right = kinds.into_iter().all(damage) && !others.into_iter().any(damage);
    holds(is_right, "damage is told from other faults")
}

/// Checks that a second hub cannot take the file, and learns who has it.
fn judge_holders(path: &Path, side: &SideId) -> Result {
    let first = HubFile::take(path, "at one").map_err(said)?;
    let mut store = first.open().map_err(said)?;
    store.commit(&[(side, &epoch(1))]).map_err(said)?;
    let take = || HubFile::take(path, "at two");
    let told = fails(take(), StoreErrorKind::Busy, "a second hub")?;
    holds(told.contains("at one"), "the holder is not named")?;
    for holder in ["at three, under a name that is longer", "at 4"] {
        first.names_holder(holder).map_err(said)?;
        let told = fails(take(), StoreErrorKind::Busy, "a second hub")?;
        let named = told.split_once("at ").map_or("", |(_, rest)| rest);
        let is_named = format!("at {named}").starts_with(&format!("{holder};"));
        holds(is_named, &format!("the holder is {holder}, and not {told}"))?;
    }
    drop((store, first));
    let next = take().map_err(said)?;
    let mut store = next.open().map_err(said)?;
    let stored = store.load(side).map_err(said)?;
    let epoch = stored.map(|stored| stored.epoch);
    holds(epoch == Some(1), "the next hub does not find the side")?;
    store.probe().map_err(said)?;
    store.check_file().map_err(said)
}

/// Checks that a reader writes nothing, and may hold the state that it sees.
fn judge_readers(path: &Path, side: &SideId) -> Result {
    let mut writer = SqliteStore::open(path).map_err(said)?;
    let mut reader = SqliteStore::open_read_only(path).map_err(said)?;
    let written = reader.commit(&[(side, &epoch(50))]);
    holds(written.is_err(), "a reader writes")?;
    reader.hold().map_err(said)?;
    writer.commit(&[(side, &epoch(2))]).map_err(said)?;
    let read = |store: &mut SqliteStore| -> Result<Option<u32>> {
        let stored = store.load(side).map_err(said)?;
        Ok(stored.map(|stored| stored.epoch))
    };
    holds(read(&mut reader)? == Some(1), "a held state changes")?;
    holds(read(&mut writer)? == Some(2), "a commit is lost")?;
    drop(reader);
    let mut later = SqliteStore::open_read_only(path).map_err(said)?;
    holds(read(&mut later)? == Some(2), "a reader sees an old state")
}

/// Checks that the rows of an application are kept with their batch, or neither.
fn judge_rows(path: &Path, side: &SideId) -> Result {
    let mut store = SqliteStore::open(path).map_err(said)?;
    let (good, bad, after) = (epoch(3), epoch(4), epoch(5));
    let mut makes = |rows: &<SqliteStore as Transactional>::Transaction| {
        rows.execute("CREATE TABLE app_done (task TEXT)", ())?;
        rows.execute("INSERT INTO app_done VALUES ('one')", ())?;
        Ok(())
    };
    let write = Write::new(side, &good).with(&mut makes);
    store.commit_with(&mut [write]).map_err(said)?;
    let mut fails_late = |rows: &<SqliteStore as Transactional>::Transaction| {
        rows.execute("INSERT INTO app_done VALUES ('two')", ())?;
        rows.execute("INSERT INTO app_missing VALUES (1)", ())?;
        Ok(())
    };
    let write = Write::new(side, &bad).with(&mut fails_late);
    let refused = store.commit_with(&mut [write]);
    fails(refused, StoreErrorKind::Rows, "a batch without its rows")?;
    let mut count = 0;
    let mut counts = |rows: &<SqliteStore as Transactional>::Transaction| {
        // An update of all rows returns how many there are.
        count = rows.execute("UPDATE app_done SET task = task", ())?;
        Ok(())
    };
    let write = Write::new(side, &after).with(&mut counts);
    store.commit_with(&mut [write]).map_err(said)?;
    let stored = store.load(side).map_err(said)?;
    let kept = (count, stored.map(|stored| stored.epoch));
    holds(kept == (1, Some(5)), &format!("rows are kept as {kept:?}"))
}

/// Checks that an erasure that was cut short is noticed and completed.
fn judge_mark(path: &Path) -> Result {
    let mut mark = path.as_os_str().to_owned();
    mark.push("-erase");
    fs::write(&mark, "cut short").map_err(said)?;
    let mut store = SqliteStore::open(path).map_err(said)?;
    holds(store.erasure_is_due(), "a cut erasure is not noticed")?;
    let done = [
        store.complete_erasure().map_err(said)?,
        store.complete_erasure().map_err(said)?,
    ];
    let is_over = !store.erasure_is_due() && !Path::new(&mark).exists();
    holds(
        done == [true, false] && is_over,
        "a cut erasure is not completed",
    )
}

/// Checks the names of the file: its links, and what happens when it is moved away.
#[cfg(unix)]
fn judge_places(folder: &Path, path: &Path) -> Result {
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    let [link, name, moved] = ["link.accp", "name.accp", "moved.accp"].map(|one| folder.join(one));
    symlink(path, &link).map_err(said)?;
    let first = HubFile::take(&link, "at one").map_err(said)?;
    fails(
        HubFile::take(path, "at two"),
        StoreErrorKind::Busy,
        "a hub at the target of a link",
    )?;
    for file in fs::read_dir(folder).map_err(said)? {
        let file = file.map_err(said)?;
        let mode = file.metadata().map_err(said)?.permissions().mode();
        let is_link = file.file_type().map_err(said)?.is_symlink();
        holds(
            is_link || mode.trailing_zeros() >= 6,
            &format!("others can read {file:?}"),
        )?;
    }
    let mut store = first.open().map_err(said)?;
    fs::rename(path, &moved).map_err(said)?;
    fails(
        store.probe(),
        StoreErrorKind::Gone,
        "a store whose file was moved",
    )?;
    fails(
        first.open(),
        StoreErrorKind::Gone,
        "a hub whose file was moved",
    )?;
    drop(store);
    drop(SqliteStore::open(path).map_err(said)?);
    fails(first.open(), StoreErrorKind::Gone, "a hub on another file")?;
    drop(first);
    fs::hard_link(path, &name).map_err(said)?;
    fails(
        HubFile::take(&name, "at two"),
        StoreErrorKind::Busy,
        "a hub on a second name",
    )?;
    fails(
        HubFile::take(folder, "at two"),
        StoreErrorKind::Io,
        "a hub on a folder",
    )?;
    Ok(())
}
