//! The frames of a registry as tools that a model calls.

use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use crate::model::{Field, FrameSpec, Registry, Schema};

/// A frame as a tool that a model calls.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Tool<'r> {
    /// The name of the tool: the operation of a `req`, and `operation_intent` of any other frame;
    /// with the code of the schema where two frames would have one name.
    pub name: String,
    /// The schema of the frame.
    pub schema: &'r Schema,
    /// The frame.
    pub frame: &'r FrameSpec,
}

impl Registry {
    /// Returns the frames that the schemas list, as tools.
    ///
    /// ```
    /// use accp_registry::Registry;
    ///
    /// let registry = Registry::standard();
    /// let tools = registry.tools();
    /// let names: Vec<&str> = tools.iter().map(|tool| tool.name.as_str()).collect();
    /// assert!(names.contains(&"schedule") && names.contains(&"schedule_done"));
    /// ```
    pub fn tools(&self) -> Vec<Tool<'_>> {
        let frames = self
            .schemas()
            .flat_map(|schema| schema.frames.iter().map(move |frame| (schema, frame)));
        let mut tools: Vec<Tool<'_>> = frames
            .map(|(schema, frame)| Tool {
                name: name(frame),
                schema,
                frame,
            })
            .collect();
        let names: Vec<String> = tools.iter().map(|tool| tool.name.clone()).collect();
        for tool in &mut tools {
            if names.iter().filter(|name| **name == tool.name).count() > 1 {
                let code = tool.schema.code.to_ascii_lowercase();
                tool.name = format!("{}_{code}", tool.name);
            }
        }
        tools
    }
}

impl<'r> Tool<'r> {
    /// Returns the fields that are the arguments of the tool, each with whether it is required: the fields that the
    /// `frames` entry lists or requires, or else the field set of the draft.
    pub fn arguments(&self) -> impl Iterator<Item = (&'r Field, bool)> + use<'r> {
        let (schema, frame) = (self.schema, self.frame);
        schema.fields.iter().filter_map(move |field| {
            let is_required = schema.requires(field, &frame.head);
            let is_listed = match &frame.fields {
                Some(names) => names.contains(&field.name),
                None => !field.optional,
            };
            (is_required || is_listed).then_some((field, is_required))
        })
    }
}

fn name(frame: &FrameSpec) -> String {
    match (frame.intent(), frame.operation()) {
        ("req", operation) => operation.to_owned(),
        (intent, operation) => format!("{operation}_{intent}"),
    }
}
