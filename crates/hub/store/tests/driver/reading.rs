//! Tests that read the values of references.

use accp_runtime::Value;
use accp_runtime::session::{Event, Outbound, SharedState};
use insta::assert_snapshot;

use super::*;

const LONG: &str = "It is far too long for a frame, so that it goes to cold state.";

#[test]
fn references_lead_to_what_they_name() {
    let mut room = met("s");
    let rows = vec![Value::from(7), Value::Ref("42.30".into())];
    let message = plan("dev")
        .with("text", LONG)
        .with("rows", Value::Array(rows));
    dev_says(&mut room, &message);
    let frame = room.host.inbox.remove(0);
    let at = frame.position();

    insta::allow_duplicates! {
        for read in [read_at_host, read_at_member] {
            assert_eq!(read(&mut room, "cold.k101_1"), Value::from(LONG).to_string());
            let whole = Value::from(frame.text()).to_string();
            assert_eq!(read(&mut room, &format!("cold.p{at}")), whole);
            assert_eq!(read(&mut room, &format!("hot.p{at}")), whole);
            // The path of a reference may also lead into a value that the frame itself has only as a reference.
            let text = read(&mut room, &format!("cold.p{at}.text"));
            assert_eq!(text, Value::from(LONG).to_string());
            assert_eq!(read(&mut room, &format!("cold.p{at}.rows.0")), "7");
            assert_eq!(read(&mut room, &format!("cold.p{at}.rows.1")), "$42.30");

            let mut read = |key: &str| read(&mut room, key);
            assert_snapshot!(read(&format!("cold.p{at}.rows.1.x")), @"`$cold.p5.rows.1.x`: E2001: the session holds nothing under this reference");
            assert_snapshot!(read(&format!("cold.p{at}.rows.2")), @"`$cold.p5.rows.2`: E2001: the session holds nothing under this reference");
            assert_snapshot!(read("cold.p99"), @"`$cold.p99`: E2001: the session holds nothing under this reference");
            assert_snapshot!(read("cold.k101_2"), @"`$cold.k101_2`: E2001: the session holds nothing under this reference");
            assert_snapshot!(read("cold.sales"), @"`$cold.sales`: E2001: the session holds nothing under this reference");
            assert_snapshot!(read("warm.ckpt_1"), @"`$warm.ckpt_1`: E2001: the session holds nothing under this reference");
            assert_snapshot!(read("ctx.budget"), @"`$ctx.budget`: E2001: the session holds nothing under this reference");
            assert_snapshot!(read("ext.other.k101_1"), @"`$ext.other.k101_1`: E5002: this reference leads to a session that granted no access");
            assert_snapshot!(read("hot"), @"`$hot`: E2001: the session holds nothing under this reference");
        }
    }
    room.host
        .driver
        .session_mut()
        .unwrap()
        .handle(Input::Expire(&["k101_1"]), room.now)
        .unwrap();
    run(&mut room, 8);
    insta::allow_duplicates! {
        for read in [read_at_host, read_at_member] {
            assert_snapshot!(read(&mut room, &format!("cold.p{at}.text")), @"`$cold.k101_1`: E2002: the value of this reference has expired");
        }
    }
}

#[test]
fn bytes_of_others_are_fetched_when_they_are_read() {
    let mut room = met("s");
    let message = plan("hub").with("text", LONG);
    let host = room.host.driver.session_mut().unwrap();
    host.send(&Outbound::message(&message), START).unwrap();
    run(&mut room, 8);
    assert_eq!(read_at_member(&mut room, "cold.k100_1"), "under way");
    assert_eq!(read_at_member(&mut room, "cold.k100_1"), "under way");
    run(&mut room, 8);
    assert!(
        room.members[0]
            .events
            .contains(&Event::Supplied("k100_1".into()))
    );
    assert_eq!(
        read_at_member(&mut room, "cold.k100_1"),
        Value::from(LONG).to_string()
    );
}

#[test]
fn references_in_shared_state_are_followed_and_end() {
    let mut room = met("s");
    let values = [
        ("fee", Value::from(vec![Value::from(9)])),
        ("dues", Value::Ref("ctx.fee".into())),
        ("fee", Value::Ref("ctx.dues".into())),
    ];
    let mut shown = Vec::new();
    let mut shared = SharedState::default();
    for (key, value) in values {
        let mut target = shared.entries().clone();
        target.insert(key, value);
        let message = shared.delta_to(&target).to_message("dev").unwrap();
        dev_says(&mut room, &message);
        shared = room.members[0].session().state().shared().clone();
        assert_eq!(shared.entries(), &target);
        shown.push(read_at_host(&mut room, "ctx.dues.0"));
        shown.push(read_at_member(&mut room, "ctx.dues"));
    }
    assert_eq!(shown[2..4], ["9", "[9]"]);
    assert_snapshot!(shown[4], @"`$ctx.dues.0`: E2001: the session holds nothing under this reference");
    assert_snapshot!(shown[5], @"`$ctx.dues`: E2001: the session holds nothing under this reference");
}

#[test]
fn another_session_is_read_as_far_as_it_is_granted() {
    let mut other = met("other");
    let fees = [("fee", Value::from(9))].into_iter().collect();
    let update = SharedState::default().delta_to(&fees);
    dev_says(&mut other, &update.to_message("dev").unwrap());
    let message = plan("dev").with("text", LONG).with("n", 7);
    dev_says(
        &mut other,
        &message.with("fee", Value::Ref("ctx.fee".into())),
    );
    let at = other.host.inbox[1].position();
    let mut room = open("s", &other.host.store);
    run(&mut room, 8);
    let grant = |room: &mut Room, key: &str| {
        let host = room.host.driver.session_mut().unwrap();
        let session = "other";
        host.handle(Input::Grant { session, key }, START).unwrap();
        run(room, 8);
    };
    insta::allow_duplicates! {
        for read in [read_at_host, read_at_member] {
            assert_snapshot!(read(&mut room, "ext.other.k101_1"), @"`$ext.other.k101_1`: E5002: this reference leads to a session that granted no access");
        }
        grant(&mut room, &format!("p{at}"));
        for read in [read_at_host, read_at_member] {
            let mut read = |key: &str| read(&mut room, key);
            assert_eq!(read(&format!("ext.other.p{at}.n")), "7");
            // The session must grant the referenced value too; it cannot grant shared state.
            assert_snapshot!(read(&format!("ext.other.p{at}.text")), @"`$ext.other.k101_1`: E5002: this reference leads to a session that granted no access");
            assert_snapshot!(read(&format!("ext.other.p{at}.fee")), @"`$ext.other.p6.fee`: E5002: this reference leads to a session that granted no access");
        }
        grant(&mut room, "*");
        for read in [read_at_host, read_at_member] {
            let mut read = |key: &str| read(&mut room, key);
            assert_eq!(read(&format!("ext.other.p{at}.text")), Value::from(LONG).to_string());
            assert_snapshot!(read("ext.other.p99"), @"`$ext.other.p99`: E2001: the session holds nothing under this reference");
            assert_snapshot!(read("ext.other.k101_2"), @"`$ext.other.k101_2`: E2001: the session holds nothing under this reference");
            assert_snapshot!(read("ext.nowhere.p1"), @"`$ext.nowhere.p1`: E5002: this reference leads to a session that granted no access");
        }
    }
}
