//! Answers to tool calls.

use std::collections::BTreeMap;
use std::error::Error;
use std::fmt;

use accp_registry::{ErrorCode, nearest};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value as Json;

use crate::interface::outbound::Outbound;
use crate::wire::link::error_frame;
use accp_frame::Value;
use accp_frame::profiles::{ErrorFail, ToolDone, ToolReq};

/// Answers tool calls (draft section 10.2): with the result of the tool, or with an error.
///
/// A call of an unknown tool is E4001. Arguments that the tool does not take are E4003. A tool that
/// fails is E4002, unless it names another code. A result that cannot be sent is E9999. The tools
/// get the application's state `S`.
///
/// ```
/// use accp_runtime::profiles::{ErrorFail, ToolReq};
/// use accp_runtime::session::{CancelToken, Inbound, MemberId, Tools};
/// use serde::Deserialize;
///
/// #[derive(Deserialize)]
/// struct Search {
///     query: String,
///     limit: Option<usize>,
/// }
///
/// let tools = Tools::<Vec<&str>>::new().on("search", |notes, args: Search| {
///     let found = notes.iter().filter(|note| note.contains(&args.query));
///     Ok(found.take(args.limit.unwrap_or(10)).copied().map(String::from).collect::<Vec<_>>())
/// });
///
/// let mut notes = vec!["buy bread", "sell the car"];
/// let mut call = |text: &str| {
///     let inbound = Inbound::new(1, MemberId::HOST, text.into(), CancelToken::new());
///     let call = inbound.decode::<ToolReq>()?.frame;
///     // A handler returns the answer: the driver sends it in the chain of the call.
///     Ok::<_, accp_runtime::DecodeError>(format!("{:?}", tools.answer(&mut notes, &call)))
/// };
/// assert!(call("@dev>req:tool{tool:search|args:{query:bread}|schema:TC}[mid:a,seq:1]")?.contains("done"));
/// assert!(call("@dev>req:tool{tool:serch|schema:TC}[mid:b,seq:2]")?.contains("fail"));
/// # Ok::<(), accp_runtime::DecodeError>(())
/// ```
pub struct Tools<S> {
    tools: BTreeMap<String, Box<Run<S>>>,
}

type Run<S> = dyn Fn(&mut S, Json) -> Result<Value<'static>, ToolFault> + Send + Sync;

/// The reason why a tool has no result. Any error becomes E4002, with its text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolFault {
    code: ErrorCode,
    message: String,
}

impl ToolFault {
    /// Makes a fault with another code than E4002, such as E5001 for a call that is not allowed.
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        let message = message.into();
        Self { code, message }
    }
}

impl<E: Error> From<E> for ToolFault {
    fn from(error: E) -> Self {
        Self::new(ErrorCode::TOOL_EXEC_FAILED, error.to_string())
    }
}

impl<S> Tools<S> {
    /// Makes a set without tools.
    pub const fn new() -> Self {
        Self {
            tools: BTreeMap::new(),
        }
    }

    /// Adds a tool. Its arguments are read from the map of the call, and its result is written into
    /// the answer. A second tool of this name replaces the first.
    pub fn on<A: DeserializeOwned, R: Serialize>(
        mut self,
        name: impl Into<String>,
        tool: impl Fn(&mut S, A) -> Result<R, ToolFault> + Send + Sync + 'static,
    ) -> Self {
        let run = move |state: &mut S, arguments: Json| {
            let arguments = serde_path_to_error::deserialize(arguments);
            let arguments = arguments.map_err(|error| {
                ToolFault::new(ErrorCode::TOOL_SCHEMA_MISMATCH, error.to_string())
            })?;
            let result = serde_json::to_value(tool(state, arguments)?);
            let result = result.map_err(|error| {
                let what = format!("the result cannot be written: {error}");
                ToolFault::new(ErrorCode::INTERNAL_ERROR, what)
            })?;
            Ok(Value::from_data(&result).into_owned())
        };
        self.tools.insert(name.into(), Box::new(run));
        self
    }

    /// Runs a tool, and returns the frame that answers the call.
    pub fn answer(&self, state: &mut S, call: &ToolReq<'_>) -> Outbound<'static> {
        let name = call.tool_name.to_string();
        let frame = match self.run(state, call) {
            Ok(result) => {
                return Outbound::owned(ToolDone {
                    tool_name: name.into(),
                    arguments: None,
                    result: Some(result),
                    status: "ok".into(),
                    error_code: None,
                });
            }
            Err(fault) => ErrorFail {
                tool_name: Some(name.into()),
                ..error_frame(fault.code, fault.message)
            },
        };
        Outbound::owned(frame)
    }

    fn run(&self, state: &mut S, call: &ToolReq<'_>) -> Result<Value<'static>, ToolFault> {
        let name = &*call.tool_name;
        let Some(run) = self.tools.get(name) else {
            let names = self.tools.keys().map(String::as_str);
            let cure = match nearest(name, names.clone()) {
                Some(near) => format!("did you mean {near}?"),
                None => format!("there are {}", names.collect::<Vec<_>>().join(", ")),
            };
            let what = format!("there is no tool {name}; {cure}");
            return Err(ToolFault::new(ErrorCode::TOOL_NOT_FOUND, what));
        };
        let arguments = Value::Map(call.arguments.clone().unwrap_or_default());
        let arguments = arguments.into_data(&mut |_| None).map_err(|key| {
            let what = format!("the value of ${key}, which is not here");
            ToolFault::new(ErrorCode::REF_NOT_FOUND, what)
        })?;
        run(state, arguments)
    }
}

impl<S> Default for Tools<S> {
    fn default() -> Self {
        Self::new()
    }
}

impl<S> fmt::Debug for Tools<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.tools.keys()).finish()
    }
}
