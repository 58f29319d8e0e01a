//! `accp session show`: shows a summary of one session.

use std::fmt::Write as _;
use std::sync::Arc;

use accp_context::{Checkpoint, ContextLimits, Digest, TokenBudget, Used, render_context};
use accp_frame::DecodeError;
use accp_session::{Due, EntryKind, MemberId, State, Time};
use accp_store::{Log, Store as _};
use serde_json::{Value as Json, json};

use crate::redact::Redactor;
use crate::store_file::{OpenedSession, SessionArgs};
use crate::words::{name, ranges, triggers, utc};
use accp_console::choices::Format;
use accp_console::outcome::{Failure, Outcome, Verdict};
use accp_console::output::{self, Output};
use accp_console::table::Table;

/// Show a session: members, budgets, checkpoints, shared state, and waiting frames
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  accp session show team.db
  accp session show team.db launch --context
  accp session show --format json team.db | jq .checkpoints")]
pub(crate) struct Args {
    #[command(flatten)]
    session: SessionArgs,
    /// Only the context that a model reads of the session
    #[arg(long, conflicts_with = "format")]
    context: bool,
    /// json: one object
    #[arg(long, value_enum, default_value_t)]
    format: Format,
    /// Replace what frames say by its kind and length: for people who may see that agents talk, but
    /// not what they say
    #[arg(long)]
    redact: bool,
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> Outcome {
    let redactor = args.redact.then(Redactor::new).transpose()?;
    let mut opened = args.session.open()?;
    let mut out = Output::stdout();
    let mut unread = Vec::new();
    if args.context {
        let state = opened.side.state();
        let context = render_context(state.warm(), state.hot());
        match &redactor {
            None => out.line(context.trim_end())?,
            Some(redactor) => {
                for line in context.lines() {
                    out.line(redactor.frame(line, opened.side.registry()))?;
                }
            }
        }
    } else {
        let details = SessionDetails::of(&mut opened)?;
        match args.format {
            Format::Text => out.line(details.text(&opened, redactor.as_ref()).trim_end())?,
            Format::Json => out.record(details.json(&opened, redactor.as_ref()))?,
        }
        unread = details.unread;
    }
    out.finish()?;
    for (position, error) in &unread {
        output::error(format_args!(
            "{}: session `{}`: position {position}: the checkpoint cannot be read: {error}; `accp session verify` checks the \
             whole log",
            args.session.file.display(),
            name(&opened.summary.name()),
        ));
    }
    Ok(Verdict::of(unread.len() as u64))
}

/// Data of a session that is not part of its state, and is read from the store.
struct SessionDetails {
    checkpoints: Vec<(u64, Checkpoint)>,
    /// The positions of checkpoints that cannot be read, each with the error.
    unread: Vec<(u64, DecodeError)>,
    frames: u64,
    /// The number of frames that expired before a handler got them.
    lapsed: u64,
    /// The number of frames in the outbox: the host has not acknowledged them yet.
    outbox: usize,
    /// The number of values in cold state (`values`), of values whose bytes are in this file (`here`), and of expired
    /// values (`expired`).
    values: u64,
    here: u64,
    expired: u64,
    value_bytes: u64,
}

impl SessionDetails {
    fn of(opened: &mut OpenedSession) -> Result<Self, Failure> {
        let id = &opened.summary.side;
        let mut details = Self {
            checkpoints: Vec::new(),
            unread: Vec::new(),
            frames: 0,
            lapsed: 0,
            outbox: opened.store.load(id)?.unwrap_or_default().outbox.len(),
            values: 0,
            here: 0,
            expired: 0,
            value_bytes: 0,
        };
        for entry in Log::new(Arc::clone(&opened.store), id, 1) {
            let entry = entry?;
            details.lapsed += u64::from(entry.due == Due::Lapsed);
            match entry.kind {
                EntryKind::Frame => details.frames += 1,
                EntryKind::Control if entry.text.contains(">sync:checkpoint{") => {
                    match Checkpoint::decode(&entry.text) {
                        Ok(checkpoint) => details.checkpoints.push((entry.position, checkpoint)),
                        Err(error) => details.unread.push((entry.position, error)),
                    }
                }
                _ => {}
            }
        }
        for key in opened.store.cold_keys(id)? {
            let kept = opened.store.cold(id, &key)?;
            details.values += 1;
            if let Some(kept) = kept {
                details.here += u64::from(kept.value.bytes.is_some());
                details.expired += u64::from(kept.expired);
                details.value_bytes += kept.value.length;
            }
        }
        Ok(details)
    }

    fn text(&self, opened: &OpenedSession, redactor: Option<&Redactor>) -> String {
        let OpenedSession { summary, side, .. } = opened;
        let state = side.state();
        let mut rows = Table::default();
        let mut row = |name: &str, value: String| rows.row([name.to_owned(), value]);
        row(
            "Session",
            format!(
                "{}, as the {} keeps it",
                name(&summary.name()),
                side.owner()
            ),
        );
        let first = match summary.first {
            1 => String::new(),
            first => format!("; texts from position {first} on"),
        };
        row(
            "Log",
            format!(
                "{} entries up to position {}, {} of them frames; {} bytes{first}",
                summary.entries, summary.last, self.frames, summary.bytes
            ),
        );
        row(
            "Last",
            summary
                .at
                .and_then(|at| utc(at.as_secs()))
                .unwrap_or_default(),
        );
        row("Numbering", state.scope().as_str().to_owned());
        row("Level", state.level().to_string());
        row(
            "Registry",
            state
                .schemas()
                .map_or("none announced".to_owned(), |hash| hash.to_string()),
        );
        match state.tokenizer() {
            Some(tokenizer) => {
                let budget = TokenBudget::of(state.hot(), state.warm(), &ContextLimits::DRAFT);
                row("Budget", format!("{budget}, counted in {tokenizer}"));
            }
            None => row(
                "Budget",
                "nothing is counted: no context, no checkpoints".to_owned(),
            ),
        }
        let lapsed = match self.lapsed {
            0 => String::new(),
            lapsed => format!("; {lapsed} lapsed before a handler got them"),
        };
        row(
            "Waiting",
            format!(
                "{} to be handled, {} to be acknowledged{lapsed}",
                summary.due, self.outbox
            ),
        );
        let expired = match self.expired {
            0 => String::new(),
            expired => format!(", {expired} expired"),
        };
        row(
            "Values",
            format!(
                "{} in cold state, {} bytes; {} here{expired}",
                self.values, self.value_bytes, self.here
            ),
        );
        let mut out = format!("{rows}\n\n{}\n", member_table(state));
        if !self.checkpoints.is_empty() {
            let _ = writeln!(out, "\n{}", self.checkpoint_table());
        }
        let shared = state.shared();
        if shared.version() > 0 {
            let version = shared.version();
            let mut table =
                Table::headed([&format!("shared, version {version}"), "value"]).indented(2);
            for (key, value) in shared.entries().iter() {
                let value = redactor.map_or_else(|| value.to_string(), |one| one.value(value));
                table.row([name(key).into_owned(), value]);
            }
            let _ = writeln!(out, "\n{table}");
        }
        out
    }

    fn checkpoint_table(&self) -> Table {
        let heading = [
            "checkpoint",
            "at",
            "why",
            "covers",
            "left hot state",
            "tokens",
        ];
        let mut table = Table::headed(heading).indented(2);
        for (position, checkpoint) in &self.checkpoints {
            let merged = match checkpoint.merged() {
                Some((through, _)) => format!(", 1 to {through} became one"),
                None => String::new(),
            };
            let tokens = checkpoint.digest().map_or(0, Digest::tokens);
            table.row([
                format!("ckpt_{}", checkpoint.id()),
                position.to_string(),
                triggers(checkpoint),
                checkpoint.covers().to_string(),
                ranges(checkpoint.left()),
                format!("{tokens}{merged}"),
            ]);
        }
        table
    }

    fn json(&self, opened: &OpenedSession, redactor: Option<&Redactor>) -> Json {
        let OpenedSession { summary, side, .. } = opened;
        let state = side.state();
        let budget = TokenBudget::of(state.hot(), state.warm(), &ContextLimits::DRAFT);
        let used = |used: Used| json!({ "used": used.used, "allowed": used.allowed });
        let members = state.members().map(|(id, party)| {
            json!({
                "member": id.number(), "agents": party.agents, "since": party.joined,
                "present": party.present, "supervisor": party.supervisor,
            })
        });
        let shown = |text: &str| match redactor {
            Some(redactor) => redactor.mark("str", text),
            None => text.to_owned(),
        };
        let shared = state.shared().entries().iter();
        let shared = shared.map(|(key, value)| {
            let value = redactor.map_or_else(
                || value.to_json(),
                |redactor| Json::from(redactor.value(value)),
            );
            (key.to_owned(), value)
        });
        let shared: serde_json::Map<_, _> = shared.collect();
        let checkpoints = self.checkpoints.iter().map(|(position, checkpoint)| {
            let on: Vec<_> = checkpoint.triggers().iter().map(|on| on.as_str()).collect();
            let kept = checkpoint.kept().iter().map(
                |kept| json!({ "position": kept.position, "tokens": kept.tokens, "cut": kept.cut }),
            );
            let digest = checkpoint.digest();
            json!({
                "id": format!("ckpt_{}", checkpoint.id()), "position": position,
                "at": checkpoint.at().as_millis(), "triggers": on, "covers": checkpoint.covers(),
                "left": checkpoint.left(), "kept": kept.collect::<Json>(),
                "summary": digest.map(|digest| shown(digest.summary())),
                "late": digest.and_then(Digest::late).map(|(id, text)| json!({
                    "of": format!("ckpt_{id}"), "summary": shown(text),
                })),
                "tokens": digest.map(Digest::tokens),
                "merged": checkpoint.merged().map(|(through, _)| format!("ckpt_{through}")),
            })
        });
        json!({
            "session": summary.name(),
            "side": side.owner(),
            "entries": summary.entries, "frames": self.frames, "bytes": summary.bytes,
            "first": summary.first, "last": summary.last, "snapshot": summary.snapshot,
            "at": summary.at.map(Time::as_millis),
            "scope": state.scope().as_str(),
            "level": state.level(),
            "registry": state.schemas().map(|hash| hash.to_string()),
            "tokenizer": state.tokenizer(),
            "budget": {
                "hot": used(budget.hot), "warm": used(budget.warm), "total": used(budget.total),
            },
            "due": summary.due, "lapsed": self.lapsed, "outbox": self.outbox,
            "values": { "keys": self.values, "bytes": self.value_bytes, "here": self.here, "expired": self.expired },
            "members": members.collect::<Json>(),
            "checkpoints": checkpoints.collect::<Json>(),
            "shared": {
                "version": state.shared().version(),
                "entries": shared,
            },
        })
    }
}

fn member_table(state: &State) -> Table {
    let mut table = Table::headed(["member", "agents", "since", ""]).indented(2);
    for (id, party) in state.members() {
        let mut notes = Vec::new();
        if id == MemberId::HOST {
            notes.push("host");
        } else if party.supervisor {
            notes.push("supervisor");
        }
        if !party.present {
            notes.push("has left");
        }
        table.row([
            id.to_string(),
            party.agents.join(", "),
            party.joined.to_string(),
            notes.join(", "),
        ]);
    }
    table
}
