//! The frames of a registry as tools that a model calls.

use alloc::borrow::ToOwned;
use alloc::collections::BTreeSet;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::iter;

use crate::model::{Field, FrameSpec, Registry, Schema};

/// A frame as a tool that a model calls.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Tool<'r> {
    /// The name of the tool: the operation of a `req`, and `operation_intent` of any other frame. If two frames would
    /// get the same name, the code of the schema is added. If names are still equal, the name has the operation, the
    /// intent and the code: first with the code in small letters, then with its exact spelling, and at last with a
    /// number. No two tools of a registry have the same name.
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
        make_distinct(&mut tools);
        tools
    }
}

impl<'r> Tool<'r> {
    /// Returns the fields that are the arguments of the tool, each with whether it is required. These are the
    /// required fields, and the fields that the `frames` entry lists. If the entry has no list, they are the required
    /// fields, the fields outside `optional`, and the addressee.
    pub fn arguments(&self) -> impl Iterator<Item = (&'r Field, bool)> + use<'r> {
        let (schema, frame) = (self.schema, self.frame);
        schema.fields.iter().filter_map(move |field| {
            let is_required = schema.requires(field, &frame.head);
            // A caller that cannot name the addressee cannot send the frame to one agent.
            let is_addressee = frame.to.as_ref() == Some(&field.name);
            let is_listed = match &frame.fields {
                Some(names) => names.contains(&field.name),
                None => !field.optional || is_addressee,
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

/// Makes the names of the tools distinct. A name that no other tool has stays as it is.
fn make_distinct(tools: &mut [Tool<'_>]) {
    let twice = repeated(tools);
    for tool in tools.iter_mut().filter(|tool| twice.contains(&tool.name)) {
        tool.name = format!("{}_{}", tool.name, tool.schema.code.to_ascii_lowercase());
    }
    let twice = repeated(tools);
    let (mut open, fixed): (Vec<_>, Vec<_>) = tools
        .iter_mut()
        .partition(|tool| twice.contains(&tool.name));
    let mut taken: BTreeSet<String> = fixed.into_iter().map(|tool| tool.name.clone()).collect();
    for longer in [with_intent, with_exact_code] {
        let names: Vec<String> = open.iter().map(|tool| longer(tool)).collect();
        let mut still_open = Vec::new();
        for (tool, name) in open.into_iter().zip(&names) {
            let is_single = names.iter().filter(|other| *other == name).count() == 1;
            if is_single && taken.insert(name.clone()) {
                tool.name.clone_from(name);
            } else {
                still_open.push(tool);
            }
        }
        open = still_open;
    }
    for tool in open {
        let name = with_exact_code(tool);
        let numbered = (2u64..).map(|number| format!("{name}_{number}"));
        let mut names = iter::once(name.clone()).chain(numbered);
        let free = names.find(|name| taken.insert(name.clone()));
        tool.name = free.unwrap_or(name);
    }
}

/// Returns the names that more than one tool has.
fn repeated(tools: &[Tool<'_>]) -> BTreeSet<String> {
    let mut seen = BTreeSet::new();
    let names = tools.iter().map(|tool| &tool.name);
    names.filter(|name| !seen.insert(*name)).cloned().collect()
}

fn with_intent(tool: &Tool<'_>) -> String {
    full_name(tool, &tool.schema.code.to_ascii_lowercase())
}

fn with_exact_code(tool: &Tool<'_>) -> String {
    full_name(tool, &tool.schema.code)
}

fn full_name(tool: &Tool<'_>, code: &str) -> String {
    let frame = tool.frame;
    format!("{}_{}_{code}", frame.operation(), frame.intent())
}
