//! Names and codes of schemas, and abbreviations of fields. Codes and abbreviations are chosen by
//! their cost in their places.

use std::collections::BTreeSet;

use accp_frame::TokenCounter;
use accp_registry::{Abbreviation, Registry, abbreviate};

/// First words of tool names that name an action and not its subject.
pub(crate) const VERBS: [&str; 12] = [
    "add", "create", "delete", "fetch", "find", "get", "list", "lookup", "query", "read", "search",
    "update",
];

/// Returns the words of a name, in small letters.
pub(crate) fn words(name: &str) -> Vec<String> {
    accp_registry::words(name)
        .map(str::to_ascii_lowercase)
        .collect()
}

/// Returns the words of a tool name without a leading verb, unless the verb is the only word.
pub(crate) fn subject(tool: &str) -> Vec<String> {
    let mut words = words(tool);
    if words.len() > 1 && VERBS.contains(&words[0].as_str()) {
        words.remove(0);
    }
    words
}

/// Makes the last word singular: `flights` becomes `flight`.
pub(crate) fn singular(words: &mut [String]) {
    let Some(last) = words.last_mut() else { return };
    let stem = |end: &str| last.strip_suffix(end).filter(|stem| stem.len() > 1);
    let one = if let Some(stem) = stem("ies") {
        format!("{stem}y")
    } else if let Some(stem) =
        stem("es").filter(|stem| ["s", "x", "ch", "sh"].iter().any(|end| stem.ends_with(end)))
    {
        stem.to_owned()
    } else if let Some(stem) = stem("s").filter(|stem| !stem.ends_with(['s', 'u', 'i'])) {
        stem.to_owned()
    } else {
        return;
    };
    *last = one;
}

/// The names and codes that are taken.
#[derive(Debug)]
pub(crate) struct Taken {
    names: BTreeSet<String>,
    codes: BTreeSet<String>,
}

impl Taken {
    /// Takes the names and codes of the standard profiles, which are part of every registry.
    pub(crate) fn standard() -> Self {
        let schemas = || Registry::shared().schemas();
        Self {
            names: schemas()
                .map(|schema| words(&schema.name).concat())
                .collect(),
            codes: schemas().map(|schema| schema.code.clone()).collect(),
        }
    }

    /// Takes the first free name of these, else the first of these with a number.
    pub(crate) fn name(&mut self, wanted: &[Vec<String>]) -> Vec<String> {
        let plain = vec!["record".to_owned()];
        let mut wanted: Vec<Vec<String>> = wanted
            .iter()
            .filter(|words| !words.is_empty())
            .cloned()
            .collect();
        if wanted.is_empty() {
            wanted.push(plain);
        }
        let numbered = |number: usize| [&wanted[0][..], &[number.to_string()]].concat();
        let free = |words: &Vec<String>| !self.names.contains(&words.concat());
        // More numbers are tried than names are taken, so one is free.
        let name = wanted.iter().find(|words| free(words)).cloned();
        let name = name.or_else(|| (2..=self.names.len() + 2).map(numbered).find(free));
        let name = name.unwrap_or_default();
        self.names.insert(name.concat());
        name
    }

    /// Takes the free code that costs fewest tokens before a record or a table. Of equally cheap
    /// codes it takes the initials of the name, else the code most like the name.
    pub(crate) fn code(&mut self, name: &[String], counter: &impl TokenCounter) -> String {
        let letters = |word: &String| word.to_ascii_uppercase();
        let words: Vec<String> = name.iter().map(letters).collect();
        let only = |text: &str| -> String {
            text.chars()
                .filter(char::is_ascii_uppercase)
                .take(3)
                .collect()
        };
        let initials: String = words
            .iter()
            .filter_map(|word| word.chars().next())
            .collect();
        let whole = words.concat();
        let mut wanted = vec![only(&initials)];
        for length in [2, 1, 3] {
            wanted.push(only(&whole).chars().take(length).collect());
        }
        let first = only(&whole).chars().next().unwrap_or('X');
        wanted.extend(initials.chars().chain(whole.chars()).map(|c| c.to_string()));
        wanted.extend(whole.chars().skip(1).map(|c| format!("{first}{c}")));
        wanted.extend(('A'..='Z').map(|c| c.to_string()));
        let pairs = ('A'..='Z').flat_map(|a| ('A'..='Z').map(move |b| format!("{a}{b}")));
        let triples = ('A'..='Z').flat_map(|a| ('A'..='Z').map(move |b| format!("{first}{a}{b}")));
        wanted.retain(|code| {
            !code.is_empty()
                && code.chars().all(|c| c.is_ascii_uppercase())
                && !self.codes.contains(code)
        });
        let cost = |code: &String| -> usize {
            let places = [("\n", "("), (",", "("), (":", "["), ("", "[")];
            let cost = |(before, after)| counter.count(&format!("{before}{code}{after}"));
            places.into_iter().map(cost).sum()
        };
        let cheapest = wanted
            .iter()
            .enumerate()
            .min_by_key(|(rank, code)| (cost(code), *rank));
        let code = cheapest.map(|(_, code)| code.clone());
        let free = |code: &String| !self.codes.contains(code);
        let code = code.or_else(|| pairs.chain(triples).find(free));
        // When all codes of letters are taken, the code is a letter and a number.
        let code = code.unwrap_or_else(|| format!("{first}{}", self.codes.len()));
        self.codes.insert(code.clone());
        code
    }
}

/// Returns the key on the wire for each of these fields: the name, its standard abbreviation, one of its words or
/// its initials. The cheapest key is taken, and the most readable of equally cheap keys.
pub(crate) fn abbreviations(names: &[String], counter: &impl TokenCounter) -> Vec<String> {
    let split: Vec<Vec<String>> = names.iter().map(|name| words(name)).collect();
    let mut shorts: Vec<String> = Vec::new();
    for (index, name) in names.iter().enumerate() {
        let mut wanted = vec![name.clone()];
        let initials: String = split[index]
            .iter()
            .filter_map(|word| word.chars().next())
            .collect();
        wanted.extend(abbreviate(name).map(str::to_owned));
        if split[index].len() > 1 {
            let elsewhere = |word: &&String| {
                let mut others = split.iter().enumerate();
                !others.any(|(other, words)| other != index && words.contains(word))
            };
            let mut parts: Vec<&String> = split[index].iter().filter(elsewhere).collect();
            parts.retain(|word| word.len() > 1);
            parts.sort_by_key(|word| std::cmp::Reverse(word.len()));
            wanted.extend(parts.into_iter().cloned());
            wanted.push(initials.clone());
        }
        let is_free = |short: &&String| {
            let entry = Abbreviation::lookup(short);
            let means = entry.is_none_or(|entry| {
                entry.full == *name || entry.also == Some(name.as_str()) || entry.short == *name
            });
            let mut others = names
                .iter()
                .enumerate()
                .filter(|(other, _)| *other != index);
            means
                && !others.any(|(_, other)| other == *short)
                && !shorts.contains(short)
                && *short != "schema"
        };
        let cost = |short: &&String| -> usize {
            let place = |before| counter.count(&format!("{before}{short}:"));
            let places = ["{", "|", ","];
            // Initials are hard to read: they must save more than a token.
            let toll = if **short == initials { places.len() } else { 0 };
            toll + places.into_iter().map(place).sum::<usize>()
        };
        let best = wanted.iter().filter(is_free).min_by_key(cost);
        shorts.push(best.unwrap_or(name).clone());
    }
    shorts
}

#[cfg(test)]
mod tests {
    use accp_tokens::Bpe;
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn words_and_their_singular() {
        for (name, expected) in [
            ("get_user_details", "get user details"),
            ("paymentMethods", "payment method"),
            ("HTTPServer", "http server"),
            ("cities", "city"),
            ("addresses", "address"),
            ("status", "status"),
            ("a-b c", "a b c"),
            ("_", ""),
        ] {
            let mut words = words(name);
            if name != "get_user_details" {
                singular(&mut words);
            }
            assert_eq!(words.join(" "), expected, "{name}");
        }
    }

    #[test]
    fn a_code_is_made_of_initials_as_long_as_they_are_free_and_cheap() {
        let mut taken = Taken::standard();
        let name = |words: &str| words.split(' ').map(str::to_owned).collect::<Vec<_>>();
        let codes = ["flight leg", "fancy lamp", "tool call", "é", "flight"]
            .map(|words| taken.code(&name(words), &Bpe::default()));
        insta::assert_snapshot!(codes.join(" "), @"F L T A I");
    }

    proptest! {
        #[test]
        fn no_key_means_two_fields(names in prop::collection::btree_set("[a-c]{1,3}(_[a-c]{1,2})?|data|d|query|q|format", 1..8)) {
            let names: Vec<String> = names.into_iter().collect();
            let shorts = abbreviations(&names, &Bpe::default());
            for (index, (name, short)) in names.iter().zip(&shorts).enumerate() {
                for (other, (full, abbreviated)) in names.iter().zip(&shorts).enumerate() {
                    prop_assert!(other == index || (short != full && short != abbreviated), "{name} {short}");
                }
            }
        }

        #[test]
        fn codes_are_distinct(names in prop::collection::vec("[a-z]{1,2}", 60)) {
            let mut taken = Taken::standard();
            let codes: Vec<String> = names.into_iter().map(|name| taken.code(&[name], &Bpe::default())).collect();
            let distinct: BTreeSet<&String> = codes.iter().collect();
            prop_assert_eq!(distinct.len(), codes.len());
            prop_assert!(codes.iter().all(|code| code.len() <= 3 && code.chars().all(|c| c.is_ascii_uppercase())));
        }
    }
}
