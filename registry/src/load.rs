//! Registries from files (feature `std`).

use std::fs;
use std::path::{Path, PathBuf};
use std::string::{String, ToString};
use std::vec::Vec;
use std::{format, vec};

use crate::accp::ACCP;
use crate::assemble::{Source, assemble};
use crate::json::Places;
use crate::jsonc::plain;
use crate::model::Registry;
use crate::problem::{Position, Problem, Problems};
use crate::protocol::Protocol;

impl Registry {
    /// Reads a registry file, or all registry files of a directory ([`registry_files`]) as one
    /// registry. A schema of one file may nest a schema of another. The files may have comments (`//`, `/* */`) and a
    /// comma before a closing bracket; neither is part of the registry, of its hash or of its JSON.
    ///
    /// # Errors
    /// Every mistake in every file, with file, line and column; also every file that cannot be
    /// read.
    pub fn load(path: impl AsRef<Path>) -> Result<Self, Problems> {
        Self::load_of(&ACCP, path)
    }

    /// Reads a registry of another protocol, as [`Registry::load`] does.
    ///
    /// # Errors
    /// As [`Registry::load`].
    pub fn load_of(protocol: &'static Protocol, path: impl AsRef<Path>) -> Result<Self, Problems> {
        let mut problems = Vec::new();
        let mut texts: Vec<(String, String)> = Vec::new();
        for file in registry_files(path.as_ref())? {
            match read(&file) {
                Ok(text) => texts.push((file.display().to_string(), text)),
                Err(problem) => problems.push(problem),
            }
        }
        let mut sources = Vec::new();
        for (file, text) in &texts {
            match Source::parse_commented(file, text) {
                Ok(source) => sources.push(source),
                Err(found) => problems.extend(found),
            }
        }
        // A schema may be missing only because its file is not JSON, so the other files are not
        // checked.
        if problems.is_empty() {
            assemble(protocol, &sources)
        } else {
            Err(Problems::new(problems))
        }
    }
}

/// Returns the sorted files that [`Registry::load`] reads for this path: the file itself, or the
/// `*.json` and `*.jsonc` files of a directory. It leaves out `*.schema.json` and subdirectories.
///
/// # Errors
/// When the path does not exist, or the directory holds no such file.
pub fn registry_files(path: &Path) -> Result<Vec<PathBuf>, Problems> {
    let metadata = fs::metadata(path).map_err(|error| unreadable(path, &error))?;
    if !metadata.is_dir() {
        return Ok(vec![path.to_path_buf()]);
    }
    let mut files = Vec::new();
    for entry in fs::read_dir(path).map_err(|error| unreadable(path, &error))? {
        let file = entry.map_err(|error| unreadable(path, &error))?.path();
        let end = file.extension();
        let is_json = end.is_some_and(|end| end == "json" || end == "jsonc");
        let is_schema = file.file_stem().map(Path::new).and_then(Path::extension);
        if is_json && is_schema.is_none_or(|end| end != "schema") && !file.is_dir() {
            files.push(file);
        }
    }
    files.sort();
    if files.is_empty() {
        let mut problem = Problem::new("", "there is no *.json file in this directory")
            .cure("name a registry file, or a directory that holds some");
        problem.file = Some(path.display().to_string());
        return Err(problem.into());
    }
    Ok(files)
}

/// Returns the file and the place of a part of a registry that [`Registry::load`] has read; `None` if
/// no file has its schema. A part that the text does not spell out has the place of the nearest part
/// around it.
///
/// ```
/// use std::path::Path;
///
/// use accp_registry::registry_place;
///
/// let profiles = Path::new("profiles"); // of this crate
/// let (file, place) = registry_place(profiles, "/schemas/chat_message/fields/1").expect("a field");
/// assert_eq!(file, profiles.join("CH.json"));
/// assert!(place.line > 1);
/// assert!(registry_place(profiles, "/schemas/no_such").is_none());
/// ```
pub fn registry_place(path: &Path, pointer: &str) -> Option<(PathBuf, Position)> {
    let schema: Vec<&str> = pointer.split('/').take(3).collect();
    let schema = schema.join("/");
    registry_files(path).ok()?.into_iter().find_map(|file| {
        let text = fs::read_to_string(&file).ok()?;
        let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
        let places = Places::of(&plain(text));
        let place = Position::of(text, places.find(pointer));
        places.has(&schema).then_some((file, place))
    })
}

/// Reads the text of a file.
fn read(file: &Path) -> Result<String, Problem> {
    let bytes = fs::read(file).map_err(|error| unreadable(file, &error))?;
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        let before = String::from_utf8_lossy(&error.as_bytes()[..at]).into_owned();
        let mut problem = Problem::new("", format!("byte {at} is not UTF-8"))
            .cure("save the file as UTF-8, in which JSON is written");
        problem.file = Some(file.display().to_string());
        problem.position = Some(Position::of(&before, at));
        problem
    })
}

fn unreadable(path: &Path, error: &std::io::Error) -> Problem {
    let mut problem = Problem::new("", format!("cannot be read: {error}"))
        .cure("name a registry file, or a directory that holds some");
    problem.file = Some(path.display().to_string());
    problem
}

#[cfg(test)]
mod tests {
    use super::*;

    fn directory(files: &[(&str, &str)]) -> tempfile::TempDir {
        let directory = tempfile::tempdir().unwrap();
        for (name, text) in files {
            fs::write(directory.path().join(name), text).unwrap();
        }
        directory
    }

    /// Returns the text of the error, without the directory.
    fn error(directory: &tempfile::TempDir) -> String {
        let text = Registry::load(directory.path()).unwrap_err().to_string();
        let prefix = directory.path().display().to_string();
        text.replace(&prefix, "DIR").replace('\\', "/")
    }

    #[test]
    fn reads_the_files_of_a_directory_as_one() {
        let directory = directory(&[
            (
                "b.json",
                r#"{ "schemas": { "report": { "code": "RP", "fields": ["rows"], "types": { "rows": "[RW]" } } } }"#,
            ),
            (
                "a.json",
                r#"{ "version": 3, "schemas": { "row": { "code": "RW", "fields": ["n"] } } }"#,
            ),
            ("registry.schema.json", "{}"),
            ("notes.txt", "not a registry"),
        ]);
        let registry = Registry::load(directory.path()).unwrap();
        let codes: Vec<&str> = registry.schemas().map(|s| s.code.as_str()).collect();
        assert_eq!(codes, ["RP", "RW"]);
        assert_eq!(registry.version, 3);

        let one = Registry::load(directory.path().join("a.json")).unwrap();
        assert_eq!(one.schemas().len(), 1);
    }

    #[test]
    fn reports_every_mistake_of_every_file() {
        let directory = directory(&[
            ("a.json", r#"{ "schemas": { "a": { "code": "A" } } }"#),
            (
                "b.json",
                "{ \"schemas\": {\n  \"b\": { \"code\": \"A\", \"fields\": [] } } }",
            ),
        ]);
        insta::assert_snapshot!(error(&directory), @r#"
        DIR/a.json:1:16 at /schemas/a: the schema has no `fields`
            add "fields": ["a_name"]
        DIR/b.json:2:10 at /schemas/b/code: the code `A` already stands for the schema `a`
            give one of the two another code
        "#);
    }

    #[test]
    fn reports_a_file_that_is_not_json() {
        let directory = directory(&[
            ("a.json", "{ \"schemas\": {\n"),
            (
                "b.json",
                r#"{ "schemas": { "b": { "code": "B", "fields": ["x"], "types": { "x": "A" } } } }"#,
            ),
        ]);
        insta::assert_snapshot!(error(&directory), @"
        DIR/a.json:2:1: this is not JSON: EOF while parsing an object
            the text ends here; close what is still open
        ");
    }

    #[test]
    fn reports_a_file_that_is_not_utf_8() {
        let directory = directory(&[("b.json", r#"{ "schemas": {} }"#)]);
        let path = directory.path().join("a.json");
        fs::write(&path, b"{ \"schemas\": {\n  \"caf\xe9\": {} } }").unwrap();
        insta::assert_snapshot!(error(&directory), @"
        DIR/a.json:2:7: byte 21 is not UTF-8
            save the file as UTF-8, in which JSON is written
        ");
        // Some editors write UTF-16.
        fs::write(&path, b"\xff\xfe{\0}\0").unwrap();
        insta::assert_snapshot!(error(&directory), @"
        DIR/a.json:1:1: byte 0 is not UTF-8
            save the file as UTF-8, in which JSON is written
        ");
        // UTF-16 without a byte order mark, in which all characters are ASCII.
        fs::write(&path, b"{\0}\0").unwrap();
        insta::assert_snapshot!(error(&directory), @"
        DIR/a.json:1:2: this is not JSON: key must be a string
            this may be UTF-16: save the file as UTF-8, in which JSON is written
        ");
    }

    #[test]
    fn reports_a_file_that_nests_too_deep() {
        let directory = directory(&[("a.json", &"[".repeat(1000))]);
        insta::assert_snapshot!(error(&directory), @"
        DIR/a.json:1:128: this is not JSON: recursion limit exceeded
            no registry nests so deep; remove the inner arrays and objects
        ");
    }

    #[test]
    fn comments_are_read_over_and_places_stay() {
        let plain = r#"{ "schemas": { "b": { "code": "B", "fields": ["x", "y"] } } }"#;
        let commented = "// Ours: \"é\".\n{ \"schemas\": { /* one */ \"b\": {\n\"code\": \"B\", // the code\n\"fields\": [\"x\",\n\"y\",] },} }";
        let files = directory(&[("a.json", plain), ("b.jsonc", commented)]);
        let load = |name: &str| Registry::load(files.path().join(name)).unwrap();
        assert_eq!(load("a.json").to_json(), load("b.jsonc").to_json());
        let place = registry_place(&files.path().join("b.jsonc"), "/schemas/b/fields/1");
        let place = place.map(|(_, place)| (place.line, place.column));
        assert_eq!(place, Some((5, 1)));
        assert_eq!(registry_files(files.path()).unwrap().len(), 2);

        let faulty = directory(&[
            (
                "a.json",
                "// é\n{ /* é */ \"schemas\": { \"b\": { \"code\": \"B\" } } }",
            ),
            ("b.json", "{ \"schemas\": {} } /* open"),
        ]);
        let error = |name: &str| {
            let error = Registry::load(faulty.path().join(name))
                .unwrap_err()
                .to_string();
            error.replace(&faulty.path().display().to_string(), "DIR")
        };
        insta::assert_snapshot!(error("a.json"), @r#"
        DIR/a.json:2:24 at /schemas/b: the schema has no `fields`
            add "fields": ["a_name"]
        "#);
        insta::assert_snapshot!(error("b.json"), @"
        DIR/b.json:1:19: this is not JSON: trailing characters
            keys stand in double quotes; a comment is `// ..` to the end of the line, or `/* .. */`
        ");
        // A registry from a peer must not have comments.
        assert!(Registry::from_json(commented).is_err());
    }

    #[test]
    fn reports_a_folder_without_files() {
        insta::assert_snapshot!(error(&directory(&[])), @"
        DIR: there is no *.json file in this directory
            name a registry file, or a directory that holds some
        ");
        let missing = Registry::load("no/such/registry.json").unwrap_err();
        assert!(
            missing
                .to_string()
                .starts_with("no/such/registry.json: cannot be read: ")
        );
    }
}
