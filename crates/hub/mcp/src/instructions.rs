//! The instructions of an MCP session: the `sync:registry` frame, and how to take part.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::sync::Arc;

use accp_context::{view::PRIMER, view::View};
use accp_frame::{DynamicFrame, EncodeOptions, Map, Registry, Value};
use accp_session::{MemberId, Session};
use serde_json::Value as Json;

use crate::inbox::Inbox;

/// How many digits of the registry's hash a `sync:registry` frame has.
const DIGITS: usize = 6;

/// Writes the instructions for a model.
pub(crate) async fn write(inbox: &Inbox) -> Result<String, accp_client::Error> {
    let me = inbox.agent.name().to_owned();
    inbox.agent.look(move |session| of(session, &me)).await
}

fn of(session: &Session, me: &str) -> String {
    let registry = &session.options().registry;
    let mut text = String::new();
    // The frame has a line of its own, so that a program can find it.
    let _ = writeln!(text, "{}", sync_registry(session, me));
    let _ = writeln!(
        text,
        "\nYou are the agent `{me}` of the ACCP session `{}`. Agents talk by frames. A frame is \
         @sender>intent:operation{{key:value|key:value}}[metadata], such as\n\
         @{me}>req:schedule{{asgn:dev|task:impl_auth|schema:TA}}\n\
         Give accp_send and accp_ask the parts of a frame as JSON, under full names; the tools write \
         the text, the short keys and the metadata. In the text of a frame `~` is null, `%0A` a line \
         break, `$cold.p7` a reference, and a backslash stands before ,()[]{{}}|:\\~$@ in a value;\n\
         where a value begins with `\"`, `_` is a space and `__` an underscore.\n\
         \n\
         Work in a loop: accp_receive (with a timeout), do what a frame asks of you, accp_reply with \
         its id. All agents hear all frames; close what is meant for others with accp_done. Ask others \
         with accp_ask. Old frames leave the context and stay readable: find them with accp_query, read \
         them with accp_expand.\n\
         \n\
         The context (accp_query, about=context) is a view of the frames: {PRIMER}\
         \n\
         The frames of this session, by schema: `frames need required fields; notes on fields`. a? is \
         optional, a=b has the default b, a:type is of that type, all else is text.",
        session.id(),
    );
    text.push_str(&schema_notes(registry));
    text
}

/// Returns notes on each schema that has frames.
fn schema_notes(registry: &Arc<Registry>) -> String {
    let view = View::new(Arc::clone(registry));
    let framed = registry
        .schemas()
        .filter(|schema| !schema.frames.is_empty());
    let codes: BTreeSet<&str> = framed.map(|schema| &*schema.code).collect();
    let Some(primer) = view.primer(codes) else {
        return String::new();
    };
    primer.schemas.iter().map(ToString::to_string).collect()
}

/// Returns the `sync:registry` of the session, as a peer that knows only the draft gets it: the version
/// and the hash of the registry, and the schemas that the standard registry lacks, in the form of
/// section 6.2.
fn sync_registry(session: &Session, me: &str) -> String {
    let registry = &session.options().registry;
    let members = session.state().members();
    let host = members.into_iter().find(|(id, _)| *id == MemberId::HOST);
    let speaker = host.and_then(|(_, party)| party.agents.first().cloned());
    let speaker = speaker.unwrap_or_else(|| me.to_owned());
    let frame = |schemas: Option<Map<'static>>| {
        let version = i64::try_from(registry.version).unwrap_or(i64::MAX);
        let hash = registry.hash().short(DIGITS);
        let mut message = DynamicFrame::new(speaker.clone(), "sync", "registry").ok()?;
        message.payload.insert("v", Value::Integer(version));
        message.payload.insert("hash", Value::from(hash));
        if let Some(schemas) = schemas {
            message.payload.insert("schemas", Value::Map(schemas));
        }
        let options = EncodeOptions {
            inline: true,
            ..EncodeOptions::default()
        };
        message.encode_with(registry, options).ok()
    };
    // If the schemas do not fit into a frame, the resource accp://registry has them.
    let own = own_schemas(registry);
    let whole = (!own.is_empty()).then(|| frame(Some(own))).flatten();
    whole.or_else(|| frame(None)).unwrap_or_default()
}

fn own_schemas(registry: &Registry) -> Map<'static> {
    let standard = Registry::shared();
    let document = registry.to_json();
    let schemas = document.get("schemas").and_then(Json::as_object);
    let mut own = Map::default();
    for (name, schema) in schemas.into_iter().flatten() {
        if standard.schema_by_name(name) == registry.schema_by_name(name) {
            continue;
        }
        let mut schema = schema.clone();
        if let Some(parts) = schema.as_object_mut() {
            for key in ["doc", "docs", "keep", "rules"] {
                parts.remove(key);
            }
            let frames = parts.get_mut("frames").and_then(Json::as_array_mut);
            for frame in frames.into_iter().flatten().filter_map(Json::as_object_mut) {
                frame.remove("doc");
            }
        }
        own.insert(name.clone(), Value::from_data(&schema).into_owned());
    }
    own
}
