//! Notes about a schema, in one line. Writers of records need them, and readers do not.
use std::fmt::Write as _;

use accp_registry::{Field, Schema, Type};

use crate::view::codec::View;
use crate::view::{text, write};
use accp_frame::Value;

/// Longer defaults are written as `..`: a writer only has to know that there is a default.
const LONG: usize = 60;

/// Writes `req:schedule need assignee,task; done:schedule need task; priority=medium`.
///
/// The needed fields are stated in the shorter of two ways. Either each frame lists them, or
/// optional fields are marked and all other fields without a default are needed.
///
/// ```abnf
/// notes  = part *( "; " part )
/// part   = [ heads " " ] need / heads / field *( " " field )   ; fields come last
/// heads  = head *( "," head )
/// head   = intent ":" operation *( "," operation )
/// need   = "need " names / "all optional"
/// field  = names [ ":" type ] [ "=" ( value / ".." ) ] / name "?" [ ":" type ]
/// names  = name *( "," name )
/// ```
pub(super) fn of(view: &View, schema: &Schema) -> String {
    let groups = groups(schema);
    let needed = |group: &Group<'_>| {
        let needed = group.needed.iter();
        let names: Vec<_> = needed.map(|field| name_of(view, schema, field)).collect();
        match names.as_slice() {
            [] => String::from("all optional"),
            names => format!("need {}", names.join(",")),
        }
    };
    let listed = groups.iter();
    let listed = listed.map(|group| joined([group.heads.clone(), needed(group)], " "));
    let listed = joined(listed.chain([fields(view, schema, None)]), "; ");
    let mut out = match &groups[..] {
        // In this form a field with a default reads as optional. So the form cannot be used if a
        // required field has a default.
        [only] if only.needed.iter().all(|field| field.default.is_none()) => {
            let fields = fields(view, schema, Some(&only.needed));
            let marked = joined([only.heads.clone(), fields], "; ");
            if marked.len() <= listed.len() {
                marked
            } else {
                listed
            }
        }
        _ => listed,
    };
    if !out.is_empty() {
        out.push('\n');
    }
    out
}

/// Returns the name of a field as the definition has it.
fn name_of<'f>(view: &View, schema: &Schema, field: &'f Field) -> &'f str {
    match schema.union {
        Some(_) => &field.name,
        None => write::shown(view.registry(), field),
    }
}

/// Joins the parts that are not empty.
fn joined(parts: impl IntoIterator<Item = String>, between: &str) -> String {
    let parts = parts.into_iter().filter(|part| !part.is_empty());
    parts.collect::<Vec<_>>().join(between)
}

/// The frames of a schema, or the variants of a union, that need the same fields. `heads` is empty if the schema is
/// only nested.
struct Group<'s> {
    heads: String,
    /// The intent of the last frame.
    intent: &'s str,
    needed: Vec<&'s Field>,
}

fn groups(schema: &Schema) -> Vec<Group<'_>> {
    let needed = |intent: &str, operation: &str| {
        let is_needed = |field: &&Field| {
            let mut required = schema.required(&[intent, operation]);
            required.any(|name| name == field.name)
        };
        schema.fields.iter().filter(is_needed).collect::<Vec<_>>()
    };
    let group = |needed| Group {
        heads: String::new(),
        intent: "",
        needed,
    };
    let mut groups: Vec<Group<'_>> = Vec::new();
    for variant in &schema.variants {
        let mut needed: Vec<&Field> = schema.fields.iter().collect();
        let is_tag = |field: &Field| schema.union.as_ref() == Some(&field.name);
        needed.retain(|field| schema.requires(field, &variant.head) && !is_tag(field));
        let name = variant.head.concat();
        match groups.iter_mut().find(|group| group.needed == needed) {
            Some(group) => group.heads = format!("{},{name}", group.heads),
            None => groups.push(Group {
                heads: name,
                ..group(needed)
            }),
        }
    }
    for frame in &schema.frames {
        let (intent, operation) = (frame.intent(), frame.operation());
        let needed = needed(intent, operation);
        let at = groups.iter().position(|group| group.needed == needed);
        let at = at.unwrap_or(groups.len());
        if at == groups.len() {
            groups.push(group(needed));
        }
        let Group {
            heads,
            intent: last,
            ..
        } = &mut groups[at];
        if *last == intent {
            let _ = write!(heads, ",{operation}");
        } else {
            let gap = if heads.is_empty() { "" } else { "," };
            let _ = write!(heads, "{gap}{intent}:{operation}");
            *last = intent;
        }
    }
    if groups.is_empty() {
        groups.push(group(needed("", "")));
    }
    groups
}

/// Writes `chunk_index,total_chunks:integer is_final=false`. If `needed` is given, a `?` marks each other field that
/// has no default.
fn fields(view: &View, schema: &Schema, needed: Option<&[&Field]>) -> String {
    let mut notes: Vec<(String, String)> = Vec::new();
    // The definition of a union already has the tag with its values.
    let is_tag = |field: &&Field| schema.union.as_ref() == Some(&field.name);
    for field in schema.fields.iter().filter(|field| !is_tag(field)) {
        let name = name_of(view, schema, field);
        let note = note(view, field);
        let is_marked = needed.is_some_and(|needed| !needed.contains(&field));
        let same = notes.iter_mut().find(|(_, other)| *other == note);
        match same {
            _ if is_marked && field.default.is_none() => {
                notes.push((String::from(name), format!("?{note}")));
            }
            _ if note.is_empty() => {}
            Some((names, _)) => {
                let _ = write!(names, ",{name}");
            }
            None => notes.push((String::from(name), note)),
        }
    }
    joined(notes.into_iter().map(|(names, note)| names + &note), " ")
}

/// Writes the type and the default of a field.
fn note(view: &View, field: &Field) -> String {
    let mut out = String::new();
    let is_told = match &field.ty {
        Type::String | Type::Text => true,
        // The definition already names the schema, so the note need not.
        Type::Schema(_) => true,
        ty => field.default.as_ref().map(Type::of_default).as_ref() == Some(ty),
    };
    if !is_told {
        out.push(':');
        write_type(&mut out, &field.ty);
    }
    if let Some(default) = &field.default {
        let mut shown = String::new();
        match Value::from_data(default) {
            Value::String(text) => text::write_word(&mut shown, &text),
            value => shown = view.value(&value).text,
        }
        let is_short = shown.len() <= LONG && !shown.contains('\n');
        out.push('=');
        out.push_str(if is_short { &shown } else { ".." });
    }
    out
}

/// Writes the type as a registry spells it, but the values of an enumeration as a view writes them.
fn write_type(out: &mut String, ty: &Type) {
    match ty {
        Type::Enum(values) => {
            for (at, value) in values.iter().enumerate() {
                out.push_str(if at > 0 { "|" } else { "" });
                text::write_word(out, &value.name);
            }
        }
        Type::List(item) => {
            out.push('[');
            write_type(out, item);
            out.push(']');
        }
        Type::Map(item) => {
            out.push('{');
            write_type(out, item);
            out.push('}');
        }
        other => {
            let _ = write!(out, "{other}");
        }
    }
}
