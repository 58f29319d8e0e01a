//! The encodings of models.

use crate::{Bpe, TokenCounter};
use std::fmt;

/// The counter for a model, and whether it is the model's own.
///
/// [`Display`](fmt::Display) gives the name to print beside a count: the name of the encoding, with
/// `(substitute)` if the encoding is not the model's own.
#[derive(Debug, Clone, Copy)]
pub struct ModelCounter {
    /// Counts the tokens.
    pub counter: Bpe,
    /// Whether the model is known to use this encoding. If false, the encoding is a substitute for
    /// a tokenizer that is not public or not built in.
    pub exact: bool,
}

impl Bpe {
    /// Returns the encoding of a model, or [`Bpe::default`] marked as a substitute.
    ///
    /// It knows OpenAI's models from GPT-3.5 on, with any suffix (`gpt-4o-2024-05-13`), fine-tuned
    /// (`ft:gpt-4o:org`), or behind a router (`openai/gpt-4o`). A name that is merely similar does
    /// not match.
    ///
    /// ```
    /// use accp_tokens::{Bpe, TokenCounter};
    ///
    /// let known = Bpe::for_model("gpt-4-0314");
    /// assert_eq!((known.counter.name(), known.exact), ("cl100k_base", true));
    ///
    /// let unknown = Bpe::for_model("some-model");
    /// assert_eq!((unknown.counter.name(), unknown.exact), ("o200k_base", false));
    /// ```
    pub fn for_model(model: &str) -> ModelCounter {
        let model = base(model);
        if is_one_of(&O200K_MODELS, model) {
            ModelCounter {
                counter: Self::o200k_base(),
                exact: true,
            }
        } else if is_one_of(&CL100K_MODELS, model) {
            ModelCounter {
                counter: Self::cl100k_base(),
                exact: true,
            }
        } else {
            ModelCounter {
                counter: Self::default(),
                exact: false,
            }
        }
    }
}

impl fmt::Display for ModelCounter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.counter.name())?;
        if self.exact {
            Ok(())
        } else {
            f.write_str(" (substitute)")
        }
    }
}

/// Models that count in `o200k_base`, as tiktoken's `model.py` lists them.
///
/// A row matches its name, and its name followed by `-` and more. A row that ends in `.` matches
/// any continuation: the minor versions of a generation.
const O200K_MODELS: [&str; 11] = [
    "o1",
    "o3",
    "o4-mini",
    "gpt-5",
    "gpt-5.",
    "gpt-4.5",
    "gpt-4.1",
    "gpt-4o",
    "chatgpt-4o",
    "codex-mini",
    // Its encoding, o200k_harmony, differs from o200k_base in special tokens only.
    "gpt-oss",
];

/// Models that count in `cl100k_base`, in rows of the same format.
const CL100K_MODELS: [&str; 7] = [
    "gpt-4",
    "gpt-3.5",
    "gpt-35-turbo",
    "davinci-002",
    "babbage-002",
    "text-embedding-ada-002",
    "text-embedding-3",
];

/// Returns the model under a fine-tuning or a router's name.
fn base(model: &str) -> &str {
    let model = model.strip_prefix("openai/").unwrap_or(model);
    match model.strip_prefix("ft:") {
        Some(tuned) => tuned.split(':').next().unwrap_or(tuned),
        None => model,
    }
}

fn is_one_of(rows: &[&str], model: &str) -> bool {
    rows.iter().any(|row| {
        model
            .strip_prefix(row)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('-') || row.ends_with('.'))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use tiktoken_rs::tokenizer::{Tokenizer, get_tokenizer};

    /// Returns tiktoken's encoding of a model; `None` if tiktoken does not know the model.
    fn reference(model: &str) -> Option<&'static str> {
        match get_tokenizer(model)? {
            Tokenizer::O200kBase | Tokenizer::O200kHarmony => Some("o200k_base"),
            Tokenizer::Cl100kBase => Some("cl100k_base"),
            _ => Some("an encoding of retired models"),
        }
    }

    #[test]
    fn models_that_tiktoken_knows_are_exact_and_the_same() {
        for model in [
            "o1",
            "o1-preview",
            "o3",
            "o3-mini",
            "o4-mini",
            "o4-mini-2025-04-16",
            "gpt-5",
            "gpt-5-mini",
            "gpt-5.2",
            "gpt-5.3-codex",
            "gpt-4.5-preview",
            "gpt-4.1",
            "gpt-4.1-nano",
            "gpt-4o",
            "gpt-4o-mini",
            "gpt-4o-2024-05-13",
            "chatgpt-4o-latest",
            "codex-mini-latest",
            "gpt-oss-20b",
            "gpt-4",
            "gpt-4-turbo",
            "gpt-4-32k-0314",
            "gpt-3.5",
            "gpt-3.5-turbo-0125",
            "gpt-35-turbo",
            "davinci-002",
            "babbage-002",
            "text-embedding-ada-002",
            "text-embedding-3-small",
            "text-embedding-3-large",
            "ft:gpt-4o:org:name:id",
            "ft:gpt-3.5-turbo:org",
            "ft:davinci-002:org",
        ] {
            let ours = Bpe::for_model(model);
            assert!(ours.exact, "{model}");
            assert_eq!(Some(ours.counter.name()), reference(model), "{model}");
        }
    }

    #[test]
    fn other_models_are_counted_with_the_marked_substitute() {
        for model in [
            "",
            "-",
            "claude-sonnet",
            "gemini-pro",
            "llama-3",
            "GPT-4O",
            "o1x",
            "o4",
            "gpt-4.7",
            "gpt-4all",
            "gpt-50",
            "my-gpt-4o",
            "someone/gpt-4o",
            "ft:",
            "ft:claude",
            "text-davinci-003",
            "gpt2",
            "voyage-3",
        ] {
            assert_eq!(
                Bpe::for_model(model).to_string(),
                "o200k_base (substitute)",
                "{model}"
            );
        }
    }

    #[test]
    fn the_prefix_of_a_router_is_taken_off() {
        assert_eq!(Bpe::for_model("openai/gpt-4").to_string(), "cl100k_base");
        assert_eq!(
            Bpe::for_model("openai/ft:gpt-4o:org").to_string(),
            "o200k_base"
        );
    }

    proptest! {
        #[test]
        fn an_exact_answer_never_contradicts_tiktoken(
            row in prop::sample::select([&O200K_MODELS[..], &CL100K_MODELS].concat()),
            suffix in "[-.a-z0-9:]{0,8}",
        ) {
            let model = format!("{row}{suffix}");
            let ours = Bpe::for_model(&model);
            if let (true, Some(theirs)) = (ours.exact, reference(&model)) {
                prop_assert_eq!(ours.counter.name(), theirs, "{}", model);
            }
        }

        #[test]
        fn any_name_is_answered(model in any::<String>()) {
            let ours = Bpe::for_model(&model);
            prop_assert!(ours.exact || ours.counter.name() == "o200k_base");
        }
    }
}
