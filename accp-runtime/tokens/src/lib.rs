//! Exact BPE token counts of ACCP frames, and of any other text.
//!
//! Every budget and limit of ACCP is in tokens (draft sections 3.4, 5.1 and 7.1), and the encode
//! pipeline counts with a BPE tokenizer (section 6.4), so this crate never estimates. For the
//! encodings `o200k_base` and `cl100k_base`, [`Bpe`] counts exactly as `tiktoken` does. The runtime
//! uses it as a [`TokenCounter`].
//!
//! ```
//! use accp_tokens::{Bpe, TokenCounter};
//!
//! let bpe = Bpe::o200k_base();
//! assert_eq!(bpe.count("What are Q3 findings?"), 6);
//!
//! let frame = "@research>done:analyze{d:q3_sales|f:[rev:-12%QoQ,ent_seg:decline,churn:+3.2%]\
//!              |nx:@strategy:plan}";
//! assert_eq!(bpe.count(frame), 41);
//! ```
//!
//! # Choice of the encoding
//!
//! [`Bpe::for_encoding`] takes the name of an encoding, and [`Bpe::for_model`] the name of a model.
//! Most vendors publish no tokenizer. For a model of such a vendor, a named substitute counts. The result is marked as
//! the count of a substitute, with the known error of the substitute. Print this mark next to the number. A name that
//! no known model has is refused.
//!
//! ```
//! use accp_tokens::Bpe;
//!
//! assert_eq!(Bpe::for_model("gpt-4.1-mini")?.to_string(), "o200k_base");
//! assert_eq!(Bpe::for_model("claude-sonnet-4-5")?.to_string(), "o200k_base (substitute)");
//! assert!(Bpe::for_model("some-model").is_err());
//! # Ok::<(), accp_tokens::UnknownModel>(())
//! ```
//!
//! # Pictures, documents and sounds
//!
//! A provider bills media by their size, and not by their bytes. [`Medium`] describes a picture, a document or another
//! medium, and [`MediaPrices`] gives its price.
//!
//! # Contents of a count
//!
//! - The text as it stands: no Unicode normalisation, no trimming. Special tokens such as
//!   `<|endoftext|>` are counted as ordinary text.
//! - The text that a provider adds around a message is not counted.
//! - Token counts do not add up: two texts counted apart may have more or fewer tokens than the
//!   joined text. If you need the count of the joined text, count the joined text.
//!
//! # Costs
//!
//! Counting takes time linear in the length of every text, and little memory: a million spaces or a word of ten megabytes are no
//! worse than prose. The tables are part of the binary (3.1 MB for `o200k_base`, 1.5 MB for `cl100k_base`), and are
//! used without unpacking. [`TokenCounter::count_to`] stops at a limit, and [`GrowingCount`] counts only the new part
//! of a text that grows.
//!
//! # Features
//!
//! - `tiktoken`: `Tiktoken`, which counts with tiktoken-rs in the other encodings that tiktoken-rs knows.

mod bpe;
mod engine;
mod growing;
mod media;
mod model;
#[cfg(feature = "tiktoken")]
mod tiktoken;

pub use crate::bpe::Bpe;
pub use crate::growing::GrowingCount;
pub use crate::media::{Detail, MediaPrices, Medium};
pub use crate::model::{ModelCounter, UnknownModel};
#[cfg(feature = "tiktoken")]
pub use crate::tiktoken::Tiktoken;
pub use accp_frame::TokenCounter;

/// The examples of the README, compiled and run.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
