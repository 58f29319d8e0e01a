//! The options that name a model, and the model that a command asks.

use std::path::PathBuf;
use std::time::Duration;

use accp_aacp::Vocabulary;
use accp_aacp::fallback::{
    HttpEncoder, Instruction, LlmEncoder, ModelError, NoModel, Recorded, Style,
};
use clap::ValueEnum;

use super::super::vocabulary::{faulty, read};
use accp_console::outcome::Failure;

/// The environment variable that holds the key, unless the user names another variable.
const KEY: &str = "AACP_LLM_KEY";

/// The options that name a model.
#[derive(Debug, clap::Args)]
pub(super) struct ModelArgs {
    /// Ask a model on the server with this base URL
    #[arg(
        long,
        value_name = "URL",
        requires_all = ["instruction", "llm_model"],
        conflicts_with_all = ["llm_recorded", "no_llm"]
    )]
    llm_url: Option<String>,
    /// The style of requests that the server takes
    #[arg(long, value_enum, default_value_t, requires = "llm_url")]
    llm_style: LlmStyle,
    /// The name of the model
    #[arg(long, value_name = "NAME", requires = "llm_url")]
    llm_model: Option<String>,
    /// The environment variable that holds the key of the server [default: `AACP_LLM_KEY`, if it is set]
    #[arg(long, value_name = "NAME", requires = "llm_url")]
    llm_key_env: Option<String>,
    /// The most seconds that a call may take
    #[arg(
        long,
        value_name = "SECONDS",
        default_value_t = 30,
        value_parser = clap::value_parser!(u16).range(1..=600),
        requires = "llm_url"
    )]
    llm_timeout: u16,
    /// Take the answers from a file: one object a line with `english`, `answer` and, if it is for one
    /// domain only, `dom`
    #[arg(
        long,
        value_name = "FILE",
        requires = "instruction",
        conflicts_with = "no_llm"
    )]
    llm_recorded: Option<PathBuf>,
    /// Ask no model; this is the default
    #[arg(long, requires = "instruction")]
    no_llm: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
enum LlmStyle {
    /// POST /v1/messages
    Anthropic,
    /// POST /v1/chat/completions
    #[default]
    #[value(name = "openai")]
    OpenAi,
}

impl ModelArgs {
    /// Makes the model that the options name.
    pub(super) fn load(&self, vocabulary: &Vocabulary) -> Result<Model, Failure> {
        if let Some(path) = &self.llm_recorded {
            let answers = Recorded::from_lines(&path.display().to_string(), &read(path)?);
            return answers.map(Model::Recorded).map_err(|found| faulty(&found));
        }
        let Some(url) = &self.llm_url else {
            return Ok(Model::None(NoModel));
        };
        let style = match self.llm_style {
            LlmStyle::Anthropic => Style::Anthropic,
            LlmStyle::OpenAi => Style::OpenAi,
        };
        let model = self.llm_model.as_deref().unwrap_or_default();
        let encoder = HttpEncoder::new(url, style, model, self.key()?, vocabulary);
        let mut encoder = encoder.map_err(|error| Failure::Misuse(error.to_string()))?;
        encoder.set_deadline(Duration::from_secs(self.llm_timeout.into()));
        Ok(Model::Http(Box::new(encoder)))
    }

    /// Returns the key. It is not an option of the command, because other users can see the options of a
    /// process.
    fn key(&self) -> Result<Option<String>, Failure> {
        let name = self.llm_key_env.as_deref().unwrap_or(KEY);
        match std::env::var(name) {
            Ok(key) => Ok(Some(key)),
            Err(_) if self.llm_key_env.is_none() => Ok(None),
            Err(_) => Err(Failure::Misuse(format!(
                "the environment has no variable `{name}` with a key; set it, or leave out --llm-key-env"
            ))),
        }
    }
}

/// The model that a command asks.
#[derive(Clone)]
pub(super) enum Model {
    None(NoModel),
    Recorded(Recorded),
    Http(Box<HttpEncoder>),
}

impl LlmEncoder for Model {
    fn deadline(&self) -> Option<Duration> {
        match self {
            Self::None(model) => model.deadline(),
            Self::Recorded(model) => model.deadline(),
            Self::Http(model) => model.deadline(),
        }
    }

    fn answer(&mut self, instruction: &Instruction, dom: &str) -> Result<String, ModelError> {
        match self {
            Self::None(model) => model.answer(instruction, dom),
            Self::Recorded(model) => model.answer(instruction, dom),
            Self::Http(model) => model.answer(instruction, dom),
        }
    }
}
