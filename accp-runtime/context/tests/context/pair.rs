//! A host that takes checkpoints, a member that copies them, and the checks for both after every
//! step.

use std::collections::BTreeSet;

use accp_context::{Checkpointer, Hot, Turn, Warm, render_context};
use accp_runtime::context::{
    Checkpoint, ContextLimits, Digest, Fact, Headers, TokenBudget, Trigger,
};
use accp_runtime::session::Time;
use accp_runtime::{
    AgentId, DecodeOptions, DynamicFrame, Envelope, Frame, Limits, Registry, TokenCounter, Value,
};
use proptest::prelude::*;

use super::strategies::Said;

/// A host and a member that copies it.
pub(crate) struct Pair {
    pub(crate) counter: &'static dyn TokenCounter,
    limits: ContextLimits,
    registry: &'static Registry,
    pub(crate) hot: Hot,
    pub(crate) warm: Warm,
    copied: (Hot, Warm),
    position: u64,
    in_flight: Vec<u64>,
}

impl Pair {
    pub(crate) fn new(counter: &'static dyn TokenCounter, limits: ContextLimits) -> Self {
        Self {
            counter,
            limits,
            registry: Registry::shared(),
            hot: Hot::default(),
            warm: Warm::default(),
            copied: <_>::default(),
            position: 0,
            in_flight: Vec::new(),
        }
    }

    pub(crate) fn turn(&mut self, said: &Said) -> Result<Option<Checkpoint>, TestCaseError> {
        self.position += 1 + said.void;
        let position = self.position;
        let request = said.answers.filter(|_| !self.in_flight.is_empty());
        let request = request.map(|index| self.in_flight.remove(index.index(self.in_flight.len())));
        if said.opens_chain {
            self.in_flight.push(position);
        }
        self.say(&said.frame)?;
        let mut triggers = said.triggers.clone();
        if self.hot.is_over_trigger(&self.limits) {
            triggers.push(Trigger::Hot);
        }
        if triggers.is_empty() || said.vetoed && !self.hot.is_full() {
            return Ok(None);
        }
        let in_flight = self.in_flight.clone();
        let turn = Turn {
            current: (!said.is_phase).then_some(position),
            parent: request,
            in_flight: &in_flight,
            triggers: &triggers,
            at: Time::from_millis(1_714_000_000_123),
            version: 0,
            late: said
                .late
                .as_deref()
                .map(|text| (self.warm.last(), text))
                .filter(|(last, _)| *last > 0),
        };
        self.checkpoint(turn).map(Some)
    }

    fn say(&mut self, frame: &str) -> Result<(), TestCaseError> {
        let before = render_context(&self.warm, &self.hot);
        let accepted = format!("{frame}[mid:101000001001,seq:1,ts:1714000000]");
        let relayed = format!(
            "{frame}[mid:101000001001,seq:1,ts:1714000000,pos:{}]",
            self.position
        );
        let shown = self
            .hot
            .push(self.position, &accepted, self.counter, &self.limits)?;
        self.copied
            .0
            .insert(self.position, &relayed, shown.tokens, shown.cut)?;
        let after = render_context(&self.warm, &self.hot);
        prop_assert!(
            after.starts_with(&before),
            "append-only between checkpoints"
        );
        prop_assert_eq!(shown.tokens == 0, after == before);
        prop_assert_eq!(self.hot.frame(self.position), Some(frame));
        self.check()
    }

    fn checkpointer(&self) -> Checkpointer<'_> {
        Checkpointer {
            registry: self.registry,
            counter: self.counter,
            summarizer: &Headers,
            limits: self.limits,
        }
    }

    fn checkpoint(&mut self, turn: Turn<'_>) -> Result<Checkpoint, TestCaseError> {
        let checkpointer = self.checkpointer();
        let frozen = checkpointer.freeze(&self.hot, &self.warm, turn);
        let checkpoint = checkpointer.take(&frozen);
        prop_assert_eq!(frozen.kept(), checkpoint.kept());
        self.check_manifest(&checkpoint, turn)?;
        self.check_facts(&checkpoint)?;
        self.check_late(&checkpoint, turn)?;
        prop_assert_eq!(checkpoint.id(), self.warm.last() + 1);

        // A member gets the checkpoint as a frame, so the frame must give back the same
        // checkpoint.
        let text = checkpoint.encode(&AgentId::new("host")?, Envelope::default())?;
        DynamicFrame::decode(&text, self.registry)?;
        let copy = Checkpoint::decode(&text)?;
        prop_assert_eq!(&copy, &checkpoint, "{}", text);

        let mut before = String::new();
        let warm_only = |warm: &Warm| render_context(warm, &Hot::default());
        before.push_str(&warm_only(&self.warm));
        self.hot.apply(&checkpoint);
        self.warm.apply(&checkpoint);
        self.copied.0.apply(&copy);
        self.copied.1.apply(&copy);
        let after = warm_only(&self.warm);
        if checkpoint.merged().is_none() {
            prop_assert!(after.starts_with(&before), "warm state only grows");
        }
        let id = format!("ckpt_{}", checkpoint.id());
        prop_assert_eq!(self.hot.reference(), Some(format!("warm.{id}")));
        prop_assert_eq!(
            self.warm.resolve(&id, "").is_some(),
            checkpoint.digest().is_some()
        );
        prop_assert!(!self.hot.is_full());
        self.check()?;
        self.check_copies()?;
        Ok(checkpoint)
    }

    /// Every frame that was hot must be hot or in the manifest, but not both.
    fn check_manifest(&self, checkpoint: &Checkpoint, turn: Turn<'_>) -> Result<(), TestCaseError> {
        let kept: Vec<u64> = checkpoint.kept().iter().map(|kept| kept.position).collect();
        let has_left = |position: u64| {
            checkpoint
                .left()
                .iter()
                .any(|(from, to)| (*from..=*to).contains(&position))
        };
        let was_hot: Vec<u64> = self.hot.positions().collect();
        for position in &was_hot {
            prop_assert_eq!(
                has_left(*position),
                !kept.contains(position),
                "{}",
                position
            );
        }
        prop_assert!(kept.iter().all(|position| was_hot.contains(position)));
        for (from, to) in checkpoint.left() {
            prop_assert!(was_hot.contains(from) && was_hot.contains(to));
        }
        if let Some(current) = turn.current {
            prop_assert!(kept.contains(&current));
            prop_assert_eq!(checkpoint.covers(), current - 1);
        }
        // The kept requests in flight leave room for new frames. Otherwise the next frame would
        // trigger a checkpoint at once.
        let is_other =
            |position: u64| Some(position) != turn.current && Some(position) != turn.parent;
        let others = checkpoint
            .kept()
            .iter()
            .filter(|kept| is_other(kept.position));
        let room = self.limits.trigger.saturating_sub(self.limits.hot / 4);
        prop_assert!(others.map(|kept| kept.tokens).sum::<u32>() <= room);
        // If not all chains in flight fit, the oldest leave first.
        let mut in_flight = was_hot.iter().filter(|position| {
            turn.in_flight.contains(position) && Some(**position) != turn.current
        });
        if turn.parent.is_none() {
            in_flight.find(|position| kept.contains(position));
            prop_assert!(in_flight.all(|position| kept.contains(position)));
        }
        Ok(())
    }

    /// Facts must be verbatim from frames that were hot; a merge must not make new facts.
    fn check_facts(&self, checkpoint: &Checkpoint) -> Result<(), TestCaseError> {
        let mut said = BTreeSet::new();
        for position in self.hot.positions() {
            let text = format!("{}[cid:c]", self.hot.frame(position).unwrap_or_default());
            let options = DecodeOptions {
                limits: Limits::NONE,
                marks: true,
            };
            if let Ok(message) = DynamicFrame::decode_with(&text, self.registry, &options) {
                scalars(&Value::Map(message.payload), &mut said);
            }
        }
        for fact in checkpoint.digest().map_or(&[][..], |digest| digest.facts()) {
            match fact.value() {
                Value::Array(items) => {
                    prop_assert!(
                        items.iter().all(|item| said.contains(&item.to_string())),
                        "{}",
                        fact
                    );
                }
                value => prop_assert!(said.contains(&value.to_string()), "{}", fact),
            }
            prop_assert!(fact.value().to_string().len() <= 50);
        }
        let Some((through, merged)) = checkpoint.merged() else {
            return Ok(());
        };
        let old = self
            .warm
            .digests()
            .iter()
            .filter(|digest| digest.checkpoints().1 <= through);
        let old: BTreeSet<_> = old.flat_map(Digest::facts).collect();
        let merged = merged.map_or(&[][..], |digest| digest.facts());
        prop_assert!(merged.iter().all(|fact| old.contains(fact)));
        // A merge drops facts that a later checkpoint states again.
        let rest = self
            .warm
            .digests()
            .iter()
            .filter(|digest| digest.checkpoints().0 > through);
        let newer: BTreeSet<_> = rest
            .chain(checkpoint.digest())
            .flat_map(Digest::facts)
            .map(|fact| (fact.entity().to_string(), fact.relationship()))
            .collect();
        let is_anew =
            |fact: &Fact| newer.contains(&(fact.entity().to_string(), fact.relationship()));
        prop_assert!(!merged.iter().any(is_anew));
        Ok(())
    }

    /// A checkpoint carries the late summary whole, cut, or not at all. A merge adds no words: it
    /// only counts headers.
    fn check_late(&self, checkpoint: &Checkpoint, turn: Turn<'_>) -> Result<(), TestCaseError> {
        let late = checkpoint.digest().and_then(Digest::late);
        let given = turn.late.map_or("", |(_, text)| text);
        if let Some((of, text)) = late {
            prop_assert_eq!(Some(of), turn.late.map(|(of, _)| of));
            let kept = text.strip_suffix("...").unwrap_or(text).trim_end();
            let given: Vec<_> = given.split_whitespace().collect();
            prop_assert!(given.join(" ").starts_with(kept), "{}", text);
        }
        let Some((_, Some(merged))) = checkpoint.merged() else {
            return Ok(());
        };
        let digests = self.warm.digests().iter();
        let known =
            digests.flat_map(|digest| [digest.summary(), digest.late().map_or("", |l| l.1)]);
        let known: Vec<&str> = known.chain([late.map_or("", |late| late.1)]).collect();
        let known: BTreeSet<_> = known.iter().flat_map(|text| words(text)).collect();
        let is_known = |word: &str| {
            let name = word.rsplit_once('*').map_or(word, |(name, _)| name);
            let is_header = name.split('.').count() > 2;
            known.contains(word) || is_header && known.iter().any(|known| known.starts_with(name))
        };
        for word in words(merged.summary()) {
            prop_assert!(is_known(word), "{word} of {}", merged.summary());
        }
        Ok(())
    }

    fn check(&self) -> Result<(), TestCaseError> {
        let Self {
            counter,
            limits,
            hot,
            warm,
            ..
        } = self;
        let line = |text: &str| counter.count(&format!("{text}\n")) as u32;
        prop_assert!(hot.tokens() <= limits.hot);
        prop_assert!(warm.tokens() <= limits.warm);
        prop_assert_eq!(
            hot.tokens(),
            hot.lines().map(|text| line(&text)).sum::<u32>()
        );
        for digest in warm.digests() {
            prop_assert_eq!(digest.tokens(), line(&digest.line()));
            prop_assert!(digest.tokens() <= limits.checkpoint);
            let summary = Value::from(digest.summary().to_owned()).to_string();
            prop_assert!(
                digest.summary().is_empty() || counter.count(&summary) <= limits.summary as usize
            );
            let late = digest
                .late()
                .map(|(_, text)| Value::from(text.to_owned()).to_string());
            prop_assert!(late.is_none_or(|late| counter.count(&late) <= limits.summary as usize));
        }
        let budget = TokenBudget::of(hot, warm, limits);
        prop_assert_eq!(budget.total.used, hot.tokens() + warm.tokens());

        let context = render_context(warm, hot);
        let lines = warm.digests().len() + hot.lines().count();
        prop_assert_eq!(context.lines().count(), lines, "no value makes a line");
        for text in context.lines() {
            let options = DecodeOptions {
                limits: Limits::NONE,
                marks: true,
            };
            prop_assert!(Frame::parse_with(text, &options).is_ok(), "{}", text);
        }

        prop_assert_eq!((hot, warm), (&self.copied.0, &self.copied.1));
        Ok(())
    }

    /// Both sides must be equal to the byte, and must come back from a snapshot.
    pub(crate) fn check_copies(&self) -> Result<(), TestCaseError> {
        let Self { hot, warm, .. } = self;
        let context = render_context(warm, hot);
        prop_assert_eq!(context, render_context(&self.copied.1, &self.copied.0));
        let stored = serde_json::to_string(&(hot, warm))?;
        prop_assert_eq!(&stored, &serde_json::to_string(&self.copied)?);
        let restored: (Hot, Warm) = serde_json::from_str(&stored)?;
        prop_assert_eq!(&restored, &self.copied);
        Ok(())
    }
}

/// Returns the words of a summary, without the mark of a cut.
fn words(summary: &str) -> impl Iterator<Item = &str> {
    summary
        .split([' ', ';'])
        .filter(|word| !word.is_empty() && *word != "...")
}

fn scalars(value: &Value<'_>, out: &mut BTreeSet<String>) {
    match value {
        Value::Array(items) => items.iter().for_each(|item| scalars(item, out)),
        Value::Map(map) => map.iter().for_each(|(_, value)| scalars(value, out)),
        scalar => {
            out.insert(scalar.to_string());
        }
    }
}
