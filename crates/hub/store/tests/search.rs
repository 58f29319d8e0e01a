//! A search finds the same frames in all stores, in the same order, whatever happens to the log
//! meanwhile.
#![cfg(feature = "sqlite")]

use std::sync::Arc;

use accp_registry::Hash;
use accp_runtime::session::{Mid, Time};
use accp_session::{Batch, Cold, Entry, Snapshot};
use accp_store::{MemoryStore, Retention, SideId, SqliteStore, Store};
use proptest::prelude::*;

fn entry(position: u64, text: &str) -> Entry {
    Entry::new(
        position,
        Time::default(),
        Mid::parse(&format!("{position:012x}")),
        text,
    )
    .with(|entry| {
        entry.sequence = position;
        entry.tokens = 1;
    })
}

fn value(key: &str, text: &str) -> Cold {
    Cold {
        key: key.into(),
        digest: Hash::of(text.as_bytes()),
        length: text.len() as u64,
        bytes: Some(Arc::from(text.as_bytes())),
    }
}

/// What happens to a log.
#[derive(Debug, Clone)]
enum Step {
    Frame(String),
    Value(usize, String),
    Expire(usize),
    Retain,
    Ask(String),
}

fn step() -> impl Strategy<Value = Step> {
    let words = "(rye|oats|spelt|the|of|B12)(_(rye|oats|spelt|the|of)){0,5}";
    let frame = (words, prop::option::of(0usize..3)).prop_map(|(words, key)| {
        let key = key.map(|key| format!("|v:$cold.k1_{key}"));
        Step::Frame(format!(
            "@a>req:x{{c:{words}{}}}[mid:1]",
            key.unwrap_or_default()
        ))
    });
    let asked = "(rye|oats|spelt|the|x)( (of|rye|b12)){0,2}";
    prop_oneof![
        6 => frame,
        2 => (0usize..3, words).prop_map(|(key, words)| Step::Value(key, words)),
        1 => (0usize..3).prop_map(Step::Expire),
        1 => Just(Step::Retain),
        4 => asked.prop_map(Step::Ask),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn all_stores_find_the_same_in_the_same_order(steps in prop::collection::vec(step(), 1..40)) {
        let side = SideId::new("launch", "hub");
        let mut memory = MemoryStore::new();
        let mut file = SqliteStore::open_in_memory().unwrap();
        let mut last = 0;
        let mut put = [false; 3];
        for step in steps {
            let mut batch = Batch::new(true);
            match step {
                Step::Frame(text) => {
                    last += 1;
                    batch.entries.push(entry(last, &text));
                }
                Step::Value(key, text) if !put[key] => {
                    put[key] = true;
                    batch.cold.push(value(&format!("k1_{key}"), &text));
                }
                Step::Expire(key) => batch.expired.push(format!("k1_{key}")),
                Step::Retain => {
                    batch.snapshot = Some(Snapshot { position: last, text: String::new() });
                    let retention = Retention { log_before: last };
                    for store in [&mut memory as &mut dyn Store, &mut file] {
                        store.commit(&[(&side, &batch)]).unwrap();
                        store.retain(&side, retention).unwrap();
                    }
                    continue;
                }
                Step::Ask(words) => {
                    for limit in [1, 3, 100] {
                        let expected = memory.search(&side, &words, limit).unwrap();
                        prop_assert_eq!(file.search(&side, &words, limit).unwrap(), expected);
                    }
                    continue;
                }
                Step::Value(..) => continue,
            }
            for store in [&mut memory as &mut dyn Store, &mut file] {
                store.commit(&[(&side, &batch)]).unwrap();
            }
        }
    }
}

/// A search sees the present state of a file to which another process writes, even if the searching store only
/// reads.
#[test]
fn a_file_that_another_writes_to_is_searched_as_it_is() {
    let (_folder, path) = crate::common::place("sessions.accp");
    let side = SideId::new("launch", "hub");
    let mut writer = SqliteStore::open(&path).unwrap();
    let mut commit = |position, text: &str, retain: bool| {
        let mut batch = Batch::new(true);
        batch.entries.push(entry(position, text));
        batch.snapshot = Some(Snapshot {
            position,
            text: String::new(),
        });
        writer.commit(&[(&side, &batch)]).unwrap();
        if retain {
            writer
                .retain(
                    &side,
                    Retention {
                        log_before: position,
                    },
                )
                .unwrap();
        }
    };
    commit(1, "@a>req:x{c:four_bags_of_rye}", false);
    let mut reader = SqliteStore::open_read_only(&path).unwrap();
    let positions = |reader: &mut SqliteStore, words| {
        let found = reader.search(&side, words, 9).unwrap();
        found
            .into_iter()
            .map(|found| found.position)
            .collect::<Vec<_>>()
    };
    assert_eq!(positions(&mut reader, "bags"), [1]);
    commit(2, "@a>req:x{c:no_bags_of_spelt}", false);
    assert_eq!(positions(&mut reader, "bags"), [2, 1]);
    assert_eq!(positions(&mut reader, "no rye bags"), [2, 1]);
    commit(3, "@a>req:x{c:oats}", true);
    assert_eq!(positions(&mut reader, "bags oats"), [3]);
    assert!(positions(&mut reader, "").is_empty());
    assert!(
        reader
            .search(&SideId::new("other", "hub"), "oats", 9)
            .unwrap()
            .is_empty()
    );
}

/// Digests, keys and what is written in base64 are found whole, in frames and in their values.
#[test]
fn long_runs_of_letters_and_digits_are_found() {
    let side = SideId::new("launch", "hub");
    let [digest, data] = ["0f".repeat(64), "aB3".repeat(400)];
    let mut batch = Batch::new(true);
    batch.entries.extend([
        entry(1, &format!("@a>req:x{{c:sha512_{digest}}}[mid:1]")),
        entry(2, "@a>req:x{c:$cold.k1_0}[mid:1]"),
        entry(3, &format!("@a>req:x{{c:{}1}}[mid:1]", &digest[1..])),
    ]);
    batch.cold.push(value("k1_0", &data));
    let mut memory = MemoryStore::new();
    let mut file = SqliteStore::open_in_memory().unwrap();
    for store in [&mut memory as &mut dyn Store, &mut file] {
        store.commit(&[(&side, &batch)]).unwrap();
        for (words, position) in [(&digest, 1), (&data.to_lowercase(), 2)] {
            let found = store.search(&side, words, 9).unwrap();
            let positions: Vec<u64> = found.iter().map(|found| found.position).collect();
            assert_eq!(positions, [position], "{words}");
            let snippet = found[0].snippet.to_lowercase();
            // The whole frame is shown where it is short.
            let shown = &words[..words.len().min(200)];
            assert!(snippet.contains(shown), "{snippet}");
        }
    }
}
