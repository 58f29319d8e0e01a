//! Policies by name.

mod bag;
mod clear;
mod draft;
mod plain;
mod toon;
mod views;

use accp_context::{CachePrices, view::PromptLimits};
use accp_memory::{
    Prices, Promise, Window,
    policies::{Last, Layout, Memory, Part, Sent, Whole},
    policy::NamedPolicy,
};

use self::clear::ClearToolUses;
use self::plain::Cut;
use self::views::Views;

/// The name of the policy that all others are measured against.
pub const BASE: &str = "list";

/// The name of this project's policy with its default settings.
pub const OURS: &str = "memory";

/// The policies that are measured when none is named, the base first.
const DEFAULT: [&str; 17] = [
    BASE,
    "json",
    "plain",
    "once:400",
    "clip:400",
    "cut:0",
    "bag",
    "toon",
    "last:10",
    "clear-tool-uses",
    "clear-tool-uses:10000,3",
    "draft",
    "views",
    "memory:own",
    OURS,
    "append",
    "save",
];

/// The forms of names that [`plan`] takes, for people.
pub const FORMS: &str = "\
list                            the list as it is, counted as a provider counts: the base, 1.0
json                            the whole history as one text of compact JSON
plain                           the whole history as text without JSON
once:N                          plain; a message of more than N tokens is shown to an agent whole
                                once, and N tokens of its head and tail afterwards; system prompts
                                and the words of users stay whole, as in clip:N and cut:N
clip:N                          plain; N tokens of the head and tail of each longer message
cut:N                           plain; N tokens of each longer tool result, 0 for its handle alone
bag                             system prompts, all identifiers as a sorted list, and the newest
                                two messages: no memory, and a test of every measure
toon                            the whole history as TOON
last:N                          system prompts and the last N messages
clear-tool-uses:TRIGGER,KEEP    the whole history; once it has over TRIGGER tokens, all tool
                                results but the newest KEEP are cleared (100000,3 when left out)
draft                           the draft's own defaults: frames in a session, with a checkpoint
                                beyond 400 tokens and after each answer
views:TOKENS,KEEP,MESSAGE       views by --registry; beyond TOKENS all messages but the newest
                                KEEP become facts, and a message over MESSAGE tokens loses its
                                middle (250,2,500 when left out); with `pays` for TOKENS: when
                                that pays at the usual prices of a cache
append                          lists as accp_memory::Memory sends them: each result in its cheapest
                                form from its first sight on, and nothing that was sent changes
save                            the same; what was sent changes where that pays back
window:TOKENS                   the same inside a window: where there is no room, the oldest messages
                                leave, and a summary stands for them
memory                          ours: each message whole at first sight, long results by their
                                ends afterwards, lines that stand in the prompt already referred
                                to; the system prompts of all agents before one transcript
memory:own                      the same, and each agent reads its own system prompts only
memory:declared                 memory with the definition of its tool before everything else
memory:-PART                    memory without a part: shapes, wrappers, spaces, repeats or cuts
file:PATH                       prompts of another program, in the form of --dump: each policy NAME
                                in the file is a row file:NAME; for a conversation, prompts for all
                                turns or for none";

/// Returns the policies that are measured when none is named.
pub fn default_plans() -> Vec<NamedPolicy> {
    DEFAULT.iter().filter_map(|name| plan(name)).collect()
}

/// Returns the policy of this name, or `None` for an unknown name. Lists are made for the prices of most caches.
pub fn plan(name: &str) -> Option<NamedPolicy> {
    plan_at(name, Prices::default())
}

/// Returns the policy of this name with lists that are made for these prices, or `None` for an unknown name.
///
/// ```
/// let prices = accp_memory::Prices::new(0.025, 2.0)?;
/// assert_eq!(accp_eval::plan_at("append", prices).unwrap().name, "append");
/// # Ok::<(), accp_memory::PricesError>(())
/// ```
pub fn plan_at(name: &str, prices: Prices) -> Option<NamedPolicy> {
    let (word, options) = match name.split_once(':') {
        Some((word, options)) => (word, Some(options)),
        None => (name, None),
    };
    match (word, options) {
        (BASE, None) => Some(NamedPolicy::new(
            name,
            "the list as it is: what a program sends that leaves nothing out",
            Whole::list,
        )),
        ("json", None) => Some(NamedPolicy::new(
            name,
            "the whole history as one text, each message a line of compact JSON",
            Whole::new,
        )),
        ("toon", None) => Some(NamedPolicy::new(
            name,
            "the whole history, each message in TOON, with JSON in strings read as values",
            toon::Toon::new,
        )),
        ("append", None) => Some(sent_plan(
            name,
            "lists: results in their cheapest form, and nothing that was sent changes",
            Promise::Append,
            (WINDOW, prices),
        )),
        ("save", None) => Some(sent_plan(
            name,
            "lists: results in their cheapest form; old ones are cut where that pays back",
            Promise::Save,
            (WINDOW, prices),
        )),
        ("window", Some(size)) => {
            let size = size.parse().ok().filter(|size| *size > 0)?;
            Some(sent_plan(
                name,
                "lists inside a window: results in their cheapest form; the oldest messages leave",
                Promise::Window,
                (size, prices),
            ))
        }
        (OURS, None) => Some(memory_plan(
            name,
            "whole at first sight, then the ends of long results; one transcript for all agents",
            Layout::Shared,
        )),
        (OURS, Some("own")) => Some(memory_plan(
            name,
            "whole at first sight, then the ends of long results; own system prompts only",
            Layout::Own,
        )),
        (OURS, Some("declared")) => Some(NamedPolicy::new(
            name,
            "`memory` with the definition of its tool before everything else",
            |opening| Memory::new(opening, Layout::Shared).declared(),
        )),
        (OURS, Some(options)) => {
            let part = options.strip_prefix('-')?;
            let part = Part::ALL.into_iter().find(|known| known.name() == part)?;
            Some(NamedPolicy::new(
                name,
                format!("`memory` without {}", part.name()),
                move |opening| Memory::new(opening, Layout::Shared).without(part),
            ))
        }
        ("plain", None) => Some(plain_plan(
            name,
            "the whole history as text without JSON".to_owned(),
            Cut::Nothing,
        )),
        ("once", Some(tokens)) => Some(plain_plan(
            name,
            format!("text without JSON; messages whole once, then {tokens} tokens of each"),
            Cut::Seen(tokens.parse().ok()?),
        )),
        ("clip", Some(tokens)) => Some(plain_plan(
            name,
            format!("text without JSON; {tokens} tokens of each message"),
            Cut::All(tokens.parse().ok()?),
        )),
        ("cut", Some(tokens)) => Some(plain_plan(
            name,
            format!("text without JSON; {tokens} tokens of each tool result"),
            Cut::Results(tokens.parse().ok()?),
        )),
        ("bag", None) => Some(NamedPolicy::new(
            name,
            "system prompts, all identifiers sorted, and the newest two messages",
            bag::Bag::new,
        )),
        ("last", Some(count)) => {
            let count = count.parse().ok().filter(|&count| count > 0)?;
            Some(NamedPolicy::new(
                name,
                format!("system prompts and the last {count} messages"),
                move |opening| Last::new(opening, count),
            ))
        }
        ("clear-tool-uses", options) => {
            let (trigger, keep) = match options {
                None => (ClearToolUses::TRIGGER, ClearToolUses::KEEP),
                Some(options) => {
                    let (trigger, keep) = options.split_once(',')?;
                    (trigger.parse().ok()?, keep.parse().ok()?)
                }
            };
            Some(NamedPolicy::new(
                name,
                format!(
                    "the whole history; over {trigger} tokens, all tool results but the newest \
                     {keep} are cleared"
                ),
                move |opening| ClearToolUses::new(opening, trigger, keep),
            ))
        }
        ("draft", None) => Some(NamedPolicy::new(
            name,
            "frames in a session: 500 tokens of frames, checkpoints of 200, in all 2,000",
            draft::Draft::new,
        )),
        ("views", options) => {
            let mut limits = PromptLimits::default();
            if let Some(options) = options {
                let mut numbers = options.split(',').map(|number| number.parse().ok());
                match options.split(',').next() {
                    Some("pays") => {
                        limits.prices = Some(CachePrices::default());
                        numbers.next();
                    }
                    _ => limits.hot = numbers.next()??,
                }
                limits.keep = numbers.next()??;
                limits.message = numbers.next()??;
                if numbers.next().is_some() {
                    return None;
                }
            }
            let &PromptLimits {
                hot, keep, message, ..
            } = &limits;
            let when = match limits.prices {
                Some(_) => "when it pays".to_owned(),
                None => format!("beyond {hot} tokens"),
            };
            Some(NamedPolicy::new(
                name,
                format!(
                    "views; {when} all messages but {keep} become facts, and a message over \
                     {message} tokens loses its middle"
                ),
                move |opening| Views::new(opening, limits.clone()),
            ))
        }
        _ => None,
    }
}

/// Returns the window of a policy that keeps lists inside one, in tokens; `None` for another name.
///
/// ```
/// assert_eq!(accp_eval::window("window:4096"), Some(4096));
/// assert_eq!(accp_eval::window("ctx:8192,stress"), Some(8192));
/// assert_eq!(accp_eval::window("append"), None);
/// ```
pub fn window(name: &str) -> Option<u64> {
    let own = name.strip_prefix("window:");
    own.map_or_else(
        || accp_memory::policies::ctx::window(name),
        |size| size.parse().ok(),
    )
}

fn memory_plan(name: &str, doc: &str, layout: Layout) -> NamedPolicy {
    NamedPolicy::new(name, doc, move |opening| Memory::new(opening, layout))
}

/// The window of the lists that are measured: no recorded conversation needs a larger one.
const WINDOW: u64 = 1_000_000;

fn sent_plan(
    name: &str,
    doc: &str,
    promise: Promise,
    (size, prices): (u64, Prices),
) -> NamedPolicy {
    NamedPolicy::new(name, doc, move |opening| {
        // A size above 0 is a window.
        let window = Window::of(size).unwrap_or_else(|_| unreachable!("the window has room"));
        Sent::new(opening, window, prices, promise)
    })
}

fn plain_plan(name: &str, doc: String, cut: Cut) -> NamedPolicy {
    NamedPolicy::new(name, doc, move |opening| plain::Plain::new(opening, cut))
}

#[cfg(test)]
mod tests;
