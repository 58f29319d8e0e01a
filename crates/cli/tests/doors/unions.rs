//! Tests of a union in a user's own registry: in the commands, in a session between programs, and in the tools of a
//! model.

#[allow(unreachable_pub, reason = "the types are those of a module of its own")]
mod types;

use std::path::Path;

use serde_json::{Value as Json, json};

use super::processes::{Hub, Program, accp, connect};
use types::{OrderDone, OrderReq, Payment};

const REGISTRY: &str = include_str!("unions/registry.json");

/// Returns the single payments in a payment. A payment may consist of several parts.
fn each(pay: Payment) -> Vec<Payment> {
    match pay {
        Payment::Parts { parts } => parts.into_iter().flat_map(each).collect(),
        one => vec![one],
    }
}

/// The program of the test: `till` takes each payment.
pub(crate) async fn play() {
    let till = connect("till", true).await.unwrap();
    till.serve(|order: OrderReq, cx| async move {
        let taken = Some(each(order.pay));
        let dish = order.dish;
        cx.reply(OrderDone { dish, taken }).await
    });
    till.joined().await.unwrap();
    println!("\npart: ready");
    std::future::pending::<()>().await;
}

/// Returns a folder with the registry.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("registry.json"), REGISTRY).unwrap();
    folder
}

#[test]
fn the_commands_know_the_variants() {
    let folder = folder();
    let check = |pay: &str| {
        let frame = format!("@desk>req:order{{dish:soup|pay:{pay}|schema:OD}}\n");
        std::fs::write(folder.path().join("frames.accp"), frame).unwrap();
        accp(folder.path(), "check --registry registry.json frames.accp")
    };
    for pay in [
        "{k:cash}",
        "{kind:cash}",
        "{amount:4.1,k:card,no:x}",
        "{k:parts,parts:[{k:cash},{iban:DE02,k:bank_transfer}]}",
    ] {
        let (is_fine, said) = check(pay);
        assert!(is_fine, "{pay}: {said}");
    }
    for (pay, fault) in [
        (
            "{k:coin}",
            "expected a value of type enum(card,bank_transfer,parts,cash)",
        ),
        (
            "{k:card}",
            "expected the field `number`, which schema PM requires",
        ),
        ("{k:cash,no:x}", "expected a field of the variant `cash`"),
        (
            "{no:x}",
            "expected the field `kind`, which schema PM requires",
        ),
    ] {
        let (is_fine, said) = check(pay);
        assert!(
            !is_fine && said.contains("E1004") && said.contains(fault),
            "{pay}: {said}"
        );
    }
    // The command encodes the JSON as the frame, and decodes the frame to the same JSON.
    let message = json!({
        "agent": "desk", "intent": "req", "operation": "order", "schema": "OD",
        "payload": { "dish": "soup", "pay": { "kind": "card", "number": "x" } },
    });
    std::fs::write(folder.path().join("message.json"), message.to_string()).unwrap();
    let (_, frame) = accp(
        folder.path(),
        "encode --registry registry.json message.json",
    );
    assert_eq!(
        frame,
        "@desk>req:order{dish:soup|pay:{k:card,no:x}|schema:OD}\n"
    );
    // The types of this test must be what the command generates.
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let generate = "generate tests/doors/unions/registry.json --owned --open-enums -o tests/doors/unions/types.rs --check";
    let (is_fine, said) = accp(here, generate);
    assert!(is_fine, "{said}");
}

#[test]
fn a_tool_has_a_closed_object_for_each_variant() {
    let folder = folder();
    let (_, tools) = accp(folder.path(), "generate registry.json --tools openai");
    let tools: Json = serde_json::from_str(&tools).unwrap();
    let pay = &tools[0]["function"]["parameters"]["properties"]["pay"];
    let variants = pay["anyOf"].as_array().unwrap();
    let tags = variants
        .iter()
        .map(|variant| &variant["properties"]["kind"]["enum"]);
    let expected = [
        json!(["card"]),
        json!(["bank_transfer"]),
        json!(["parts"]),
        json!(["cash"]),
    ];
    assert!(tags.eq(&expected), "{pay}");
    let keys: Vec<&String> = variants[0]["properties"]
        .as_object()
        .unwrap()
        .keys()
        .collect();
    assert_eq!(keys, ["kind", "amount", "number"]);
    assert_eq!(variants[3]["additionalProperties"], json!(false));
    let (_, primer) = accp(folder.path(), "primer --registry registry.json --schema OD");
    let line =
        "@=PM{kind:card,amount,number|kind:bank_transfer,amount,iban|kind:parts,parts|kind:cash}\n";
    assert!(primer.contains(line), "{primer}");
}

#[test]
fn programs_send_each_other_records_of_variants() {
    let (folder, hub) = Hub::started(REGISTRY);
    let mut till = Program::start(folder.path(), &hub, "unions");
    assert_eq!(till.says(), "ready");
    let ask = |pay: &str| {
        hub.accp((
            "ask",
            &*format!("@desk>req:order{{dish:soup|pay:{pay}|schema:OD}}"),
        ))
    };
    for (pay, taken) in [
        ("{k:cash}", "[{k:cash}]"),
        (
            "{k:parts,parts:[{k:cash},{k:parts,parts:[{k:card,no:x}]}]}",
            "[{k:cash},{k:card,no:x}]",
        ),
    ] {
        let (is_fine, said) = ask(pay);
        let start = format!("@till>done:order{{dish:soup|taken:{taken}|schema:OD}}");
        assert!(is_fine && said.starts_with(&start), "{said}");
    }
    // The host refuses a payment that fits no variant, so the payment never enters the log.
    for pay in ["{k:coin}", "{iban:x,k:card,no:y}", "{k:$cold.k1}"] {
        let (is_fine, said) = ask(pay);
        assert!(!is_fine && said.contains("E1004"), "{pay}: {said}");
    }
    assert_eq!(
        hub.frames()
            .iter()
            .filter(|frame| frame.contains(">req:order{"))
            .count(),
        2
    );
}
