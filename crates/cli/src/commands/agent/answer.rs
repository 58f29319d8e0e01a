//! Makes the frame that answers a request from the output of a command.

use accp_frame::{DynamicFrame, EncodeOptions, Envelope, Frame, Limits, Registry, Value};
use accp_registry::{Field, FrameSpec, Schema, Type};

/// A placeholder for an id that the session sets.
const ID: &str = "000000000000";

/// Returns the answer of the agent `name`. `printed` is a frame, or a text for a `done` of the same operation.
///
/// # Errors
/// Returns the reason why the output cannot be the answer, as a text that all agents of the session may see.
pub(super) fn of(
    name: &str,
    request: &DynamicFrame<'_>,
    printed: &str,
    registry: &Registry,
) -> Result<DynamicFrame<'static>, String> {
    if !is_meant_as_frame(printed) {
        return of_text(name, request, printed, registry);
    }
    let frame = Frame::parse(printed).map_err(|error| {
        format!(
            "the frame that the command prints: {error}; one frame alone answers, and `accp encode` writes it with its escapes"
        )
    })?;
    of_frame(&frame, registry)
}

/// Returns whether a text begins like a frame: `@name>done:operation{`. Any other text is an answer in words.
fn is_meant_as_frame(text: &str) -> bool {
    let header = text.strip_prefix('@').and_then(|rest| rest.split_once('{'));
    let parts = header.and_then(|(header, _)| header.split_once('>'));
    let kind = parts.and_then(|(_, kind)| kind.split_once(':'));
    let is_word = |word: &str| {
        let is_part = |c: char| c.is_alphanumeric() || "_-./+".contains(c);
        !word.is_empty() && word.chars().all(is_part)
    };
    kind.is_some_and(|(intent, operation)| is_word(intent) && is_word(operation))
}

/// Reads a frame that the command has printed. The frame need not have the fields that the session sets.
fn of_frame(frame: &Frame<'_>, registry: &Registry) -> Result<DynamicFrame<'static>, String> {
    let unfit =
        |error: &dyn std::fmt::Display| format!("the frame that the command prints: {error}");
    let mut envelope = frame.envelope().map_err(|error| unfit(&error))?;
    envelope.msg_id.get_or_insert(ID.into());
    envelope.sequence.get_or_insert(0);
    envelope.correlation_id.get_or_insert(ID.into());
    let head = Frame {
        metadata: Vec::new(),
        ..frame.clone()
    };
    let mut text = head.to_string();
    envelope.write(&mut text).map_err(|error| unfit(&error))?;
    let message = DynamicFrame::decode(&text, registry).map_err(|error| unfit(&error))?;
    Ok(message.into_owned())
}

/// Makes a `done` from a text. Its schema is the schema of the request, or else the first schema in the registry that
/// lists such a `done`. If the request has no schema, the answer may also have none.
fn of_text(
    name: &str,
    request: &DynamicFrame<'_>,
    text: &str,
    registry: &Registry,
) -> Result<DynamicFrame<'static>, String> {
    let head = ["done", &*request.operation];
    let own = request.schema_in(registry);
    let schema = own.filter(|schema| schema.lists(&head));
    let schema = schema.or_else(|| registry.frame(&head).map(|(schema, _)| schema));
    let done = DynamicFrame::new(name.to_owned(), head[0], head[1].to_owned());
    let done = done.map_err(|error| error.to_string())?;
    let Some(schema) = schema else {
        return match &request.schema {
            None => Ok(done.with("result", text.to_owned())),
            Some(code) => Err(format!(
                "the registry has no done:{} for the text that the command prints: schema {code} lists none",
                head[1]
            )),
        };
    };
    let filled = fill(done.clone(), schema, request, text).and_then(|done| fitting(done, registry));
    match filled {
        Err(_) if request.schema.is_none() => Ok(done.with("result", text.to_owned())),
        Err(why) => Err(format!(
            "the text that the command prints makes no done:{} of schema {}: {why}",
            head[1], schema.code
        )),
        filled => filled,
    }
}

/// Puts the text into the field that fits best. Gives the other required fields the values that the request has for
/// them.
fn fill(
    done: DynamicFrame<'static>,
    schema: &Schema,
    request: &DynamicFrame<'_>,
    text: &str,
) -> Result<DynamicFrame<'static>, String> {
    let head = ["done", &*request.operation];
    let carried = |field: &&Field| carries(schema, schema.frame(&head), field);
    let fields: Vec<&Field> = schema.fields.iter().filter(carried).collect();
    let (required, others): (Vec<&Field>, Vec<&Field>) = fields
        .iter()
        .partition(|field| schema.requires(field, &head));
    let missing: Vec<&str> = required
        .iter()
        .filter(|field| stated(request, field).is_none())
        .map(|field| field.name.as_str())
        .collect();
    let place = match missing.as_slice() {
        [only] => Some(*only),
        // The printed text is the answer, even if the request has a field of the same name.
        [] => best_for_text(fields.iter().filter(|field| field.ty == Type::Text))
            .or_else(|| best_for_text(others.iter())),
        several => {
            return Err(format!(
                "it needs {}, which the request does not say",
                several.join(" and ")
            ));
        }
    };
    let place = place.ok_or("it has no field for a text")?;
    let mut done = done.under(schema.code.clone());
    for field in required {
        if let Some(value) = stated(request, field) {
            done = done.with(field.name.clone(), value.clone().into_owned());
        }
    }
    Ok(done.with(place.to_owned(), text.to_owned()))
}

/// Returns whether the frame can have the field: because the frame lists or requires the field, or because the frame
/// lists no fields and the field is not optional.
fn carries(schema: &Schema, frame: Option<&FrameSpec>, field: &Field) -> bool {
    let head = frame.map_or(&[][..], |frame| &frame.head);
    let is_listed = match frame.and_then(|frame| frame.fields.as_ref()) {
        Some(names) => names.contains(&field.name),
        None => !field.optional,
    };
    is_listed || schema.requires(field, head)
}

/// Returns the value of a field if the request itself states it. A value that equals the default of the registry does
/// not count.
fn stated<'m, 'a>(request: &'m DynamicFrame<'a>, field: &Field) -> Option<&'m Value<'a>> {
    let value = request.payload.get(&field.name)?;
    let is_default = field.default.as_ref() == Some(&value.to_json());
    (!is_default && *value != Value::Null).then_some(value)
}

/// Returns the field that fits a text best: its type is `text`, or else `any`, or else `string`. Among fields of the
/// same type, a field without a default comes first. Otherwise the first field counts.
fn best_for_text<'f>(fields: impl Iterator<Item = &'f &'f Field>) -> Option<&'f str> {
    let ranked = fields.filter_map(|field| {
        let rank = match field.ty {
            Type::Text => 0,
            Type::Any => 1,
            Type::String => 2,
            _ => return None,
        };
        Some(((rank, field.default.is_some()), field.name.as_str()))
    });
    ranked.min_by_key(|(rank, _)| *rank).map(|(_, name)| name)
}

/// Returns the answer if the registry accepts it, and otherwise the reason why not.
fn fitting(
    done: DynamicFrame<'static>,
    registry: &Registry,
) -> Result<DynamicFrame<'static>, String> {
    // For this check, the envelope has placeholders and there are no limits: the session sets the envelope later, and
    // takes long values out of the frame.
    let mut envelope = Envelope::new(ID, 0).at(0);
    envelope.correlation_id = Some(ID.into());
    envelope.session_id = Some(ID.into());
    let options = EncodeOptions {
        limits: Limits::NONE,
        inline: true,
        ..EncodeOptions::default()
    };
    let whole = done.clone().in_envelope(envelope);
    let written = whole.encode_with(registry, options);
    written.map(|_| done).map_err(|error| error.to_string())
}
