//! Receipts: signed, checked, and not to be changed.

use accp_gateway::{Policy, Receipt, ReceiptError};

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
