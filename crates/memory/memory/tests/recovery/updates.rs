//! The index is brought up to date when files are added, grow, change or disappear.

use std::fs::{self, File};
use std::thread;

use accp_memory::Archive;
use accp_memory::disk::index::{Filter, Hit, Index};

use crate::recovery::folder::{ARCHIVE, Folder, OFFLOADED, exact, found, said, search};

fn all(index: &mut Index) -> Vec<Hit> {
    let mut hits = index.exact("e", &Filter::default(), 1_000).unwrap();
    hits.sort_by(|a, b| (&a.file, a.lines).cmp(&(&b.file, b.lines)));
    for hit in &mut hits {
        hit.rank = 0;
    }
    hits
}

/// Returns messages of one to ninety lines.
fn messages(from: usize, to: usize) -> Vec<accp_memory::Archived> {
    let text = |number: usize| {
        let lines: Vec<_> = (0..=number * 37 % 90)
            .map(|line| format!("line {line} of message {number}"))
            .collect();
        lines.join("\n")
    };
    (from..to)
        .map(|number| said(number, "look", text(number)))
        .collect()
}

#[test]
fn what_is_appended_is_added() {
    let folder = Folder::new();
    let mut index = folder.index();
    assert_eq!(all(&mut index), []);
    for (from, to) in [(0, 3), (3, 4), (4, 4), (4, 11)] {
        folder.append(ARCHIVE, &messages(from, to));
        folder.write(
            &OFFLOADED.replace("2530", &format!("25{to:02}")),
            format!("result {to}"),
        );
        assert_eq!(index.update().unwrap(), []);
        assert_eq!(index.update().unwrap(), []);
        let fresh = Folder::new();
        fresh.append(ARCHIVE, &messages(0, to));
        let expected: Vec<_> = all(&mut fresh.index());
        let archived: Vec<_> = all(&mut index)
            .into_iter()
            .filter(|hit| hit.file == ARCHIVE)
            .collect();
        assert_eq!(archived, expected);
    }
    let followed = all(&mut index);
    assert_eq!(all(&mut Index::rebuild(folder.path()).unwrap()), followed);
    fs::remove_file(folder.path().join("cache/index.db")).unwrap();
    assert_eq!(all(&mut Index::open(folder.path()).unwrap()), followed);
}

#[test]
fn a_changed_and_a_removed_file_are_seen() {
    let folder = Folder::new();
    folder.append(ARCHIVE, &[said(0, "look", "rye"), said(1, "look", "oats")]);
    folder.write(OFFLOADED, "spelt");
    let mut index = folder.index();
    folder.write(
        ARCHIVE,
        Archive::text(&[said(0, "look", "wheat"), said(1, "look", "oats")]),
    );
    index.update().unwrap();
    assert_eq!(
        (
            exact(&mut index, "rye").len(),
            found(&exact(&mut index, "wheat"))
        ),
        (0, vec![0])
    );
    fs::remove_file(folder.path().join(OFFLOADED)).unwrap();
    index.update().unwrap();
    assert!(search(&mut index, "spelt").is_empty());
    assert_eq!(found(&search(&mut index, "oats")), [1]);
}

#[test]
fn a_torn_end_is_said_and_read_later() {
    let folder = Folder::new();
    let text = Archive::text(&messages(0, 3)).replace("message 2", "message ä");
    let cut = text.rfind('ä').unwrap() + 1;
    folder.write(ARCHIVE, &text.as_bytes()[..cut]);
    let mut index = Index::open(folder.path()).unwrap();
    let skipped = index.update().unwrap();
    assert_eq!((skipped.len(), &*skipped[0].file), (1, ARCHIVE));
    assert!(
        skipped[0].reason.contains("not UTF-8") && skipped[0].reason.contains("has no end"),
        "{}",
        skipped[0]
    );
    assert!(found(&all(&mut index)).iter().all(|number| *number < 2));
    folder.write(ARCHIVE, &text);
    assert_eq!(index.update().unwrap(), []);
    assert_eq!(found(&exact(&mut index, "line 0 of message ä")), [2]);
}

#[test]
fn what_cannot_be_indexed_is_said() {
    let folder = Folder::new();
    let offloaded = |name: &str| format!("cache/offloaded/{name}.md");
    folder.write(&offloaded("a"), b"rye \xff spelt");
    folder.write(&offloaded("b/inside"), "oats");
    fs::create_dir(folder.path().join(offloaded("c"))).unwrap();
    folder.write(&offloaded("d"), "");
    let large = File::create(folder.path().join(offloaded("d"))).unwrap();
    large.set_len((64 << 20) + 1).unwrap();
    folder.write(
        ARCHIVE,
        format!("a note\n{}", Archive::text(&messages(0, 1))),
    );
    let mut index = Index::open(folder.path()).unwrap();
    for _ in 0..2 {
        let skipped = index.update().unwrap();
        let files: Vec<_> = skipped.iter().map(|skipped| &*skipped.file).collect();
        assert_eq!(
            files,
            [ARCHIVE, &offloaded("a"), &offloaded("c"), &offloaded("d")]
        );
        for (skipped, reason) in skipped.iter().zip([
            "line 1",
            "not UTF-8 from byte 4",
            "not a file",
            "larger than",
        ]) {
            assert!(skipped.reason.contains(reason), "{skipped}");
        }
        assert_eq!(search(&mut index, "spelt").len(), 1);
        assert_eq!(search(&mut index, "message").len(), 1);
    }
}

#[cfg(unix)]
#[test]
fn a_link_is_not_followed() {
    let folder = Folder::new();
    folder.write("secret.md", "rye");
    folder.write(OFFLOADED, "oats");
    std::os::unix::fs::symlink(
        "../../secret.md",
        folder.path().join("cache/offloaded/link.md"),
    )
    .unwrap();
    let mut index = Index::open(folder.path()).unwrap();
    assert_eq!(index.update().unwrap()[0].file, "cache/offloaded/link.md");
    assert!(search(&mut index, "rye").is_empty());
}

#[test]
fn several_processes_use_one_index() {
    let folder = Folder::new();
    folder.append(ARCHIVE, &messages(0, 2));
    thread::scope(|scope| {
        for writer in 0..3 {
            let folder = &folder;
            scope.spawn(move || {
                let mut index = Index::open(folder.path()).unwrap();
                for number in 0..4 {
                    let name = OFFLOADED.replace("web_search", &format!("w{writer}_{number}"));
                    folder.write(&name, format!("result {writer}.{number}"));
                    // The index may read a file while another writer writes it, which is not an
                    // error.
                    index.update().unwrap();
                    assert_eq!(
                        exact(&mut index, &format!("result {writer}.{number}")).len(),
                        1
                    );
                    assert!(!search(&mut index, "line of message").is_empty());
                }
            });
        }
    });
    let mut index = folder.index();
    let followed = all(&mut index);
    assert_eq!(
        followed
            .iter()
            .filter(|hit| hit.text.starts_with("result"))
            .count(),
        12
    );
    assert_eq!(all(&mut Index::rebuild(folder.path()).unwrap()), followed);
}

#[test]
fn a_root_that_cannot_be_used_is_an_error_with_a_cure() {
    let folder = Folder::new();
    folder.write("cache", "a file");
    let error = Index::open(folder.path()).unwrap_err().to_string();
    assert!(
        error.contains("cache") && error.contains("check"),
        "{error}"
    );
}
