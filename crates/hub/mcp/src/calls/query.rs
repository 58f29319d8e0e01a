//! Tools that only read: `accp_query` and `accp_expand`.

use accp_client::Error;
use accp_context::view::PRIMER;
use accp_frame::Value;
use accp_session::{ReadError, Reference, Session};
use rmcp::model::JsonObject;
use serde_json::json;

use crate::answer::Answer;
use crate::arguments::{number, text};
use crate::connection::Connection;
use crate::fault::Fault;
use crate::render;
use crate::tools::MAX_FRAMES;

/// How many matches are returned by default.
const MATCHES: u64 = 10;

pub(crate) async fn query(connection: &Connection, args: &JsonObject) -> Result<Answer, Fault> {
    match (text(args, "words")?, text(args, "about")?) {
        (Some(words), None) => {
            let limit = number(args, "limit", 1..=MAX_FRAMES)?.unwrap_or(MATCHES);
            search(connection, words, usize::try_from(limit).unwrap_or(1)).await
        }
        (None, Some(_)) if args.get("limit").is_some_and(|limit| !limit.is_null()) => Err(
            Fault::argument("`limit` is for `words`; leave it out with `about`"),
        ),
        (None, Some(about)) => look(connection, about).await,
        _ => Err(Fault::argument("give either `words` or `about`")),
    }
}

async fn search(connection: &Connection, words: &str, limit: usize) -> Result<Answer, Fault> {
    let found = connection.inbox().await?.agent.search(words, limit).await?;
    let lines = found
        .iter()
        .map(|found| format!("{}: {}", render::id(found.position), found.snippet));
    let lines: Vec<String> = lines.collect();
    let text = if lines.is_empty() {
        "No frame outside the context has these words. The context itself is not searched: see \
         accp_query with about=context."
            .to_owned()
    } else {
        format!("{}\nRead one with accp_expand.", lines.join("\n"))
    };
    let matches = found
        .iter()
        .map(|found| json!({ "reference": render::id(found.position), "snippet": found.snippet }));
    Ok(Answer {
        text,
        json: json!({ "matches": matches.collect::<Vec<_>>() }),
    })
}

async fn look(connection: &Connection, about: &str) -> Result<Answer, Fault> {
    let look = match about {
        "state" => state,
        "budget" => budget,
        "context" => context,
        "members" => members,
        other => {
            let what = format!("`about` is state, budget, context or members, not `{other}`");
            return Err(Fault::argument(what));
        }
    };
    Ok(connection.inbox().await?.agent.look(look).await?)
}

fn state(session: &Session) -> Answer {
    let shared = session.state().shared();
    let entries = Value::Map(shared.entries().clone()).to_json();
    let version = shared.version();
    let text = if shared.entries().is_empty() {
        String::from("The shared state is empty.")
    } else {
        format!("Shared state, version {version}: {entries}")
    };
    Answer {
        text,
        json: json!({ "version": version, "state": entries }),
    }
}

fn budget(session: &Session) -> Answer {
    let budget = session.budget();
    let part = |used: u32, allowed: u32| json!({ "used": used, "allowed": allowed });
    let is_counted = session.state().tokenizer().is_some();
    let first_line = first_line(session);
    let note = match first_line {
        _ if !is_counted => " (this session counts no tokens)".to_owned(),
        Some(tokens) => format!("; the first line of the context takes {tokens} more"),
        None => String::new(),
    };
    Answer {
        text: format!("{budget}{note}"),
        json: json!({
            "hot": part(budget.hot.used, budget.hot.allowed),
            "warm": part(budget.warm.used, budget.warm.allowed),
            "total": part(budget.total.used, budget.total.allowed),
            "first_line": first_line,
            "counted": is_counted,
        }),
    }
}

/// Returns the number of tokens of the first line of the context, which explains hot and warm state. The budget of
/// the draft does not count this line. `None` if this side counts no tokens, or the context has no such line yet.
fn first_line(session: &Session) -> Option<usize> {
    let counter = session.options().counter.as_ref()?;
    let has_line = session.context().starts_with(PRIMER);
    has_line.then(|| counter.count(PRIMER))
}

fn context(session: &Session) -> Answer {
    let text = session.context();
    let json = json!({ "context": text, "position": session.position() });
    let text = if text.is_empty() {
        let reason = match session.state().tokenizer() {
            Some(_) => "no frame has been sent yet",
            None => "this session counts no tokens and keeps none; read frames with accp_receive",
        };
        format!("The context is empty: {reason}.")
    } else {
        text
    };
    Answer { text, json }
}

fn members(session: &Session) -> Answer {
    let members = session.state().members();
    let all = members.flat_map(|(_, party)| {
        let agents = party.agents.iter();
        agents.map(|agent| (agent.clone(), party.present))
    });
    let all: Vec<(String, bool)> = all.collect();
    let words = all.iter().map(|(agent, is_present)| {
        let here = if *is_present { "" } else { " (has left)" };
        format!("{agent}{here}")
    });
    let words: Vec<String> = words.collect();
    let json = all
        .iter()
        .map(|(agent, is_present)| json!({ "agent": agent, "present": is_present }));
    Answer {
        text: format!("Agents: {}", words.join(", ")),
        json: json!({ "members": json.collect::<Vec<_>>() }),
    }
}

pub(crate) async fn expand(connection: &Connection, args: &JsonObject) -> Result<Answer, Fault> {
    let wrong = || Fault::argument("`reference` is missing");
    let reference = text(args, "reference")?.ok_or_else(wrong)?;
    let key = key(reference);
    if Reference::parse(&key).is_none() {
        return Err(Error::Reference(key, ReadError::NotFound).into());
    }
    let value = connection.inbox().await?.agent.expand(&key).await?;
    let text = match value.as_str() {
        Some(text) => text.to_owned(),
        None => value.to_exact_json().to_string(),
    };
    Ok(Answer {
        text,
        json: json!({ "reference": key, "value": value.to_exact_json() }),
    })
}

/// Returns the key of a reference as a model writes it: `p57` is `cold.p57`.
fn key(reference: &str) -> String {
    let key = reference.trim().trim_start_matches('$');
    let digits = key.strip_prefix('p').unwrap_or_default();
    if !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return format!("cold.{key}");
    }
    key.to_owned()
}
