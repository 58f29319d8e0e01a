//! The things that a sentence names, by their articles.

/// Words in front of a thing.
const BEFORE: [&str; 12] = [
    "the", "your", "which", "what", "whose", "a", "an", "any", "their", "its", "his", "her",
];
/// Words that do not belong to a thing any more.
const BEHIND: [&str; 46] = [
    "for", "so", "that", "is", "are", "was", "were", "this", "to", "with", "again", "should", "do",
    "does", "did", "can", "could", "would", "will", "you", "i", "me", "we", "us", "in", "from",
    "on", "before", "please", "at", "first", "as", "and", "or", "it", "here", "be", "by", "when",
    "if", "have", "has", "about", "mean", "seem", "refer",
];

/// Returns the things that a sentence names, in order: what stands behind an article or a question word, up to the
/// next verb, preposition or mark. `of` leads on: `the phone number of the miller`.
pub(super) fn noun_phrases(sentence: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut thing: Option<Vec<&str>> = None;
    for word in sentence.split_whitespace() {
        let bare = word.trim_matches(|c: char| !c.is_alphanumeric());
        let lower = bare.to_lowercase();
        let begins = BEFORE.contains(&&*lower);
        let leads_on = begins
            && thing
                .as_ref()
                .is_some_and(|words| words.last() == Some(&"of"));
        if begins && !leads_on || BEHIND.contains(&&*lower) {
            found.extend(thing.take());
        }
        if begins && !leads_on {
            thing = Some(Vec::new());
        } else if let Some(words) = &mut thing
            && !begins
        {
            words.push(bare);
        }
        if word.ends_with([',', '.', '?', '!', ';', ':']) {
            found.extend(thing.take());
        }
    }
    found.extend(thing);
    found.retain(|words| !words.is_empty());
    found.iter().map(|words| words.join(" ")).collect()
}

#[cfg(test)]
mod tests {
    use super::noun_phrases;

    #[test]
    fn things_stand_behind_articles() {
        for (sentence, expected) in [
            ("Could you tell me the opening hour?", vec!["opening hour"]),
            (
                "Sorry, what was the phone number of the miller again?",
                vec!["phone number of miller"],
            ),
            (
                "Which batch size should I use for the export?",
                vec!["batch size", "export"],
            ),
            (
                "I am missing your user ID, so please send it.",
                vec!["user ID"],
            ),
            ("Shall we go?", vec![]),
        ] {
            assert_eq!(noun_phrases(sentence), expected, "{sentence}");
        }
    }
}
