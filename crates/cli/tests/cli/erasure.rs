//! Tests of `accp session erase`, and of what `--redact` leaves out.

use std::fs;

use accp_store::SqliteStore;

use crate::cli::session::{bakery, fine};

#[test]
fn data_is_erased_and_the_file_verifies() {
    let folder = bakery();
    let erase = |more: &str| {
        let args = ("session erase chats.db stock/1", more);
        let run = folder.run(args, "");
        format!("{:?}\n{}{}", run.code, run.stdout, run.stderr)
    };
    let has = |what: &str| {
        let files = fs::read_dir(folder.path("."))
            .unwrap()
            .map(|file| file.unwrap().path());
        let mut stores = files.filter(|file| file.to_string_lossy().contains("chats.db"));
        stores.any(|file| {
            let bytes = fs::read(file).unwrap();
            bytes
                .windows(what.len())
                .any(|window| window == what.as_bytes())
        })
    };
    let said = "loaves_on_Friday";
    insta::assert_snapshot!(erase("--from user --dry-run"), @"
    Some(0)
    side         would erase                             bytes  values
    accp (host)  8 frames: 7, 12, 16, 18, 20-21, 23, 26  2221
    ");
    assert!(has(said), "a dry run changes nothing");
    insta::assert_snapshot!(erase("--from user"), @"
    Some(0)
    side         erased                                  bytes  values
    accp (host)  8 frames: 7, 12, 16, 18, 20-21, 23, 26  2221
    copies elsewhere stay: those of agents with stores of their own, and backups
    ");
    assert!(!has(said));
    insta::assert_snapshot!(erase("--from user"), @"
    Some(0)
    nothing is left to erase
    ");
    insta::assert_snapshot!(fine(&folder, "session verify chats.db"), @"
    plan/1: fine: 11 entries, folded from its first entry;
      0 references can be read, 0 checkpoints list 0 frames that moved
    stock/1: fine: 28 entries (8 of them erased), folded from its snapshot;
      0 references can be read, 1 checkpoint list 0 frames that moved
    ");
    insta::assert_snapshot!([
        erase(""),
        erase("--from eve"),
        erase("--positions 99"),
        erase("--positions 9..3"),
        erase("--key k1"),
    ].join("\n"), @"
    Some(2)
    error: name what to erase: --from AGENT, --positions 3..9 or --key k101_7

    Some(2)
    error: chats.db: no agent `eve` is or was in the session: it has accp, assistant, system, tool, user

    Some(2)
    error: chats.db: 99..99 are not positions of the log: they go from 1 to 28, the first before the last

    Some(2)
    error: invalid value '9..3' for '--positions <POSITIONS>': 9 is after 3: swap the two

    For more information, try '--help'.

    Some(2)
    error: chats.db: there is no value under `k1`: a key is written without its tier, as k101_7
    ");

    let store = SqliteStore::open(folder.path("chats.db")).unwrap();
    insta::assert_snapshot!(erase("--positions 7"), @"
    Some(2)
    error: chats.db: another process has the file open: end that process, or have it do the work: `accp erase` asks a hub
    ");
    drop(store);
}

#[test]
fn what_is_redacted_has_no_word_of_a_frame() {
    let folder = bakery();
    let whole = fine(&folder, "session export chats.db stock/1");
    assert!(whole.contains("flour"));
    for args in [
        "export chats.db stock/1 --redact",
        "export chats.db stock/1 --redact --format frames",
        "replay chats.db stock/1 --redact",
        "replay chats.db stock/1 --redact --frames",
        "show chats.db stock/1 --redact",
        "show chats.db stock/1 --redact --context",
        "show chats.db stock/1 --redact --format json",
    ] {
        let shown = fine(&folder, ("session", args));
        assert!(!shown.contains("flour"), "{args:?}: {shown}");
        assert!(shown.contains("assistant"), "{args:?}: {shown}");
    }
}
