//! `accp collab init`: makes a new folder.

use std::path::PathBuf;

use accp_collab::disk::Shared;
use accp_collab::{Code, Finding, FolderSettings, Kind, Mode, Scope};
use serde_json::json;

use super::{FolderArgs, report};
use accp_console::outcome::{Outcome, Verdict};

/// Make a shared folder with its files
///
/// The first participant is the owner of the proposal. The command overwrites no file. If it fails, it removes
/// what it has made.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  accp collab init --folder round --participant ada --participant bob --objective 'Choose a store' \\
      --completion 'It is fast' --primary-deliverable-type adr
  accp collab init --folder next --from round")]
pub(crate) struct Args {
    #[command(flatten)]
    folder: FolderArgs,
    /// A participant; may be repeated. The first one is the owner of the proposal
    #[arg(long = "participant", value_name = "ID")]
    participants: Vec<String>,
    /// What is to be decided or made
    #[arg(long, value_name = "TEXT")]
    objective: Option<String>,
    /// A condition that has to be met for the objective to be reached; may be repeated
    #[arg(long = "completion", value_name = "TEXT")]
    completions: Vec<String>,
    /// The type of the primary deliverable: adr, design-spec, implementation-plan, decision-memo, review-report, test-plan or custom
    #[arg(long, value_name = "TYPE")]
    primary_deliverable_type: Option<String>,
    /// The file of the primary deliverable, relative to the directory of deliverables [default: the type with .md]
    #[arg(long, value_name = "FILE")]
    primary_deliverable_file: Option<String>,
    /// The title of a section that a custom deliverable needs; may be repeated
    #[arg(long = "primary-deliverable-check", value_name = "TITLE")]
    checks: Vec<String>,
    /// Where deliverables are: internal, in the folder, or external, in a directory of the repository
    #[arg(long, value_name = "MODE")]
    deliverables_mode: Option<String>,
    /// The directory of deliverables [default: deliverables]
    #[arg(long, value_name = "DIR")]
    deliverables_dir: Option<String>,
    /// The path from the folder to the repository, for external deliverables
    #[arg(long, value_name = "DIR")]
    repo_root: Option<String>,
    /// Copy objective, participants, gates and deliverable from another folder; other options replace what is copied
    #[arg(long, value_name = "DIR")]
    from: Option<PathBuf>,
    /// Finish a folder that an earlier init began, and accept a folder that is complete
    #[arg(long)]
    resume: bool,
}

impl Args {
    fn settings(&self) -> Result<FolderSettings, Vec<Finding>> {
        let mut wrong = Vec::new();
        let earlier = match &self.from {
            None => None,
            Some(folder) => {
                let folder = Shared::new(folder).read(Scope::Log);
                let (protocol, _) = folder.standing()?;
                Some(FolderSettings::of(protocol))
            }
        };
        let named = self.primary_deliverable_type.as_deref();
        if named.is_none() && earlier.is_none() {
            let text = "--primary-deliverable-type is required; write adr, design-spec, implementation-plan, decision-memo, review-report, test-plan or custom";
            wrong.push(Finding::new(Code::PrimaryType, text));
        }
        let kind = named.map(|name| {
            Kind::read(name).unwrap_or_else(|known| {
                let text = format!("--primary-deliverable-type is unknown; write one of {known}");
                wrong.push(Finding::new(Code::PrimaryType, text));
                None
            })
        });
        let mode = self.deliverables_mode.as_deref().map(|name| {
            Mode::named(name).unwrap_or_else(|| {
                let text = "--deliverables-mode is unknown; write internal or external";
                wrong.push(Finding::new(Code::Mode, text));
                Mode::Internal
            })
        });
        let of = |given: &[String], before: fn(&FolderSettings) -> &Vec<String>| {
            let before = earlier.as_ref().filter(|_| given.is_empty()).map(before);
            before.cloned().unwrap_or_else(|| given.to_vec())
        };
        let before = earlier.as_ref();
        let has_type = kind.is_some();
        let settings = FolderSettings {
            participants: of(&self.participants, |settings| &settings.participants),
            objective: self
                .objective
                .clone()
                .or_else(|| before.map(|settings| settings.objective.clone()))
                .unwrap_or_default(),
            gates: of(&self.completions, |settings| &settings.gates),
            kind: kind.unwrap_or_else(|| before.and_then(|settings| settings.kind)),
            file: self.primary_deliverable_file.clone().or_else(|| {
                before
                    .filter(|_| !has_type)
                    .and_then(|settings| settings.file.clone())
            }),
            checklist: of(&self.checks, |settings| &settings.checklist),
            mode: mode
                .or_else(|| before.map(|settings| settings.mode))
                .unwrap_or(Mode::Internal),
            dir: self
                .deliverables_dir
                .clone()
                .or_else(|| before.map(|settings| settings.dir.clone()))
                .unwrap_or_else(|| "deliverables".to_owned()),
            repo_root: self
                .repo_root
                .clone()
                .or_else(|| before.and_then(|settings| settings.repo_root.clone())),
        };
        if !wrong.is_empty() {
            wrong.extend(settings.trimmed().check());
            return Err(wrong);
        }
        Ok(settings)
    }
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> Outcome {
    let made = args
        .settings()
        .and_then(|settings| args.folder.shared().init(settings, args.resume));
    let made = match made {
        Ok(made) => made,
        Err(findings) => return report::refuse(&findings, args.folder.format),
    };
    let name = args.folder.name();
    let primary = made.folder.protocol();
    let primary = primary
        .map(|protocol| protocol.reference(&protocol.primary.file))
        .unwrap_or_default();
    let phase = made.folder.state().map(|state| state.phase().as_str());
    let object = json!({
        "ok": true, "folder": name, "primary": primary, "phase": phase, "files": made.files,
    });
    let text = if made.files.is_empty() {
        let phase = phase.unwrap_or_default();
        format!("the folder {name} is there, and whole; its phase is {phase}")
    } else {
        format!("made the folder {name}; the primary deliverable is {primary}")
    };
    report::show(args.folder.format, object, text)?;
    Ok(Verdict::Fine)
}
