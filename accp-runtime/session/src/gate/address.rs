//! Checks of the agent that a request is for, and of the agents that may answer it.

use std::borrow::Cow;

use accp_registry::{ErrorCode, Registry};

use crate::interface::outbound::{A_TAKER, TO, addressee_in, asks, wants_taker};
use crate::log::mid::MemberId;
use crate::state::State;
use crate::state::chain::{ASKED, Answerers};
use crate::state::takers::{head_of, nobody_takes};
use crate::wire::addressee::of_field;
use crate::wire::refusal::Refusal;
use crate::wire::scan::Scanned;
use accp_frame::Value;

/// The greatest number of agents that a refusal names.
const LISTED: usize = 8;

/// Returns the member that a request is for. The agent's name is in the metadata of the request, or in the field
/// that the registry declares for this (`to` of a `frames` entry). Returns `None` if the request is for all, which
/// the metadata can also say with `to:~`. Returns [`MemberId::NOBODY`] if the host chooses the member (`to:?`). It also
/// chooses if the field names an agent that never joined, because a request may come from another session.
/// `host_answers` says whether the host itself has handlers.
///
/// # Errors
/// E2001 for an agent that never joined, for a host without handlers, and for a request with `to:?` that no other
/// member takes or took, if every other member in the session has said what it takes. E1004 for a name by reference,
/// for metadata and a field that name different agents, and for a name that is not a text. E2003 in a chain that has too
/// many such requests.
pub(crate) fn addressee(
    registry: &Registry,
    state: &State,
    host_answers: bool,
    from: MemberId,
    frame: &Scanned<'_>,
) -> Result<Option<MemberId>, Refusal> {
    if !asks(frame.intent) || frame.envelope.extra.get(TO) == Some(&Value::Null) {
        return Ok(None);
    }
    let (said, field) = (of_metadata(frame)?, of_field(registry, frame)?);
    if let (Some(said), Some((key, name))) = (&said, &field)
        && said != name
        && (said != A_TAKER || state.member_of(name).is_some())
    {
        let named = if said == A_TAKER {
            "leaves it to the host".into()
        } else {
            format!("names {said}")
        };
        let expected =
            format!("the agent of `{key}`, {name}, under `{TO}` of the metadata, which {named}");
        return Err(Refusal::new(ErrorCode::INVALID_TYPE, expected));
    }
    let Some(name) = said.or(field.map(|(_, name)| name)) else {
        return Ok(None);
    };
    let member = if wants_taker(&frame.envelope.extra) {
        let head = head_of(frame);
        if !state.may_be_taken(from, &head) {
            let expected = nobody_takes(&head);
            return Err(Refusal::new(ErrorCode::REF_NOT_FOUND, expected));
        }
        MemberId::NOBODY
    } else if let Some(member) = state.member_of(&name) {
        if member == MemberId::HOST && !host_answers {
            let expected = format!(
                "an agent that answers requests: {name} is the host of the session, which answers none"
            );
            return Err(Refusal::new(ErrorCode::REF_NOT_FOUND, expected));
        }
        member
    } else {
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
