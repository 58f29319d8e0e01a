//! The outputs of a conversion: the frames, and the side file of values.

use std::path::{Path, PathBuf};

use accp_frame::{EncodeError, ErrorCode, External, Externals};
use accp_recordings::{Conversation, Converter};
use accp_tokens::Bpe;

use super::Args;
use accp_console::conversations::at;
use accp_console::externals::{ExternalsFile, path_for};
use accp_console::outcome::Failure;
use accp_console::output::{Output, PRIVATE, distinct};

/// The file of the frames, or stdout, and the side file if the user named one.
pub(super) struct Outputs {
    frames: Output,
    externals: Option<ExternalsFile>,
}

impl Outputs {
    pub(super) fn open(args: &Args) -> Result<Self, Failure> {
        let externals = match (&args.externals, &args.output) {
            (Some(path), _) => Some(path.clone()),
            (None, Some(output)) if *output != Path::new("-") => Some(path_for(output)),
            (None, _) => None,
        };
        let outputs = args.output.iter().chain(&externals).map(PathBuf::as_path);
        distinct(args.inputs().into_iter().chain(outputs))?;
        let externals = externals
            .map(|path| ExternalsFile::create(&path))
            .transpose()?;
        let frames = Output::to(args.output.as_deref(), PRIVATE)?;
        Ok(Self { frames, externals })
    }

    /// Writes the frames of the conversation that was read on this line.
    pub(super) fn write(
        &mut self,
        name: &str,
        line: u64,
        conversation: &Conversation,
        converter: &mut Converter<Bpe>,
    ) -> Result<(), Failure> {
        let mut refuse = RefuseExternals::default();
        let externals: &mut dyn Externals = match &mut self.externals {
            Some(externals) => &mut externals.file,
            None => &mut refuse,
        };
        match converter.convert(conversation, externals) {
            Ok(frames) => frames
                .lines()
                .try_for_each(|frame| self.frames.record(frame)),
            Err(error) => {
                if let Some(externals) = &mut self.externals {
                    externals.failed()?;
                }
                Err(match at(name, line, error) {
                    Failure::Input(message) if refuse.refused => Failure::Misuse(message),
                    failure => failure,
                })
            }
        }
    }

    /// Ends the outputs after a fault in the input. If frames were already written to stdout, this completes the side
    /// file with their values. Otherwise no file changes.
    pub(super) fn abandon(self) -> Result<(), Failure> {
        match self.externals {
            Some(externals) if self.frames.is_stdout() => externals.finish(),
            _ => Ok(()),
        }
    }

    /// Completes the outputs: the side file first, so that a complete frame file never has references to missing
    /// values.
    pub(super) fn finish(self) -> Result<(), Failure> {
        self.externals.map_or(Ok(()), ExternalsFile::finish)?;
        self.frames.finish()
    }
}

/// Refuses every value, because the user named no side file. The error names the option that would
/// help.
#[derive(Debug, Default)]
struct RefuseExternals {
    refused: bool,
}

impl Externals for RefuseExternals {
    fn put(&mut self, external: External<'_, '_>) -> Result<String, EncodeError> {
        self.refused = true;
        let message = format!(
            "{}, and no side file is named: give --externals FILE or --output FILE, or --inline to \
             keep long values in their frames",
            external.reason
        );
        Err(EncodeError::new(ErrorCode::INVALID_TYPE, message))
    }
}
