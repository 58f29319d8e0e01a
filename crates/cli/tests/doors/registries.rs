//! Tests of the registry of a session at each door: how an agent learns the registry, and that every program refuses
//! a registry that was tampered with.

use accp_client::{Agent, Hub as Session};
use accp_runtime::session::{Options, Outbound};
use accp_runtime::{AgentId, DynamicFrame, Registry};
use accp_store::SqliteStore;
use accp_tokens::Bpe;
use tracing_subscriber::filter::LevelFilter;

use super::http::{OWN, request};
use super::processes::{HUB, Hub, Program};

/// A schema that is registered while the session runs.
const SOUP: &str = r#"{ "schemas": { "soup": { "code": "SOUP", "fields": ["bowls"], "types": { "bowls": "integer" } } } }"#;

/// The main function of a program that a test starts with a part that begins with `registry`.
pub(crate) async fn play(part: &str) -> String {
    match part {
        // Connects an agent that has no registry of its own.
        "learn" => {
            let store = SqliteStore::open("learner.accp").unwrap();
            let connecting = Agent::connect(std::env::var(HUB).unwrap(), "team", "learner");
            match connecting.store(store).await {
                Ok(agent) => {
                    let said = learnt(&agent).await;
                    // `close` waits until the agent's store has everything.
                    agent.close().await.unwrap();
                    said
                }
                Err(error) => format!("not connected: {error}"),
            }
        }
        // Opens a hub inside this process.
        _ => match harness().await {
            Ok(said) => said,
            Err(error) => format!("not opened: {error}"),
        },
    }
}

/// Waits until an agent knows the schemas of its session, and reads a frame with them.
async fn learnt(agent: &Agent) -> String {
    for _ in 0..1000 {
        let registry = agent.registry().await.unwrap();
        if let Ok(note) = DynamicFrame::decode("@dev>req:note{text:x|schema:NOTE}", &registry) {
            return format!("knows a note of {} field", note.payload.len());
        }
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    "knows nothing".to_owned()
}

/// Opens a session, ends a phase, registers a schema, and sends a frame with this schema.
async fn harness() -> Result<String, accp_client::Error> {
    let told = std::fs::File::options()
        .append(true)
        .create(true)
        .open("told.txt")
        .unwrap();
    let told = tracing_subscriber::fmt()
        .with_max_level(LevelFilter::DEBUG)
        .with_ansi(false)
        .with_writer(told);
    tracing::subscriber::set_global_default(told.finish()).unwrap();
    let options = Options::from_json("team", AgentId::new("hub").unwrap(), OWN).unwrap();
    let options = options.counting(std::sync::Arc::new(Bpe::o200k_base()));
    let hub = Session::open_with(options, SqliteStore::open("harness.accp").unwrap()).await?;
    let dev = hub.agent("dev")?;
    let send = async |text: &str| {
        let message =
            DynamicFrame::decode(text, &*hub.registry().await?).map_err(|error| error.to_string());
        let Ok(message) = message else {
            return Ok(format!("unknown: {}", message.unwrap_err()));
        };
        let sent = dev
            .send_with(Outbound::owned_message(message.into_owned()))
            .await?;
        Ok::<_, accp_client::Error>(format!("sent: {}", sent.position.is_some()))
    };
    let first = send("@dev>req:soup{bowls:3|schema:SOUP}").await?;
    let note = send("@dev>req:note{text:a_note_for_the_phase|schema:NOTE}").await?;
    let phase = hub.phase().await?;
    hub.register(Registry::from_json(SOUP).unwrap()).await?;
    let second = send("@dev>req:soup{bowls:3|schema:SOUP}").await?;
    hub.close().await?;
    Ok(format!("{first}; {note}; {}; {second}", phase.is_some()))
}

/// Changes the text of each registry in a store, as an attacker with write access to the file could.
fn tamper(file: &std::path::Path) {
    let store = rusqlite::Connection::open(file).unwrap();
    let changed = store
        .execute(
            "UPDATE registry SET json = replace(json, 'text', 'tex')",
            (),
        )
        .unwrap();
    assert!(changed > 0, "{}", file.display());
}

#[test]
fn an_agent_learns_the_schemas_of_its_session_once() {
    let (folder, mut hub) = Hub::started(OWN);
    let learns = |hub: &Hub| Program::start(folder.path(), hub, "registry learn").says();
    let (fine, said) = hub.accp("send @dev>req:note{text:x|schema:NOTE}");
    assert!(fine, "{said}");
    assert_eq!(learns(&hub), "knows a note of 1 field");
    // The agent's store has the schemas that the agent has learnt. So it knows them even without a hub.
    hub.kill();
    assert_eq!(learns(&hub), "knows a note of 1 field");
    hub.start();
    assert_eq!(learns(&hub), "knows a note of 1 field");
}

#[test]
fn a_harness_in_the_process_of_the_hub_ends_phases_and_registers_schemas() {
    let folder = tempfile::tempdir().unwrap();
    let hub = Hub::with(folder.path(), OWN);
    let run = || Program::start(folder.path(), &hub, "registry harness").says();
    let said = run();
    assert!(said.starts_with("unknown: E1003"), "{said}");
    assert!(said.ends_with("; sent: true; true; sent: true"), "{said}");
    // The next run knows the schema from its store.
    assert_eq!(run(), "sent: true; sent: true; true; sent: true");
    // A subscriber of tracing gets each frame (draft section 9, item 1).
    let told = std::fs::read_to_string(folder.path().join("told.txt")).unwrap();
    let frames = told.lines().filter(|line| line.contains("accp::frames"));
    let soups = frames.filter(|line| line.contains("@dev>req:soup{bowls:3|schema:SOUP}"));
    assert!(soups.count() >= 3, "{told}");
}

/// A hub or an agent refuses to go on if a registry in its store does not match its hash. Every door must report
/// this.
#[test]
fn no_door_takes_a_registry_that_was_tampered_with() {
    let (folder, mut hub) = Hub::started(OWN);
    assert!(
        Program::start(folder.path(), &hub, "registry learn")
            .says()
            .starts_with("knows")
    );
    let frame = "@dev>req:note{text:x|schema:NOTE}";
    let send = |hub: &Hub| hub.accp(("send", frame));
    assert!(send(&hub).0);
    let harness = || Program::start(folder.path(), &hub, "registry harness").says();
    assert!(harness().ends_with("sent: true"));
    hub.kill();
    let damaged = |said: &str| said.contains("registry") || said.contains("damaged");

    // The store of a program's agent is damaged.
    tamper(&folder.path().join("learner.accp"));
    let said = Program::start(folder.path(), &hub, "registry learn").says();
    assert!(
        said.starts_with("not connected: ") && damaged(&said),
        "{said}"
    );
    // The store of a hub inside a program is damaged.
    tamper(&folder.path().join("harness.accp"));
    let said = Program::start(folder.path(), &hub, "registry harness").says();
    assert!(said.starts_with("not opened: ") && damaged(&said), "{said}");

    // The store of a separate hub is damaged. The test reaches the hub in each possible way.
    tamper(&folder.path().join("hub.accp"));
    hub.start();
    let (fine, said) = send(&hub);
    assert!(!fine && damaged(&said), "{said}");
    let post = |path: &str, kind: &str, body: &str| {
        let head = format!(
            "POST {path}\nContent-Type: {kind}\nAccept: application/json, text/event-stream\nA2A-Version: 1.0"
        );
        request(&hub, &head, body)
    };
    let raw = "@dev>req:note{text:x|schema:NOTE}[mid:abc100000001,seq:2,sid:team]";
    let (status, said) = post("/accp/v1/frames", "application/accp", raw);
    assert!(
        status == 500 && said.contains("E9999") && damaged(&said),
        "{status}: {said}"
    );
    let initialize = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}"#;
    let (status, said) = post("/mcp/team/dev", "application/json", initialize);
    assert!(
        said.contains(r#""error""#) && damaged(&said),
        "{status}: {said}"
    );
    let message = serde_json::json!({
        "jsonrpc": "2.0", "id": 1, "method": "SendMessage",
        "params": { "message": { "messageId": "m", "role": "ROLE_USER", "parts": [ { "text": frame, "mediaType": "application/accp" } ] } },
    });
    let (status, said) = post("/a2a/team/dev", "application/json", &message.to_string());
    assert!(status == 500 && damaged(&said), "{status}: {said}");
}
