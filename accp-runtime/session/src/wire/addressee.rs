//! The field of a frame that names the agent which the frame is for.

use std::borrow::Cow;

use accp_registry::{ErrorCode, Registry};

use crate::wire::refusal::Refusal;
use crate::wire::scan::Scanned;
use accp_frame::{DecodeOptions, Limits, Reader};

/// Reads the name in the field that the registry declares, and returns it with the name of the field.
pub(crate) fn of_field<'f>(
    registry: &'f Registry,
    frame: &'f Scanned<'_>,
) -> Result<Option<(&'f str, Cow<'f, str>)>, Refusal> {
    let head = [frame.intent.as_str(), frame.header.operation];
    let Some(schema) = frame.schema_in(registry) else {
        return Ok(None);
    };
    let Some(key) = schema.frame(&head).and_then(|spec| spec.to.as_deref()) else {
        return Ok(None);
    };
    let Some((index, field)) = schema.field(key) else {
        return Ok(None);
    };
    let options = DecodeOptions {
        limits: Limits::NONE,
        marks: true,
    };
    let mut r = Reader::new(frame.text, options)?;
    r.header()?;
    while let Some(param) = r.param()? {
        let value = r.skip_value()?;
        if field.keys().all(|key| key != param) {
            continue;
        }
        if value.starts_with('$') {
            let expected =
                format!("`{key}` in the frame itself: it names the agent that the request is for");
            return Err(Refusal::new(ErrorCode::INVALID_TYPE, expected));
        }
        return Ok((value != "~").then_some((key, value.into())));
    }
    let default = field.default_wire.as_deref();
    let default = default.filter(|_| schema.has_default(index, &head));
    Ok(default.map(|name| (key, name.into())))
}

/// Returns whether a field of a frame names the agent that the frame is for. The frame may lack its metadata.
pub(crate) fn names_agent(registry: &Registry, text: &str) -> bool {
    let frame = Scanned::of_entry(text);
    frame.is_ok_and(|frame| !matches!(of_field(registry, &frame), Ok(None)))
}
