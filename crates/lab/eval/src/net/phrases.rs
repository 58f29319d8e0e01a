//! The word lists and patterns of the measures, and the rules for sentences.

use super::matcher::words;

/// Texts that begin an observation in a message of an agent. The observation goes on to the end of
/// the content.
pub(crate) const OBSERVATIONS: [&str; 8] = [
    "Here is a screenshot of",
    "The following metadata was extracted from the webpage",
    "Automatic OCR of the page screenshot",
    "Viewport position: Showing page",
    "Observation:",
    "The script ran, then exited with",
    "exitcode: ",
    "<function_results>",
];

/// Words by which a sentence states a decision, a finding or an obligation.
pub(crate) const DECISIONS: [&str; 32] = [
    "must",
    "should",
    "need to",
    "needs to",
    "have to",
    "has to",
    "cannot",
    "can't",
    "won't",
    "will",
    "I'll",
    "let's",
    "decided",
    "decide",
    "instead",
    "therefore",
    "because",
    "found",
    "shows",
    "means",
    "confirmed",
    "confirms",
    "indicates",
    "turns out",
    "the issue is",
    "the problem is",
    "the cause",
    "fails",
    "failed",
    "fixed",
    "next step",
    "plan is",
];

/// Verbs that tell an action in a sentence that begins with `I`, for agents that act in text.
pub(crate) const ACTIONS: [&str; 20] = [
    "added",
    "changed",
    "clicked",
    "closed",
    "created",
    "deleted",
    "downloaded",
    "edited",
    "entered",
    "fixed",
    "hovered",
    "opened",
    "ran",
    "removed",
    "scrolled",
    "searched",
    "selected",
    "typed",
    "visited",
    "wrote",
];

/// The fewest words of a sentence that counts.
const WORDS: usize = 4;

/// The most characters of an action that are looked for.
pub(crate) const ACTION: usize = 200;

/// Returns the sentences of a text: parts of a line that end where the line ends, or with `.`, `!`
/// or `?` before white space; of four words or more.
pub(crate) fn sentences(text: &str) -> impl Iterator<Item = &str> {
    let parts = text.lines().flat_map(|line| {
        let mut rest = line;
        std::iter::from_fn(move || {
            if rest.is_empty() {
                return None;
            }
            let mut ends = rest.char_indices().filter(|(at, character)| {
                let after = &rest[at + character.len_utf8()..];
                matches!(character, '.' | '!' | '?') && after.starts_with(char::is_whitespace)
            });
            let end = ends.next().map_or(rest.len(), |(at, _)| at + 1);
            let (part, after) = rest.split_at(end);
            rest = after;
            Some(part.trim())
        })
    });
    parts.filter(|part| words(part).count() >= WORDS)
}

/// Returns whether a sentence states a decision, a finding or an obligation.
pub(crate) fn is_decision(sentence: &str) -> bool {
    DECISIONS.iter().any(|phrase| {
        sentence
            .match_indices(phrase)
            .any(|(at, _)| super::matcher::is_apart(sentence, at, at + phrase.len()))
    })
}

/// Returns whether a sentence tells an action of the speaker.
pub(crate) fn is_action(sentence: &str) -> bool {
    let mut words = sentence.split_whitespace();
    words.next() == Some("I") && words.next().is_some_and(|word| ACTIONS.contains(&word))
}

/// Returns the beginning of an action that is looked for: whole words of its first characters.
pub(crate) fn beginning(action: &str) -> &str {
    let end = action
        .char_indices()
        .nth(ACTION)
        .map_or(action.len(), |(at, _)| at);
    if end == action.len() {
        return action;
    }
    let cut = action[..end].rfind(' ').unwrap_or(end);
    action[..cut].trim_end()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sentence_ends_with_its_line_or_a_mark_before_a_space() {
        let text =
            "Look at v1.2 of it. Then stop. We must not lose a.b!\n\n- a list item here\nno\n";
        let found: Vec<_> = sentences(text).collect();
        let expected = [
            "Look at v1.2 of it.",
            "We must not lose a.b!",
            "- a list item here",
        ];
        assert_eq!(found, expected);
        let decided: Vec<_> = found.iter().map(|text| is_decision(text)).collect();
        assert_eq!(decided, [false, true, false]);
    }

    #[test]
    fn an_action_in_words_begins_with_i() {
        assert!(is_action("I clicked 'PDF'."));
        assert!(!is_action("I think it ran."));
        let long = "word ".repeat(60);
        assert_eq!(beginning(long.trim()).len(), 199);
        assert_eq!(beginning("ls -R"), "ls -R");
    }
}
