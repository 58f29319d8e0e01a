//! Records of unions: views write them with their keys, and the reader checks the fields of their variant.

use std::sync::{Arc, LazyLock};

use accp_frame::DynamicFrame;
use accp_registry::Registry;
use insta::assert_snapshot;

use crate::view::View;

static REGISTRY: LazyLock<Arc<Registry>> = LazyLock::new(|| {
    let json = r#"{ "schemas": {
        "payment": { "code": "PM", "fields": ["amount", "kind", "number", "retries", "parts"],
            "types": { "amount": "decimal", "number": "string", "retries": "integer", "parts": "[PM]" },
            "abbreviations": { "kind": "k" }, "defaults": { "retries": 3 },
            "union": "kind", "variants": [
                { "name": "card", "fields": ["amount"], "required": ["number"] },
                { "name": "transfer", "fields": ["amount", "retries"], "required": ["number"] },
                { "name": "true", "fields": ["parts"] } ] },
        "order": { "code": "OD", "fields": ["pay", "others", "note"],
            "types": { "pay": "PM", "others": "[PM]", "note": "any" }, "required": ["pay"],
            "frames": [{ "intent": "req", "operation": "order" }] }
    } }"#;
    Arc::new(Registry::from_json(json).unwrap())
});

fn view() -> View {
    View::new(Arc::clone(&REGISTRY))
}

#[test]
fn a_record_stands_with_its_keys() {
    let frame = "@me>req:order{pay:{k:card,number:a1}|others:[{k:true},{amount:4.1,k:transfer,number:b}]|schema:OD}";
    let message = DynamicFrame::decode(frame, &REGISTRY).unwrap();
    let block = view().block(&message).text;
    assert_snapshot!(block, @r#"@me>req:order OD({kind:card,number:a1},[{kind:"true"},{amount:4.1,kind:transfer,number:b,retries:3}])"#);
    let read = view().read(&block).unwrap();
    assert_eq!(read[0].payload, message.payload);
    assert_eq!(read[0].encode(&REGISTRY).unwrap(), frame);
}

#[test]
fn the_primer_has_a_line_for_the_variants() {
    let primer = view().primer(["OD"]).unwrap();
    assert_eq!(
        primer.schemas[1].definition,
        "@=PM{kind:card,amount,number|kind:transfer,amount,number,retries|kind:\"true\",parts}\n"
    );
    assert_snapshot!(primer.schemas[1].notes, @"card,transfer need number; true all optional; amount:decimal retries=3 parts:[PM]");
    assert_snapshot!(primer.schemas[0], @"
    @=OD(pay:PM,others,note)
    req:order; others?:[PM] note?:any
    ");
    // A model may repeat a definition.
    assert_eq!(view().read(&primer.schemas[1].definition), Ok(Vec::new()));
}

#[test]
fn what_is_not_of_the_variant_is_refused() {
    let fault = |pay: &str| {
        let text = format!("@me>req:order OD({pay})\n");
        view().read(&text).unwrap_err().to_string()
    };
    assert_snapshot!(fault("{kind:card}"), @"E1004 in block 1, line 1, OD.pay: expected the field number, which schema PM requires, found `}`");
    assert_snapshot!(fault("{kind:card,number:a,retries:3}"), @"E1004 in block 1, line 1, OD.pay: expected a field of the variant card, and not retries, found `}`");
    assert_snapshot!(fault("{kind:coin}"), @"
    E1004 in block 1, line 1, OD.pay.kind: expected one of card, transfer, true, found `coin`
    E1004 in block 1, line 1, OD.pay: expected the field kind, which schema PM requires, found `}`
    ");
    assert_snapshot!(fault("{number:a}"), @"E1004 in block 1, line 1, OD.pay: expected the field kind, which schema PM requires, found `}`");
    assert_snapshot!(fault("{kind:$a}"), @"E1004 in block 1, line 1, OD.pay: expected the name of a variant of PM, found `}`");
    assert_snapshot!(fault("(,card,a)"), @"E1004 in block 1, line 1, OD.pay: expected a record of PM with its keys, as in {kind:card|transfer|true}, found `(`");
    assert_snapshot!(fault("PM(,card,a)"), @"E1004 in block 1, line 1, OD.pay: expected a record of PM with its keys, as in {kind:card|transfer|true}, found `PM(`");
    assert_snapshot!(fault("{kind:\"true\"},PM[\n,card,a]"), @"E1004 in block 1, line 1, OD.others: expected a record of PM with its keys, as in {kind:card|transfer|true}, found `PM[`");
}
