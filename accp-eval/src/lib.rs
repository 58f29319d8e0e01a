//! Recorded conversations replayed under policies for the context, and measured, without a model.
//!
//! An [`Evaluation`] replays the [`Transcripts`] of a corpus; its [`Report`] is data, a page with
//! charts, or lines of JSON. A [`Policy`](accp_context::policy::Policy) decides what an
//! agent's prompt holds of the conversation so far. Before each message of an agent (role
//! `assistant` or `agent`) it is asked for the prompt that this agent would get; the message then
//! shows what the agent needed from it.
//!
//! - **Tokens**: of all prompts, tool schemas and primer included, and the same without system
//!   prompts. Exact.
//! - **Cost**: tokens of the longest common beginning with the previous prompt in the same cache
//!   count 0.1, all others 1.25. A cache knows no agents: agents that read one transcript from
//!   its first message share one; an agent with a system prompt of its own has one of its own.
//!   Nothing expires.
//! - **Argument recall**: of each number and string in a tool call's arguments, nested ones too,
//!   of 3 to 60 characters, that was said before in a message other than a system prompt: does it
//!   stand in the prompt, escapes undone? A value stands where no letter, digit or `_` continues
//!   it.
//! - **Bound recall**: does it stand there with its key or its record?
//! - **Identifier recall**: the same question as for arguments, for each token of an agent's text
//!   with a digit, a path separator or a capital after a small letter, once a message.
//! - **Results**: what tool results take in the first prompt after them, as a share of the same
//!   results in the base; only those that this prompt shows. What stands before a result to read
//!   it by, such as a definition, is a part of it.
//! - **Read back**: the share of the bytes of all messages that the policy gives back unchanged
//!   when the conversation is over.
//! - **Milliseconds**: what the policy itself took, for all conversations.
//!
//! ```
//! use accp_eval::{Evaluation, Report, Transcripts, default_plans};
//! use accp_runtime::Registry;
//! use accp_runtime::context::CachePrices;
//! use accp_runtime::view::View;
//! use accp_tokens::{Bpe, TokenCounter as _};
//! use serde_json::json;
//!
//! let mut transcripts = Transcripts::default();
//! let messages = json!([
//!     { "role": "user", "content": "Is K17 free?" },
//!     { "role": "assistant", "content": "K17 is free." },
//! ]);
//! transcripts.add(json!({ "id": "slots/1", "messages": messages }), None, None)?;
//!
//! let counter = Bpe::o200k_base();
//! let view = View::new(Registry::standard().into());
//! let evaluation = Evaluation::new(default_plans(), view, counter);
//! let corpora = vec![evaluation.measure("slots", transcripts.as_slice())?];
//! let prices = CachePrices::default();
//! let report = Report { prices, encoding: counter.name().to_owned(), corpora };
//! assert_eq!(report.corpora[0].rows[0].policy, "json");
//! assert_eq!(report.to_json()[0]["identifiers"]["share"], 1.0);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod cost;
mod evaluation;
mod measure;
mod policies;
mod pool;
mod prompts;
mod recall;
mod replay;
mod report;
mod tokens;
mod transcript;

pub use cost::{Spent, Split};
pub use evaluation::Evaluation;
pub use measure::{FirstSight, Measure, Recall};
pub use policies::{BASE, FORMS, default_plans, plan};
pub use prompts::{PromptError, Rival, RivalError, Rivals};
pub use report::{Corpus, Longest, Report, Row};
pub use tokens::ByKind;
pub use transcript::{Transcript, TranscriptError, Transcripts};
