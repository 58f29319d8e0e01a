//! Tests of receipts: they are signed and checked, and a changed one is refused.

use accp_gateway::{Ledger, Policy, Receipt, ReceiptError};

use crate::conversation::{Bench, messages, request};

#[tokio::test]
async fn a_receipt_holds_until_somebody_changes_it() {
    let mut bench = Bench::start(Policy::Append).await;
    for calls in 0..3 {
        bench.ask(&request(messages(calls))).await;
    }
    let ledger = bench.stop().await;
    let session = ledger.entries(None).unwrap()[0].session.clone();
    let receipt = Receipt::of(&ledger, &session).unwrap();
    assert_eq!((receipt.requests, receipt.counted), (3, 3));
    assert!(receipt.cost < receipt.plain, "{receipt:?}");
    let old = Receipt::key(&ledger).unwrap();
    let signed = receipt.signed(&ledger).unwrap();
    assert_eq!(Receipt::verify(&signed, Some(&old)).unwrap(), receipt);
    let new = Receipt::rotate(&ledger).unwrap();
    assert_ne!(old, new);
    assert_eq!(Receipt::verify(&signed, Some(&old)).unwrap(), receipt);
    assert!(matches!(
        Receipt::verify(&signed, Some(&new)),
        Err(ReceiptError::Key { .. })
    ));
    let again = receipt.signed(&ledger).unwrap();
    assert_eq!(Receipt::verify(&again, Some(&new)).unwrap(), receipt);
    let forged = signed.replace("\"requests\":3", "\"requests\":2");
    assert!(matches!(
        Receipt::verify(&forged, None),
        Err(ReceiptError::Signature)
    ));
    for text in ["", "{", "{\"receipt\":{},\"key\":\"!\",\"signature\":\"\"}"] {
        assert!(
            matches!(Receipt::verify(text, None), Err(ReceiptError::Form(_))),
            "{text}"
        );
    }
    assert!(matches!(
        Receipt::of(&ledger, "none"),
        Err(ReceiptError::NoSession(_))
    ));
}

#[tokio::test]
async fn a_ledger_of_the_first_version_is_read_on() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("gateway.accp");
    let old = rusqlite::Connection::open(&file).unwrap();
    old.execute_batch(
        "CREATE TABLE secret (name TEXT PRIMARY KEY, value BLOB NOT NULL) STRICT;
         CREATE TABLE session (id TEXT PRIMARY KEY, plain INTEGER NOT NULL, used INTEGER NOT NULL) STRICT;
         CREATE TABLE branch (session TEXT NOT NULL, number INTEGER NOT NULL, digests BLOB NOT NULL, removed INTEGER NOT NULL,
             memory TEXT NOT NULL, used INTEGER NOT NULL, PRIMARY KEY (session, number)) STRICT;
         CREATE TABLE request (id INTEGER PRIMARY KEY, at INTEGER NOT NULL, session TEXT NOT NULL, provider TEXT NOT NULL,
             model TEXT NOT NULL, policy TEXT NOT NULL, status INTEGER NOT NULL, given INTEGER NOT NULL, sent INTEGER NOT NULL,
             input INTEGER, written INTEGER, read INTEGER, output INTEGER, cost REAL, plain REAL, changed REAL,
             added_us INTEGER NOT NULL, repeated INTEGER NOT NULL, whole INTEGER NOT NULL, fault TEXT,
             given_digest BLOB NOT NULL, sent_digest BLOB NOT NULL) STRICT;
         CREATE INDEX request_session ON request (session, id);
         INSERT INTO branch VALUES ('s', 1, x'', 0, '', 1);
         INSERT INTO request VALUES (1, 5, 's', 'anthropic', 'claude-m', 'append', 200, 9, 8, 7, 0, 0, 1, 12.0, 13.0, 12.0, 1, 0, 1,
             NULL, x'', x'');
         PRAGMA user_version = 1;",
    )
    .unwrap();
    drop(old);
    let ledger = Ledger::open(&file).unwrap();
    let entries = ledger.entries(Some("s")).unwrap();
    assert_eq!(
        (entries.len(), entries[0].turns, &entries[0].note),
        (1, 0, &None)
    );
    drop(ledger);
    assert_eq!(Ledger::open(&file).unwrap().entries(None).unwrap(), entries);
}
