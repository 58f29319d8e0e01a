//! A torn index is made anew from the files.

use std::fs;

use accp_memory::disk::index::Index;

use crate::recovery::folder::{ARCHIVE, Folder, exact, found, said, search};
use crate::recovery::needle::Random;

fn folder() -> Folder {
    let folder = Folder::new();
    let mut random = Random::new(7);
    let text = |number: usize, random: &mut Random| {
        let lines: Vec<_> = (0..12)
            .map(|_| format!("word{} of {number}", random.below(500)))
            .collect();
        lines.join("\n")
    };
    let all: Vec<_> = (0..60)
        .map(|number| said(number, "look", text(number, &mut random)))
        .collect();
    folder.append(ARCHIVE, &all);
    folder.append(ARCHIVE, &[said(60, "look", "the rye of ORD-12345")]);
    folder
}

fn is_sound(folder: &Folder, case: &str) {
    let mut index = Index::open(folder.path()).unwrap();
    assert_eq!(index.update().unwrap(), [], "{case}");
    assert_eq!(found(&search(&mut index, "ORD-12345")), [60], "{case}");
    assert_eq!(found(&exact(&mut index, "rye of")), [60], "{case}");
}

#[test]
fn a_cut_or_foreign_file_is_replaced() {
    let folder = folder();
    is_sound(&folder, "new");
    let file = folder.path().join("cache/index.db");
    let whole = fs::read(&file).unwrap();
    for size in [
        0,
        1,
        16,
        100,
        4_096,
        whole.len() / 2,
        whole.len() - 4_096,
        whole.len() - 1,
    ] {
        fs::write(&file, &whole[..size]).unwrap();
        is_sound(&folder, &format!("cut to {size}"));
    }
    fs::write(
        &file,
        "this is no index, and it is longer than the header of one has to be, so that it is read",
    )
    .unwrap();
    is_sound(&folder, "foreign");
}

#[test]
fn another_version_is_replaced() {
    let folder = folder();
    is_sound(&folder, "new");
    let file = folder.path().join("cache/index.db");
    let conn = rusqlite::Connection::open(&file).unwrap();
    conn.pragma_update(None, "user_version", 99).unwrap();
    drop(conn);
    is_sound(&folder, "version");
    let conn = rusqlite::Connection::open(&file).unwrap();
    conn.execute_batch("DROP TABLE words; CREATE TABLE words (a)")
        .unwrap();
    drop(conn);
    is_sound(&folder, "tables");
}

#[test]
fn zeroed_pages_do_no_harm() {
    let folder = folder();
    is_sound(&folder, "new");
    let file = folder.path().join("cache/index.db");
    let whole = fs::read(&file).unwrap();
    for page in 0..whole.len() / 4_096 {
        let mut torn = whole.clone();
        torn[page * 4_096..(page + 1) * 4_096].fill(0);
        fs::write(&file, torn).unwrap();
        is_sound(&folder, &format!("page {page}"));
    }
}

#[test]
fn an_index_that_is_torn_while_it_is_open_is_replaced() {
    let folder = folder();
    let mut index = folder.index();
    let file = folder.path().join("cache/index.db");
    let size = fs::metadata(&file).unwrap().len();
    fs::write(&file, vec![7; size as usize]).unwrap();
    assert_eq!(found(&search(&mut index, "ORD-12345")), [60]);
}

/// A byte that is wrong may stay unseen, but no search fails.
#[test]
fn wrong_bytes_are_no_errors() {
    let folder = folder();
    is_sound(&folder, "new");
    let file = folder.path().join("cache/index.db");
    let whole = fs::read(&file).unwrap();
    let mut random = Random::new(11);
    for _ in 0..60 {
        let mut torn = whole.clone();
        for _ in 0..=random.below(40) {
            let at = random.below(torn.len());
            torn[at] = random.below(256) as u8;
        }
        fs::write(&file, torn).unwrap();
        let mut index = Index::open(folder.path()).unwrap();
        index.update().unwrap();
        search(&mut index, "ORD-12345 rye word7");
        exact(&mut index, "rye of");
        search(&mut index, "word7 of 12");
    }
    let mut index = Index::rebuild(folder.path()).unwrap();
    assert_eq!(found(&search(&mut index, "ORD-12345")), [60]);
}
