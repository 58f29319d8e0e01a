//! The encodings of models, and their prices.

mod table;

use std::fmt;

use accp_registry::nearest;

use accp_frame::TokenCounter;

use crate::bpe::Bpe;
use crate::media::MediaPrices;
use table::Fit;

/// The most names that an error suggests.
const SUGGESTED: usize = 3;

/// The counter for a model, and whether its encoding is the model's own.
///
/// [`Display`](fmt::Display) gives the name to print next to a count: the name of the encoding, with `(substitute)`
/// if the encoding is not the model's own. The name of the [`TokenCounter`] says the same in words, with the error
/// of the substitute.
#[derive(Debug, Clone)]
pub struct ModelCounter {
    /// Counts the tokens.
    pub counter: Bpe,
    /// Whether the model is known to use this encoding. If false, the encoding is a substitute for
    /// a tokenizer that is not public or not built in.
    pub exact: bool,
    /// What the model's provider bills for pictures, documents and sounds; `None` if no model was named.
    pub media: Option<MediaPrices>,
    name: String,
}

impl ModelCounter {
    /// Returns the warning to print next to a count: it says which encoding is the substitute for the model's own
    /// encoding, and how far off the count is. `None` if the count is exact.
    ///
    /// ```
    /// use accp_tokens::Bpe;
    ///
    /// let said = Bpe::for_model("claude-opus-4-5")?.substitute().unwrap();
    /// assert!(said.starts_with("counted with o200k_base as a substitute for the tokenizer of claude-opus-4-5, "));
    /// assert!(said.contains("error of about 22 %"));
    /// assert_eq!(Bpe::for_model("gpt-4o")?.substitute(), None);
    /// # Ok::<(), accp_tokens::UnknownModel>(())
    /// ```
    pub fn substitute(&self) -> Option<String> {
        (!self.exact).then(|| format!("counted with {}", self.name))
    }
}

impl From<Bpe> for ModelCounter {
    /// Counts in an encoding, whatever the model is.
    fn from(counter: Bpe) -> Self {
        Self {
            name: counter.name().to_owned(),
            counter,
            exact: true,
            media: None,
        }
    }
}

impl TokenCounter for ModelCounter {
    fn name(&self) -> &str {
        &self.name
    }

    fn count(&self, text: &str) -> usize {
        self.counter.count(text)
    }

    fn count_to(&self, text: &str, limit: usize) -> Option<usize> {
        self.counter.count_to(text, limit)
    }
}

/// A name that is not the name of a model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownModel {
    /// The name.
    pub model: String,
    /// The most similar names of models; examples if no name is similar.
    pub nearest: Vec<&'static str>,
}

impl fmt::Display for UnknownModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "`{}` is not the name of a known model; the nearest {} {}; name the model whose tokenizer yours has, or \
             an encoding: {}",
            self.model,
            if self.nearest.len() == 1 { "is" } else { "are" },
            self.nearest.join(", "),
            Bpe::ENCODINGS.join(" or ")
        )
    }
}

impl std::error::Error for UnknownModel {}

impl UnknownModel {
    fn new(model: &str) -> Self {
        let rows = table::O200K.iter().chain(&table::CL100K);
        let rows = rows.chain(&table::UNPUBLISHED);
        let names = rows.flat_map(|(names, _)| names.iter().copied());
        let names = names.filter(|name| !name.ends_with('.'));
        let mut names: Vec<_> = names.chain(table::EXAMPLES).collect();
        let mut found = Vec::new();
        while found.len() < SUGGESTED
            && let Some(near) = nearest(table::base(model), names.iter().copied())
        {
            names.retain(|name| *name != near);
            found.push(near);
        }
        if found.is_empty() {
            found.extend(["gpt-5", "gpt-4o", "claude-opus-4-5", "gemini-2.5-pro"]);
        }
        Self {
            model: model.to_owned(),
            nearest: found,
        }
    }
}

impl Bpe {
    /// Returns the encoding of a model. For a model whose tokenizer is not public, this is [`Bpe::default`], marked
    /// as a substitute, together with the known error of the substitute.
    ///
    /// The function knows OpenAI's models from GPT-3.5 on, with any suffix (`gpt-4o-2024-05-13`), fine-tuned
    /// (`ft:gpt-4o:org`), or behind routers (`openrouter/openai/gpt-4o`), and the names of Claude, Gemini and other common
    /// models.
    ///
    /// ```
    /// use accp_tokens::{Bpe, TokenCounter};
    ///
    /// let known = Bpe::for_model("gpt-4-0314")?;
    /// assert_eq!((known.counter.name(), known.exact), ("cl100k_base", true));
    ///
    /// let claude = Bpe::for_model("claude-sonnet-4-5")?;
    /// assert_eq!((claude.counter.name(), claude.exact), ("o200k_base", false));
    ///
    /// let mistyped = Bpe::for_model("gpt4o").unwrap_err();
    /// assert_eq!(mistyped.nearest[0], "gpt-4o");
    /// # Ok::<(), accp_tokens::UnknownModel>(())
    /// ```
    ///
    /// # Errors
    /// When no known model has this name, with the nearest names.
    pub fn for_model(model: &str) -> Result<ModelCounter, UnknownModel> {
        let known = table::known(model).ok_or_else(|| UnknownModel::new(model))?;
        let counter = (known.counter)();
        let encoding = counter.name();
        let error = match known.fit {
            Fit::Own => None,
            Fit::Measured {
                least,
                most,
                source,
            } if least == most => Some(format!("error of about {least} % ({source})")),
            Fit::Measured {
                least,
                most,
                source,
            } => Some(format!("error of about {least} to {most} % ({source})")),
            Fit::Unmeasured => Some("error not measured".to_owned()),
        };
        let name = match &error {
            None => encoding.to_owned(),
            Some(error) => {
                format!("{encoding} as a substitute for the tokenizer of {model}, {error}")
            }
        };
        Ok(ModelCounter {
            counter,
            exact: error.is_none(),
            media: Some(known.media),
            name,
        })
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
            let ours = Bpe::for_model(model).unwrap();
            assert!(ours.exact, "{model}");
            assert_eq!(Some(ours.counter.name()), reference(model), "{model}");
        }
    }

    #[test]
    fn models_without_a_public_tokenizer_are_counted_with_a_substitute_that_says_its_error() {
        let cases = [
            ("claude-opus-4-5", "about 22 %"),
            ("claude-opus-4-5-20251101", "about 22 %"),
            ("claude-3-5-sonnet-20241022", "about 22 %"),
            ("claude-opus-4-20250514", "about 22 %"),
            ("claude-2.1", "about 22 %"),
            ("anthropic/claude-haiku-4.5", "about 22 %"),
            ("us.anthropic.claude-sonnet-4-5-20250929-v1:0", "about 22 %"),
            ("claude-opus-4-7", "about 22 to 64 %"),
            ("anthropic/claude-opus-4.7", "about 22 to 64 %"),
            ("claude-sonnet-5", "about 22 to 64 %"),
            ("gemini-2.5-pro", "not measured"),
            ("google/gemini-3-pro-preview", "not measured"),
            ("meta-llama/Llama-3.3-70B-Instruct", "not measured"),
            ("Qwen/Qwen2.5-7B", "not measured"),
            ("gpt-6", "not measured"),
            ("openrouter/anthropic/claude-opus-4.5", "about 22 %"),
            ("vertex_ai/claude-sonnet-4@20250514", "about 22 %"),
        ];
        for (model, error) in cases {
            let ours = Bpe::for_model(model).unwrap();
            assert_eq!(ours.to_string(), "o200k_base (substitute)", "{model}");
            let said = ours.substitute().unwrap();
            let begins = format!(
                "counted with o200k_base as a substitute for the tokenizer of {model}, error "
            );
            assert!(said.starts_with(&begins) && said.contains(error), "{said}");
        }
    }

    #[test]
    fn another_name_is_refused_with_the_nearest() {
        for (model, near) in [
            ("", "gpt-5"),
            ("no-such-model", "gpt-5"),
            ("GPT-4O", "gpt-4o"),
            ("gpt4o", "gpt-4o"),
            ("o1x", "o1"),
            ("gpt-50", "gpt-5"),
            ("claude-opsu-4-5", "claude-opus-4-5"),
            ("claude", "gpt-5"),
            ("gpt-4oo", "gpt-4o"),
            ("my-gpt-4o", "gpt-4o"),
            ("ft:", "gpt-5"),
            ("voyage-3", "gpt-5"),
            ("-", "gpt-5"),
            ("azure/gpt4o-mini", "gpt-4o-mini"),
        ] {
            let refused = Bpe::for_model(model).unwrap_err();
            assert_eq!(refused.nearest[0], near, "{model}");
            let said = refused.to_string();
            assert!(said.contains(near) && said.contains("o200k_base"), "{said}");
        }
    }

    #[test]
    fn pictures_have_the_price_of_the_model() {
        let price = |model: &str| {
            let media = Bpe::for_model(model).unwrap().media.unwrap();
            let pixels = Some((1_024, 1_024));
            let detail = crate::Detail::High;
            media.tokens(&crate::Medium::Image { pixels, detail })
        };
        for (model, tokens) in [
            ("gpt-4o-2024-05-13", 765),
            ("gpt-4o-mini", 25_501),
            ("gpt-5-codex", 630),
            ("gpt-4.1-mini-2025-04-14", 1_659),
            ("gpt-5-nano", 2_520),
            ("o3", 675),
            ("gpt-5.2", 1_024),
            ("gpt-5.4", 1_229),
            ("claude-sonnet-4-5", 1_399),
            ("claude-opus-4-7", 1_369),
            ("gemini-2.5-pro", 1_032),
            ("mistral-large", 1_600),
        ] {
            assert_eq!(price(model), tokens, "{model}");
        }
    }

    #[test]
    fn the_prefix_of_a_router_is_taken_off() {
        assert_eq!(
            Bpe::for_model("openai/gpt-4").unwrap().to_string(),
            "cl100k_base"
        );
        for model in [
            "openai/ft:gpt-4o:org",
            "azure/gpt-4o",
            "openrouter/openai/gpt-4o:extended",
            "gpt-4o@2024-08-06",
            "azure/ft:gpt-4o-mini-2024-07-18:org::id",
        ] {
            assert_eq!(
                Bpe::for_model(model).unwrap().to_string(),
                "o200k_base",
                "{model}"
            );
        }
    }

    proptest! {
        #[test]
        fn an_exact_answer_never_contradicts_tiktoken(
            row in prop::sample::select(
                table::O200K.iter().chain(&table::CL100K).flat_map(|row| row.0).copied().collect::<Vec<_>>()
            ),
            suffix in "[-.a-z0-9:]{0,8}",
        ) {
            let model = format!("{row}{suffix}");
            if let Ok(ours) = Bpe::for_model(&model)
                && let (true, Some(theirs)) = (ours.exact, reference(&model))
            {
                prop_assert_eq!(ours.counter.name(), theirs, "{}", model);
            }
        }

        #[test]
        fn any_name_is_answered(model in prop_oneof![any::<String>(), "(claude-)?[-.a-z0-9:/]{0,12}"]) {
            match Bpe::for_model(&model) {
                Ok(ours) => prop_assert!(ours.exact || ours.substitute().is_some()),
                Err(refused) => prop_assert!(!refused.nearest.is_empty()),
            }
        }
    }
}
