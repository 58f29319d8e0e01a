//! `accp aacp workflows`: shows the workflows with their parameters and defaults.

use accp_aacp::{Hop, Parameter, Vocabulary, Workflow};
use serde_json::{Value as Json, json};

use super::vocabulary::{VocabularyArgs, workflow};
use accp_console::choices::Format;
use accp_console::outcome::{Failure, Outcome, Verdict};
use accp_console::output::Output;

/// Show the workflows, their hops, and the parameters with their defaults
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  accp aacp workflows
  accp aacp workflows payroll --format json")]
pub(crate) struct Args {
    /// The workflows to show: names, or files; all standard ones by default
    #[arg(value_name = "NAME")]
    names: Vec<String>,
    #[command(flatten)]
    vocabulary: VocabularyArgs,
    /// json: one object a line with `workflow`, `meaning` and `hops`
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> Outcome {
    let vocabulary: Vocabulary = args.vocabulary.load()?;
    let named = args.names.iter().map(|name| workflow(name, &vocabulary));
    let named = named.collect::<Result<Vec<_>, Failure>>()?;
    let workflows = if named.is_empty() {
        Workflow::standard()
    } else {
        &named
    };
    let mut out = Output::stdout();
    for workflow in workflows {
        match args.format {
            Format::Text => {
                out.line(format_args!("{}: {}", workflow.name, workflow.meaning))?;
                for hop in &workflow.hops {
                    let shown: Vec<String> = hop.parameters.iter().map(shown).collect();
                    let (name, task, dom) = (&hop.name, &hop.task, &hop.dom);
                    let receiver = &hop.receiver;
                    out.line(format_args!("  {name}({})", shown.join(", ")))?;
                    out.line(format_args!(
                        "      {}; {task}|{dom}, return={receiver}, p={}",
                        hop.meaning, hop.priority
                    ))?;
                }
            }
            Format::Json => {
                let hops: Json = workflow.hops.iter().map(hop).collect();
                out.record(json!({
                    "workflow": workflow.name, "meaning": workflow.meaning, "hops": hops,
                }))?;
            }
        }
    }
    if args.format == Format::Text {
        out.line("every hop takes return and p as well; a value in brackets is the default")?;
    }
    out.finish()?;
    Ok(Verdict::Fine)
}

fn shown(parameter: &Parameter) -> String {
    match &parameter.default {
        Some(default) => format!("{} [{default}]", parameter.name),
        None => parameter.name.clone(),
    }
}

fn hop(hop: &Hop) -> Json {
    let parameters = hop.parameters.iter().map(|parameter| {
        json!({
            "name": parameter.name, "kind": parameter.kind.as_str(), "default": parameter.default,
            "rewrite": parameter.rewriting().iter().map(|rewrite| rewrite.as_str()).collect::<Vec<_>>(),
        })
    });
    json!({
        "hop": hop.name, "meaning": hop.meaning, "task": hop.task, "dom": hop.dom,
        "return": hop.receiver, "p": hop.priority, "parameters": parameters.collect::<Json>(),
        "fields": hop.fields().collect::<Vec<_>>(),
    })
}
