//! Conformance of transactions: PRO-TX (draft section 10.3).

use super::*;

proptest! {
    #[test]
    fn pro_tx_accepts_a_transaction_and_writes_its_amount_as_a_decimal(
        id in "[a-z0-9_]{1,12}", millionths: i64, currency in "USD|EUR|JPY", account in option::of(short()),
        reference in option::of(short()), status in "pending|settled", retryable: bool,
    ) {
        let amount = Decimal::from_millionths(millionths.into()).unwrap();
        let frame = TransactionReq {
            transaction_id: id.as_str().into(), amount, currency: currency.as_str().into(), account: cow(account),
            reference: cow(reference.clone()), status: status.as_str().into(), retryable,
        };
        let asked = request(frame);
        let text = asked.encode().unwrap();
        same(&text, &asked);
        let written = format!("|amt:{amount}|");
        prop_assert!(text.contains(&written), "{} in {}", written, text);
        let frame = accp_runtime::Frame::parse(&text).unwrap();
        prop_assert_eq!(frame.value("amt"), Some(Value::Decimal(amount)));
        for (key, is_default) in [("currency:", currency == "USD"), ("stat:", status == "pending"), ("retry:", !retryable)] {
            prop_assert_eq!(text.contains(key), !is_default);
        }

        // A retry: the same transaction under a new message id.
        let mut retry = asked.clone();
        retry.envelope = Envelope::new("100001000003", 3);
        let again = retry.encode().unwrap();
        prop_assert_eq!(again.split_once('[').unwrap().0, text.split_once('[').unwrap().0);

        let done = answer(TransactionDone { transaction_id: id.as_str().into(), reference: cow(reference), status: status.as_str().into() });
        let payload = same(&done.encode().unwrap(), &done);
        // The answer does not repeat the request's fields.
        prop_assert!(payload.get("currency").is_none() && payload.get("retryable").is_none());
    }

    /// JSON has no decimals. An integer, a text, or a float that a decimal holds exactly is
    /// accepted, and a decimal is sent.
    #[test]
    fn pro_tx_accepts_amounts_from_json(cents in -1_000_000_000_i64..1_000_000_000) {
        let amount = Decimal::from_millionths(i128::from(cents) * 10_000).unwrap();
        for json in [json!(cents as f64 / 100.0), json!(amount.to_string())] {
            let message = DynamicFrame::new("a", "req", "transaction").unwrap().under("TX")
                .with("transaction_id", "t1").with("amount", Value::from_json(&json));
            let text = message.encode(Registry::shared()).unwrap();
            prop_assert_eq!(text, format!("@a>req:transaction{{txn:t1|amt:{amount}|schema:TX}}"));
        }
    }
}

#[test]
fn pro_tx_accepts_the_examples_of_the_draft() {
    let names = [
        "transaction_id",
        "amount",
        "currency",
        "account",
        "reference",
        "status",
        "retryable",
    ];
    assert_eq!(fields("TX"), names);
    assert_eq!(
        defaults("TX"),
        json!({ "currency": "USD", "status": "pending", "retryable": false })
    );
    let text =
        "@payments>req:transaction{txn:txn_001|amt:142.5|acc:acct_9876|schema:TX}[mid:1,seq:5]";
    let asked = Typed::<TransactionReq<'_>>::decode(text).unwrap();
    assert_eq!(
        (&*asked.frame.currency, asked.frame.retryable),
        ("USD", false)
    );
    same(text, &asked);
    let text = "@payments>done:transaction{txn:txn_001|stat:settled|schema:TX}[mid:2,seq:6,cid:1]";
    same(text, &Typed::<TransactionDone<'_>>::decode(text).unwrap());
}

#[test]
fn pro_tx_refuses_an_amount_that_is_no_decimal_and_a_missing_id() {
    for payload in [
        "txn:t1",
        "amt:1.5",
        "txn:t1|amt:1.1234567",
        "txn:t1|amt:1e3",
        "txn:t1|amt:\"1.5",
        "txn:t1|amt:USD1.5",
        "txn:t1|amt:#1.1234567",
        "txn:t1|amt:[1.5]",
        "txn:t1|amt:9223372036854775808.0",
        "txn:t1|amt:1.5|retry:no",
    ] {
        let text = format!("@a>req:transaction{{{payload}|schema:TX}}");
        assert_eq!(
            refused::<TransactionReq<'_>>(&text),
            ErrorCode::INVALID_TYPE,
            "{text}"
        );
    }
    let text = "@a>done:transaction{txn:t1|schema:TX}";
    assert_eq!(
        refused::<TransactionDone<'_>>(text),
        ErrorCode::INVALID_TYPE
    );
    for json in [
        json!(40.712_775_3),
        json!("1.1234567"),
        json!("one"),
        json!(""),
        json!(true),
        json!([1.5]),
        json!(1e300),
    ] {
        let message = DynamicFrame::new("a", "req", "transaction")
            .unwrap()
            .under("TX")
            .with("transaction_id", "t1")
            .with("amount", Value::from_json(&json));
        let error = message.encode(Registry::shared()).unwrap_err();
        assert_eq!(
            (error.code(), error.path().as_str()),
            (ErrorCode::INVALID_TYPE, "amount"),
            "{json}"
        );
    }
}
