//! The card of an agent.

use a2a::{AgentCapabilities, AgentCard, AgentInterface, AgentSkill, TRANSPORT_PROTOCOL_JSONRPC};
use accp_runtime::{Intent, Registry};

use crate::said::{ACCP, TEXT};

/// Returns the card of an agent: its skills are the requests that the registry of its session declares.
pub(crate) fn card(url: &str, session: &str, agent: &str, registry: &Registry) -> AgentCard {
    let modes = vec![ACCP.to_owned(), TEXT.to_owned()];
    AgentCard {
        name: format!("{agent} in {session}"),
        description: format!(
            "The ACCP session {session}. What is sent here goes to the agents of the session, as said \
             by {agent}. A part of type {ACCP} holds a frame, whose metadata may be left out; text \
             becomes a request of a conversation, req:chat."
        ),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        supported_interfaces: vec![AgentInterface::new(url, TRANSPORT_PROTOCOL_JSONRPC)],
        capabilities: AgentCapabilities {
            streaming: Some(true),
            push_notifications: Some(false),
            extensions: None,
            extended_agent_card: Some(false),
        },
        default_input_modes: modes.clone(),
        default_output_modes: modes,
        skills: skills(agent, registry),
        provider: None,
        documentation_url: None,
        icon_url: None,
        security_schemes: None,
        security_requirements: None,
        signatures: None,
    }
}

/// Returns a skill for each request that the registry declares.
fn skills(agent: &str, registry: &Registry) -> Vec<AgentSkill> {
    let mut skills = Vec::new();
    for schema in registry.schemas() {
        for frame in &schema.frames {
            let (intent, operation) = (frame.intent(), frame.operation());
            if intent != Intent::REQ.as_str() {
                continue;
            }
            let required = schema.required(&[intent, operation]);
            let field = |name: &str| {
                let field = schema.field(name).map(|(_, field)| field);
                field.map_or_else(|| name.to_owned(), |field| field.short.clone())
            };
            let params = required.map(|name| format!("{}:..|", field(name)));
            let params: String = params.collect();
            let takes_text = schema.code == "CH" && operation == "chat";
            let doc = frame.doc.as_deref().or(schema.doc.as_deref());
            skills.push(AgentSkill {
                id: format!("{intent}:{operation}:{}", schema.code),
                name: operation.to_owned(),
                description: doc.unwrap_or("A request of the session.").to_owned(),
                tags: vec!["accp".to_owned(), schema.name.clone()],
                examples: Some(vec![format!(
                    "@{agent}>{intent}:{operation}{{{params}schema:{}}}",
                    schema.code
                )]),
                input_modes: (!takes_text).then(|| vec![ACCP.to_owned()]),
                output_modes: None,
                security_requirements: None,
            });
        }
    }
    skills
}
