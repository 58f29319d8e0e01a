//! Lists and reads the files that are indexed: archives and offloaded results.

use std::fs;
use std::io::{self, Read as _};
use std::path::Path;
use std::time::UNIX_EPOCH;

use time::{Date, Month, PrimitiveDateTime, Time};

use super::fault::Fault;

/// The folders whose files are indexed, below the root.
const FOLDERS: [&str; 2] = [ARCHIVES, "cache/offloaded"];
const ARCHIVES: &str = "cache/conversations";
/// The largest file that is indexed, in bytes.
const MOST: u64 = 64 << 20;

/// A file, before it is read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Seen {
    /// The path below the root, with slashes.
    pub(super) path: String,
    pub(super) bytes: i64,
    /// When the file was changed, in nanoseconds since 1970.
    pub(super) changed: i64,
}

/// Lists the Markdown files of the folders, by path. A folder that is not there has no files.
pub(super) fn list(root: &Path) -> Result<Vec<Seen>, Fault> {
    let mut all = Vec::new();
    for folder in FOLDERS {
        let fault = |source| Fault::Io {
            file: root.join(folder).display().to_string(),
            source,
        };
        let entries = match fs::read_dir(root.join(folder)) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            Err(error) => return Err(fault(error)),
        };
        for entry in entries {
            let entry = entry.map_err(fault)?;
            let name = entry.file_name().to_string_lossy().into_owned();
            if Path::new(&name).extension().is_some_and(|end| end == "md") {
                all.push(seen(format!("{folder}/{name}"), &entry));
            }
        }
    }
    all.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(all)
}

fn seen(path: String, entry: &fs::DirEntry) -> Seen {
    // If the system gives no metadata, the file is read anyway, and the reader reports the error.
    let about = entry.metadata().ok();
    let changed = about.as_ref().and_then(|about| about.modified().ok());
    let changed = changed.and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    Seen {
        path,
        bytes: about.map_or(-1, |about| about.len() as i64),
        changed: changed.map_or(0, |time| time.as_nanos() as i64),
    }
}

/// Returns whether a file grows message by message.
pub(super) fn is_archive(path: &str) -> bool {
    path.starts_with(ARCHIVES)
}

/// Reads a file; the error says why it cannot be indexed.
pub(super) fn read(root: &Path, path: &str) -> Result<Vec<u8>, String> {
    let file = root.join(path);
    // A link is not followed: it may lead out of the cache.
    let about = fs::symlink_metadata(&file).map_err(|error| error.to_string())?;
    if !about.is_file() {
        return Err("is a link or a folder, and not a file; put the file itself here".to_owned());
    }
    let mut bytes = Vec::new();
    let file = fs::File::open(&file).map_err(|error| error.to_string())?;
    let read = file.take(MOST + 1).read_to_end(&mut bytes);
    read.map_err(|error| error.to_string())?;
    if bytes.len() as u64 > MOST {
        return Err(format!("is larger than {MOST} bytes; split it"));
    }
    Ok(bytes)
}

/// Reads the name of an offloaded file, such as `20260129_142530_web_search_2.md`. Returns the time in seconds since
/// 1970, read as UTC, and the possible names of the tool: the number at the end may belong to the tool's name, or
/// tell files apart.
pub(super) fn name(path: &str) -> Option<(i64, Vec<String>)> {
    let name = path.rsplit('/').next()?.strip_suffix(".md")?;
    let (day, clock) = (name.get(..8)?, name.get(9..15)?);
    let tool = name.get(15..)?.strip_prefix('_')?;
    if name.as_bytes()[8] != b'_' || !day.bytes().chain(clock.bytes()).all(|c| c.is_ascii_digit()) {
        return None;
    }
    let number = |text: &str| text.parse::<u16>().ok();
    let part = |text: &str| text.parse::<u8>().ok();
    let month = Month::try_from(part(&day[4..6])?).ok()?;
    let date = Date::from_calendar_date(number(&day[..4])?.into(), month, part(&day[6..])?).ok()?;
    let (hour, minute, second) = (part(&clock[..2])?, part(&clock[2..4])?, part(&clock[4..])?);
    let time = Time::from_hms(hour, minute, second).ok()?;
    let time = PrimitiveDateTime::new(date, time).assume_utc();
    let mut tools = vec![tool.to_owned()];
    if let Some((tool, number)) = tool.rsplit_once('_')
        && !tool.is_empty()
        && number.parse::<u32>().is_ok()
    {
        tools.insert(0, tool.to_owned());
    }
    Some((time.unix_timestamp(), tools))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_a_file_tells_time_and_tool() {
        let (time, tools) = name("cache/offloaded/20260129_142530_web_search.md").unwrap();
        assert_eq!(
            (time, &tools[..]),
            (1_769_696_730, &["web_search".to_owned()][..])
        );
        let (_, tools) = name("20260129_142530_search_2.md").unwrap();
        assert_eq!(tools, ["search", "search_2"]);
        for wrong in [
            "a.md",
            "20261329_142530_a.md",
            "20260129-142530_a.md",
            "20260129_142530.md",
            "é0260129_142530_a.md",
        ] {
            assert_eq!(name(wrong), None, "{wrong}");
        }
    }
}
