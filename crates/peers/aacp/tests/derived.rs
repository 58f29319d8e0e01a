//! Packets as Rust types.

use accp_aacp::{AacpPacket, Code, DecodePacket as _, EncodePacket as _, validate};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;

#[derive(Debug, PartialEq, AacpPacket)]
#[aacp(task = "FETCH", dom = "HR")]
struct Fetch {
    r#return: String,
    p: Option<u8>,
    fields: Vec<String>,
    filter: Option<String>,
    #[aacp(extra)]
    others: Vec<(String, String)>,
}

proptest! {
    #[test]
    fn a_derived_packet_comes_back(
        agent in "[a-zA-Z-]{1,9}",
        p in option::of(1..4_u8),
        fields in vec("[a-z_]{1,5}", 0..4),
        filter in option::of("[a-z=]{1,6}"),
        other in "[a-z:,=]{0,6}",
    ) {
        let others = vec![("org_x".to_owned(), other)];
        let fetch = Fetch { r#return: agent, p, fields, filter, others };
        let text = fetch.to_packet().unwrap();
        prop_assert!(validate(&text).is_valid());
        prop_assert_eq!(Fetch::decode(&text).unwrap(), fetch);
    }
}

#[test]
fn a_list_of_one_empty_item_is_refused() {
    let fetch = Fetch {
        r#return: "a".to_owned(),
        p: None,
        fields: vec![String::new()],
        filter: None,
        others: Vec::new(),
    };
    assert_eq!(fetch.to_packet().unwrap_err().name(), Some("fields"));
}

#[test]
fn a_packet_that_does_not_fit_is_refused_with_its_place() {
    let head = "FETCH|HR|return:a|aacp:1.1";
    let error = |text: &str| Fetch::decode(text).unwrap_err();
    let number = error(&format!("{head}|p:high"));
    assert_eq!(
        (number.field(), number.at()),
        (Some(4), Some(head.len() + 3))
    );
    assert_eq!(number.code(), None);
    let other = error("SEND|HR|return:a|aacp:1.1");
    assert_eq!(other.to_string(), "expected a packet FETCH|HR");
    let invalid = error("FETCH|HR|aacp:1.1");
    assert_eq!(invalid.code(), Some(Code::ReturnMissing));
}
