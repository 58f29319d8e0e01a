//! `accp collab declare`: declares supporting deliverables and attachments.

use accp_collab::disk::Declaration;
use accp_collab::{Code, Finding, Kind};
use serde_json::json;

use super::{FolderArgs, report};
use accp_console::outcome::{Outcome, Verdict};

/// Declare a supporting deliverable or an attachment
///
/// If the file of a supporting deliverable does not exist, it is made from the template of its type.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  accp collab declare --folder round --supporting tests.md --type test-plan --frozen
  accp collab declare --folder round --attachment figures/load.png")]
pub(crate) struct Args {
    #[command(flatten)]
    folder: FolderArgs,
    /// The supporting deliverable: a Markdown file, relative to the directory of deliverables
    #[arg(
        long,
        value_name = "FILE",
        required_unless_present = "attachment",
        conflicts_with = "attachment",
        requires = "type"
    )]
    supporting: Option<String>,
    /// The type of the supporting deliverable
    #[arg(long, value_name = "TYPE")]
    r#type: Option<String>,
    /// Require that the supporting deliverable is frozen before the end
    #[arg(long, requires = "supporting")]
    frozen: bool,
    /// The attachment: any file, relative to the directory of deliverables
    #[arg(long, value_name = "FILE")]
    attachment: Option<String>,
}

impl Args {
    fn declaration(&self) -> Result<Declaration, Vec<Finding>> {
        let Some(file) = &self.supporting else {
            return Ok(Declaration::Attachment(
                self.attachment.clone().unwrap_or_default(),
            ));
        };
        let name = self.r#type.as_deref().unwrap_or("custom");
        let kind = Kind::read(name).map_err(|known| {
            let text = format!("--type is unknown; write one of {known}");
            vec![Finding::new(Code::SupportingType, text)]
        })?;
        Ok(Declaration::Supporting {
            file: file.clone(),
            kind,
            is_frozen: self.frozen,
        })
    }
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> Outcome {
    let declared = args
        .declaration()
        .and_then(|one| args.folder.shared().declare(&one));
    let folder = match declared {
        Ok(folder) => folder,
        Err(findings) => return report::refuse(&findings, args.folder.format),
    };
    let file = args.supporting.as_ref().or(args.attachment.as_ref());
    let name = folder
        .protocol()
        .zip(file)
        .map(|(protocol, file)| protocol.reference(file));
    report::show(
        args.folder.format,
        json!({ "ok": true, "declared": name }),
        format_args!("declared {}", name.unwrap_or_default()),
    )?;
    Ok(Verdict::Fine)
}
