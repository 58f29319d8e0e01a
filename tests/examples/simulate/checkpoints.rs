//! Checks that checkpoints keep the right facts. The observer extracts these facts by itself.

use std::collections::{BTreeMap, BTreeSet};

use accp_session::Entry;

use super::World;
use super::content::{Key, RECORD, Read, STATE};
use super::node::Result;
use super::observer::Observer;
use super::text::head;

/// Fields whose values are in the text of their frame, and not in cold state.
const PLAIN: [&str; 5] = ["n", "text", "re", RECORD, STATE];

impl Observer {
    /// Checks that a checkpoint keeps the right facts of the frames that it takes out of the context.
    pub(super) fn judge_content(&mut self, text: &str) -> Result {
        let read = Read::of(text)?;
        let is_gone = |at: &u64| {
            read.left
                .iter()
                .any(|(from, to)| (*from..=*to).contains(at))
        };
        let was_gone = |at: &u64| {
            self.gone
                .iter()
                .any(|(from, to)| (*from..=*to).contains(at))
        };
        let frames = self.content.told.keys();
        let left = frames.copied().filter(|at| is_gone(at) && !was_gone(at));
        let cut = read.cut.difference(&self.content.cut).copied();
        let sources: BTreeSet<u64> = left.chain(cut).collect();
        self.judge_verbatim(&read)?;
        self.content.judge_line(&read, &sources)?;
        if let Some((through, merged)) = &read.old {
            self.content.judge_merge(&read, *through, merged.as_ref())?;
        }
        self.content.apply(read);
        Ok(())
    }

    /// Checks that each new fact is in the text of a frame that leaves the context, whole or in part.
    fn judge_verbatim(&self, read: &Read) -> Result {
        let is_source = |at: &u64| {
            let has_left = read
                .left
                .iter()
                .any(|(from, to)| (*from..=*to).contains(at));
            has_left || read.cut.contains(at)
        };
        let facts = read.line.iter().flat_map(|line| &line.facts);
        for ((entity, name), value) in facts.filter(|((_, name), _)| PLAIN.contains(&&**name)) {
            let pair = format!("{name}:{value}");
            let stands =
                |entry: &Entry| is_source(&entry.position) && head(&entry.text).contains(&pair);
            // The state of a transaction may be the default of its schema.
            let is_default = name == STATE && !entity.starts_with("item_");
            if !is_default && !self.log.iter().any(stands) {
                let id = read.id;
                return Err(format!("ckpt_{id} invents {name}:{value} of {entity}"));
            }
        }
        Ok(())
    }
}

impl World {
    /// Checks that warm state at the host has the lines that its checkpoints describe.
    pub(super) fn judge_warm(&self) -> Result {
        let warm = self.room.host.session().state().warm();
        let facts = warm.digests().iter().map(|digest| {
            let facts = digest.facts().iter().map(|fact| {
                let key = (fact.entity().to_string(), fact.relationship().to_owned());
                (key, fact.value().to_string())
            });
            (
                digest.checkpoints().1,
                facts.collect::<BTreeMap<Key, String>>(),
            )
        });
        let lines = &self.observer.content.lines;
        let wanted = lines.iter().map(|line| (line.last, line.facts.clone()));
        if facts.clone().eq(wanted) {
            return Ok(());
        }
        let facts: Vec<_> = facts.collect();
        Err(format!("warm state is {facts:?} and not {lines:?}"))
    }
}
