//! The rules of the measures, for people.

use super::phrases::{ACTIONS, DECISIONS, OBSERVATIONS};

/// Returns the rules of the measures, with their word lists, as text of 100 columns.
///
/// ```
/// assert!(accp_eval::rules().contains("net: what the prompts cost"));
/// ```
pub fn rules() -> String {
    let lists = [
        ("Words of a decision", DECISIONS.join(", ")),
        ("Words of an action", ACTIONS.join(", ")),
        ("Beginnings of an observation", OBSERVATIONS.join(" | ")),
    ];
    let mut rules = RULES.to_owned();
    for (name, list) in lists {
        rules.push('\n');
        let mut line = format!("- {name}:");
        for word in list.split(' ') {
            if line.len() + word.len() >= 99 {
                rules.push_str(&line);
                rules.push('\n');
                " ".clone_into(&mut line);
            }
            line.push(' ');
            line.push_str(word);
        }
        rules.push_str(&line);
    }
    rules
}

const RULES: &str = "\
- Pieces of a message: its content (each text of it), and each string among the arguments of its
  calls; a string that is a JSON object or array is taken apart. The text of a message is its
  pieces with a line feed between them. Codes of a terminal (an escape, `[`, and up to a sign from
  `@` to `~`) are left out of messages and of readings.
- Readings of a segment are the texts in which needs are looked for. JSON (an object or array) is
  read as its scalars: strings that are JSON both as they are and taken apart, numbers as short as
  can be. Other text is read as it is; without guards (a `\\` at the beginning of a line before `@`
  or `[`, or before more `\\` and one of these); and without guards with JSON escapes undone once,
  twice and three times. White space and zero-width characters are one space. A text stands where
  no letter, digit or `_` continues it. Nothing matches across readings.
- Needs of a turn are texts that its message has from earlier messages. Each text counts once, and
  a text that stands in a system prompt of the agent does not count. Quotes: in each piece from left
  to right, the longest span of whole words and signs that one piece of an earlier message has, of
  24 characters or more with a letter; the next span begins behind it.
  Arguments: strings and numbers of 3 to 60 characters in arguments of calls that an earlier
  message has. Identifiers, for agents that make no call in the conversation: words of 3 to 60
  characters with a digit, a `/` or a capital after a small letter that an earlier message has,
  without signs at their ends. System prompts are not earlier messages; messages for other agents
  are. The source is the latest earlier message with the text, and the place the first in it.
- First sight: each message that is new to an agent since its own last turn stands in its next
  prompt, whole, or of more than 2,000 tokens the first 1,333 and last 667. Its lines are
  compared; of a piece that is JSON the lines of its scalars, in their order; without a number of
  1 to 6 digits with one of `: | - →`, a tab or a space at the beginning, and only lines with a
  letter, digit or `_`. At a cut a broken word is left out, and a scalar counts where it begins.
  The message stands when the lines that stand in the prompt hold 98 % of its characters, and if
  moreover lines that follow hold half of them, or at most four do not follow. A line follows if
  it begins at most 120 characters behind an end of the line before it, in one segment, readings
  one behind another; the first line follows if it stands. Lines count in the segments made of the
  message alone, or else in all segments. The keys of the scalars stand anywhere in the prompt:
  98 % of their characters, each key once. Otherwise the whole is a miss.
- A need is a hit when it stands in the prompt, or in a window that the agent fetched in an
  earlier turn; otherwise a miss. A miss is lost unless one segment has a handle of its source and
  a clue. A handle: the segment is made of the source, or it is made of no message, is no system
  prompt, tool or primer, and names the source as p12, p9-14 or p9..p14, or as `message 12` or
  `messages 9 to 14`, by the message's index from 0. A clue: a run of 5 letters or of 2 digits, or
  more, that the segment has too, and that stands in the source within 100 characters of the place
  (of first sight: anywhere); handles are no clues.
- What is billed. A prompt that is a list (the policies `list`, `last`, `clear-tool-uses`, `ctx`, and
  those of other programs whose segments are messages): the tool schemas as they stand, and for each
  message 4 tokens, what its pictures, documents and sounds are billed at, and the tokens of one text,
  which is the name of the speaker, the texts of its content, and the name and the arguments of each
  call, with a line feed between them. Any other prompt is one message: 4 tokens, and its text.
- net: what the prompts cost and what it costs to fetch all misses, as a share of the same for the
  base, which lacks nothing. A turn with misses costs one reading of prompt and carried windows,
  at --cached-price, or at --fresh-price below --min-prefix tokens; 40 tokens of output for each
  source; and its windows at --fresh-price. A window is the source, or n tokens of it (--window). If
  the tokens f to l of the source hold the text, the window begins at (f + l - n) / 2, moved into the
  source; if these tokens are more than n, they alone are the window. For a message that was missed
  at first sight, the window is what had to stand in the prompt. In one turn overlapping windows
  of a source are one. The agent carries its windows in all later prompts at --cached-price. If a
  need is lost: one more reading, and for each lost source 40 tokens of output and 300 of input.
  Real needs and all needs are fetched apart.
- cost: what the prompts alone cost. The longest beginning, in tokens, that a prompt shares with the
  newest prompt of any agent of the conversation costs --cached-price a token, if it has --min-prefix
  tokens or more; all else costs --fresh-price. Two lists share the messages whose JSON is the same
  and which are in both or in neither the agent's own words, and of the first message that differs
  the tokens at the beginning of its text. `no cache` is net without a cache, and `no min` is net
  with a cache that keeps any beginning.
- Profiles (--prices) find a beginning in steps or at marks. In steps, only whole steps of tokens
  count. At marks, a beginning ends at a mark of an earlier prompt. Marks stand behind the tool
  schemas, behind the system prompts and at the end of each prompt; the cache looks for each mark of a
  prompt, and for marks up to the profile's number of messages before it. A prompt with fewer tokens
  than the cache keeps costs 1 a token. If the recording has a clock, a beginning leaves the cache
  when nobody has read it for the profile's seconds. If a prompt has more tokens than the profile's
  tier, all its prices are multiplied by the factors of the tier.
- worst: the highest net of a conversation. dearer: the share of conversations with a net above 1.
- steps: prompts that change something of the same agent's prompt before; an end that only grows does
  not count. refused: lists that a provider refuses, because a call or a result stands without the
  other, or because something changed before a thought, which is bound to the exact list before it.
- real: net without the needs that nobody had to remember: text in what a recording shows as an
  observation (from a beginning below to the end of the content), and text whose source is a
  message of the same agent, unless it begins in a code block or an argument at one place of the
  message.
- lost: lost quotes, arguments and identifiers as a share of all. seen: messages that stand at
  first sight, as a share of all.
- task: sentences of the first message of a user (without users, of the first that is no system
  prompt) in each later prompt. later: the same for other messages of users. A sentence is a part
  of a line that ends with the line or with `.`, `!` or `?` before white space, of four words or
  more (runs of letters, digits and `_`); each text counts once.
- did: the agent's own earlier actions. A call stands with its tool's name and, from there on
  within 200 characters and three times those of its arguments, the beginning of the first line of
  each. A code block (between lines that begin with three backticks) and a sentence outside code
  blocks and observations that begins with `I` and a word of an action stand with their beginning;
  each counts once. A beginning is 200 characters, to the end of a word. decided: the agent's own
  sentences outside of both with a word of a decision, each once.
- misquoted: runs of four words in facts that no message has, as a share of all runs in facts. A
  run ends at a line's end, `..` and | ; = { } [ ]; other signs do not count.
- tokens: of all prompts as a share of the base's (in JSON: their sum). p95, peak: the size of the
  95th of 100 prompts and of the largest. ms: the policy's own time.
- 95 %: the interval of net when conversations are drawn anew, 1,000 times with a fixed seed. With
  fewer than ten conversations, the report has the net of each instead.";
