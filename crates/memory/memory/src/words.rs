//! The tables of words and phrases that rules look for in messages. Each table is in a JSON file beside its rule.

use serde::Deserialize;

/// Declares `WORDS`: the tables of a JSON file. They are the schema of the file, which has these tables and no others.
macro_rules! words {
    ($file:literal; $($(#[$doc:meta])* $table:ident,)+) => {
        #[derive(serde::Deserialize)]
        #[serde(deny_unknown_fields, bound(deserialize = "'de: 'static"))]
        struct Words {
            $($(#[$doc])* $table: Vec<&'static str>,)+
        }

        static WORDS: std::sync::LazyLock<Words> =
            std::sync::LazyLock::new(|| crate::words::read(include_str!($file)));
    };
}

/// Reads the tables of a file.
pub(crate) fn read<T: Deserialize<'static>>(json: &'static str) -> T {
    serde_json::from_str(json).expect("a test of each rule reads the tables of the rule")
}

/// Returns whether the name of a tool has one of these words.
pub(crate) fn in_name(tool: &str, words: &[&str]) -> bool {
    accp_registry::words(tool).any(|word| words.contains(&&*word.to_ascii_lowercase()))
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};
    use std::path::Path;

    /// Checks the JSON files of a folder and of the folders below, and returns the number of files.
    fn check(folder: &Path) -> usize {
        let mut count = 0;
        for entry in folder.read_dir().unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                count += check(&path);
            } else if path.extension().is_some_and(|kind| kind == "json") {
                let text = std::fs::read_to_string(&path).unwrap();
                let tables: BTreeMap<String, Vec<String>> = serde_json::from_str(&text).unwrap();
                for (name, words) in tables {
                    let once: BTreeSet<_> = words.iter().collect();
                    assert_eq!(once.len(), words.len(), "{name} of {path:?} repeats a word");
                    let is_empty = words.iter().any(|word| word.trim().is_empty());
                    assert!(!is_empty, "{name} of {path:?} has an empty word");
                }
                count += 1;
            }
        }
        count
    }

    #[test]
    fn a_table_has_each_word_once() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
        assert_eq!(check(&folder), 13);
    }
}
