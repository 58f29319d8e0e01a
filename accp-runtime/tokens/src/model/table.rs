//! The models that are known: how each counts text, and what pictures cost.

use crate::bpe::Bpe;
use crate::media::MediaPrices;

/// What is known of a model.
#[derive(Debug, Clone, Copy)]
pub(super) struct Known {
    pub(super) counter: fn() -> Bpe,
    pub(super) fit: Fit,
    pub(super) media: MediaPrices,
}

/// How well an encoding fits a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fit {
    /// The model itself uses the encoding.
    Own,
    /// The model takes more tokens than the encoding counts: `least` to `most` percent more, according to `source`.
    Measured {
        least: u32,
        most: u32,
        source: &'static str,
    },
    /// Nobody has published how the encoding compares with the model's own.
    Unmeasured,
}

impl Fit {
    /// Claude up to 4.6. The three figures are for English, mathematics and Python.
    const CLAUDE: Self = Self::Measured {
        least: 22,
        most: 22,
        source: "16, 21 and 30 % more tokens than GPT-4o were published for Claude 3.5 Sonnet in May 2025",
    };
    /// Claude from 4.7 on: 1.0 to 1.35 times as many tokens as the models before.
    const CLAUDE_4_7: Self = Self::Measured {
        least: 22,
        most: 64,
        source: "16, 21 and 30 % more tokens than GPT-4o were published for Claude 3.5 Sonnet in May 2025, and \
                 Anthropic says that models from Opus 4.7 on take 1.0 to 1.35 times as many again",
    };
}

type Row = (&'static [&'static str], MediaPrices);

/// Models that count in `o200k_base`, as tiktoken's `model.py` lists them. A longer name stands before the names
/// that it begins with.
///
/// A name matches the model of that name. It also matches when `-`, or the `:` or `@` of a router, and more text
/// follow the name. A name that ends in `.` matches any continuation: the minor versions of a generation.
pub(super) const O200K: [Row; 11] = [
    (&["gpt-4o-mini"], MediaPrices::tiles(2_833, 5_667)),
    (
        &["gpt-4.1-mini", "gpt-5-mini", "gpt-5.4-mini"],
        MediaPrices::patches(162),
    ),
    (
        &["gpt-4.1-nano", "gpt-5-nano", "gpt-5.4-nano"],
        MediaPrices::patches(246),
    ),
    (&["o4-mini", "codex-mini"], MediaPrices::patches(172)),
    (&["gpt-5", "gpt-5.1"], MediaPrices::tiles(70, 140)),
    (&["gpt-5.2", "gpt-5.3"], MediaPrices::patches(100)),
    (&["gpt-5.4"], MediaPrices::fine_patches(false)),
    (&["gpt-5."], MediaPrices::fine_patches(true)),
    (
        &["gpt-4.5", "gpt-4.1", "gpt-4o", "chatgpt-4o"],
        MediaPrices::openai(),
    ),
    (&["o1", "o3"], MediaPrices::tiles(75, 150)),
    // The encoding of gpt-oss, o200k_harmony, differs from o200k_base in special tokens only.
    (&["gpt-oss"], MediaPrices::flat()),
];

/// Models that count in `cl100k_base`, in rows of the same format.
pub(super) const CL100K: [Row; 2] = [
    (&["gpt-4"], MediaPrices::openai()),
    (
        &[
            "gpt-3.5",
            "gpt-35-turbo",
            "davinci-002",
            "babbage-002",
            "text-embedding-ada-002",
            "text-embedding-3",
        ],
        MediaPrices::flat(),
    ),
];

/// Models of OpenAI whose encoding is not published, in rows of the same format.
pub(super) const UNPUBLISHED: [Row; 2] = [
    (&["computer-use-preview"], MediaPrices::tiles(65, 129)),
    (&["gpt-6", "gpt-6."], MediaPrices::fine_patches(true)),
];

/// The beginnings of the names of other vendors' models. In a name, a digit or one of `-`, `.`, `:` follows.
pub(super) const OTHERS: [&str; 22] = [
    "gemini",
    "gemma",
    "llama",
    "meta-llama",
    "mistral",
    "ministral",
    "mixtral",
    "magistral",
    "codestral",
    "devstral",
    "pixtral",
    "qwen",
    "qwq",
    "deepseek",
    "grok",
    "command",
    "kimi",
    "glm",
    "minimax",
    "phi",
    "nova",
    "jamba",
];

/// The families of Claude.
const CLAUDE: [&str; 6] = ["opus", "sonnet", "haiku", "instant", "fable", "mythos"];

/// Names of other vendors' models, for suggestions in errors.
pub(super) const EXAMPLES: [&str; 14] = [
    "claude-opus-4-7",
    "claude-opus-4-5",
    "claude-opus-4-1",
    "claude-sonnet-4-5",
    "claude-sonnet-4",
    "claude-haiku-4-5",
    "claude-3-7-sonnet",
    "claude-3-5-sonnet",
    "claude-3-5-haiku",
    "gemini-2.5-pro",
    "gemini-2.5-flash",
    "llama-3.3-70b",
    "mistral-large",
    "deepseek-chat",
];

/// Returns what is known of a model.
pub(super) fn known(name: &str) -> Option<Known> {
    let model = base(name);
    let own = |counter, fit, media| Known {
        counter,
        fit,
        media,
    };
    if let Some(media) = row(&O200K, model) {
        return Some(own(Bpe::o200k_base, Fit::Own, media));
    }
    if let Some(media) = row(&CL100K, model) {
        return Some(own(Bpe::cl100k_base, Fit::Own, media));
    }
    let (fit, media) = if let Some(media) = row(&UNPUBLISHED, model) {
        (Fit::Unmeasured, media)
    } else if let Some(version) = claude(name) {
        if version >= (4, 7) {
            (Fit::CLAUDE_4_7, MediaPrices::fine_claude())
        } else {
            (Fit::CLAUDE, MediaPrices::anthropic())
        }
    } else {
        let is_gemini = other(name)? == "gemini";
        let media = if is_gemini {
            MediaPrices::gemini()
        } else {
            MediaPrices::flat()
        };
        (Fit::Unmeasured, media)
    };
    Some(own(Bpe::o200k_base, fit, media))
}

/// Returns the model's own name, without the parts of a fine-tuning or of routers: `azure/gpt-4o`,
/// `openrouter/openai/gpt-4o`.
pub(super) fn base(model: &str) -> &str {
    let model = model.rsplit_once('/').map_or(model, |(_, model)| model);
    match model.strip_prefix("ft:") {
        Some(tuned) => tuned.split(':').next().unwrap_or(tuned),
        None => model,
    }
}

fn row(rows: &[Row], model: &str) -> Option<MediaPrices> {
    let matches = |name: &&str| {
        let rest = model.strip_prefix(*name);
        rest.is_some_and(|rest| {
            rest.is_empty() || rest.starts_with(['-', ':', '@']) || name.ends_with('.')
        })
    };
    let mut rows = rows.iter();
    rows.find(|(names, _)| names.iter().any(&matches))
        .map(|(_, media)| *media)
}

/// Returns the version of a model of Claude: `claude-3-5-sonnet-20241022`, `anthropic/claude-opus-4.5`,
/// `us.anthropic.claude-sonnet-4-5-20250929-v1:0`.
fn claude(name: &str) -> Option<(u32, u32)> {
    let (before, rest) = name.split_once("claude-")?;
    if !(before.is_empty() || before.ends_with(['/', '.'])) {
        return None;
    }
    let words: Vec<_> = rest.split(['-', '.', '@', ':']).collect();
    let is_number = |word: &&&str| {
        (1..=2).contains(&word.len()) && word.bytes().all(|byte| byte.is_ascii_digit())
    };
    let first = words.iter().position(|word| is_number(&word))?;
    let mut numbers = words[first..].iter().take_while(is_number);
    let mut next = || numbers.next()?.parse().ok();
    let version = (next()?, next().unwrap_or(0));
    // The family is before or after the version. The first models had no family.
    let is_family = |word: &&str| CLAUDE.contains(word);
    let is_known = match first {
        0 => version.0 < 3 || words.iter().any(is_family),
        _ => words[..first].iter().all(is_family),
    };
    is_known.then_some(version)
}

/// Returns the family of a model of another vendor.
fn other(name: &str) -> Option<&'static str> {
    let model = name.rsplit('/').next()?.to_ascii_lowercase();
    OTHERS.into_iter().find(|family| {
        let rest = model.strip_prefix(family);
        rest.is_some_and(|rest| {
            let next = rest.chars().next();
            next.is_some_and(|next| next.is_ascii_digit() || "-.:".contains(next))
        })
    })
}
