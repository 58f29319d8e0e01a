//! The program that the tests of docs/evolution.md run. The program is built twice, with the types of an old registry
//! and with those of a new one.

use accp_client::{Agent, Error};
use accp_frame::{DynamicFrame, Envelope, Frame, Registry, Typed};
use accp_runtime::AgentId;
use accp_runtime::session::Options;
use accp_store::SqliteStore;
use serde_json::{Value as Json, json};

use super::types::{AnyFrame, REGISTRY_JSON};

/// Connects an agent with its own store. The agent prints each frame that it handles.
///
/// # Errors
/// As [`Agent::connect`] says.
pub(crate) async fn connect(address: String, name: &str) -> Result<Agent, Error> {
    let options = Options::from_json(
        "team",
        AgentId::new(name.to_owned()).unwrap(),
        REGISTRY_JSON,
    )
    .unwrap();
    let store = SqliteStore::open(format!("{name}.accp")).unwrap();
    let connecting = Agent::connect(address, "team", name);
    let agent = connecting.options(options).store(store).await?;
    agent.serve_others(|cx| async move {
        let inbound = cx.inbound();
        let operation = Frame::parse(inbound.text()).unwrap().operation;
        let mut handled = match inbound.decode::<AnyFrame>() {
            Ok(typed) => said(&typed),
            Err(error) => json!({ "error": error.code().to_string() }),
        };
        handled["operation"] = operation.into();
        println!("\npart: {handled}");
        cx.handled().await
    });
    Ok(agent)
}

/// Reads a frame into the program's types, and writes it again from them.
pub(crate) fn written(text: &str) -> String {
    Typed::<AnyFrame>::decode(text).unwrap().encode().unwrap()
}

/// Returns the typed frame of a text.
pub(crate) fn typed(text: &str) -> AnyFrame {
    Typed::<AnyFrame>::decode(text).unwrap().frame
}

/// Returns the result of reading a text: the frame, or the code of the error.
pub(crate) fn read(text: &str) -> Json {
    match Typed::<AnyFrame>::decode(text) {
        Ok(typed) => said(&typed),
        Err(error) => json!({ "error": error.code().to_string() }),
    }
}

/// Returns the content of a typed frame: the fields that it holds, with their defaults (`held`), and the names of the
/// fields that were dropped when it was read (`dropped`).
fn said(typed: &Typed<'_, AnyFrame>) -> Json {
    let agent = AgentId::new("me").unwrap();
    let frame = Typed::new(agent, typed.frame.clone(), Envelope::default());
    let text = frame.encode().unwrap();
    let registry = Registry::from_json(REGISTRY_JSON).unwrap();
    let held = if let Ok(frame) = DynamicFrame::decode(&text, &registry) {
        frame.to_json()["payload"].clone()
    } else {
        // If the registry does not know a value that an open type has kept, the frame is read without the registry.
        let (start, _) = text.rsplit_once("|schema:").unwrap();
        let frame = format!("{start}}}");
        let frame = DynamicFrame::decode(&frame, &Registry::empty()).unwrap();
        frame.to_json()["payload"].clone()
    };
    json!({ "held": held, "dropped": typed.dropped() })
}
