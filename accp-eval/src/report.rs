//! The report of an evaluation, for people and for programs.

mod chart;
mod html;

use accp_context::policy::Kind;
use accp_runtime::context::CachePrices;
use serde_json::{Value as Json, json};

use crate::cost::Spent;
use crate::measure::{Measure, Recall};
use crate::policies::BASE;
use crate::replay::Replay;

/// The measured figures, with the prices and the encoding.
#[derive(Debug)]
pub struct Report {
    /// The prices of tokens.
    pub prices: CachePrices,
    /// The encoding of the counted tokens.
    pub encoding: String,
    /// The corpora in their order.
    pub corpora: Vec<Corpus>,
}

/// The conversations of a file under all policies.
#[derive(Debug)]
pub struct Corpus {
    /// The name of the corpus.
    pub name: String,
    /// A row for each policy, the base first.
    pub rows: Vec<Row>,
    /// The conversation with most tokens in the prompts of the base.
    pub longest: Longest,
}

/// A policy over the conversations of a file.
#[derive(Debug)]
pub struct Row {
    /// The name of the policy.
    pub policy: String,
    /// A description of the policy, in a line.
    pub doc: String,
    /// The figures of the policy.
    pub measure: Measure,
    /// The figures of the base over the same conversations, which may be only some of the file's.
    pub base: Measure,
}

/// The conversation with most tokens in the prompts of the base.
#[derive(Debug, Default)]
pub struct Longest {
    /// The id of the conversation.
    pub conversation: String,
    /// The tokens of each prompt, by policy; empty for a policy that left the conversation out.
    pub turns: Vec<Vec<u64>>,
}

impl Corpus {
    /// Makes a corpus for policies with these names and descriptions, the base first.
    pub(crate) fn new<'p>(name: &str, policies: impl Iterator<Item = (&'p str, &'p str)>) -> Self {
        let rows = policies.map(|(policy, doc)| Row {
            policy: policy.to_owned(),
            doc: doc.to_owned(),
            measure: Measure::default(),
            base: Measure::default(),
        });
        Self {
            name: name.to_owned(),
            rows: rows.collect(),
            longest: Longest::default(),
        }
    }

    /// Adds a conversation: a replay for each policy, or `None` for a policy that left it out.
    pub(crate) fn add(&mut self, conversation: &str, replays: Vec<Option<Replay>>) {
        let Some(base) = replays
            .first()
            .and_then(Option::as_ref)
            .map(|replay| replay.measure.clone())
        else {
            return;
        };
        for (row, replay) in self.rows.iter_mut().zip(&replays) {
            if let Some(replay) = replay {
                row.measure.add(&replay.measure);
                row.base.add(&base);
            }
        }
        let most = self
            .longest
            .turns
            .first()
            .map_or(0, |turns| turns.iter().sum::<u64>());
        if self.longest.turns.is_empty() || base.spent.total() > most {
            self.longest = Longest {
                conversation: conversation.to_owned(),
                turns: replays
                    .into_iter()
                    .map(|replay| replay.map_or_else(Vec::new, |replay| replay.turns))
                    .collect(),
            };
        }
    }

    fn base(&self) -> Option<&Measure> {
        self.rows.first().map(|row| &row.measure)
    }
}

impl Row {
    /// Returns the tokens of the policy as a share of the base's.
    pub fn tokens(&self) -> Option<f64> {
        share(
            self.measure.spent.total() as f64,
            self.base.spent.total() as f64,
        )
    }

    /// Returns the tokens without system prompts as a share of the base's.
    pub fn without_system(&self) -> Option<f64> {
        let of = |spent: &Spent| spent.without_system() as f64;
        share(of(&self.measure.spent), of(&self.base.spent))
    }

    /// Returns the cost of the policy as a share of the base's.
    pub fn cost(&self, prices: CachePrices) -> Option<f64> {
        let of = |spent: &Spent| spent.cost(prices);
        share(of(&self.measure.spent), of(&self.base.spent))
    }

    /// Returns whether the policy left out conversations that the base has.
    pub fn is_part(&self, corpus: &Corpus) -> bool {
        corpus
            .base()
            .is_some_and(|base| base.conversations > self.measure.conversations)
    }
}

fn share(part: f64, whole: f64) -> Option<f64> {
    (whole > 0.0).then_some(part / whole)
}

impl Report {
    /// Returns a line about the corpus, with the shares of the base's cost.
    pub fn heading(&self, corpus: &Corpus) -> String {
        let Some(base) = corpus.base() else {
            return corpus.name.clone();
        };
        let split = base.spent.split(self.prices);
        let parts = [
            ("system", split.system),
            ("tools", split.tools),
            ("new", split.new),
            ("re-reading", split.again),
        ];
        let parts = parts.iter().filter(|(_, share)| *share > 0.0);
        let parts: Vec<String> = parts
            .map(|(name, share)| format!("{name} {share:.2}"))
            .collect();
        format!(
            "{}: {} conversations, {} prompts, {} arguments and {} identifiers needed; cost of \
             `{}`: {}",
            corpus.name,
            base.conversations,
            base.prompts,
            base.arguments.wanted,
            base.identifiers.wanted,
            BASE,
            parts.join(", "),
        )
    }

    /// Returns the report as a page with charts: one file, without scripts and without links to
    /// other files.
    pub fn to_html(&self) -> String {
        html::page(self)
    }

    /// Returns a line of JSON for each policy of each corpus.
    pub fn to_json(&self) -> Vec<Json> {
        let rows = self
            .corpora
            .iter()
            .flat_map(|corpus| corpus.rows.iter().map(move |row| (corpus, row)));
        rows.map(|(corpus, row)| self.row_json(corpus, row))
            .collect()
    }

    fn row_json(&self, corpus: &Corpus, row: &Row) -> Json {
        let Measure {
            spent,
            arguments,
            bound,
            identifiers,
            results,
            bytes,
            time,
            conversations,
            prompts,
        } = &row.measure;
        let split = spent.split(self.prices);
        let recall = |recall: &Recall| {
            json!({
                "wanted": recall.wanted, "found": recall.found, "share": recall.share(),
            })
        };
        let kinds = Kind::ALL.iter().map(|kind| {
            let at = *kind as usize;
            let counts = json!({ "tokens": spent.tokens[at], "cached": spent.cached[at] });
            (kind.name().to_owned(), counts)
        });
        json!({
            "corpus": corpus.name,
            "policy": row.policy,
            "doc": row.doc,
            "conversations": conversations,
            "prompts": prompts,
            "tokens": spent.total(),
            "tokens_share": row.tokens(),
            "without_system": spent.without_system(),
            "without_system_share": row.without_system(),
            "cost": spent.cost(self.prices),
            "cost_share": row.cost(self.prices),
            "cost_split": {
                "system": split.system,
                "tools": split.tools,
                "primer": split.primer,
                "new": split.new,
                "again": split.again,
            },
            "kinds": Json::Object(kinds.collect()),
            "arguments": recall(arguments),
            "bound": recall(bound),
            "identifiers": recall(identifiers),
            "results": results.share(),
            "shown_results": results.shown,
            "bytes": recall(bytes),
            "milliseconds": time.as_secs_f64() * 1000.0,
            "prices": { "cached": self.prices.cached, "fresh": self.prices.fresh },
            "encoding": self.encoding,
        })
    }
}
