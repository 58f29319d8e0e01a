//! Recorded conversations of agents: read from files, written as frames, restored from frames.
//!
//! A recording is JSON as the usual providers and tools write it, in one of the [`Format`]s. A
//! file holds one conversation a line, several in an array, or a single document.
//! [`conversations`] reads the file, [`Conversation`] holds one conversation, and its messages
//! are [`Recorded`](accp_context::Recorded), in one form for all formats. A [`Recorder`] writes a conversation as frames,
//! and a [`Restorer`] reads the frames back to an equal conversation. A [`Converter`] does both
//! and counts. Values that do not fit a frame go to a [`SideFile`].
//!
//! ```
//! use accp_recordings::{ConvertOptions, Recorder, Restorer, Values, conversations};
//! use accp_runtime::Registry;
//!
//! let recorded = r#"{ "id": "bakery/1", "messages": [
//!     { "role": "user", "content": "Is there rye flour?" },
//!     { "role": "assistant", "content": "Four bags." }] }"#;
//! for conversation in conversations(recorded.as_bytes()) {
//!     let conversation = conversation?;
//!     let start = ConvertOptions::default().start;
//!     let mut recorder = Recorder::new(Registry::shared(), start);
//!     let mut frames = vec![recorder.opening(&conversation)?];
//!     for message in conversation.messages() {
//!         frames.extend(recorder.message(message)?);
//!     }
//!     let mut restorer = Restorer::default();
//!     for (line, frame) in (1..).zip(&frames) {
//!         let text = frame.encode(Registry::shared())?;
//!         restorer.line(&text, line, &Values::default())?;
//!     }
//!     assert_eq!(restorer.end()?, Some(conversation));
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod content;
mod conversation;
mod convert;
mod exact;
mod form;
mod format;
mod formats;
mod ids;
mod layout;
mod leaves;
mod read;
mod record;
mod resolve;
mod restore;
mod shell;
mod side_file;
mod summary;
mod words;
mod write;

pub use content::Content;
pub use conversation::{Conversation, Half, NotConversation};
pub use convert::{ConvertOptions, Converter, VerifyError};
pub use exact::{LoneSurrogates, read_json, read_whole_json, replace_lone_surrogates};
pub use form::HOST;
pub use format::Format;
pub use formats::message;
pub use read::{Document, Documents, ReadError, conversations};
pub use record::Recorder;
pub use resolve::{Unresolved, resolve};
pub use restore::{RestoreError, Restorer};
pub use side_file::{SideFile, SideFileError, Values};
pub use summary::{Share, Summary};
pub use write::CannotWrite;

/// The examples of the README, compiled and run.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
