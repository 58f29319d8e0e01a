//! Conversations to frames: encoding, counting, and where it all goes.

use std::path::{Path, PathBuf};

use accp_recordings::{Conversation, Recorder, Restorer, VERBATIM};
use accp_registry::Registry;
use accp_runtime::{EncodeError, EncodeOptions, ErrorCode, External, Message};
use accp_tokens::Bpe;
use serde_json::Value as Json;

use super::summary::Summary;
use super::{Args, beside, restore_line};
use crate::conversations::{at, each_conversation};
use crate::externals::{Externals, Loaded};
use crate::outcome::Failure;
use crate::output::{Output, error};

/// Where frames and values go.
pub(super) struct Sinks {
    frames: Output,
    side: Option<Externals>,
}

impl Sinks {
    pub(super) fn open(args: &Args) -> Result<Self, Failure> {
        let side = match (&args.externals, &args.output) {
            (Some(path), _) => Some(path.clone()),
            (None, Some(output)) if *output != *"-" => Some(beside(output)),
            (None, _) => None,
        };
        let inputs = args.inputs().into_iter().map(Path::to_path_buf);
        let outputs = args.output.iter().chain(&side).cloned();
        distinct(inputs.chain(outputs))?;
        let side = side.map(|path| Externals::create(&path)).transpose()?;
        let frames = Output::to(args.output.as_deref())?;
        Ok(Self { frames, side })
    }

    /// After a fault in the input: frames that are out on stdout keep their values; files
    /// stay as they were.
    pub(super) fn abandon(self) -> Result<(), Failure> {
        match self.side {
            Some(side) if self.frames.is_stdout() => side.finish(),
            _ => Ok(()),
        }
    }

    /// The side file first: frames whose references lead nowhere are never in place.
    pub(super) fn finish(self) -> Result<(), Failure> {
        self.side.map_or(Ok(()), Externals::finish)?;
        self.frames.finish()
    }
}

/// Refuses to read and write, or to write twice, the same file.
fn distinct(paths: impl Iterator<Item = PathBuf>) -> Result<(), Failure> {
    let mut seen = Vec::new();
    for path in paths.filter(|path| path != "-") {
        let real = path.canonicalize().unwrap_or_else(|_| path.clone());
        if seen.contains(&real) {
            let name = path.display();
            return Err(Failure::Misuse(format!(
                "{name} is named twice: give input, output and side file names of their own"
            )));
        }
        seen.push(real);
    }
    Ok(())
}

/// Converts the conversations of one file.
pub(super) struct Converter<'c> {
    args: &'c Args,
    counter: Bpe,
    pub(super) summary: Summary,
    /// The file, for reports.
    name: String,
}

impl<'c> Converter<'c> {
    pub(super) fn new(args: &'c Args, counter: Bpe) -> Self {
        let mut summary = Summary::default();
        summary.restored_equal = args.verify.then_some(0);
        Self {
            args,
            counter,
            summary,
            name: String::new(),
        }
    }

    /// Takes one conversation at a time; without sinks it is restored and compared.
    pub(super) fn file(&mut self, path: &Path, sinks: &mut Option<Sinks>) -> Result<(), Failure> {
        each_conversation(path, |name, line, json| {
            name.clone_into(&mut self.name);
            let text = json.to_string();
            let conversation =
                Conversation::new(json).map_err(|expected| at(name, line, expected))?;
            self.conversation(line, &text, conversation, sinks)
        })
    }

    /// Takes the conversation of a line.
    pub(super) fn conversation(
        &mut self,
        line: u64,
        text: &str,
        conversation: Conversation,
        sinks: &mut Option<Sinks>,
    ) -> Result<(), Failure> {
        let mut recorder = Recorder::new(Registry::shared(), self.args.start);
        let mut converted = Converted {
            frames: String::new(),
            bare: String::new(),
            kept: Loaded::in_memory(),
        };
        let place = |name: &str, message: &EncodeError| at(name, line, message);
        let opening = recorder
            .opening(&conversation)
            .map_err(|error| place(&self.name, &error))?;
        self.frame(line, &opening, &mut converted, sinks)?;
        for recorded in &conversation.messages {
            let frames = recorder
                .message(recorded)
                .map_err(|error| place(&self.name, &error))?;
            self.summary.verbatim += u64::from(frames[0].operation == VERBATIM);
            for frame in &frames {
                self.frame(line, frame, &mut converted, sinks)?;
            }
        }
        self.summary.conversations += 1;
        self.summary.messages += conversation.messages.len() as u64;
        self.summary
            .texts(text, &converted.frames, &converted.bare, self.counter);
        match sinks {
            Some(sinks) => {
                converted
                    .frames
                    .lines()
                    .try_for_each(|frame| sinks.frames.line(frame))?;
            }
            None => self.verify(line, &converted, conversation),
        }
        Ok(())
    }

    /// Encodes one frame, and counts.
    fn frame(
        &mut self,
        line: u64,
        message: &Message<'_>,
        converted: &mut Converted,
        sinks: &mut Option<Sinks>,
    ) -> Result<(), Failure> {
        for (_, value) in message.payload.iter() {
            self.summary.sent(value);
        }
        let place = match sinks {
            None => Place::Memory(&mut converted.kept),
            Some(Sinks {
                side: Some(side), ..
            }) => Place::File(side),
            Some(_) => Place::Nowhere,
        };
        let mut tally = Tally {
            summary: &mut self.summary,
            counter: self.counter,
            place,
            refused: false,
        };
        let options = EncodeOptions {
            inline: self.args.inline,
            externals: Some(&mut tally),
            ..EncodeOptions::default()
        };
        let encoded = message.encode_with(Registry::shared(), options);
        if let Place::File(side) = &mut tally.place {
            side.failed()?;
        }
        let misuse = matches!(tally.place, Place::Nowhere) && tally.refused;
        let text = encoded.map_err(|error| match at(&self.name, line, error) {
            Failure::Input(message) if misuse => Failure::Misuse(message),
            failure => failure,
        })?;
        let metadata = message.envelope.to_string();
        let bare = text.strip_suffix(&metadata).unwrap_or(&text);
        for (out, frame) in [
            (&mut converted.frames, text.as_str()),
            (&mut converted.bare, bare),
        ] {
            out.push_str(frame);
            out.push('\n');
        }
        self.summary.frames += 1;
        Ok(())
    }

    /// Restores a conversation from its frames and compares.
    fn verify(&mut self, line: u64, converted: &Converted, conversation: Conversation) {
        let expected = conversation.into_json();
        match restore(converted) {
            Ok(restored) if restored.as_ref() == Some(&expected) => {
                *self.summary.restored_equal.get_or_insert(0) += 1;
            }
            Ok(_) => error(at(
                &self.name,
                line,
                "the conversation did not come back equal",
            )),
            Err(message) => error(at(&self.name, line, message)),
        }
    }
}

fn restore(converted: &Converted) -> Result<Option<Json>, String> {
    let mut restorer = Restorer::default();
    for (index, frame) in converted.frames.lines().enumerate() {
        restore_line(frame, index as u64 + 1, &converted.kept, &mut restorer)?;
    }
    Ok(restorer.end()?.map(Conversation::into_json))
}

/// A conversation as frames.
struct Converted {
    /// A frame a line.
    frames: String,
    /// The same without metadata.
    bare: String,
    /// The values behind the references, when no file keeps them.
    kept: Loaded,
}

/// Counts what goes by reference on its way.
#[derive(Debug)]
struct Tally<'t> {
    summary: &'t mut Summary,
    counter: Bpe,
    place: Place<'t>,
    /// A value had nowhere to go.
    refused: bool,
}

/// Where a value goes that does not travel in its frame.
#[derive(Debug)]
enum Place<'t> {
    Memory(&'t mut Loaded),
    File(&'t mut Externals),
    /// No side file is named.
    Nowhere,
}

impl accp_runtime::Externals for Tally<'_> {
    fn put(&mut self, external: External<'_, '_>) -> Result<String, EncodeError> {
        self.summary
            .externalised(external.value, external.reason, self.counter);
        match &mut self.place {
            Place::Memory(kept) => Ok(kept.keep(external.value)),
            Place::File(side) => side.put(external),
            Place::Nowhere => {
                self.refused = true;
                let message = format!(
                    "{}, and no side file is named: give --externals FILE or --output FILE, or \
                     --inline to keep long values in their frames",
                    external.reason
                );
                Err(EncodeError::new(ErrorCode::INVALID_TYPE, message))
            }
        }
    }
}
