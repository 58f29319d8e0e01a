//! Tests of `accp session`: reads of a store, and faults in the store.

use std::fmt::Write as _;
use std::fs;
use std::sync::Arc;

use accp_runtime::session::{MemberId, Mid, Options, Outbound, Rules, Time, Transmit};
use accp_runtime::{AgentId, DynamicFrame, Registry};
use accp_session::{Batch, Due, Entry, EntryKind, Snapshot};
use accp_store::{Driver, SideId, SqliteStore, Store as _};
use serde_json::{Value as Json, json};

use crate::cli::{Folder, Words, workspace};

/// Makes a folder with the two conversations of the example in `chats.db`.
pub(crate) fn bakery() -> Folder {
    let example = fs::read_to_string(workspace().join("examples/bakery.jsonl")).unwrap();
    let folder = Folder::with(&[("bakery.jsonl", &example)]);
    folder
        .run("session import bakery.jsonl -o chats.db", "")
        .code_is(0);
    folder
}

/// Returns the stdout of a command that must succeed.
pub(crate) fn fine(folder: &Folder, args: impl Words) -> String {
    let run = folder.run(args, "");
    assert_eq!(
        (run.code, run.stderr.as_str()),
        (Some(0), ""),
        "{}",
        run.line
    );
    run.stdout
}

/// Returns the exit code and the error of a command that must print nothing on stdout.
fn fault(folder: &Folder, args: impl Words) -> (Option<i32>, String) {
    let run = folder.run(args, "");
    assert_eq!(run.stdout, "", "{}", run.line);
    (run.code, run.stderr)
}

#[test]
fn a_session_at_a_glance() {
    let folder = bakery();
    insta::assert_snapshot!(fine(&folder, "session list chats.db"), @"
    session  side  entries  bytes  due  members  last
    plan/1   host  11       1246   0    4        2026-01-01 00:00:05 UTC
    stock/1  host  28       5613   0    5        2026-01-01 00:00:14 UTC
    ");
    insta::assert_snapshot!(fine(&folder, "session show chats.db stock/1"), @"
    Session    stock/1, as the host keeps it
    Log        28 entries up to position 28, 15 of them frames; 5613 bytes
    Last       2026-01-01 00:00:14 UTC
    Numbering  sender
    Level      3
    Registry   a32838af3ff6a9ed0a9614b88164be36798497e40a478e0cca3f7952aa6fa492
    Budget     hot 50/500, warm 528/2000, total 578/2500 tokens, counted in o200k_base
    Waiting    0 to be handled, 0 to be acknowledged
    Values     0 in cold state, 0 bytes; 0 here

      member  agents     since
      100     accp       1      host
      101     system     4
      102     user       6
      103     assistant  8
      104     tool       10

      checkpoint  at  why   covers  left hot state  tokens
      ckpt_1      12  done  10      3               22
      ckpt_2      16  done  14      5, 9-11         137
      ckpt_3      18  done  16      13, 15          94
      ckpt_4      20  done  18      14-17           91
      ckpt_5      23  done  21      7-19            25
      ckpt_6      26  done  24      21-22           66
      ckpt_7      28  done  26      24-25           93
    ");
    insta::assert_snapshot!(fine(&folder, "session show chats.db stock/1 --context"), @r#"
    @warm>sync:ckpt_1{cold:p3|sum:accp.sync.conversation}
    @warm>sync:ckpt_2{cold:p5-p11|sum:system.req.chat;assistant.req.tool;tool.done.tool|facts:[[tool_name,stock,{item:rye_flour,keys:[lot,kg,best_before,item,on_hand,unit,lots],on_hand:11.5,sp:0,type:function,unit:kg}],[stock.lots.1,{best_before:2026-12-01,kg:7.0,lot:R-0412}],[stock.lots.2,{best_before:2026-11-24,kg:4.5,lot:R-0398}]]}
    @warm>sync:ckpt_3{cold:p13-p15|sum:assistant.req.tool;tool.done.tool|facts:[[name,"rye_loaf,{count:40,needs_rye_flour:18.0,needs_salt:0.36,needs_water:13.2}],[tool_name,recipe,{keys:[rye_flour,water,salt,name,count,needs],sp:0,type:function}]]}
    @warm>sync:ckpt_4{cold:p14-p17|sum:assistant.req.tool;tool.done.tool|facts:[[name,"Mill_Creek,{days:2,price:1.12}],[name,"North_Mill,{days:4,price:0.98}],[tool_name,suppliers,{item:rye_flour,keys:[name,price,days],sp:0,type:function}]]}
    @warm>sync:ckpt_5{cold:p7-p19|sum:user.req.chat;assistant.done.chat}
    @warm>sync:ckpt_6{cold:p21-p22|sum:user.req.chat;assistant.done.chat|facts:[[user.chat,{content:"Yes\,_please_%E2%80%93_and_use_lot_R-0398_first.}],[assistant.chat,{content:"Ordering_now.}]]}
    @warm>sync:ckpt_7{cold:p24-p25|sum:assistant.req.tool;tool.done.tool|facts:[[tool_name,order,{arrives:2026-11-26,currency:EUR,item:rye_flour,keys:[order,total,currency,arrives],kg:10,order:MC-20117,sp:0,supplier:"Mill_Creek,total:11.2,type:function}]]}
    @assistant>done:chat{content:Done\:_order_MC-20117\,_10_kg\,_arrives_on_26_November._Lot_R-0398_is_marked_to_be_used_first.|schema:CH}
    "#);

    let list = folder.run("session list chats.db --format json", "");
    insta::assert_snapshot!(list.json()[0], @r#"{"session":"plan/1","side":"host","entries":11,"bytes":1246,"due":0,"members":4,"last":11,"at":1767225605000}"#);
    let show = "session show chats.db stock/1 --format json";
    let show = &folder.run(show, "").json()[0];
    insta::assert_snapshot!(show["checkpoints"][3], @r#"{"id":"ckpt_4","position":20,"at":1767225609000,"triggers":["done"],"covers":18,"left":[[14,17]],"kept":[{"position":7,"tokens":38,"cut":false},{"position":19,"tokens":88,"cut":false}],"summary":"assistant.req.tool;tool.done.tool","late":null,"tokens":91,"merged":null}"#);
    insta::assert_snapshot!(show["budget"], @r#"{"hot":{"used":50,"allowed":500},"warm":{"used":528,"allowed":2000},"total":{"used":578,"allowed":2500}}"#);
}

#[test]
fn words_are_found_in_the_log() {
    let folder = bakery();
    let search = |words: &str| {
        let ask = ("session search chats.db stock/1", words);
        fine(&folder, ask)
    };
    insta::assert_snapshot!(search("flour --limit 3"), @r#"
    15  "@tool>done:tool{tool:recipe|res:{count:40,name:\"rye loaf,needs:{rye flour:18.0,salt:0.36,water:13.2}}|lay:{keys:[rye flour,water,salt,name,count,needs],sp:0}"
    14  @assistant>req:tool{tool:suppliers|args:{item:rye flour}|type:function|schema:TC}[mid:103000001003,seq:3,ts:1767225606,cid:call 3,aid:103000001002]
     7  @user>req:chat{role:user|content:We bake 40 rye loaves on Friday. Is there enough flour?|schema:CH}[mid:102000001001,seq:1,ts:1767225602]
    "#);
    insta::assert_snapshot!(search("no-such-word"), @"");
    insta::assert_snapshot!(search("flour --limit 1 --format json"), @r#"{"position":15,"snippet":"@tool>done:tool{tool:recipe|res:{count:40,name:\"rye loaf,needs:{rye flour:18.0,salt:0.36,water:13.2}}|lay:{keys:[rye flour,water,salt,name,count,needs],sp:0}"}"#);
    let (code, error) = fault(&folder, "session search chats.db other rye");
    assert_eq!(code, Some(2));
    assert!(error.contains("holds no session `other`"), "{error}");
}

#[test]
fn the_log_is_told_entry_by_entry() {
    let folder = bakery();
    insta::assert_snapshot!(fine(&folder, "session replay chats.db plan/1"), @r#"
    2026-01-01
         1  00:00:00  accp opens the session: agent accp, scope sender, tokenizer o200k_base
         2  00:00:00  accp names the registry in force: hash a32838af3ff6..
         3  00:00:00  accp synchronizes conversation: id plan/1, messages 5
         4  00:00:01  accp lets a member in: agents [owner], member 101
         5  00:00:01  owner requests chat: role user, content "Plan Friday's baking.", target planner
         6  00:00:02  accp lets a member in: agents [planner], member 102
         7  00:00:02  planner requests chat: role agent, content "How much dough can the mixer take in one go?", target kitchen
         8  00:00:03  accp lets a member in: agents [kitchen], member 103
         9  00:00:03  kitchen requests chat: role agent, content "12 kg, so three batches.", target planner
        10  00:00:04  planner requests chat: role agent, content "Start the first batch at 04:30, then every 50 minutes.", channel plan, target kitchen
        11  00:00:05  planner requests chat: role agent, content "Friday: three batches of rye from 04:30, out of the oven by 08:10.", target owner
    "#);
    let some = "session replay chats.db stock/1 --from 9 --to 12";
    insta::assert_snapshot!(fine(&folder, some), @r"
    2026-01-01
         9  00:00:03  assistant requests tool: tool_name stock, arguments {item: rye_flour, unit: kg}, lay {sp: 0}, type function
        10  00:00:04  accp lets a member in: agents [tool], member 104
        11  00:00:04  tool completes tool: tool_name stock, result {item: rye_flour, lots: [{best_before: 2026-12-01, kg: 7.0, lot: R-0412}, {best_before: 2026-11-24, kg: 4.5, lot: R-0398}], on_hand: 11.5, unit: kg}, lay {keys: [lot, kg, best_before, item, on_hand, unit, lots], sp: 0}
        12  00:00:04  accp takes a checkpoint: at 1767225604000, cold p3, covers 10, id ckpt_1, kept [[5, 50], [7, 38], [9, 37], [11, 104]], left [3], triggers [done], summary accp.sync.conversation, tokens 22
    ");
    let frames = fine(&folder, "session replay chats.db stock/1 --frames");
    assert_eq!(frames.lines().count(), 28);
    folder.run("check", &frames).code_is(0);
    let backwards = "session replay chats.db plan/1 --from 9 --to 2";
    insta::assert_snapshot!(fault(&folder, backwards).1, @"error: --from 9 is after --to 2: swap the two");
}

/// A conversation with a tool result that is too long for a frame.
fn long() -> Json {
    let result = json!({ "rows": [{ "id": 7, "text": "line\n".repeat(30) }] });
    json!({ "id": "long", "messages": [
        { "role": "user", "content": "What went wrong?" },
        { "role": "assistant", "content": null, "tool_calls": [
            { "id": "c1", "name": "log", "arguments": { "lines": 30 } }] },
        { "role": "tool", "tool_call_id": "c1", "name": "log", "content": result.to_string() },
    ] })
}

#[test]
fn an_export_has_everything() {
    let folder = Folder::with(&[("long.jsonl", &long().to_string())]);
    fine_import(&folder, "long.jsonl");
    let text = fine(&folder, "session export chats.db --values values.jsonl");
    let entries: Vec<Json> = text
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let frame = entries
        .iter()
        .rfind(|entry| entry["kind"] == "frame")
        .unwrap();
    insta::assert_snapshot!(frame, @r#"{"position":10,"at":1767225603000,"kind":"frame","code":null,"sender":103,"to":null,"mid":"103000001002","sequence":2,"tokens":33,"cut":false,"due":false,"lapsed":false,"message":{"agent":"log","intent":"done","operation":"tool","schema":"TC","payload":{"result":{"rows":[{"id":7,"text":{"$ref":"cold.k103_1"}}]},"status":"ok","tool_name":"log"},"metadata":{"msg_id":"103000001002","sequence":2,"timestamp":1767225603,"correlation_id":"c1"}},"frame":"@log>done:tool{tool:log|res:{rows:[{id:7,text:$cold.k103_1}]}|schema:TC}[mid:103000001002,seq:2,ts:1767225603,cid:c1]"}"#);
    insta::assert_snapshot!(folder.read("values.jsonl").lines().next().unwrap(), @r#"{"key":"cold.k103_1","sha256":"04fc2343e2607406d668023d204a90d2334f4e5c86546c183f98adc67a2f9ebf","length":211,"expired":false,"text":"\"line%0Aline%0Aline%0Aline%0Aline%0Aline%0Aline%0Aline%0Aline%0Aline%0Aline%0Aline%0Aline%0Aline%0Aline%0Aline%0Aline%0Aline%0Aline%0Aline%0Aline%0Aline%0Aline%0Aline%0Aline%0Aline%0Aline%0Aline%0Aline%0Aline%0A","value":"line\nline\nline\nline\nline\nline\nline\nline\nline\nline\nline\nline\nline\nline\nline\nline\nline\nline\nline\nline\nline\nline\nline\nline\nline\nline\nline\nline\nline\nline\n"}"#);

    let resolved = fine(&folder, "session export chats.db --resolve");
    let last: Json = resolved
        .lines()
        .map(|line| serde_json::from_str::<Json>(line).unwrap())
        .rfind(|entry| entry["kind"] == "frame")
        .unwrap();
    let result = &last["message"]["payload"]["result"]["rows"][0];
    assert_eq!(*result, json!({ "id": 7, "text": "line\n".repeat(30) }));

    let frames = "session export chats.db --format frames -o long.accp";
    assert_eq!(fine(&folder, frames), "");
    assert_eq!(folder.read("long.accp").lines().count(), 4);
    for twice in ["-o x --values x", "-o x --values ./x", "-o ./chats.db"] {
        let (code, said) = fault(&folder, ("session export chats.db", twice));
        let last = twice.split(' ').next_back().unwrap();
        let names = "is named twice: give input, output and side file names of their own";
        let names = said.contains(names);
        assert!(code == Some(2) && names, "{last}: {said}");
    }
    let mixed = "session export chats.db --values -";
    insta::assert_snapshot!(fault(&folder, mixed).1, @"error: --output and --values both go to stdout: name a file for one of them");
    let idle = fault(&folder, "session export chats.db --resolve --format frames");
    assert_eq!(idle.0, Some(2));
    assert!(idle.1.contains("leave out --resolve"), "{}", idle.1);
}

fn fine_import(folder: &Folder, file: &str) {
    folder
        .run(["session", "import", file, "-o", "chats.db"], "")
        .code_is(0);
}

#[test]
fn what_is_not_there_is_told() {
    let folder = bakery();
    fs::write(folder.path("notes.txt"), "Dear all,\n".repeat(100)).unwrap();
    fs::write(folder.path("empty.db"), "").unwrap();
    let mut told = String::new();
    for args in [
        "list no-such.db",
        "list .",
        "list notes.txt",
        "show no-such.db",
        "show chats.db",
        "show chats.db stock/9",
        "replay notes.txt",
        "export chats.db stock/9",
        "verify notes.txt",
        "verify chats.db stock/9",
        "list empty.db",
    ] {
        let (code, stderr) = fault(&folder, ("session", args));
        let _ = write!(told, "{} {}: {stderr}", code.unwrap(), args);
    }
    insta::assert_snapshot!(told, @r"
    2 list no-such.db: error: no-such.db: No such file or directory (os error 2)
    2 list .: error: .: is a directory
    1 list notes.txt: error: notes.txt: file is not a database: the file is not a store of sessions: name another file, or a new one
    2 show no-such.db: error: no-such.db: No such file or directory (os error 2)
    2 show chats.db: error: chats.db: name a session: it holds plan/1, stock/1
    2 show chats.db stock/9: error: chats.db holds no session `stock/9`: it holds plan/1, stock/1
    1 replay notes.txt: error: notes.txt: file is not a database: the file is not a store of sessions: name another file, or a new one
    2 export chats.db stock/9: error: chats.db holds no session `stock/9`: it holds plan/1, stock/1
    1 verify notes.txt: error: notes.txt: file is not a database: the file is not a store of sessions: name another file, or a new one
    2 verify chats.db stock/9: error: chats.db holds no session `stock/9`: it holds plan/1, stock/1
    1 list empty.db: error: empty.db: the store is empty, and the command that creates it has not finished: run that command again, or remove the file
    ");
}

/// The commands refuse a file with a changed byte, and a file of a newer version.
#[test]
fn a_damaged_file_is_refused() {
    let folder = bakery();
    let whole = fs::read(folder.path("chats.db")).unwrap();
    let mut newer = whole.clone();
    newer[60..64].copy_from_slice(&7_u32.to_be_bytes()); // `user_version`
    let mut damaged = whole;
    for at in 0..damaged.len() - 9 {
        if damaged[at..].starts_with(b"rye_flour") {
            damaged[at] = b'b';
        }
    }
    let mut told = String::new();
    for bytes in [newer, damaged] {
        for command in ["verify", "export", "show", "list"] {
            let _ = fs::remove_file(folder.path("bad.db-wal"));
            let _ = fs::remove_file(folder.path("bad.db-shm"));
            fs::write(folder.path("bad.db"), &bytes).unwrap();
            let mut args = vec!["session", command, "bad.db"];
            args.extend((command != "list").then_some("stock/1"));
            let run = folder.run(&args, "");
            let _ = write!(told, "{command} {}: {}", run.code.unwrap(), run.stderr);
        }
    }
    insta::assert_snapshot!(told, @"
    verify 1: error: bad.db: the file has format 7, and this version reads format 6: update, or export the sessions with the version that wrote it
    export 1: error: bad.db: the file has format 7, and this version reads format 6: update, or export the sessions with the version that wrote it
    show 1: error: bad.db: the file has format 7, and this version reads format 6: update, or export the sessions with the version that wrote it
    list 1: error: bad.db: the file has format 7, and this version reads format 6: update, or export the sessions with the version that wrote it
    verify 1: error: bad.db: session `stock/1`: bad.db, side `stock/1@accp`: table `frame`, row (1, 9): its checksum does not match: the file is damaged; take a copy back from a backup, or export what is sound
    export 1: error: bad.db, side `stock/1@accp`: table `frame`, row (1, 9): its checksum does not match: the file is damaged; take a copy back from a backup, or export what is sound
    show 1: error: bad.db, side `stock/1@accp`: table `frame`, row (1, 9): its checksum does not match: the file is damaged; take a copy back from a backup, or export what is sound
    list 1: error: bad.db, side `stock/1@accp`: table `frame`, row (1, 9): its checksum does not match: the file is damaged; take a copy back from a backup, or export what is sound
    ");
}

/// A frame that expired before a handler got it is shown as lapsed, and not as handled.
#[test]
fn a_frame_that_has_lapsed_is_shown_as_such() {
    let folder = bakery();
    let mut store = SqliteStore::open(folder.path("chats.db")).unwrap();
    let mid = Mid::parse("100000009012");
    let text = "@owner>req:plan{task:x}[mid:100000009012,seq:2,ttl:60]";
    let entry = Entry::new(12, Time::from_secs(1_767_225_700), mid, text).with(|entry| {
        entry.sender = MemberId::new(101).unwrap();
        entry.sequence = 2;
        entry.tokens = 9;
        entry.due = Due::Yes;
    });
    let due = Batch::new(true).with(|batch| batch.entries = vec![entry]);
    let marked = Batch::new(true).with(|batch| batch.lapsed = vec![12]);
    let mut told = String::new();
    for batch in [due, marked] {
        let side = SideId::new("plan/1", "accp");
        store.commit(&[(&side, &batch)]).unwrap();
        let from = "session replay chats.db plan/1 --from 12";
        told += &fine(&folder, from);
        let show = fine(&folder, "session show chats.db plan/1");
        let waiting = show.lines().find(|line| line.starts_with("Waiting"));
        told = told + waiting.unwrap() + "\n";
        let export = folder.run("session export chats.db plan/1", "");
        let json = &export.json()[11];
        let _ = writeln!(told, "due {}, lapsed {}", json["due"], json["lapsed"]);
    }
    insta::assert_snapshot!(told, @"
    2026-01-01
        12  00:01:40  (due) owner requests plan: task x
    Waiting    1 to be handled, 0 to be acknowledged
    due true, lapsed false
    2026-01-01
        12  00:01:40  (lapsed: no handler got it in time) owner requests plan: task x
    Waiting    0 to be handled, 0 to be acknowledged; 1 lapsed before a handler got them
    due false, lapsed true
    ");
}

/// `verify` reads the entries, and finds faults that no checksum can show.
#[test]
fn verify_reads_what_stands_there() {
    let folder = bakery();
    let mut store = SqliteStore::open(folder.path("chats.db")).unwrap();
    let entry = |position, text: &str| {
        Entry::new(
            position,
            Time::from_secs(1_767_225_700),
            Mid::parse(&format!("100000009{position:03}")),
            text,
        )
        .with(|entry| {
            entry.sequence = 7;
            entry.tokens = 9;
        })
    };
    let batch = Batch::new(true).with(|batch| {
        batch.entries = vec![
            entry(
                29,
                "@accp>qry:lookup{q:$cold.k102_7.rows|src:$ctx.gone}[mid:1,seq:7]",
            ),
            entry(31, "@accp>req:schedule{task:x|schema:TA}[mid:2,seq:7]"),
        ];
    });
    store
        .commit(&[(&SideId::new("stock/1", "accp"), &batch)])
        .unwrap();
    drop(store);
    let run = folder.run("session verify chats.db", "");
    run.code_is(1);
    insta::assert_snapshot!(run.stderr, @r"
    error: chats.db: session `stock/1`: position 29: expected seq:2, found seq:7
    error: chats.db: session `stock/1`: position 29: $cold.k102_7.rows: E2001: the session holds nothing under this reference
    error: chats.db: session `stock/1`: position 31: expected position 30 before it
    error: chats.db: session `stock/1`: position 31: expected seq:8, found seq:7
    error: chats.db: session `stock/1`: position 31: the frame cannot be read: E1004 at byte 35: expected the field `assignee`, which schema TA requires
    ");
    insta::assert_snapshot!(run.stdout, @r"
    plan/1: fine: 11 entries, folded from its first entry;
      0 references can be read, 0 checkpoints list 0 frames that moved
    stock/1: 5 at fault
    ");
    let run = folder.run("session verify chats.db stock/1 --format json", "");
    assert_eq!((run.code, run.stderr.as_str()), (Some(1), ""));
    assert_eq!(run.json()[0]["faults"].as_array().unwrap().len(), 5);
}

/// Makes a folder with a session in `long.db` that has a snapshot, and returns the time of its frames.
fn a_thousand() -> (Folder, Time) {
    let folder = Folder::with(&[]);
    let hub = AgentId::new("hub").unwrap();
    let options = Options::new("long", hub, Arc::new(Registry::standard()));
    let now = Time::from_secs(1_714_000_000);
    let store = SqliteStore::open(folder.path("long.db")).unwrap();
    let link = Vec::<Transmit>::new();
    let mut host = Driver::open_host(store, link, options, Rules::default(), now).unwrap();
    let task = DynamicFrame::new("hub", "req", "plan")
        .unwrap()
        .with("x", 1);
    for _ in 0..1_000 {
        let session = host.session_mut().unwrap();
        session.send(&Outbound::message(&task), now).unwrap();
    }
    host.carry_out(now).unwrap();
    (folder, now)
}

/// A checkpoint that cannot be read is told, with its place. The rest of the session is shown.
#[test]
fn a_checkpoint_that_cannot_be_read_is_told() {
    let (folder, now) = a_thousand();
    let mut store = SqliteStore::open(folder.path("long.db")).unwrap();
    let side = SideId::new("long", "hub");
    let snapshot = store.load(&side).unwrap().unwrap().snapshot.unwrap();
    let position = snapshot.position + 1;
    let received = |position: u64| format!("\"received\":{position},");
    let [before, after] = [snapshot.position, position].map(received);
    let text = snapshot.text.replacen(&before, &after, 1);
    assert_ne!(text, snapshot.text);
    let checkpoint = "@hub>sync:checkpoint{id:one}[mid:1]";
    let mid = Mid::parse("100000009001");
    let batch = Batch::new(true).with(|batch| {
        let entry = Entry::new(position, now, mid, checkpoint);
        batch.entries = vec![entry.with(|entry| entry.kind = EntryKind::Control)];
        batch.snapshot = Some(Snapshot { position, text });
    });
    store.commit(&[(&side, &batch)]).unwrap();
    drop(store);
    for format in ["text", "json"] {
        let show = ("session show long.db --format", format);
        let run = folder.run(show, "");
        let place = format!(
            "long.db: session `long`: position {position}: the checkpoint cannot be read: E"
        );
        run.code_is(1).stderr_has(&place);
        assert!(run.stdout.contains("1000"), "{}", run.stdout);
    }
}

/// Verify finds a snapshot that is whole but differs from the log.
#[test]
fn verify_folds_the_log_again() {
    let (folder, _) = a_thousand();
    insta::assert_snapshot!(fine(&folder, "session verify long.db"), @r"
    long: fine: 1002 entries, the log folds to the snapshot at 1002;
      0 references can be read, 0 checkpoints list 0 frames that moved
    ");

    let mut store = SqliteStore::open(folder.path("long.db")).unwrap();
    let side = SideId::new("long", "hub");
    let snapshot = store.load(&side).unwrap().unwrap().snapshot.unwrap();
    let text = snapshot.text.replacen("\"hub\"", "\"hut\"", 1);
    assert_ne!(text, snapshot.text);
    let batch = Batch::new(true).with(|batch| batch.snapshot = Some(Snapshot { text, ..snapshot }));
    store.commit(&[(&side, &batch)]).unwrap();
    drop(store);
    let run = folder.run("session verify long.db", "");
    run.code_is(1);
    insta::assert_snapshot!(run.stderr, @"error: long.db: session `long`: the snapshot at position 1002 differs from the fold of the log up to there; delete the snapshot, or take a copy back from a backup");
}
