//! Converts conversations to frames, counts tokens, and checks that the frames can be restored.

#[cfg(test)]
mod tests;

use accp_frame::{DynamicFrame, EncodeError, EncodeOptions, External, Externals, TokenCounter};
use accp_registry::Registry;

use crate::conversation::Conversation;
use crate::form::VERBATIM;
use crate::record::Recorder;
use crate::restore::{RestoreError, Restorer};
use crate::side_file::Values;
use crate::summary::Summary;

/// Options of a conversion.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ConvertOptions {
    /// The time of the first frame of a conversation in Unix seconds: recordings have no clock.
    pub start: i64,
    /// Whether values of more than 50 characters stay in their frame.
    pub inline: bool,
}

impl Default for ConvertOptions {
    /// Starts at the first second of 2026, and sends long values by reference.
    fn default() -> Self {
        Self {
            start: 1_767_225_600,
            inline: false,
        }
    }
}

/// Writes conversations as frames, and counts the tokens before and after.
///
/// ```
/// use accp_recordings::{ConvertOptions, Converter, conversations};
/// # use accp_runtime::TokenCounter;
/// # #[derive(Debug)]
/// # struct Bytes;
/// # impl TokenCounter for Bytes {
/// #     fn name(&self) -> &str { "bytes" }
/// #     fn count(&self, text: &str) -> usize { text.len() }
/// # }
///
/// let input = r#"[{ "role": "user", "content": "Hello" }]"#;
/// let mut converter = Converter::new(ConvertOptions::default(), Bytes);
/// for conversation in conversations(input.as_bytes()) {
///     converter.verify(&conversation?)?;
/// }
/// assert_eq!(converter.summary.restored_equal, Some(1));
/// assert_eq!(converter.summary.frames, 2);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Converter<C> {
    options: ConvertOptions,
    counter: C,
    /// The counts so far.
    pub summary: Summary,
}

/// The reason why a conversation cannot be restored from its frames.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum VerifyError {
    /// The conversation cannot be written as frames.
    #[error("{0}")]
    Encode(#[from] EncodeError),
    /// The frames cannot be read.
    #[error("{0}")]
    Restore(#[from] RestoreError),
    /// The restored conversation differs.
    #[error("the conversation did not come back equal")]
    Unequal,
}

impl<C: TokenCounter> Converter<C> {
    /// Makes a converter whose counts are 0.
    pub fn new(options: ConvertOptions, counter: C) -> Self {
        Self {
            options,
            counter,
            summary: Summary::default(),
        }
    }

    /// Returns the frames of a conversation, one a line. Values that do not fit a frame go to
    /// `externals`.
    ///
    /// # Errors
    /// When a value does not fit a frame and `externals` refuses the value.
    pub fn convert(
        &mut self,
        conversation: &Conversation,
        externals: &mut dyn Externals,
    ) -> Result<String, EncodeError> {
        let mut lines = FrameLines::default();
        let mut recorder = Recorder::new(Registry::shared(), self.options.start);
        let opening = recorder.opening(conversation)?;
        self.frame(&opening, &mut lines, externals)?;
        for recorded in conversation.messages() {
            let frames = recorder.message(recorded)?;
            self.summary.verbatim += u64::from(frames[0].operation == VERBATIM);
            for frame in &frames {
                self.frame(frame, &mut lines, externals)?;
            }
            self.summary.messages += 1;
        }
        self.summary.conversations += 1;
        let json = conversation.as_json().to_string();
        self.summary
            .texts(&json, &lines.frames, &lines.bare, &self.counter);
        Ok(lines.frames)
    }

    /// Writes a conversation as frames, restores it in memory, and compares the two.
    ///
    /// # Errors
    /// When the restored conversation differs, or cannot be written or restored.
    pub fn verify(&mut self, conversation: &Conversation) -> Result<(), VerifyError> {
        let mut values = Values::default();
        let frames = self.convert(conversation, &mut values)?;
        let mut restorer = Restorer::default();
        for (line, frame) in (1..).zip(frames.lines()) {
            restorer.line(frame, line, &values)?;
        }
        if restorer.end()?.as_ref() != Some(conversation) {
            return Err(VerifyError::Unequal);
        }
        *self.summary.restored_equal.get_or_insert(0) += 1;
        Ok(())
    }

    /// Encodes one frame, and counts its values.
    fn frame(
        &mut self,
        message: &DynamicFrame<'_>,
        lines: &mut FrameLines,
        externals: &mut dyn Externals,
    ) -> Result<(), EncodeError> {
        for (_, value) in message.payload.iter() {
            self.summary.sent(value);
        }
        let mut tally = Tally {
            summary: &mut self.summary,
            counter: &self.counter,
            externals,
        };
        let options = EncodeOptions {
            inline: self.options.inline,
            externals: Some(&mut tally),
            ..EncodeOptions::default()
        };
        let text = message.encode_with(Registry::shared(), options)?;
        let metadata = message.envelope.to_string();
        let bare = text.strip_suffix(&metadata).unwrap_or(&text);
        for (out, frame) in [(&mut lines.frames, text.as_str()), (&mut lines.bare, bare)] {
            out.push_str(frame);
            out.push('\n');
        }
        self.summary.frames += 1;
        Ok(())
    }
}

/// A conversation as frames, one a line.
#[derive(Default)]
struct FrameLines {
    frames: String,
    /// The same frames without metadata.
    bare: String,
}

/// Counts the values that go by reference, and passes them on.
struct Tally<'t, C> {
    summary: &'t mut Summary,
    counter: &'t C,
    externals: &'t mut dyn Externals,
}

impl<C: TokenCounter> std::fmt::Debug for Tally<'_, C> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Tally").finish_non_exhaustive()
    }
}

impl<C: TokenCounter> Externals for Tally<'_, C> {
    fn put(&mut self, external: External<'_, '_>) -> Result<String, EncodeError> {
        self.summary
            .externalised(external.value, external.reason, self.counter);
        self.externals.put(external)
    }
}
