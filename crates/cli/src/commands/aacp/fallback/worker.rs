//! Workers answer requests one after the other. Each worker has its own registry and its own model.

use accp_aacp::fallback::{
    Answer, Fallback, FallbackError, MemoryRegistry, Options, Registry, Request, Route, Source,
    SqliteRegistry, SystemClock,
};
use accp_aacp::{PacketBuf, Vocabulary};
use serde_json::{Value as Json, json};

use super::super::report;
use super::super::vocabulary::validator;
use super::model::Model;
use super::{EnglishArgs, Mode};
use accp_console::outcome::{Failure, Verdict};

/// The answer to one request, for people and for programs.
pub(super) struct Reply {
    pub(super) text: String,
    pub(super) json: Json,
    pub(super) verdict: Verdict,
}

/// The function with which a worker answers a request.
type Work<'v> = Box<dyn FnMut(&Request) -> Result<Reply, FallbackError> + Send + 'v>;

/// A worker that can answer requests, or the error of a worker whose registry could not be opened.
pub(super) enum Worker<'v> {
    Ready(Work<'v>),
    Failed(FallbackError),
}

/// Makes a worker: opens its registry and prepares the model.
pub(super) fn worker<'v>(
    args: &EnglishArgs,
    model: Model,
    vocabulary: &'v Vocabulary,
    mode: Mode,
) -> Result<Worker<'v>, Failure> {
    let (path, options) = (args.registry()?, args.options(vocabulary));
    if mode == Mode::Route && !path.exists() {
        return Ok(Worker::Ready(work(
            MemoryRegistry::default(),
            model,
            options,
            mode,
        )));
    }
    let opened = match mode {
        Mode::Encode => SqliteRegistry::open(path),
        Mode::Route => SqliteRegistry::open_existing(path),
    };
    Ok(match opened {
        Ok(registry) => Worker::Ready(work(registry, model, options, mode)),
        Err(error) => Worker::Failed(error.into()),
    })
}

fn work<'v>(
    registry: impl Registry + Send + 'v,
    model: Model,
    options: Options<'v>,
    mode: Mode,
) -> Work<'v> {
    let mut fallback = Fallback::new(registry, model);
    Box::new(move |request| match mode {
        Mode::Encode => {
            let answer = fallback.encode(request, options, &mut SystemClock)?;
            Ok(answered(&answer, options.vocabulary))
        }
        Mode::Route => Ok(routed(
            &fallback.route(request, options)?,
            request,
            options.vocabulary,
        )),
    })
}

fn answered(answer: &Answer, vocabulary: &Vocabulary) -> Reply {
    let json = json!({
        "packet": answer.packet.text(), "tier": answer.source.tier(),
        "source": answer.source.as_str(), "id": answer.id.to_string(),
        "times_seen": answer.times_seen, "score": answer.score, "llm_calls": answer.llm_calls,
        "warnings": warnings(&answer.packet, vocabulary),
        "entry": answer.entry.map(|id| id.to_string()), "rule": answer.rule,
    });
    Reply {
        text: answer.packet.text().to_owned(),
        json,
        verdict: Verdict::Fine,
    }
}

fn routed(route: &Route, request: &Request, vocabulary: &Vocabulary) -> Reply {
    let tier = route.source.map(Source::tier);
    let json = json!({
        "tier": tier, "source": route.source.map(Source::as_str),
        "packet": route.packet.as_ref().map(PacketBuf::text),
        "id": request.instruction().id().to_string(), "times_seen": route.times_seen,
        "score": route.score,
        "warnings": route.packet.as_ref().map(|packet| warnings(packet, vocabulary)),
        "entry": route.entry.map(|id| id.to_string()), "rule": route.rule,
    });
    let text = match (route.source, &route.packet) {
        (Some(source), Some(packet)) => {
            format!("tier {} ({}): {packet}", source.tier(), source.as_str())
        }
        (Some(source), None) => format!("tier {} ({})", source.tier(), source.as_str()),
        (None, _) => "no tier: no entry and no workflow fits, and there is no model".to_owned(),
    };
    Reply {
        text,
        json,
        verdict: Verdict::of(u64::from(tier.is_none())),
    }
}

fn warnings(packet: &PacketBuf, vocabulary: &Vocabulary) -> Json {
    report::warnings(&validator(vocabulary).validate(packet.text()))
}
