//! A conversation replayed under a policy, and what comes of it.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write as _;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::binding::Wanted;
use super::cost::Spent;
use super::dump;
use super::escape::readings;
use super::expect::{Expected, Needs};
use super::find::{Finder, Needle};
use super::policy::{Opening, Policy, Record, Segment};
use super::sheet::{Hit, Sheet};
use super::tokens::{ByKind, Piece, Pieces, by_kind};
use super::transcript::Transcript;

/// What a policy did over some conversations.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Measure {
    pub(crate) conversations: u64,
    pub(crate) prompts: u64,
    pub(crate) spent: Spent,
    pub(crate) arguments: Recall,
    pub(crate) bound: Recall,
    pub(crate) identifiers: Recall,
    /// Bytes of the messages; `found` are those that were given back.
    pub(crate) bytes: Recall,
    /// The policy's own time.
    pub(crate) time: Duration,
}

/// How much of what was looked for was found.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Recall {
    pub(crate) wanted: u64,
    pub(crate) found: u64,
}

/// What a policy did in one conversation.
#[derive(Debug, Default)]
pub(crate) struct Replay {
    pub(crate) measure: Measure,
    /// The tokens of each prompt.
    pub(crate) turns: Vec<u64>,
    /// Its prompts as lines of a dump, if they were asked for.
    pub(crate) dump: String,
}

/// The instrument, set on one conversation.
#[derive(Debug)]
pub(crate) struct Instrument<'t> {
    corpus: &'t str,
    transcript: &'t Transcript,
    opening: Opening,
    expected: Expected,
    pieces: Pieces,
    looks: HashMap<(Arc<str>, Arc<[Record]>), Look>,
    dumps: bool,
}

/// What is known about a segment's text.
#[derive(Debug)]
struct Look {
    /// Values that stand in it, ascending.
    values: Vec<Needle>,
    sheet: Sheet,
    /// By value.
    hits: Vec<Hit>,
}

impl Recall {
    /// From 0 to 1; `None` where nothing was looked for.
    pub(crate) fn share(self) -> Option<f64> {
        (self.wanted > 0).then(|| self.found as f64 / self.wanted as f64)
    }

    fn count(&mut self, found: bool) {
        self.wanted += 1;
        self.found += u64::from(found);
    }

    fn add(&mut self, other: Self) {
        self.wanted += other.wanted;
        self.found += other.found;
    }
}

impl Measure {
    pub(crate) fn add(&mut self, other: &Self) {
        self.conversations += other.conversations;
        self.prompts += other.prompts;
        self.spent.add(&other.spent);
        self.arguments.add(other.arguments);
        self.bound.add(other.bound);
        self.identifiers.add(other.identifiers);
        self.bytes.add(other.bytes);
        self.time += other.time;
    }
}

impl<'t> Instrument<'t> {
    /// `dumps` is whether replays carry their prompts.
    pub(crate) fn new(
        corpus: &'t str,
        transcript: &'t Transcript,
        opening: Opening,
        dumps: bool,
    ) -> Self {
        Self {
            corpus,
            transcript,
            expected: Expected::of(transcript),
            pieces: Pieces::new(opening.counter),
            opening,
            looks: HashMap::new(),
            dumps,
        }
    }

    pub(crate) fn opening(&self) -> &Opening {
        &self.opening
    }

    /// Replays the conversation under a policy that has just begun it.
    pub(crate) fn replay(&mut self, name: &str, policy: &mut dyn Policy) -> Replay {
        let mut replay = Replay::default();
        let mut cached: BTreeMap<Arc<str>, Vec<Piece>> = BTreeMap::new();
        let mut time = Duration::ZERO;
        for message in &self.transcript.messages {
            if let Some(agent) = self.transcript.agent(message) {
                let begun = Instant::now();
                let prompt = policy.prompt(&agent);
                time += begun.elapsed();
                let pieces = self.pieces.of(&prompt);
                let spent = Spent {
                    tokens: by_kind(&pieces),
                    cached: match cached.get(&agent.cache) {
                        Some(previous) => self.pieces.shared(previous, &pieces),
                        None => ByKind::default(),
                    },
                };
                cached.insert(Arc::clone(&agent.cache), pieces);
                replay.turns.push(spent.total());
                replay.measure.spent.add(&spent);
                replay.measure.prompts += 1;
                self.recall(&prompt, message.index, &mut replay.measure);
                if self.dumps {
                    let place = dump::Place {
                        corpus: self.corpus,
                        conversation: &self.transcript.id,
                        turn: message.index,
                        policy: name,
                    };
                    let _ = writeln!(replay.dump, "{}", dump::line(&place, &agent, &prompt));
                }
            }
            let begun = Instant::now();
            policy.push(message);
            time += begun.elapsed();
        }
        for message in &self.transcript.messages {
            let original = message.original();
            let length = original.len() as u64;
            let back = policy
                .recover(message.index)
                .is_some_and(|back| back == original);
            replay.measure.bytes.wanted += length;
            replay.measure.bytes.found += if back { length } else { 0 };
        }
        replay.measure.conversations = 1;
        replay.measure.time = time;
        replay
    }

    /// Counts what of the needs of this turn is in the prompt.
    fn recall(&mut self, prompt: &[Segment], turn: usize, measure: &mut Measure) {
        let Self {
            expected, looks, ..
        } = self;
        let Expected {
            finder,
            said,
            turns,
        } = expected;
        let Some(Needs {
            arguments,
            identifiers,
        }) = turns.get(&turn)
        else {
            return;
        };
        if arguments.is_empty() && identifiers.is_empty() {
            return;
        }
        let keys: Vec<_> = prompt
            .iter()
            .map(|segment| (Arc::clone(&segment.text), Arc::clone(&segment.records)))
            .collect();
        for key in &keys {
            if !looks.contains_key(key) {
                looks.insert(key.clone(), Look::at(&key.0, &key.1, finder));
            }
        }
        let looks: Vec<&Look> = keys.iter().filter_map(|key| looks.get(key)).collect();
        for &name in identifiers {
            measure
                .identifiers
                .count(looks.iter().any(|look| look.has(name)));
        }
        for (needle, name) in arguments {
            let needle = *needle;
            let found = looks.iter().any(|look| look.has(needle));
            measure.arguments.count(found);
            let wanted = Wanted { needle, name, turn };
            let bound =
                |look: &&Look| said.binds(wanted, &look.sheet, look.hits(needle).iter(), finder);
            measure.bound.count(found && looks.iter().any(bound));
        }
    }
}

impl Look {
    fn at(text: &str, records: &[Record], finder: &Finder) -> Self {
        let mut values = Vec::new();
        for reading in readings(text) {
            finder.each(&reading, |needle, _| values.push(needle));
        }
        let mut sheet = Sheet::of_text(text);
        let claimed = sheet.hits(finder);
        values.extend(claimed.iter().map(|hit| hit.needle));
        values.sort_unstable();
        values.dedup();
        for Record(pairs) in records {
            sheet.add_record(
                pairs
                    .iter()
                    .map(|(key, value)| (key.as_str(), value.as_str())),
            );
        }
        let mut hits = sheet.hits(finder);
        // A record speaks for a value only where the text has it.
        hits.retain(|hit| values.binary_search(&hit.needle).is_ok());
        hits.sort_unstable();
        Self {
            values,
            sheet,
            hits,
        }
    }

    fn has(&self, needle: Needle) -> bool {
        self.values.binary_search(&needle).is_ok()
    }

    fn hits(&self, needle: Needle) -> &[Hit] {
        let from = self.hits.partition_point(|hit| hit.needle < needle);
        let to = self.hits.partition_point(|hit| hit.needle <= needle);
        &self.hits[from..to]
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use accp_registry::Registry;
    use accp_runtime::view::View;
    use accp_tokens::{Bpe, TokenCounter as _};
    use proptest::prelude::*;
    use serde_json::{Value as Json, json};

    use super::*;
    use crate::bench::policies::{BASE, plan};
    use crate::bench::policy::Kind;
    use crate::bench::transcript::{Agent, Message};

    const NAMES: [&str; 12] = [
        "ada", "bo", "cleo", "dan", "eve", "fay", "gus", "hal", "ida", "jon", "kim", "lou",
    ];

    /// A lookup of records and then calls that use values of them, each under its own key.
    fn conversations() -> impl Strategy<Value = Json> {
        let record = (100..999_u32, 0..NAMES.len(), 1000..9999_u32);
        let records = proptest::collection::btree_map(100..999_u32, record, 4..12);
        let uses = proptest::collection::vec((0..100_usize, 0..3_usize), 1..6);
        (records, uses, any::<bool>()).prop_map(|(records, uses, pretty)| {
            let records: Vec<Json> = records
                .into_iter()
                .map(|(id, (price, name, stock))| {
                    let name = format!("{} {id}", NAMES[name]);
                    json!({ "code": format!("K{id}"), "price": price, "owner": name, "stock": stock })
                })
                .collect();
            let text = if pretty {
                serde_json::to_string_pretty(&records).unwrap()
            } else {
                json!({ "found": records }).to_string()
            };
            let mut messages = vec![
                json!({ "role": "system", "content": "Sell." }),
                json!({ "role": "user", "content": "What is there?" }),
                json!({ "role": "tool", "name": "list", "content": text }),
            ];
            for (record, key) in uses {
                let record = &records[record % records.len()];
                let key = ["code", "price", "owner"][key];
                let call = json!({ "id": "c", "name": "buy", "arguments": { "of": { key: record[key] } } });
                messages.push(json!({ "role": "assistant", "content": null, "tool_calls": [call] }));
                messages.push(json!({ "role": "tool", "name": "buy", "content": "done" }));
            }
            json!({ "id": "c", "messages": messages })
        })
    }

    /// A policy whose prompts are one text, made of the records of the lookup.
    #[derive(Debug)]
    struct Memory {
        show: fn(&[Json]) -> Segment,
        records: Vec<Json>,
    }

    impl Policy for Memory {
        fn push(&mut self, message: &Message) {
            if let Ok(json) = serde_json::from_str::<Json>(&message.said()) {
                let found = json.get("found").unwrap_or(&json);
                self.records
                    .extend(found.as_array().cloned().unwrap_or_default());
            }
        }

        fn prompt(&mut self, _: &Agent) -> Vec<Segment> {
            vec![(self.show)(&self.records)]
        }

        fn recover(&self, _: usize) -> Option<std::borrow::Cow<'_, str>> {
            None
        }
    }

    fn facts(text: String) -> Segment {
        Segment::new(Kind::Facts, text)
    }

    fn shown(record: &Json) -> Vec<(String, String)> {
        let fields = record.as_object().unwrap().iter();
        let text = |value: &Json| {
            value
                .as_str()
                .map_or_else(|| value.to_string(), str::to_owned)
        };
        fields
            .map(|(key, value)| (key.clone(), text(value)))
            .collect()
    }

    /// All values of all records, those of a record never beside each other.
    fn shuffled(records: &[Json], separator: &str) -> String {
        let values = |field: usize| {
            records
                .iter()
                .map(move |record| shown(record)[field].1.clone())
        };
        let mut all: Vec<String> = (0..4).flat_map(values).collect();
        all.push(String::new());
        all.join(separator)
    }

    fn rows(
        records: &[Json],
        form: impl Fn(&(String, String)) -> String,
        separator: &str,
    ) -> String {
        let row = |record| {
            shown(record)
                .iter()
                .map(&form)
                .collect::<Vec<_>>()
                .join(separator)
        };
        records.iter().map(|record| row(record) + "\n").collect()
    }

    fn replay(json: &Json, policy: &mut dyn Policy) -> Measure {
        let transcript = Transcript::read(json, "here", None).unwrap();
        let opening = opening();
        Instrument::new("test", &transcript, opening, false)
            .replay("policy", policy)
            .measure
    }

    fn remembered(json: &Json, show: fn(&[Json]) -> Segment) -> Measure {
        let records = Vec::new();
        replay(json, &mut Memory { show, records })
    }

    fn opening() -> Opening {
        Opening {
            tools: None,
            counter: Bpe::default(),
            view: View::new(Arc::new(Registry::standard())),
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]

        #[test]
        fn the_whole_history_forgets_nothing_and_its_cost_is_that_of_a_recount(json in conversations()) {
            let transcript = Transcript::read(&json, "here", None).unwrap();
            let opening = opening();
            for name in [BASE, "last:2"] {
                let plan = plan(name).unwrap();
                let mut instrument = Instrument::new("test", &transcript, opening.clone(), true);
                let mut policy = (plan.start)(instrument.opening());
                let Replay { measure, dump, .. } = instrument.replay(name, &mut *policy);
                let tokenizer = bpe_openai::o200k_base();
                let (mut tokens, mut cached, mut previous) = (0, 0, Vec::new());
                for line in dump.lines() {
                    let line: Json = serde_json::from_str(line).unwrap();
                    let texts = line["segments"].as_array().unwrap().iter();
                    let text: String = texts.map(|segment| segment["text"].as_str().unwrap()).collect();
                    prop_assert_eq!(tokenizer.count(text.as_str()), Bpe::default().count(&text));
                    let now = tokenizer.encode(text.as_str());
                    tokens += now.len() as u64;
                    cached += now.iter().zip(&previous).take_while(|(one, other)| one == other).count() as u64;
                    previous = now;
                }
                prop_assert_eq!(measure.spent.total(), tokens);
                prop_assert_eq!(measure.spent.cached.iter().sum::<u64>(), cached);
                if name == BASE {
                    let Measure { arguments, bound, bytes, .. } = measure;
                    prop_assert!(arguments.wanted > 0);
                    prop_assert_eq!(arguments.found, arguments.wanted);
                    prop_assert_eq!(bound, arguments);
                    prop_assert_eq!(bytes.found, bytes.wanted);
                }
            }
        }

        #[test]
        fn a_bag_of_values_binds_nothing(json in conversations()) {
            let bags: [fn(&[Json]) -> Segment; 5] = [
                |records| facts(shuffled(records, ", ")),
                |records| facts(shuffled(records, " ")),
                |records| facts(shuffled(records, "\n")),
                |records| facts(format!("facts: [{}]\n", shuffled(records, "|"))),
                |records| {
                    let bag = shuffled(records, "\n");
                    facts(format!("{}\n", json!({ "values": bag.lines().collect::<Vec<_>>() })))
                },
            ];
            for (index, bag) in bags.into_iter().enumerate() {
                let Measure { arguments, bound, .. } = remembered(&json, bag);
                prop_assert_eq!(arguments.found, arguments.wanted, "{}", index);
                prop_assert_eq!(bound.found, 0, "{}", index);
            }
        }

        #[test]
        fn rows_records_and_keys_bind(json in conversations()) {
            let memories: [fn(&[Json]) -> Segment; 6] = [
                |records| facts(rows(records, |(_, value)| value.clone(), ",")),
                |records| facts(rows(records, |(key, value)| format!("{key}:{value}"), "|")),
                |records| facts(rows(records, |(key, value)| format!("{key} is {value}"), "; ")),
                |records| {
                    let row = |record| {
                        let values: Vec<_> = shown(record).into_iter().map(|(_, value)| value).collect();
                        format!("[{}]", values.join(","))
                    };
                    facts(format!("{{s:KX,r:[{}]}}\n", records.iter().map(row).collect::<Vec<_>>().join(",")))
                },
                |records| facts(format!("{}\n", json!(records))),
                // Abbreviated keys, and the policy says what they stand for.
                |records| {
                    let text = rows(records, |(key, value)| format!("{}{value}", &key[..1]), ";");
                    let text = text + &rows(records, |(_, value)| format!("={value}"), "=");
                    let told = records.iter().map(|record| Record(shown(record)));
                    Segment { records: told.collect(), ..facts(text) }
                },
            ];
            for (index, memory) in memories.into_iter().enumerate() {
                let Measure { arguments, bound, .. } = remembered(&json, memory);
                prop_assert_eq!(arguments.found, arguments.wanted, "{}", index);
                prop_assert_eq!(bound, arguments, "{} {}", index, json);
            }
        }

        #[test]
        fn records_that_a_policy_tells_count_only_with_their_text(json in conversations()) {
            let told: fn(&[Json]) -> Segment = |records| {
                let told = records.iter().map(|record| Record(shown(record)));
                Segment { records: told.collect(), ..facts("nothing\n".to_owned()) }
            };
            let Measure { arguments, bound, .. } = remembered(&json, told);
            prop_assert_eq!((arguments.found, bound.found), (0, 0));
        }
    }
}
