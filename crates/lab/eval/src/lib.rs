//! A replay of recorded conversations under context policies, measured without a model.
//!
//! An [`Evaluation`] replays the [`Transcripts`] of a corpus; its [`Report`] is data, a page with
//! charts, or lines of JSON. A [`Policy`](accp_memory::policy::Policy) decides how an agent's
//! prompt shows the conversation so far. Before each message of an agent (role `assistant` or
//! `agent`) the replay asks the policy for the prompt of this agent. The message then shows the
//! values that the agent needed from the prompt.
//!
//! - **Net cost**: the cost of a policy's prompts, and of fetching back each needed text that a prompt lacks. It is
//!   a share of the cost of the unchanged list, which lacks nothing. [`Prices`] has the prices, [`Profile`] those
//!   of providers with their sources, and [`Net`] the figures.
//! - **Memory**: the shares of the task, of other words of users, and of the agent's own actions
//!   and decisions that prompts still say ([`Remembered`]).
//! - **Tokens** and **cost** of the prompts alone. The counts are exact.
//!
//! [`rules`] has every rule. The command prints them, and [`COLUMNS`] has the columns of its tables.
//!
//! ```
//! use accp_eval::{Evaluation, Prices, Report, Transcripts, default_plans};
//! use accp_runtime::Registry;
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
//! let corpora = vec![evaluation.measure("slots", &transcripts)?];
//! let prices = Prices::default();
//! let encoding = counter.name().to_owned();
//! let report = Report { prices, encoding, window: None, corpora };
//! assert_eq!(report.corpora[0].rows[0].policy, "list");
//! assert_eq!(report.to_json()[0]["net"], 1.0);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod cost;
mod evaluation;
mod interval;
mod lists;
mod measure;
mod net;
mod policies;
mod pool;
mod profile;
mod prompts;
mod replay;
mod report;
mod share;
mod tokens;
mod transcript;

pub use cost::{Spent, Split};
pub use evaluation::Evaluation;
pub use lists::{Inside, Lists, Refuses};
pub use measure::{FirstSight, Measure};
pub use net::{Cost, Costs, Matching, Net, Prices, Remembered, Tier, rules};
pub use policies::{BASE, FORMS, OURS, default_plans, plan, plan_at, window};
pub use profile::{Profile, ProfileError, SHOWN};
pub use prompts::{FROM_FILE, PromptError, Rival, RivalError, Rivals};
pub use report::{COLUMNS, Column, Corpus, FURTHER, Held, LISTS, Longest, PROFILES, Report, Row};
pub use share::Recall;
pub use tokens::ByKind;
pub use transcript::{Transcript, TranscriptError, Transcripts};
