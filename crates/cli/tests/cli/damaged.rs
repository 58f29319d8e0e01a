//! Tests of a store with a damaged row in its table of sides: only the session of that row is lost.

use super::hub::Running;
use super::session::bakery;
use super::{Folder, Run, accp};

fn send(url: &str, session: &str) -> Run {
    let frame = "@guest>req:plan{goal:tea}";
    accp(["send", "--hub", url, "--session", session, frame], "")
}

#[test]
fn one_damaged_row_hits_its_session_alone() {
    let folder = Folder::with(&[]);
    let (hub, url) = Running::hub("hub.accp", folder.0.path());
    for session in ["lunch", "dinner"] {
        send(&url, session).code_is(0);
    }
    assert_eq!(hub.stop().0, Some(0));
    let conn = rusqlite::Connection::open(folder.path("hub.accp")).unwrap();
    let sql = "UPDATE side SET epoch = epoch + 1 WHERE session = 'lunch'";
    assert_eq!(conn.execute(sql, ()).unwrap(), 1);
    drop(conn);

    let place = "side `lunch@hub`: table `side`, row (1, `lunch`): its checksum does not match";
    let run = folder.run("session list hub.accp", "");
    run.code_is(1).stderr_has(place);
    run.stdout_has("dinner ").stdout_has("lunch@hub  damaged");
    let run = folder.run("session list hub.accp --format json", "");
    assert_eq!(run.json()[0]["side"], "damaged");
    let run = folder.run("session verify hub.accp", "");
    run.code_is(1).stderr_has(place);
    run.stdout_has("dinner: fine")
        .stdout_has("lunch@hub: 1 at fault");
    for name in ["lunch", "lunch@hub"] {
        let show = ["session", "show", "hub.accp", name];
        folder.run(show, "").code_is(1).stderr_has(place);
    }
    folder.run("session show hub.accp dinner", "").code_is(0);
    let run = folder.run("session show hub.accp", "");
    run.code_is(2);
    run.stderr_has("it holds dinner; besides, 1 side damaged: `accp session verify hub.accp` says");

    let (_hub, url) = Running::hub("hub.accp", folder.0.path());
    for session in ["dinner", "breakfast"] {
        send(&url, session).code_is(0);
    }
    assert_ne!(send(&url, "lunch").code, Some(0));
    let list = ureq::get(format!("{url}/accp/v1/sessions")).call();
    let list = list.unwrap().body_mut().read_to_string().unwrap();
    let list: serde_json::Value = serde_json::from_str(&list).unwrap();
    let of = |name: &str| {
        let mut all = list.as_array().unwrap().iter();
        all.find(|one| one["session"] == name).unwrap()
    };
    assert_eq!(of("lunch")["damaged"], true);
    assert!(of("breakfast")["damaged"].is_null() && of("dinner")["last"].is_u64());
}

/// A row of a side that does not exist hits the session that has lost it. The other sessions are still checked.
#[test]
fn a_stray_row_keeps_no_session_from_being_checked() {
    let folder = bakery();
    let conn = rusqlite::Connection::open(folder.path("chats.db")).unwrap();
    let of_plan = "(SELECT side FROM side WHERE session = 'plan/1')";
    let sql = format!("UPDATE registry SET side = 9 WHERE side = {of_plan}");
    assert_eq!(conn.execute(&sql, ()).unwrap(), 1);
    drop(conn);
    let run = folder.run("session verify chats.db", "");
    run.code_is(1)
        .stderr_has("chats.db: table `registry` has a row of side 9, which does not exist")
        .stdout_has("plan/1: 1 at fault")
        .stdout_has("stock/1: fine");
    let run = folder.run("session verify chats.db stock/1", "");
    run.code_is(1).stdout_has("stock/1: fine");
}
