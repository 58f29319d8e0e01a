//! Replays conversations under the policy `memory`, and reads each prompt back.

mod original;
pub(crate) mod reader;

use std::collections::BTreeMap;
use std::fmt;
use std::ops::AddAssign;
use std::sync::Arc;

use accp_eval::Transcript;
use accp_frame::TokenCounter;
use accp_memory::policies::{Layout, Memory};
use accp_memory::policy::{Kind, Message, Opening, Policy as _, Segment};
use accp_registry::Registry;
use accp_runtime::view::View;
use serde_json::json;

use reader::{Prompt, Restored};

/// Messages with more tokens than this may lose their middle when they are shown for the first time.
const SIGHT: usize = 2000;

/// The counts of a replay.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Counts {
    /// Prompts.
    pub(crate) prompts: u64,
    /// Messages that were new to the agent of a prompt.
    pub(crate) new: u64,
    /// New messages of which only the heads and tails could be compared.
    pub(crate) cut: u64,
    /// Messages that the agent of a prompt had seen before. Results among them may lack middles.
    pub(crate) seen: u64,
    /// References in new messages.
    pub(crate) references: u64,
    /// New messages that were shown with a wrapper: they have the same lines around their text as an earlier
    /// message.
    pub(crate) wrapped: u64,
}

/// A message that the reader cannot restore from a prompt.
#[derive(Debug)]
pub(crate) struct Difference {
    /// The id of the conversation.
    conversation: String,
    /// The message that answers the prompt.
    turn: usize,
    message: usize,
    what: String,
    original: String,
    /// The text with which the prompt shows the message, or nothing.
    restored: String,
}

/// Replays a conversation, and reads each prompt back.
///
/// # Errors
/// Returns the first message that the reader does not restore.
pub(crate) fn read_back(
    transcript: &Transcript,
    layout: Layout,
    registry: &Arc<Registry>,
    counter: &Arc<dyn TokenCounter + Send + Sync>,
) -> Result<Counts, Box<Difference>> {
    let opening = Opening {
        tools: transcript.tools.clone(),
        counter: Arc::clone(counter),
        view: View::new(Arc::clone(registry)),
    };
    let mut memory = Memory::new(&opening, layout);
    let mut counts = Counts::default();
    let mut seen: BTreeMap<Arc<str>, usize> = BTreeMap::new();
    for answer in &transcript.messages {
        if let Some(agent) = transcript.agent(answer) {
            let segments = memory.prompt(&agent);
            let texts: Vec<(usize, &str)> = segments
                .iter()
                .filter_map(|segment| Some((segment.message?, &*segment.text)))
                .collect();
            let difference = |message: usize, what: String| {
                let text = texts.iter().find(|(of, _)| *of == message);
                Box::new(Difference {
                    conversation: transcript.id.clone(),
                    turn: answer.index,
                    message,
                    what,
                    original: transcript.messages[message].original().to_owned(),
                    restored: text.map_or("", |(_, text)| text).to_owned(),
                })
            };
            let prompt = Prompt::read(texts.iter().copied());
            let prompt = prompt.map_err(|(message, what)| difference(message, what))?;
            for (message, place, words) in prompt.gaps() {
                let fetched = fetch(&memory, &segments, message, &place, words);
                fetched.map_err(|what| difference(message, what))?;
            }
            let seen = seen.insert(Arc::clone(&agent.name), answer.index + 1);
            let seen = seen.unwrap_or_default();
            for message in &transcript.messages[..answer.index] {
                let index = message.index;
                if !prompt.shows(index) && !message.is_for(&agent.name) {
                    continue;
                }
                let before = index.checked_sub(1).map(|at| &transcript.messages[at]);
                let restored = check(&prompt, message, before);
                let restored = restored.map_err(|what| difference(index, what))?;
                if index < seen {
                    counts.seen += 1;
                    continue;
                }
                counts.new += 1;
                counts.references += restored.references as u64;
                counts.wrapped += u64::from(restored.is_wrapped);
                if restored.parts.len() > 1 {
                    counts.cut += 1;
                    let tokens = counter.count(&original::words(message));
                    if tokens <= SIGHT {
                        let what = format!("{tokens} tokens lose their middle at first sight");
                        return Err(difference(index, what));
                    }
                }
            }
            counts.prompts += 1;
        }
        memory.push(answer);
    }
    Ok(counts)
}

/// Checks that a model can fetch the lines that are left out of a message. The prompt must declare the tool before
/// the message, and the answer of the tool must begin with the words of the mark.
fn fetch(
    memory: &Memory,
    segments: &[Segment],
    message: usize,
    place: &str,
    words: &str,
) -> Result<(), String> {
    let until = segments
        .iter()
        .take_while(|one| one.message != Some(message));
    if !until
        .into_iter()
        .any(|one| one.text.contains(Memory::TOOL) && one.kind == Kind::Tools)
    {
        return Err("the tool that shows its middle is not declared before it".to_owned());
    }
    let answer = memory.expand(&json!({ "at": place }));
    let answer = answer.map_err(|error| error.to_string())?;
    let line = answer.lines().nth(1).unwrap_or_default();
    let line: Vec<&str> = line.split_whitespace().collect();
    // If the middle itself is a reference, the answer is the whole text that it refers to.
    if line.join(" ").starts_with(words) || words.starts_with("[as in p") {
        Ok(())
    } else {
        Err(format!("{place} is fetched as:\n{answer}"))
    }
}

/// Restores a message from a prompt, and compares it with the recording.
fn check(
    prompt: &Prompt<'_>,
    message: &Message,
    before: Option<&Message>,
) -> Result<Restored, String> {
    let restored = prompt.restore(message.index)?;
    let call = || {
        let mut calls = before?.recorded().calls();
        calls.next().filter(|_| calls.next().is_none())
    };
    let is_speaker = match &restored.speaker {
        Some(speaker) => match &message.only_for {
            Some(agent) => *speaker == format!("system to {agent}"),
            None => *speaker == message.speaker(),
        },
        // The prompt may leave out the speaker only if the result answers the one call before it.
        // If the result names a tool, it must be the tool of that call.
        None => call().is_some_and(|call| {
            let name = message.recorded().name();
            message.kind == Kind::Result && name.is_none_or(|name| Some(name) == call.tool())
        }),
    };
    if !is_speaker {
        return Err("another speaker".to_owned());
    }
    let view = prompt.view(message.index)?;
    if original::is_restored(message, &restored.parts, &view) {
        Ok(restored)
    } else {
        let parts = restored.parts.join("\n-- and at the end --\n");
        Err(format!("another text:\n{parts}"))
    }
}

impl AddAssign for Counts {
    fn add_assign(&mut self, other: Self) {
        self.prompts += other.prompts;
        self.new += other.new;
        self.cut += other.cut;
        self.seen += other.seen;
        self.references += other.references;
        self.wrapped += other.wrapped;
    }
}

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            prompts,
            new,
            cut,
            seen,
            references,
            wrapped,
        } = self;
        write!(
            f,
            "{prompts} prompts, {new} messages at first sight ({cut} by their ends, {wrapped} \
             wrapped, {references} references), {seen} later"
        )
    }
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            conversation,
            turn,
            message,
            what,
            original,
            restored,
        } = self;
        write!(
            f,
            "{conversation}: the prompt before message {turn} does not give message {message} back: \
             {what}\n-- in the prompt --\n{restored}\n-- recorded --\n{original}"
        )
    }
}

impl std::error::Error for Difference {}
