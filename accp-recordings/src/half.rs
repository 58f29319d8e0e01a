//! Two halves of a file: what is learnt from one is measured on the other.

use std::borrow::Cow;

use serde_json::Value as Json;
use sha2::{Digest as _, Sha256};

/// A half of the conversations of a file, told apart by their ids alone; one without an id goes
/// by all that it says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Half {
    /// Where the last bit of the first byte of SHA-256 over the id is 0
    Learn,
    /// Where it is 1
    Measure,
}

impl Half {
    /// The half that a conversation belongs to, whatever file it stands in.
    pub fn of(conversation: &Json) -> Self {
        let id = match conversation.get("id") {
            Some(Json::String(id)) => Cow::Borrowed(&**id),
            Some(id @ Json::Number(_)) => Cow::Owned(id.to_string()),
            _ => Cow::Owned(conversation.to_string()),
        };
        if Sha256::digest(id.as_bytes())[0] & 1 == 0 {
            Self::Learn
        } else {
            Self::Measure
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_halves_never_change() {
        let halves: String = (0..16)
            .map(|id| match Half::of(&json!({ "id": id.to_string() })) {
                Half::Learn => 'l',
                Half::Measure => 'm',
            })
            .collect();
        insta::assert_snapshot!(halves, @"mmllmmmmlmlmmmml");
        let number = Half::of(&json!({ "id": 2 }));
        assert_eq!(number, Half::of(&json!({ "id": "2", "messages": [] })));
    }

    #[test]
    fn without_an_id_it_goes_by_what_it_says() {
        let half = |n: u32| Half::of(&json!({ "messages": [n] }));
        assert!((0..16).any(|n| half(n) != half(0)));
    }
}
