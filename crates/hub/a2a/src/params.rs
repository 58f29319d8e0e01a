//! The params of a call. An error names the field that is wrong.

use a2a::A2AError;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::fault;

/// What a part may hold: one of these.
const CONTENT: [&str; 4] = ["text", "raw", "url", "data"];
/// The fields of a part that are strings.
const STRINGS: [&str; 5] = ["text", "raw", "url", "filename", "mediaType"];

/// Reads the params of a call.
pub(crate) fn read<T: DeserializeOwned>(params: Option<Value>) -> Result<T, A2AError> {
    let params = params.unwrap_or_default();
    check_names(&params)?;
    let message = params.get("message");
    let parts = message.and_then(|message| message.get("parts"));
    let parts = parts.and_then(Value::as_array);
    for (at, part) in parts.into_iter().flatten().enumerate() {
        check_part(at, part)?;
    }
    serde_path_to_error::deserialize(params).map_err(|error| wrong(&error))
}

/// Checks that the fields of the params have names. serde would accept a list in the place of an object, and read the
/// items as the fields, in the order of the Rust type.
fn check_names(params: &Value) -> Result<(), A2AError> {
    let expected = "expected an object, whose fields have names";
    if !params.is_object() {
        return Err(fault::of_field("params", expected, []));
    }
    for field in ["message", "configuration"] {
        if params.get(field).is_some_and(Value::is_array) {
            return Err(fault::of_field(field, expected, []));
        }
    }
    Ok(())
}

/// Checks what a part holds. The types of A2A would take the first content of several, and would read a part whose
/// media type is not a string as text.
fn check_part(at: usize, part: &Value) -> Result<(), A2AError> {
    let given = |name: &str| part.get(name).filter(|value| !value.is_null());
    for name in STRINGS {
        if given(name).is_some_and(|value| !value.is_string()) {
            let field = format!("message.parts[{at}].{name}");
            return Err(fault::of_field(&field, "expected a string", []));
        }
    }
    let contents = CONTENT.into_iter().filter(|name| given(name).is_some());
    if part.is_object() && contents.count() != 1 {
        let expected = "expected one of text, raw, url and data";
        return Err(fault::of_part(at, expected, []));
    }
    Ok(())
}

/// Makes the error for params that are not those of the method.
fn wrong(error: &serde_path_to_error::Error<serde_json::Error>) -> A2AError {
    let path = error.path().to_string();
    let path = if path == "." { "" } else { path.as_str() };
    let why = error.inner().to_string();
    let missing = why.strip_prefix("missing field `");
    if let Some(field) = missing.and_then(|rest| rest.strip_suffix('`')) {
        let dot = if path.is_empty() { "" } else { "." };
        let field = format!("{path}{dot}{field}");
        return fault::of_field(&field, "expected a value, and there is none", []);
    }
    let is_of_part = path.starts_with("message.parts[") && path.ends_with(']');
    if is_of_part && !why.starts_with("invalid type") {
        // Nothing else of a part is left to be wrong.
        let field = format!("{path}.raw");
        return fault::of_field(&field, &format!("expected base64: {why}"), []);
    }
    // A client does not know the names of Rust types, so the error names JSON types.
    let why = match why.find("expected struct ") {
        Some(at) => format!("{}expected an object", &why[..at]),
        None => why
            .replace("expected a map", "expected an object")
            .replace("expected a sequence", "expected a list")
            .replace("expected i32", "expected a whole number of 32 bits")
            .replace("invalid type: map", "invalid type: object")
            .replace("invalid type: sequence", "invalid type: list"),
    };
    let path = if path.is_empty() { "params" } else { path };
    fault::of_field(path, &why, [])
}
