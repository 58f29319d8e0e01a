//! Tool calls of a model, as messages.

use alloc::format;
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;
use core::fmt;

use accp_registry::{Field, Limits, Registry, Schema, Tool, Type, lexical, nearest};
use serde_json::{Map as JsonMap, Value as Json};

use crate::agent::AgentId;
use crate::dynamic_frame::DynamicFrame;
use crate::envelope::Envelope;
use crate::error::EncodeError;
use crate::externalise::unbounded;
use crate::reader::{DecodeOptions, Header, Reader};
use crate::scalar::wanted;
use crate::typed::{DecodeFrame, Typed};
use crate::value::{Decimal, Map, Value};
use crate::writer::{FrameType, Writer};

/// The reasons why a tool call does not become a frame: all of them, one on each line, in words for
/// the model that made the call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolCallError {
    problems: Vec<String>,
}

impl ToolCallError {
    fn one(problem: String) -> Self {
        Self {
            problems: alloc::vec![problem],
        }
    }

    /// Returns the reasons.
    pub fn problems(&self) -> &[String] {
        &self.problems
    }
}

impl fmt::Display for ToolCallError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.problems.join("\n"))
    }
}

impl core::error::Error for ToolCallError {}

impl DynamicFrame<'static> {
    /// Makes a message from a model's tool call: the name and the arguments of a tool that `Export::tools` of
    /// accp-registry describes. An argument that is null is absent.
    ///
    /// # Errors
    /// A tool that the registry does not have; arguments that are missing, unknown or of another
    /// type. The error lists all these problems, so that the program can send it back to the model.
    ///
    /// ```
    /// use accp_runtime::profiles::ScheduleReq;
    /// use accp_runtime::{AgentId, DynamicFrame, Registry, Typed};
    /// use serde_json::json;
    ///
    /// let (registry, agent) = (Registry::standard(), AgentId::new("planner")?);
    /// let args = json!({ "assignee": "dev", "task": "impl_auth", "priority": null, "deps": null });
    /// let message = DynamicFrame::from_tool_call(&registry, &agent, "schedule", &args)?;
    /// let text = message.encode(&registry)?;
    /// assert_eq!(Typed::<ScheduleReq>::decode(&text)?.frame.priority, "medium");
    ///
    /// let args = json!({ "asignee": "dev", "deps": ["a", 7] });
    /// let error = DynamicFrame::from_tool_call(&registry, &agent, "schedule", &args).unwrap_err();
    /// assert_eq!(error.to_string(), "\
    /// asignee: there is no such argument; did you mean assignee?
    /// deps[1]: expected a string
    /// assignee: required
    /// task: required");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn from_tool_call(
        registry: &Registry,
        agent: &AgentId<'_>,
        name: &str,
        arguments: &Json,
    ) -> Result<Self, ToolCallError> {
        let tools = registry.tools();
        let tool = find(&tools, name)?;
        Self::of_tool(registry, agent, tool, arguments, true)
    }

    /// Makes a message from params that do not come from a tool call with a strict schema. So in a field of any
    /// type, a string is a string and not JSON, and `{"$ref": "cold.p57"}` is a reference. Otherwise it does the
    /// same as [`from_tool_call`](Self::from_tool_call).
    ///
    /// # Errors
    /// As [`from_tool_call`](Self::from_tool_call).
    ///
    /// ```
    /// use accp_runtime::{AgentId, DynamicFrame, Registry};
    /// use serde_json::json;
    ///
    /// let more = r#"{ "schemas": { "note": {
    ///     "code": "NOTE", "fields": ["more"], "frames": [ { "intent": "req", "operation": "note" } ]
    /// } } }"#;
    /// let (registry, agent) = (Registry::from_json(more)?, AgentId::new("dev")?);
    /// let note = DynamicFrame::from_params(&registry, &agent, "note", &json!({ "more": "94107" }))?;
    /// assert_eq!(note.encode(&registry)?, r#"@dev>req:note{more:"94107|schema:NOTE}"#);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn from_params(
        registry: &Registry,
        agent: &AgentId<'_>,
        name: &str,
        params: &Json,
    ) -> Result<Self, ToolCallError> {
        let tools = registry.tools();
        let tool = find(&tools, name)?;
        Self::of_tool(registry, agent, tool, params, false)
    }

    fn of_tool(
        registry: &Registry,
        agent: &AgentId<'_>,
        tool: &Tool<'_>,
        arguments: &Json,
        is_strict: bool,
    ) -> Result<Self, ToolCallError> {
        let Json::Object(arguments) = arguments else {
            return Err(ToolCallError::one(
                "expected an object with the arguments".into(),
            ));
        };
        let fields: Vec<(&Field, bool)> = tool.arguments().collect();
        let mut call = Call {
            registry,
            is_strict,
            is_inner: false,
            problems: Vec::new(),
        };
        let payload = call.fields("", arguments, &fields);
        if !call.problems.is_empty() {
            let problems = call.problems;
            return Err(ToolCallError { problems });
        }
        let (intent, operation) = (tool.frame.intent(), tool.frame.operation().to_string());
        let message = DynamicFrame::new(agent.as_str().to_string(), intent, operation);
        let mut message = message.map_err(|error| ToolCallError::one(error.to_string()))?;
        message = message.under(tool.schema.code.clone());
        message.payload = payload;
        Ok(message)
    }
}

impl<T: for<'a> DecodeFrame<'a>> Typed<'static, T> {
    /// Makes a frame of type `T` from the arguments of a model's tool call, as [`DynamicFrame::from_tool_call`]
    /// makes a message. `T` must be the type of a single frame, and must own its values.
    ///
    /// # Errors
    /// As [`DynamicFrame::from_tool_call`], and when the registry has no frame of type `T`, or several. If there
    /// are several, use [`Typed::from_tool_call`], which takes the name of the tool.
    ///
    /// ```
    /// use accp_runtime::{AccpFrame, AgentId, Registry, Typed};
    /// use serde_json::json;
    ///
    /// #[derive(AccpFrame)]
    /// #[accp(schema = "TA", intent = "req", operation = "schedule")]
    /// struct Schedule {
    ///     assignee: String,
    ///     task: String,
    ///     priority: String,
    ///     deps: Vec<String>,
    /// }
    ///
    /// let (registry, agent) = (Registry::standard(), AgentId::new("planner")?);
    /// let args = json!({ "assignee": "dev", "task": "impl_auth", "priority": null });
    /// let call = Typed::<Schedule>::from_tool_args(&registry, &agent, &args)?;
    /// assert_eq!(call.frame.priority, "medium");
    ///
    /// let args = json!({ "asignee": "dev", "deps": ["a", 7] });
    /// let error = Typed::<Schedule>::from_tool_args(&registry, &agent, &args).err();
    /// assert_eq!(error.map(|error| error.problems().len()), Some(4));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn from_tool_args(
        registry: &Registry,
        agent: &AgentId<'static>,
        arguments: &Json,
    ) -> Result<Self, ToolCallError> {
        let tools = registry.tools();
        let mut fitting = tools.iter().filter(|tool| is_of::<T>(agent, tool));
        match (fitting.next(), fitting.next()) {
            (Some(tool), None) => Self::of_tool(registry, agent, tool, arguments),
            (None, _) => Err(ToolCallError::one(
                "the registry has no tool for this type".into(),
            )),
            (Some(first), Some(second)) => Err(ToolCallError::one(format!(
                "this type is for several tools, {} and {}; name the tool",
                first.name, second.name
            ))),
        }
    }

    /// Makes a frame of type `T` from a model's tool call. `T` owns its values. `T` may be an enum over several
    /// frames: the name of the tool chooses the variant.
    ///
    /// # Errors
    /// As [`DynamicFrame::from_tool_call`], with the tools of `T` only.
    ///
    /// ```
    /// use accp_runtime::{AccpFrame, AgentId, Registry, Typed};
    /// use serde_json::json;
    ///
    /// #[derive(AccpFrame)]
    /// #[accp(schema = "TA", intent = "done", operation = "schedule")]
    /// struct Scheduled {
    ///     task: String,
    /// }
    ///
    /// let (registry, agent) = (Registry::standard(), AgentId::new("dev")?);
    /// let args = json!({ "task": "impl_auth" });
    /// let call = Typed::<Scheduled>::from_tool_call(&registry, &agent, "schedule_done", &args)?;
    /// assert_eq!(call.frame.task, "impl_auth");
    /// let error = Typed::<Scheduled>::from_tool_call(&registry, &agent, "schedule", &args).err();
    /// let error = error.map(|error| error.to_string());
    /// assert_eq!(error.as_deref(), Some("there is no tool schedule; the tools are schedule_done"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn from_tool_call(
        registry: &Registry,
        agent: &AgentId<'static>,
        name: &str,
        arguments: &Json,
    ) -> Result<Self, ToolCallError> {
        let mut tools = registry.tools();
        tools.retain(|tool| is_of::<T>(agent, tool));
        let tool = find(&tools, name)?;
        Self::of_tool(registry, agent, tool, arguments)
    }

    fn of_tool(
        registry: &Registry,
        agent: &AgentId<'static>,
        tool: &Tool<'_>,
        arguments: &Json,
    ) -> Result<Self, ToolCallError> {
        let message = DynamicFrame::of_tool(registry, agent, tool, arguments, true)?;
        let text = without_metadata(&message, registry);
        let text = text.map_err(|error| ToolCallError::one(error.to_string()))?;
        let options = DecodeOptions {
            limits: Limits::NONE,
            ..DecodeOptions::default()
        };
        // A tool call has no metadata, so required envelope fields are not checked here.
        let read = Reader::new(&text, options).and_then(|mut r| {
            let header = r.header()?;
            let (frame, _) = T::decode_fields(&header, &mut r)?;
            Ok(Self::new(agent.clone(), frame, Envelope::default()).which_dropped(&mut r))
        });
        read.map_err(|error| match &*error.path() {
            "" => ToolCallError::one(format!("expected {}", error.expected())),
            path => ToolCallError::one(format!("{path}: expected {}", error.expected())),
        })
    }
}

/// Returns the text of a frame without metadata, even if the registry requires some.
fn without_metadata(
    message: &DynamicFrame<'_>,
    registry: &Registry,
) -> Result<String, EncodeError> {
    let schema = message.resolve(registry)?;
    let frame = FrameType {
        name: "",
        intent: message.intent,
        operation: &message.operation,
        schema: message.schema.as_deref(),
        envelope: &[],
    };
    let mut out = String::new();
    let writer = Writer::new(&mut out, unbounded());
    writer.frame(&message.agent, frame, &Envelope::default(), |w| {
        message.write_params(&message.payload, schema, registry, w)
    })?;
    Ok(out)
}

/// Returns whether `T` accepts the frame of a tool.
fn is_of<T: for<'a> DecodeFrame<'a>>(agent: &AgentId<'_>, tool: &Tool<'_>) -> bool {
    let header = Header {
        agent: agent.as_str(),
        intent: tool.frame.intent(),
        operation: tool.frame.operation(),
    };
    T::accepts(&header, Some(&tool.schema.code))
}

fn find<'t, 'r>(tools: &'t [Tool<'r>], name: &str) -> Result<&'t Tool<'r>, ToolCallError> {
    tools.iter().find(|tool| tool.name == name).ok_or_else(|| {
        let names: Vec<&str> = tools.iter().map(|tool| tool.name.as_str()).collect();
        ToolCallError::one(no_tool(name, &names))
    })
}

fn no_tool(name: &str, names: &[&str]) -> String {
    match nearest(name, names.iter().copied()) {
        Some(near) => format!("there is no tool {name}; did you mean {near}?"),
        None => format!(
            "there is no tool {name}; the tools are {}",
            names.join(", ")
        ),
    }
}

/// The state of reading one tool call.
struct Call<'r> {
    registry: &'r Registry,
    /// Whether the arguments follow a strict schema.
    is_strict: bool,
    /// Whether the value is inside JSON that is given as a string. Inside such JSON, a string is never JSON itself.
    is_inner: bool,
    problems: Vec<String>,
}

impl Call<'_> {
    fn problem(&mut self, path: &str, what: impl fmt::Display) {
        self.problems.push(format!("{path}: {what}"));
    }

    /// Reads the arguments of a tool or the fields of a nested schema.
    fn fields(
        &mut self,
        path: &str,
        object: &JsonMap<String, Json>,
        fields: &[(&Field, bool)],
    ) -> Map<'static> {
        let at = |name: &str| match path {
            "" => name.to_string(),
            path => format!("{path}.{name}"),
        };
        let mut read = Map::new();
        for (name, json) in object.iter().filter(|(_, json)| !json.is_null()) {
            let Some((field, _)) = fields.iter().find(|(field, _)| field.name == *name) else {
                let names = fields.iter().map(|(field, _)| field.name.as_str());
                let near = nearest(name, names.clone());
                let names: Vec<&str> = names.collect();
                let cure = match near {
                    Some(near) => format!("did you mean {near}?"),
                    None => format!("there are {}", names.join(", ")),
                };
                self.problem(&at(name), format!("there is no such argument; {cure}"));
                continue;
            };
            if let Some(value) = self.value(&at(name), json, &field.ty) {
                read.insert(name.clone(), value);
            }
        }
        let is_missing = |field: &Field| object.get(&field.name).is_none_or(Json::is_null);
        for (field, _) in fields
            .iter()
            .filter(|(field, must)| *must && is_missing(field))
        {
            self.problem(&at(&field.name), "required");
        }
        read
    }

    /// Reads a value as its type; `None` when it does not fit.
    fn value(&mut self, path: &str, json: &Json, ty: &Type) -> Option<Value<'static>> {
        // A strict schema has no maps and no `any`: their values are JSON in a string.
        if let (Json::String(text), Type::List(_) | Type::Map(_) | Type::Schema(_) | Type::Any) =
            (json, ty)
            && !self.is_inner
            && (self.is_strict || *ty != Type::Any)
        {
            return match serde_json::from_str::<Json>(text) {
                Ok(Json::String(text)) if *ty != Type::Any => {
                    self.wrong(path, &Json::from(text), ty)
                }
                Ok(inner) => {
                    self.is_inner = true;
                    let value = self.value_of(path, &inner, ty);
                    self.is_inner = false;
                    value
                }
                Err(_) if *ty == Type::Any => Some(Value::String(text.clone().into())),
                Err(error) => {
                    self.problem(path, format!("expected JSON in the string: {error}"));
                    None
                }
            };
        }
        self.value_of(path, json, ty)
    }

    /// Reads an item of a list or of a map. It may be null only if null is a value of its type.
    fn item(&mut self, path: &str, json: &Json, ty: &Type) -> Option<Value<'static>> {
        match self.value(path, json, ty)? {
            Value::Null if !ty.holds_null() => self.wrong(path, json, ty),
            value => Some(value),
        }
    }

    fn value_of(&mut self, path: &str, json: &Json, ty: &Type) -> Option<Value<'static>> {
        if !self.is_strict
            && let Value::Ref(key) = Value::from_json(json)
        {
            return Some(Value::Ref(key.into_owned().into()));
        }
        let value = match (json, ty) {
            (Json::Null, _) => Some(Value::Null),
            (json, Type::Any) if !self.is_strict => Some(Value::from_json(json).into_owned()),
            (json, Type::Any) => Some(Value::from_data(json).into_owned()),
            (Json::String(text), Type::String | Type::Text) => Some(Value::from(text.clone())),
            (Json::String(text), Type::Agent) => {
                let text = text.strip_prefix('@').unwrap_or(text);
                lexical::is_agent_id(text).then(|| Value::from(text.to_string()))
            }
            (Json::String(text), Type::Formatted(format)) => {
                format.holds(text).then(|| Value::from(text.clone()))
            }
            (Json::String(text), Type::Enum(values)) => {
                let mut values = values.iter();
                let value = values.find(|value| value.name == *text || value.wire() == text);
                value.map(|value| Value::from(value.name.clone()))
            }
            (Json::Object(_), Type::Decimal) => {
                let number = crate::exact::number(json).and_then(|(number, _)| number);
                number.map(Value::from)
            }
            (Json::Bool(value), Type::Boolean) => Some(Value::from(*value)),
            (Json::Number(number), Type::Integer) => integer(number).map(Value::from),
            (Json::Number(number), Type::Decimal) => decimal(number).map(Value::from),
            (Json::Number(_), Type::Number) => Some(Value::from_data(json).into_owned()),
            (Json::Array(items), Type::List(item)) => {
                let items = items.iter().enumerate();
                let items = items.map(|(n, json)| self.item(&format!("{path}[{n}]"), json, item));
                let items: Vec<_> = items.collect();
                // `item` has already reported every item that does not fit.
                return items
                    .into_iter()
                    .collect::<Option<Vec<_>>>()
                    .map(Value::from);
            }
            (Json::Object(object), Type::Map(item)) => {
                let entries = object.iter().map(|(key, json)| {
                    let value = self.item(&format!("{path}.{key}"), json, item)?;
                    Some((key.clone(), value))
                });
                let entries: Vec<_> = entries.collect();
                let map = entries.into_iter().collect::<Option<Map<'static>>>();
                return map.map(Value::Map);
            }
            (Json::Object(object), Type::Schema(code)) => {
                let schema = self.registry.schema(code);
                let fields = schema.map_or_else(Vec::new, |schema| fields_of(schema, object));
                return Some(Value::Map(self.fields(path, object, &fields)));
            }
            _ => None,
        };
        match value {
            Some(value) => Some(value),
            None => self.wrong(path, json, ty),
        }
    }

    /// Reports that a value does not fit its type, and what the type accepts. Returns `None`.
    fn wrong(&mut self, path: &str, json: &Json, ty: &Type) -> Option<Value<'static>> {
        let expected = wanted(ty, json.as_str());
        self.problem(path, format!("expected {expected}"));
        None
    }
}

/// Returns the fields that a record may have, each with whether it is required. In a union, they are the fields of
/// the variant that the tag names.
fn fields_of<'s>(schema: &'s Schema, object: &JsonMap<String, Json>) -> Vec<(&'s Field, bool)> {
    let tag = schema.tag().and_then(|(_, tag)| object.get(&tag.name));
    let head: Vec<&str> = tag.and_then(Json::as_str).into_iter().collect();
    let variant = schema.frame(&head);
    let is_own = |field: &&Field| variant.is_none_or(|variant| variant.is_about(&field.name));
    let own = schema.fields.iter().filter(is_own);
    let own = own.map(|field| (field, schema.requires(field, &head)));
    own.collect()
}

/// Returns a number as an integer, if it is whole; also a number that is written as `7.0`.
fn integer(number: &serde_json::Number) -> Option<i64> {
    let whole = |float: f64| (float % 1.0 == 0.0 && float.abs() < 9e15).then_some(float as i64);
    number.as_i64().or_else(|| whole(number.as_f64()?))
}

/// Returns a number of at most six places. Nothing is rounded.
fn decimal(number: &serde_json::Number) -> Option<Decimal> {
    if let Some(integer) = number.as_i64() {
        return Some(integer.into());
    }
    let mut text = String::new();
    lexical::write_float(&mut text, number.as_f64()?);
    lexical::parse_decimal(&text).ok()
}
