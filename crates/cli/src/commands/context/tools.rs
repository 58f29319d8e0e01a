//! Commands for models: `tools`, `call` and `mcp`.

use accp_memory::Form;
use accp_memory::disk::tools::{Tool, call as called};
use accp_recordings::read_whole_json;
use serde_json::{Value as Json, json};

use super::{ContextArgs, ListForm};
use accp_console::outcome::{Failure, Outcome, Verdict};
use accp_console::output::Output;

/// Print three tool definitions for a request, with which a model finds what left its list
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  accp context tools --messages anthropic > tools.json")]
pub(crate) struct ToolsArgs {
    /// The form of the request
    #[arg(long, value_enum, default_value = "openai")]
    messages: ListForm,
}

/// Runs `tools`.
pub(crate) fn tools(args: &ToolsArgs) -> Outcome {
    let form = Form::from(args.messages);
    let all = Tool::ALL.map(|tool| tool.definition(form));
    Output::print_record(json!(all))?;
    Ok(Verdict::Fine)
}

/// Run the tool that a model has called: one of the three tools of `accp context tools`
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  accp context call --session trip context_recover '{\"topic\":\"flight number\"}'")]
pub(crate) struct CallArgs {
    #[command(flatten)]
    context: ContextArgs,
    /// The name of the tool
    #[arg(value_name = "TOOL")]
    tool: String,
    /// The arguments as JSON, as the model has written them
    #[arg(value_name = "ARGUMENTS", default_value = "{}")]
    arguments: String,
}

/// Runs `call`.
pub(crate) fn call(args: &CallArgs) -> Outcome {
    let arguments: Json = read_whole_json(&args.arguments).map_err(|error| {
        let text = "give the arguments as one object, such as '{\"topic\":\"flight number\"}'";
        Failure::Input(format!("the arguments are not JSON: {error}; {text}"))
    })?;
    let context = &args.context;
    let answer = called(&context.root, &context.session, &args.tool, &arguments);
    let answer = answer.map_err(|error| Failure::Input(error.to_string()))?;
    context.format.print_content(answer.json, &answer.text)?;
    Ok(Verdict::Fine)
}

/// Serve the three tools over MCP on stdin and stdout, until the client closes stdin
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  accp context mcp --session trip --root Memory/Shared")]
pub(crate) struct McpArgs {
    #[command(flatten)]
    context: ContextArgs,
}

/// Runs `mcp`.
pub(crate) fn mcp(args: &McpArgs) -> Outcome {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    let runtime = runtime.map_err(|error| Failure::Misuse(format!("no thread: {error}")))?;
    let ContextArgs { root, session, .. } = args.context.clone();
    let served = runtime.block_on(accp_mcp::serve_context_stdio(root, session));
    served.map_err(|error| Failure::Input(error.to_string()))?;
    Ok(Verdict::Fine)
}
