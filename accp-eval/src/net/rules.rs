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
- Pieces of a message: its content, and each string among the arguments of its calls. A prompt is
  read segment by segment: JSON by its scalars, other text as it is, without guards, and with JSON
  escapes undone. White space and zero-width characters count as one space. A text stands where no
  letter, digit or `_` continues it. Nothing matches across segments.
- Needs of a turn, each text once, and none that stands in a system prompt of the agent. Quotes:
  from left to right, the longest span of whole words that an earlier message has, of 24 characters
  or more with a letter. Arguments: strings and numbers of 3 to 60 characters in arguments of calls
  that an earlier message has. Identifiers, for agents that make no calls: words of 3 to 60
  characters with a digit, a slash or a capital after a small letter that an earlier message has.
  System prompts are not earlier messages. The source is the latest earlier message with the text.
- First sight: each message that is new to an agent since its own last turn stands in its next
  prompt, whole, or of more than 2,000 tokens the first 1,333 and last 667. It stands when the lines
  (of JSON: the scalars; without numbers at their beginning) that stand in the prompt hold 98 % of
  its characters, and lines that follow their neighbour within 120 characters hold half of them, or
  at most four do not follow. Otherwise all of it is a miss.
- A need is a hit when it stands in the prompt, or in a window that the agent fetched in an earlier
  turn; otherwise a miss. A miss is lost unless one segment has a handle of its source and a clue.
  A handle: the segment is made of the source, or it is made of no message and names the source as
  p12, p9-14 or p9..p14, by the message's index from 0. A clue: a word of 5 letters or a number of 2
  digits, or more, that stands within 100 characters of the text in its source.
- net: what the prompts cost and what it costs to fetch all misses, as a share of the same for the
  base, which lacks nothing. A turn with misses costs one reading of prompt and carried windows, at
  --cached-price, or at --fresh-price below --min-prefix tokens; 40 tokens of output for each source;
  and its windows at --fresh-price. A window is the source, or --window tokens of it with the text in
  the middle; overlapping ones are one. The agent carries its windows in all later prompts at
  --cached-price. If a need is lost: one more reading, and for each lost source 40 tokens of output
  and 300 of input.
- cost: of the prompts alone. The longest beginning that the newest prompt of any agent has too costs
  --cached-price a token if it has --min-prefix tokens or more; all else costs --fresh-price.
  `no cache` and `no min` are net without a cache and with a cache that keeps any beginning.
- real: net without the needs that nobody had to remember: text in what a recording shows as an
  observation (from a beginning below to the end of the content), and text whose source is a message
  of the same agent, unless it begins in a code block or an argument.
- lost: lost needs as a share of all. seen: messages that stand at first sight, as a share of all.
- task: sentences of the first message of a user (without users, of the first message) that stand in
  each prompt. later: the same for other messages of users. A sentence is a part of a line that ends
  with the line or with `.`, `!` or `?` before white space, of four words or more.
- did: the agent's own earlier actions. A call stands with its tool's name and, within 200 characters
  and three times their length behind it, the first line of each argument (200 characters at most).
  A code block, or a sentence outside code blocks of `I` and a word of an action, stands with its
  first 200 characters. decided: the agent's own sentences outside code blocks with a word of a
  decision.
- misquoted: runs of four words in facts that no message has, as a share of all runs in facts. A run
  ends at a line's end, `..` and | ; = { } [ ].
- tokens: of all prompts as a share of the base's. p95, peak: the size of the 95th of 100 prompts and
  of the largest. ms: the policy's own time.
- 95 %: the interval of net when conversations are drawn anew, 1,000 times with a fixed seed, from
  ten conversations up; of fewer, each by itself.
- --all, coverage: arguments: the share of the values in later calls that stand in the prompt. bound:
  that stand there under their key or in their record. identifiers: the same as arguments for names
  in agents' texts. A sorted bag of names covers nearly all of them: coverage is not memory.";
