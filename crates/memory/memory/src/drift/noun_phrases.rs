//! Finds the noun phrases of a sentence by the articles before them.

words! {
    "noun_phrases.json";
    /// Articles and question words, which stand before a noun phrase.
    before,
    /// Verbs, prepositions and pronouns, which end a noun phrase.
    behind,
}

/// Returns the noun phrases of a sentence, in order: the words behind an article or a question word, up to the next
/// verb, preposition or punctuation mark. `of` does not end a phrase: `the phone number of the miller`.
pub(super) fn noun_phrases(sentence: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut phrase: Option<Vec<&str>> = None;
    for word in sentence.split_whitespace() {
        let bare = word.trim_matches(|c: char| !c.is_alphanumeric());
        let lower = bare.to_lowercase();
        let begins = WORDS.before.contains(&&*lower);
        let leads_on = begins
            && phrase
                .as_ref()
                .is_some_and(|words| words.last() == Some(&"of"));
        if begins && !leads_on || WORDS.behind.contains(&&*lower) {
            found.extend(phrase.take());
        }
        if begins && !leads_on {
            phrase = Some(Vec::new());
        } else if let Some(words) = &mut phrase
            && !begins
        {
            words.push(bare);
        }
        if word.ends_with([',', '.', '?', '!', ';', ':']) {
            found.extend(phrase.take());
        }
    }
    found.extend(phrase);
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
