//! Runs that write files. After the index is deleted, the files alone have to give the conversation back.

use std::fs;
use std::path::Path;

use accp_memory::disk::index::{Filter, Index};
use accp_memory::disk::{Context, ContextError};
use accp_memory::{Options, PlanError, SessionId, Window, Writes};
use serde_json::Value as Json;
use time::{Duration, OffsetDateTime};

use crate::Result;
use crate::checks::Counter;
use crate::talk::Talk;
use crate::tally::Tally;

/// How many characters of a line are looked for in the index.
const SNIPPET: usize = 40;

/// Compresses a growing list, with files in a folder of its own, and deletes the index. Then opens the session again,
/// and restores the conversation from the files alone.
pub(crate) fn run(
    talk: &Talk,
    window: &Window,
    counter: &Counter,
    writes: &Writes,
    root: &Path,
    tally: &mut Tally,
) -> Result<()> {
    let at = |error: &dyn std::fmt::Display| format!("{}: {error}", talk.id);
    let name = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
    let name: String = talk.id.chars().map(name).collect();
    let root = root.join(format!("{name}-{}-{}", talk.form, window.size()));
    // A folder of an earlier run would mix its files with those of this run, so it is removed.
    if root.exists() {
        fs::remove_dir_all(&root).map_err(|error| at(&error))?;
    }
    let id = SessionId::new("sweep").map_err(|error| at(&error))?;
    let mut said = 0;
    let mut moved = Vec::new();
    let context = Context::open(&root, id.clone()).map_err(|error| at(&error))?;
    let mut context = context.with_work(&root);
    for (number, end) in talk.steps.iter().enumerate() {
        let now = OffsetDateTime::UNIX_EPOCH
            + Duration::seconds(i64::try_from(number).unwrap_or_default());
        let options = Options {
            writes,
            ..Options::new(window, counter, now)
        };
        match context.compress(&talk.list(talk.messages[..*end].iter())?, &options, &mut ()) {
            Ok(done) => {
                said = *end;
                moved.extend(done.events.into_iter().flat_map(|event| event.files));
            }
            Err(ContextError::Plan(PlanError::OverWindow(_) | PlanError::NoRoom(_))) => {}
            Err(error) => tally.faults.push(at(&error)),
        }
    }
    drop(context);
    for file in ["cache/index.db", "cache/index.db-wal", "cache/index.db-shm"] {
        // A list that was never compressed has no index.
        if root.join(file).exists() {
            fs::remove_file(root.join(file)).map_err(|error| at(&error))?;
        }
    }
    if said == 0 {
        return Ok(());
    }
    let context = Context::open(&root, id).map_err(|error| at(&error))?;
    let restored = context
        .begun()
        .map_err(|error| at(&error))?
        .restored()
        .map_err(|fault| at(&fault))?;
    let restored = restored
        .messages()
        .iter()
        .map(accp_memory::ListMessage::json);
    let given = talk.messages[..said]
        .iter()
        .map(|raw| serde_json::from_str::<Json>(raw).unwrap_or_default());
    if !restored.map(Json::clone).eq(given) {
        tally
            .faults
            .push(at(&"the files do not give the conversation back"));
    }
    drop(context);
    searched(talk, &root, &moved, tally).map_err(|error| at(&error))
}

/// Makes the index anew. Then checks that the index finds a line of each offloaded result.
fn searched(talk: &Talk, root: &Path, files: &[String], tally: &mut Tally) -> Result<()> {
    let mut index = Index::open(root).map_err(|error| error.to_string())?;
    let skipped = index.update().map_err(|error| error.to_string())?;
    tally.faults.extend(
        skipped
            .iter()
            .map(|skipped| format!("{}: {skipped}", talk.id)),
    );
    for path in files
        .iter()
        .filter(|path| path.starts_with("cache/offloaded/"))
    {
        let text =
            fs::read_to_string(root.join(path)).map_err(|error| format!("{path}: {error}"))?;
        let line = text
            .lines()
            .rfind(|line| line.chars().count() >= SNIPPET)
            .unwrap_or_default();
        let snippet: String = line.chars().take(SNIPPET).collect();
        let hits = index
            .exact(&snippet, &Filter::default(), 100)
            .map_err(|error| error.to_string())?;
        if !snippet.is_empty() && !hits.iter().any(|hit| hit.file == *path) {
            tally.faults.push(format!(
                "{}: the index does not find {snippet:?} in {path}",
                talk.id
            ));
        }
    }
    Ok(())
}
