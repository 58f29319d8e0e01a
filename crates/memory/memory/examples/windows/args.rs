//! The command line of this example.

use std::path::PathBuf;

use accp_memory::Form;

use crate::Result;
use crate::sweep::form;

/// The options: what the example replays, and how.
#[derive(Debug)]
pub(crate) struct Args {
    pub(crate) files: Vec<PathBuf>,
    windows: Vec<u64>,
    stress: Vec<bool>,
    pub(crate) forms: Vec<Form>,
    /// How many conversations are joined; 0 replays them as they are.
    pub(crate) join: usize,
    pub(crate) tokens: usize,
    pub(crate) lists: Option<String>,
    pub(crate) summaries: Option<String>,
    /// The most lists that are written for one file at one setting.
    pub(crate) limit: usize,
    /// Where files are written.
    pub(crate) root: Option<PathBuf>,
    /// The example also replays one of this many lists with files on the disk.
    pub(crate) every: usize,
    /// Whether the table shows how much room the refused lists left for a summary.
    pub(crate) spare: bool,
}

impl Args {
    /// Reads the command line.
    ///
    /// # Errors
    /// When an option is unknown or has no value.
    pub(crate) fn parse(mut args: impl Iterator<Item = String>) -> Result<Self> {
        let mut out = Self {
            files: Vec::new(),
            windows: Vec::new(),
            stress: vec![false, true],
            forms: Vec::new(),
            join: 0,
            tokens: 200_000,
            lists: None,
            summaries: None,
            limit: usize::MAX,
            root: None,
            every: 25,
            spare: false,
        };
        while let Some(name) = args.next() {
            if !name.starts_with("--") {
                out.files.push(name.into());
                continue;
            }
            if name == "--spare" {
                out.spare = true;
                continue;
            }
            let value = args.next().ok_or_else(|| format!("{name} has no value"))?;
            out.option(&name, value)?;
        }
        if out.windows.is_empty() {
            out.windows = if out.join > 0 {
                vec![128_000]
            } else {
                vec![2_000, 4_000, 8_000, 32_000]
            };
        }
        if out.forms.is_empty() {
            out.forms.push(Form::OpenAi);
        }
        Ok(out)
    }

    fn option(&mut self, name: &str, value: String) -> Result<()> {
        let number = || {
            value
                .parse::<usize>()
                .map_err(|error| format!("{name}: {error}"))
        };
        match name {
            "--window" => self.windows.push(number()? as u64),
            "--stress" => {
                self.stress = match value.as_str() {
                    "on" => vec![true],
                    "off" => vec![false],
                    "both" => vec![false, true],
                    _ => return Err(format!("--stress {value}: expected on, off or both")),
                }
            }
            "--form" => self.forms.push(form(&value)?),
            "--join" => self.join = number()?,
            "--tokens" => self.tokens = number()?,
            "--limit" => self.limit = number()?,
            "--every" => self.every = number()?.max(1),
            "--lists" => self.lists = Some(value),
            "--summaries" => self.summaries = Some(value),
            "--root" => self.root = Some(value.into()),
            _ => return Err(format!("{name} is unknown")),
        }
        Ok(())
    }

    /// Returns each size of a window with each setting of `--stress`.
    pub(crate) fn settings(&self) -> impl Iterator<Item = (u64, bool)> + '_ {
        self.windows
            .iter()
            .flat_map(|size| self.stress.iter().map(|stress| (*size, *stress)))
    }

    /// Prints a line of the table: on the standard error if the lists go to the standard output.
    pub(crate) fn say(&self, line: &str) {
        if self.lists.as_deref() == Some("-") {
            eprintln!("{line}");
        } else {
            println!("{line}");
        }
    }
}
