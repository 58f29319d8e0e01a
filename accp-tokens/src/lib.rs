//! Exact BPE token counts of ACCP frames, and of any other text.
//!
//! Every budget and limit of ACCP is in tokens (draft sections 3.4, 5.1 and 7.1), and the
//! encode pipeline counts with a BPE tokenizer (section 6.4), so this crate never estimates:
//! [`Bpe`] gives the number that `tiktoken` gives for the encodings `o200k_base` and
//! `cl100k_base`, and hands it to the runtime as a [`TokenCounter`].
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
//! # Which encoding
//!
//! [`Bpe::for_encoding`] takes the name of an encoding, [`Bpe::for_model`] that of a model. Most
//! vendors publish no tokenizer; for their models the count is that of a named substitute and is
//! marked as one. Print the mark next to the number.
//!
//! ```
//! use accp_tokens::Bpe;
//!
//! assert_eq!(Bpe::for_model("gpt-4.1-mini").to_string(), "o200k_base");
//! assert_eq!(Bpe::for_model("some-model").to_string(), "o200k_base (substitute)");
//! ```
//!
//! # What a count holds
//!
//! - The text as it stands: no Unicode normalisation, no trimming. Special tokens such as
//!   `<|endoftext|>` are counted as the text they are.
//! - Not what a provider adds around a message.
//! - Token counts do not add up: the tokens of two texts, counted apart, may be more or fewer than
//!   those of the two joined. Count the whole where the whole is meant.
//!
//! # What it costs
//!
//! Counting takes time and memory linear in the text, whatever the text: a million spaces are no
//! worse than prose. The tables are part of the binary (32 MB for `o200k_base`, 15 MB for
//! `cl100k_base`) and are unpacked once a process, at first use. Link this crate where counts are
//! wanted; the runtime does not.

mod bpe;
mod model;

pub use crate::bpe::Bpe;
pub use crate::model::ModelCounter;
pub use accp_runtime::TokenCounter;
