//! A replay of recorded conversations under context policies, measured without a model.
//!
//! An [`Evaluation`] replays the [`Transcripts`] of a corpus; its [`Report`] is data, a page with
//! charts, or lines of JSON. A [`Policy`](accp_context::policy::Policy) decides how an agent's
//! prompt shows the conversation so far. Before each message of an agent (role `assistant` or
//! `agent`) the replay asks the policy for the prompt of this agent. The message then shows the
//! values that the agent needed from the prompt.
//!
//! - **Tokens**: the tokens of all prompts, with tool schemas and primer, and the same without
//!   system prompts. The counts are exact.
//! - **Cost**: tokens of the longest common beginning with the previous prompt in the same cache
//!   count 0.1, all others 1.25. Agents that read one transcript from its first message share a
//!   cache; an agent with a system prompt of its own has its own cache. Caches never expire.
//! - **Argument recall**: the share of the needed arguments that the prompt contains after its
//!   escapes are undone. A needed argument is a number or a string of 3 to 60 characters in a
//!   tool call's arguments, nested ones too, that an earlier message other than a system prompt
//!   contained. A text contains a value where no letter, digit or `_` continues the value.
//! - **Bound recall**: the share of the needed arguments that the prompt contains with their key
//!   or their record.
//! - **Identifier recall**: the same share as for arguments, for each token of an agent's text
//!   with a digit, a path separator or a capital after a small letter, once a message.
//! - **Results**: the tokens of tool results in the first prompt after them, as a share of the
//!   tokens of the same results in the base. Only results that this prompt shows count. A text
//!   before a result that explains the result, such as a definition, is part of the result.
//! - **Read back**: the share of the bytes of all messages that the policy returns unchanged
//!   after the conversation.
//! - **Milliseconds**: the time that the policy itself took, for all conversations.
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
