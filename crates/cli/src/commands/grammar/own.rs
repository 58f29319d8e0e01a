//! `accp grammar FILE.abnf`: makes the pest grammar of a user's own ABNF.

use std::fs;
use std::path::Path;

use accp_grammar::{Abnf, GenerateError, Source};

use super::{Args, FOLDER};
use crate::words::quoted;
use accp_console::outcome::{Failure, Outcome, Verdict};
use accp_console::output::{self, Output, SHARED};

/// The files that the arguments name.
pub(super) struct Own<'a> {
    abnf: &'a Path,
    overrides: Option<&'a Path>,
    pest: Option<&'a Path>,
    is_check: bool,
}

impl<'a> Own<'a> {
    /// Returns the files if the arguments name an ABNF.
    pub(super) fn of(args: &'a Args) -> Result<Option<Self>, Failure> {
        let checked = args
            .check
            .as_deref()
            .filter(|path| *path != Path::new(FOLDER));
        let is_abnf = |path: &&Path| path.extension().is_some_and(|end| end == "abnf");
        // The file after `--check` is either the ABNF or the grammar.
        let (abnf, checked) = match (args.file.as_deref(), checked) {
            (None, Some(path)) if is_abnf(&path) => (Some(path), None),
            (file, checked) => (file, checked),
        };
        let Some(abnf) = abnf else {
            return match (&args.overrides, &args.output) {
                (None, None) => Ok(None),
                _ => Err(Failure::Misuse(
                    "`--overrides` and `-o` are for a grammar of your own; name its FILE.abnf \
                     before them"
                        .to_owned(),
                )),
            };
        };
        let pest = args.output.as_deref().or(checked);
        if args.check.is_some() && pest.is_none() {
            return Err(Failure::Misuse(format!(
                "`--check` compares with a file; name it: `-o {}`",
                abnf.with_extension("pest").display()
            )));
        }
        Ok(Some(Self {
            abnf,
            overrides: args.overrides.as_deref(),
            pest,
            is_check: args.check.is_some(),
        }))
    }

    pub(super) fn run(&self) -> Outcome {
        if !self.is_check {
            let files = [Some(self.abnf), self.overrides, self.pest];
            output::distinct(files.into_iter().flatten())?;
        }
        let text = read(self.abnf)?;
        let overrides = match self.overrides {
            Some(path) => Some((name(path), read(path)?)),
            None => None,
        };
        let command = self.command();
        let file = name(self.abnf);
        let abnf = Abnf {
            name: &file,
            text: &text,
            overrides: overrides
                .as_ref()
                .map(|(name, text)| (name.as_str(), text.as_str())),
            command: &command,
        };
        match self.pest {
            Some(path) if self.is_check => {
                let pest = read(path)?;
                abnf.check(&pest).map_err(|error| self.failure(&error))?;
            }
            path => {
                let pest = abnf.to_pest().map_err(|error| self.failure(&error))?;
                Output::write(path, SHARED, pest.as_bytes())?;
            }
        }
        Ok(Verdict::Fine)
    }

    /// Returns the command that writes the grammar, as a user would type it in the folder of the ABNF.
    fn command(&self) -> String {
        let word = |path: &Path| quoted(&name(path));
        let mut command = format!("accp grammar {}", word(self.abnf));
        if let Some(path) = self.overrides {
            command = format!("{command} --overrides {}", word(path));
        }
        match self.pest {
            Some(path) => command + &format!(" -o {}", word(path)),
            None => command,
        }
    }

    fn failure(&self, error: &GenerateError) -> Failure {
        let path = match error.file() {
            Source::Pest => self.pest,
            Source::Overrides => self.overrides,
            _ => Some(self.abnf),
        };
        let path = path.unwrap_or(self.abnf).display();
        Failure::Input(format!("{path}:{}: {}", error.line(), error.message()))
    }
}

/// Returns the name of a file without its folder, so that a grammar is the same in whichever folder it is made.
fn name(path: &Path) -> String {
    let name = path.file_name().unwrap_or(path.as_os_str());
    name.to_string_lossy().into_owned()
}

fn read(path: &Path) -> Result<String, Failure> {
    let bytes = fs::read(path).map_err(Failure::at(path))?;
    String::from_utf8(bytes).map_err(|error| {
        Failure::Input(format!(
            "{}: byte {} is not UTF-8; save the file as UTF-8",
            path.display(),
            error.utf8_error().valid_up_to()
        ))
    })
}
