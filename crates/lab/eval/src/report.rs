//! The report of an evaluation, for people and for programs.

mod chart;
mod columns;
mod html;
mod json;
mod labels;
mod scene;
mod sensitivity;
mod viewer;

use serde_json::Value as Json;

use crate::cost::Spent;
use crate::interval::interval;
use crate::measure::Measure;
use crate::net::{Cost, Net, Prices};
use crate::policies::BASE;
use crate::replay::Replay;

pub use columns::{COLUMNS, Column, FURTHER, LISTS, PROFILES};
pub(crate) use scene::scene;

/// The measured figures, with the prices and the encoding.
#[derive(Debug)]
pub struct Report {
    /// The prices of tokens.
    pub prices: Prices,
    /// The encoding of the counted tokens.
    pub encoding: String,
    /// The tokens of the window, if prompts were measured as [lists](crate::Lists) inside one.
    pub window: Option<u64>,
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
    /// The conversations whose prompts the page shows.
    pub(crate) scenes: Vec<Json>,
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
    /// The conversations, each by itself.
    pub held: Vec<Held>,
}

/// A conversation under a policy.
#[derive(Debug, Clone, PartialEq)]
pub struct Held {
    /// The id of the conversation.
    pub conversation: String,
    /// The cost under the policy.
    pub cost: Cost,
    /// The cost under the base.
    pub base: Cost,
    /// The costs under the policy and under the base at the prices of the [shown](crate::SHOWN) profiles.
    pub profiles: [[Cost; 2]; 4],
}

/// The conversation with most tokens in the prompts of the base.
#[derive(Debug, Default)]
pub struct Longest {
    /// The id of the conversation.
    pub conversation: String,
    /// The tokens of each prompt, by policy; empty for a policy that left the conversation out.
    pub turns: Vec<Vec<u64>>,
}

impl Held {
    /// Returns the net cost as a share of the base's.
    pub fn net(&self) -> Option<f64> {
        share(self.cost.net, self.base.net)
    }

    /// Returns the net cost at the prices of a shown profile, as a share of the base's.
    fn net_at(&self, profile: usize) -> Option<f64> {
        let [cost, base] = self.profiles.get(profile)?;
        share(cost.net, base.net)
    }
}

/// Above this share of the base's cost a conversation is dearer. Equal counts may give costs that differ in the
/// last digits.
const DEARER: f64 = 1.0 + 1e-9;

impl Corpus {
    /// Makes a corpus for policies with these names and descriptions, the base first.
    pub(crate) fn new<'p>(name: &str, policies: impl Iterator<Item = (&'p str, &'p str)>) -> Self {
        let rows = policies.map(|(policy, doc)| Row {
            policy: policy.to_owned(),
            doc: doc.to_owned(),
            measure: Measure::default(),
            base: Measure::default(),
            held: Vec::new(),
        });
        Self {
            name: name.to_owned(),
            rows: rows.collect(),
            longest: Longest::default(),
            scenes: Vec::new(),
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
                row.held.push(Held {
                    conversation: conversation.to_owned(),
                    cost: replay.measure.net.costs.usual,
                    base: base.net.costs.usual,
                    profiles: std::array::from_fn(|at| {
                        [&replay.measure, &base].map(|of| of.net.costs.profiles[at])
                    }),
                });
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

    /// Returns a line for each policy with the net cost of each of its conversations, if they are too few for an
    /// [interval](Row::interval).
    pub fn each(&self) -> impl Iterator<Item = String> {
        let rows = self.rows.iter();
        let rows = rows.filter(|row| row.held.len() > 1 && row.interval().is_none());
        rows.map(|row| {
            let held = row.held.iter().filter_map(Held::net);
            let held: Vec<_> = held.map(|net| format!("{net:.3}")).collect();
            format!("{}, each conversation: {}", row.policy, held.join(" "))
        })
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

    /// Returns the cost of the prompts as a share of the base's.
    pub fn cost(&self) -> Option<f64> {
        self.shares(|net| net.costs.usual).0
    }

    /// Returns shares of the base's costs at the prices that `at` chooses: of the prompts alone, net, and net for
    /// the needs that an agent had to remember. The base lacks nothing.
    pub fn shares(&self, at: impl Fn(&Net) -> Cost) -> (Option<f64>, Option<f64>, Option<f64>) {
        let (cost, base) = (at(&self.measure.net), at(&self.base.net));
        (
            share(cost.prompts, base.prompts),
            share(cost.net, base.net),
            share(cost.net_real, base.net_real),
        )
    }

    /// Returns the net cost as a share of the base's.
    pub fn net(&self) -> Option<f64> {
        self.shares(|net| net.costs.usual).1
    }

    /// Returns the net cost for the needs that an agent had to remember, as a share of the base's.
    pub fn net_real(&self) -> Option<f64> {
        self.shares(|net| net.costs.usual).2
    }

    /// Returns the 95 % interval of the net cost by conversation, from ten conversations up.
    pub fn interval(&self) -> Option<(f64, f64)> {
        let pairs = self.held.iter().map(|held| (held.cost.net, held.base.net));
        interval(&pairs.collect::<Vec<_>>())
    }

    /// Returns the net cost of the conversation that costs most, as a share of the base's.
    pub fn worst(&self) -> Option<f64> {
        self.worst_of(Held::net)
    }

    /// Returns the share of conversations that cost more than under the base.
    pub fn dearer(&self) -> Option<f64> {
        self.dearer_of(Held::net)
    }

    /// Returns three figures at the prices of a [shown](crate::SHOWN) profile: the net cost, the net cost of the
    /// worst conversation, and the share of conversations that cost more than under the base.
    pub fn at_profile(&self, profile: usize) -> [Option<f64>; 3] {
        let net = self.shares(|net| net.costs.profiles.get(profile).copied().unwrap_or_default());
        [
            net.1,
            self.worst_of(|held| held.net_at(profile)),
            self.dearer_of(|held| held.net_at(profile)),
        ]
    }

    fn worst_of(&self, net: impl Fn(&Held) -> Option<f64>) -> Option<f64> {
        self.held.iter().filter_map(net).max_by(f64::total_cmp)
    }

    fn dearer_of(&self, net: impl Fn(&Held) -> Option<f64>) -> Option<f64> {
        let nets: Vec<f64> = self.held.iter().filter_map(net).collect();
        let dearer = nets.iter().filter(|net| **net > DEARER).count();
        share(dearer as f64, nets.len() as f64)
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
            "{}: {} conversations, {} prompts, {} needs; cost of `{}`: {}",
            corpus.name,
            base.conversations,
            base.prompts,
            base.net.hits.wanted,
            BASE,
            parts.join(", "),
        )
    }

    /// Returns the report as a page with charts, and with the prompts that an
    /// [evaluation](crate::Evaluation::showing) kept: one file, without links to other files.
    pub fn to_html(&self) -> String {
        html::page(self)
    }

    /// Returns whether the page shows prompts of this conversation.
    pub fn shows(&self, conversation: &str) -> bool {
        let scenes = self.corpora.iter().flat_map(|corpus| &corpus.scenes);
        let mut names = scenes.map(|scene| &scene["conversation"]);
        names.any(|name| name == conversation)
    }

    /// Returns a line of JSON for each policy of each corpus.
    pub fn to_json(&self) -> Vec<Json> {
        let rows = self
            .corpora
            .iter()
            .flat_map(|corpus| corpus.rows.iter().map(move |row| (corpus, row)));
        rows.map(|(corpus, row)| json::row(self, corpus, row))
            .collect()
    }
}
