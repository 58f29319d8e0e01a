//! The card of an agent.

use a2a::{AgentCapabilities, AgentCard, AgentInterface, AgentSkill, TRANSPORT_PROTOCOL_JSONRPC};
use accp_client::Principal;
use accp_frame::{Intent, Registry};
use accp_registry::{Field, FrameSpec, Schema};

use crate::frame::{ACCP, TEXT};

/// Returns the card of an agent: its skills are the requests that the registry of its session declares.
pub(crate) fn card(url: &str, who: &Principal, registry: &Registry) -> AgentCard {
    let (session, agent) = (who.session(), who.agent());
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
            let head = [intent, operation];
            let (required, others) = fields(schema, frame, &head);
            let mut example = format!("@{agent}>{intent}:{operation}{{");
            for name in &required {
                example.push_str(name);
                example.push_str(":..|");
            }
            example.push_str("schema:");
            example.push_str(&schema.code);
            example.push('}');
            let takes_text = schema.code == "CH" && operation == "chat";
            let doc = frame.doc.as_deref().or(schema.doc.as_deref());
            let mut description = doc.unwrap_or("A request of the session.").to_owned();
            for (kind, names) in [(" Required: ", required), (" Optional: ", others)] {
                if !names.is_empty() {
                    description.extend([kind, &names.join(", "), "."]);
                }
            }
            skills.push(AgentSkill {
                id: format!("{intent}:{operation}:{}", schema.code),
                name: operation.to_owned(),
                description,
                tags: vec!["accp".to_owned(), schema.name.clone()],
                examples: Some(vec![example]),
                input_modes: (!takes_text).then(|| vec![ACCP.to_owned()]),
                output_modes: None,
                security_requirements: None,
            });
        }
    }
    skills
}

/// Returns the short names of the fields that a frame must have, and of those that it may have.
fn fields<'s>(
    schema: &'s Schema,
    frame: &FrameSpec,
    head: &[&str],
) -> (Vec<&'s str>, Vec<&'s str>) {
    let is_here = |field: &&Field| match &frame.fields {
        Some(names) => names.contains(&field.name) || schema.requires(field, head),
        None => true,
    };
    let of_frame = schema.fields.iter().filter(is_here);
    let (required, others): (Vec<_>, Vec<_>) =
        of_frame.partition(|field| schema.requires(field, head));
    let names = |fields: Vec<&'s Field>| fields.iter().map(|field| field.short.as_str()).collect();
    (names(required), names(others))
}
