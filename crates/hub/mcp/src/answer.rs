//! Results of tools, as MCP and as frames of the schema TC.

use accp_frame::{
    AgentId, EncodeFrame, EncodeOptions, Typed, Value, profiles::ErrorFail, profiles::ToolDone,
};
use rmcp::model::{
    Annotations, CallToolResult, ContentBlock, EmbeddedResource, RequestId, ResourceContents,
};
use serde_json::{Value as Json, json};

use crate::fault::Fault;
use crate::render::ACCP;

/// The sender of the frames of tool results. It is not a member of the session.
const SENDER: &str = "accp";

/// The result of a tool, in words and as JSON.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) text: String,
    pub(crate) json: Json,
}

/// Returns the result of a tool call, with the frame that answers it (draft section 11.3).
pub(crate) fn result(
    tool: &str,
    request: &RequestId,
    answer: Result<Answer, Fault>,
) -> CallToolResult {
    let chain = chain(request);
    match answer {
        Ok(Answer { text, json }) => {
            let frame = done(tool, &chain, &json);
            let content = vec![ContentBlock::text(text), embedded(&chain, frame)];
            let mut result = CallToolResult::success(content);
            result.structured_content = Some(json);
            result
        }
        Err(fault) => {
            let Fault {
                code,
                message,
                cure,
                ..
            } = &fault;
            let text = format!("{code}: {message}\nWhat to do: {cure}.");
            let frame = fail(tool, &chain, &fault);
            let mut result =
                CallToolResult::error(vec![ContentBlock::text(text), embedded(&chain, frame)]);
            result.structured_content = Some(json!({
                "error": { "code": code.to_string(), "message": message, "cure": cure }
            }));
            result
        }
    }
}

/// Returns a frame as content. The frame repeats the text of the result for programs.
fn embedded(chain: &str, frame: String) -> ContentBlock {
    let contents = ResourceContents::text(frame, format!("accp://tool/{chain}"));
    let resource = EmbeddedResource::new(contents.with_mime_type(ACCP));
    ContentBlock::Resource(resource.with_annotations(Annotations::default().with_priority(0.0)))
}

/// Returns the frame `done:tool`.
fn done(tool: &str, chain: &str, json: &Json) -> String {
    let with = |result: Option<Value<'_>>| {
        let frame = ToolDone {
            tool_name: tool.into(),
            arguments: None,
            result,
            status: "ok".into(),
            error_code: None,
        };
        write(frame, chain)
    };
    // A result that is nested too deeply becomes the text of its JSON. A result that is too long for a frame
    // is in the structured content only.
    let texts = [
        with(Some(Value::from_data(json))),
        with(Some(Value::from(json.to_string()))),
        with(None),
    ];
    texts.into_iter().flatten().next().unwrap_or_default()
}

/// Returns the error as a frame (draft section 3.6).
fn fail(tool: &str, chain: &str, fault: &Fault) -> String {
    let is_retryable = !fault.stands && fault.code.is_retryable().unwrap_or_default();
    let error = |message: String| ErrorFail {
        tool_name: Some(tool.to_owned().into()),
        ..ErrorFail::new(fault.code.to_string(), message, is_retryable)
    };
    let whole = write(error(fault.message.clone()), chain);
    let whole = whole.or_else(|| write(error(String::from("the tool failed")), chain));
    whole.unwrap_or_default()
}

fn write(frame: impl EncodeFrame, chain: &str) -> Option<String> {
    let options = EncodeOptions {
        inline: true,
        ..EncodeOptions::default()
    };
    let mut text = String::new();
    let agent = AgentId::new(SENDER).ok()?;
    let typed = Typed::new(agent, frame, accp_client::outside().answering(chain));
    typed.encode_into(&mut text, options).ok()?;
    Some(text)
}

/// Returns the name of the chain of a call: the id of the MCP request, in the form of the id of a frame.
fn chain(request: &RequestId) -> String {
    let number = match request {
        RequestId::Number(number) => number.unsigned_abs(),
        RequestId::String(text) => text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        }),
    };
    format!("{:012x}", number & 0xffff_ffff_ffff)
}
