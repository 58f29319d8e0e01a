//! The agent that a request is for, and who may answer.

use std::borrow::Cow;

use accp_registry::{ErrorCode, Registry};

use crate::interface::outbound::{TO, addressee_in, asks};
use crate::log::mid::MemberId;
use crate::state::State;
use crate::state::chain::{ASKED, Answerers};
use crate::wire::refusal::Refusal;
use crate::wire::scan::Scanned;
use accp_frame::{DecodeOptions, Limits, Reader, Value};

/// The names of agents that a refusal lists at most.
const LISTED: usize = 8;

/// Returns the member that a request is for: the one that its metadata names, or the field that the registry
/// declares (`to` of a `frames` entry). `None` if it is for all, also by `to:~` in its metadata.
///
/// # Errors
/// E2001 for an agent that never joined. E1004 for a name by reference, for metadata and field that name
/// different agents, and for a name that is not a text. E2003 in a chain that has too many such requests.
pub(crate) fn addressee(
    registry: &Registry,
    state: &State,
    frame: &Scanned<'_>,
) -> Result<Option<MemberId>, Refusal> {
    if !asks(frame.intent) || frame.envelope.extra.get(TO) == Some(&Value::Null) {
        return Ok(None);
    }
    let (said, field) = (of_metadata(frame)?, of_field(registry, frame)?);
    if let (Some(said), Some((key, name))) = (&said, &field)
        && said != name
    {
        let expected = format!(
            "the agent of `{key}`, {name}, under `{TO}` of the metadata, which names {said}"
        );
        return Err(Refusal::new(ErrorCode::INVALID_TYPE, expected));
    }
    let Some(name) = said.or(field.map(|(_, name)| name)) else {
        return Ok(None);
    };
    let Some(member) = state.member_of(&name) else {
        return Err(unknown(state, &name));
    };
    if !state.chains.has_room(frame) {
        let expected = format!("at most {ASKED} requests for one agent each that wait in a chain");
        return Err(Refusal::new(ErrorCode::BUDGET_EXCEEDED, expected));
    }
    Ok(Some(member))
}

/// Reads the name in the metadata.
fn of_metadata<'f>(frame: &'f Scanned<'_>) -> Result<Option<Cow<'f, str>>, Refusal> {
    let extra = &frame.envelope.extra;
    let name = addressee_in(extra);
    if name.is_none() && extra.get(TO).is_some() {
        let expected = format!("the name of an agent under `{TO}` of the metadata");
        return Err(Refusal::new(ErrorCode::INVALID_TYPE, expected));
    }
    Ok(name)
}

/// Reads the name in the field that the registry declares, and returns it with the name of the field.
fn of_field<'f>(
    registry: &'f Registry,
    frame: &'f Scanned<'_>,
) -> Result<Option<(&'f str, Cow<'f, str>)>, Refusal> {
    let head = [frame.intent.as_str(), frame.header.operation];
    let Some(schema) = frame.schema_in(registry) else {
        return Ok(None);
    };
    let Some(key) = schema.frame(&head).and_then(|spec| spec.to.as_deref()) else {
        return Ok(None);
    };
    let Some((index, field)) = schema.field(key) else {
        return Ok(None);
    };
    let options = DecodeOptions {
        limits: Limits::NONE,
        marks: true,
    };
    let mut r = Reader::new(frame.text, options)?;
    r.header()?;
    while let Some(param) = r.param()? {
        let value = r.skip_value()?;
        if field.keys().all(|key| key != param) {
            continue;
        }
        if value.starts_with('$') {
            let expected =
                format!("`{key}` in the frame itself: it names the agent that the request is for");
            return Err(Refusal::new(ErrorCode::INVALID_TYPE, expected));
        }
        return Ok((value != "~").then_some((key, value.into())));
    }
    let default = field.default_wire.as_deref();
    let default = default.filter(|_| schema.has_default(index, &head));
    Ok(default.map(|name| (key, name.into())))
}

fn unknown(state: &State, name: &str) -> Refusal {
    let mut names: Vec<_> = state
        .members()
        .flat_map(|(_, party)| &party.agents)
        .collect();
    let more = names.len().saturating_sub(LISTED);
    names.truncate(LISTED);
    let names = names
        .iter()
        .map(|name| name.as_str())
        .collect::<Vec<_>>()
        .join(", ");
    let more = if more > 0 {
        format!(" and {more} more")
    } else {
        String::new()
    };
    let expected =
        format!("an agent that has joined the session: {name} has not, and {names}{more} have");
    Refusal::new(ErrorCode::REF_NOT_FOUND, expected)
}

/// Checks that a frame which answers requests comes from an agent that may answer them.
///
/// # Errors
/// E5001 for an answer, or a piece of a streamed answer, of another agent than the one that was asked.
pub(crate) fn may_answer(
    state: &State,
    from: MemberId,
    frame: &Scanned<'_>,
) -> Result<(), Refusal> {
    let party = state.members.get(from);
    if from == MemberId::HOST || party.is_some_and(|party| party.supervisor) {
        return Ok(());
    }
    let expected = match state.chains.answerers(frame, from) {
        Answerers::All => return Ok(()),
        Answerers::Only(members) if members.contains(&from) => return Ok(()),
        Answerers::Only(members) => {
            let agents = members
                .iter()
                .filter_map(|member| state.members.get(*member));
            let agents: Vec<_> = agents.filter_map(|party| party.agents.first()).collect();
            let agents: Vec<_> = agents.into_iter().map(String::as_str).collect();
            format!(
                "an answer of {}, which was asked, of the host or of a supervisor",
                agents.join(" or ")
            )
        }
    };
    Err(Refusal::new(ErrorCode::POLICY_DENIED, expected))
}
