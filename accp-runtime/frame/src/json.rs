//! Values and messages as JSON.

use alloc::borrow::Cow;
use alloc::format;
use alloc::string::{String, ToString as _};

use accp_registry::{ErrorCode, lexical};
use serde_json::{Map as JsonMap, Value as Json, json};

use crate::dynamic_frame::DynamicFrame;
use crate::envelope::Envelope;
use crate::error::EncodeError;
use crate::exact::{self, NUMBER};
use crate::value::{Map, Number, Value};

/// The form of decimals that no float holds.
#[derive(Clone, Copy)]
enum Decimals {
    Texts,
    /// `{"$num": "12345678901234.123456"}`.
    Marked,
}

/// The form of references in JSON.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Refs {
    /// `{"$ref": "warm.plan"}` is a reference; data of the same shape gets one more `$`.
    Marked,
    /// Every object is data.
    None,
}

impl<'a> Value<'a> {
    /// Returns the value of a JSON value. Every JSON value has one, and
    /// [`to_exact_json`](Self::to_exact_json) gives an equal JSON value back.
    ///
    /// An object `{"$ref": "tier.key"}` is a reference, and `{"$num": "12345678901234.123456"}` a decimal that no float
    /// holds (see [`exact_numbers`](crate::exact_numbers)). Data that happens to have one of these shapes is written with
    /// one more `$`. For JSON without references use [`Value::from_data`].
    ///
    /// ```
    /// use accp_runtime::Value;
    /// use serde_json::json;
    ///
    /// let json = json!({ "first-name": "Ada", "height": 1.0, "src": { "$ref": "cold.k1" } });
    /// let value = Value::from_json(&json);
    /// assert_eq!(value.to_string(), "{_:[[first-name,Ada],[height,1.0],[src,$cold.k1]]}");
    /// ```
    pub fn from_json(json: &'a Json) -> Self {
        from_json(json, Refs::Marked)
    }

    /// Returns the value of a JSON value in which every object is data and none is a reference. Only
    /// `{"$num": "12345678901234.123456"}` is a number, as in [`from_json`](Self::from_json).
    /// [`Value::into_data`] is the inverse.
    pub fn from_data(json: &'a Json) -> Self {
        from_json(json, Refs::None)
    }

    /// Returns the JSON value, with references as `{"$ref": "tier.key"}`.
    ///
    /// A decimal that no float holds exactly becomes its text, so that nothing is rounded.
    pub fn to_json(&self) -> Json {
        self.written(Decimals::Texts)
    }

    /// As [`to_json`](Self::to_json), but a decimal that no float holds exactly becomes `{"$num": "TEXT"}`, so that
    /// [`from_json`](Self::from_json) gives an equal value back. [`Exact`](crate::Exact) writes this object as a plain
    /// number.
    pub fn to_exact_json(&self) -> Json {
        self.written(Decimals::Marked)
    }

    fn written(&self, decimals: Decimals) -> Json {
        match self {
            Value::Array(items) => items.iter().map(|item| item.written(decimals)).collect(),
            Value::Map(map) => Json::Object(map.written(decimals)),
            Value::Ref(key) => json!({ "$ref": key }),
            Value::Decimal(value) => match (json!(value), decimals) {
                (Json::String(text), Decimals::Marked) => json!({ NUMBER: text }),
                (json, _) => json,
            },
            scalar => scalar.scalar_to_json(),
        }
    }

    /// Returns the JSON value with every object as data. `resolve` gives the value of each reference, or `None` if
    /// the reference has none.
    ///
    /// # Errors
    /// The key of the first reference that `resolve` does not know.
    pub fn into_data(self, resolve: &mut dyn FnMut(&str) -> Option<Json>) -> Result<Json, String> {
        match self {
            Value::Array(items) => items
                .into_iter()
                .map(|item| item.into_data(resolve))
                .collect(),
            Value::Map(map) => {
                let entries = map
                    .into_iter()
                    .map(|(key, value)| Ok((key.into_owned(), value.into_data(resolve)?)));
                Ok(Json::Object(entries.collect::<Result<_, String>>()?))
            }
            Value::Ref(key) => resolve(&key).ok_or_else(|| key.into_owned()),
            scalar => Ok(scalar.scalar_to_json()),
        }
    }

    fn scalar_to_json(&self) -> Json {
        match self {
            Value::Boolean(value) => Json::Bool(*value),
            Value::Integer(value) => json!(value),
            Value::Decimal(value) => json!(value),
            Value::Number(Number::Unsigned(value)) => json!(value),
            Value::Number(Number::Float(value)) => json!(value),
            Value::String(text) => json!(text),
            _ => Json::Null,
        }
    }
}

impl Map<'_> {
    /// Returns the map as a JSON object. The object never stands for a reference, even if it looks like one.
    #[cfg(feature = "serde")]
    pub(crate) fn to_json(&self) -> JsonMap<String, Json> {
        self.written(Decimals::Texts)
    }

    fn written(&self, decimals: Decimals) -> JsonMap<String, Json> {
        let entries = self
            .iter()
            .map(|(key, value)| (key.to_string(), value.written(decimals)));
        let object: JsonMap<String, Json> = entries.collect();
        match reference_shape(&object).map(|dollars| format!("${dollars}")) {
            Some(key) => {
                let entries = object.into_iter();
                entries.map(|(_, value)| (key.clone(), value)).collect()
            }
            None => object,
        }
    }
}

fn from_json(json: &Json, refs: Refs) -> Value<'_> {
    if let Some((Some(number), _)) = exact::number(json) {
        return Value::Decimal(number);
    }
    match json {
        Json::Null => Value::Null,
        Json::Bool(value) => Value::Boolean(*value),
        Json::Number(number) => match (number.as_i64(), number.as_u64()) {
            (Some(value), _) => Value::Integer(value),
            (None, Some(value)) => Value::Number(Number::Unsigned(value)),
            // JSON numbers are always finite.
            _ => number
                .as_f64()
                .and_then(|value| Value::try_from(value).ok())
                .unwrap_or(Value::Null),
        },
        Json::String(text) => Value::String(Cow::Borrowed(text)),
        Json::Array(items) => {
            Value::Array(items.iter().map(|item| from_json(item, refs)).collect())
        }
        Json::Object(object) => {
            let shape = if refs == Refs::Marked {
                reference_shape(object)
            } else {
                None
            };
            match (shape, object.iter().next()) {
                (Some("$ref"), Some((_, Json::String(key)))) => Value::Ref(Cow::Borrowed(key)),
                (Some(dollars), Some((_, value))) => Value::Map(
                    [(&dollars[1..], from_json(value, refs))]
                        .into_iter()
                        .collect(),
                ),
                _ => {
                    let entries = object.iter().map(|(k, v)| (k.as_str(), from_json(v, refs)));
                    Value::Map(entries.collect())
                }
            }
        }
    }
}

/// Returns the key of an object that is a reference or an exact number, or that is data of such a shape. The only key
/// of the object is `$ref` or `$num`, perhaps with more `$` before it, and its value fits this key.
fn reference_shape(object: &JsonMap<String, Json>) -> Option<&str> {
    let mut entries = object.iter();
    let (key, value) = entries.next()?;
    let name = key.strip_prefix('$')?.trim_start_matches('$');
    let valid = value.as_str().is_some_and(|text| match name {
        "ref" => lexical::is_ref_key(text),
        "num" => exact::decimal(text).is_some(),
        _ => false,
    });
    (valid && entries.next().is_none()).then_some(key)
}

impl DynamicFrame<'_> {
    /// Returns the message as JSON, with full names everywhere.
    ///
    /// ```
    /// use accp_runtime::{DynamicFrame, Registry};
    ///
    /// let registry = Registry::standard();
    /// let message = DynamicFrame::decode("@a>qry:lookup{src:$ctx.db|fmt:summary}[mid:100001000001,seq:1]", &registry)?;
    /// let json = message.to_json();
    /// assert_eq!(json["payload"]["format"], "summary");
    /// assert_eq!(json["metadata"]["sequence"], 1);
    /// assert_eq!(DynamicFrame::from_json(&json)?, message);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn to_json(&self) -> Json {
        self.written(Decimals::Texts)
    }

    /// As [`to_json`](Self::to_json), with numbers as [`Value::to_exact_json`] gives them.
    pub fn to_exact_json(&self) -> Json {
        self.written(Decimals::Marked)
    }

    fn written(&self, decimals: Decimals) -> Json {
        let mut json = json!({
            "agent": self.agent.as_str(),
            "intent": self.intent.as_str(),
            "operation": self.operation,
        });
        if let Some(code) = &self.schema {
            json["schema"] = json!(code);
        }
        let payload = self
            .payload
            .iter()
            .map(|(key, value)| (key.to_string(), value.written(decimals)));
        json["payload"] = Json::Object(payload.collect());
        let metadata = self.envelope.to_json();
        if !metadata.is_empty() {
            json["metadata"] = Json::Object(metadata);
        }
        json
    }

    /// Returns the message for the JSON of [`DynamicFrame::to_json`]. `payload` and `metadata` may be
    /// left out, and keys may have their short names.
    ///
    /// # Errors
    /// When a key is missing, unknown or of the wrong type, and as [`DynamicFrame::new`].
    pub fn from_json(json: &Json) -> Result<DynamicFrame<'static>, EncodeError> {
        const KEYS: [&str; 6] = [
            "agent",
            "intent",
            "operation",
            "schema",
            "payload",
            "metadata",
        ];
        let object = json.as_object().ok_or_else(|| {
            invalid(format!(
                "a message is an object with the keys {}",
                KEYS.join(", ")
            ))
        })?;
        if let Some(key) = object.keys().find(|key| !KEYS.contains(&key.as_str())) {
            let near = accp_registry::nearest(key, KEYS);
            let hint = near.map_or_else(
                || String::from("params stand under `payload`"),
                |near| format!("did you mean `{near}`?"),
            );
            return Err(invalid(format!("unknown key `{key}`; {hint}")));
        }
        let text = |key: &str| {
            object
                .get(key)
                .and_then(Json::as_str)
                .map(String::from)
                .ok_or_else(|| invalid(format!("`{key}` is missing or is not a string")))
        };
        let intent = text("intent")?;
        let mut message = DynamicFrame::new(text("agent")?, &intent, text("operation")?)?;
        if object.get("schema").is_some_and(|code| !code.is_null()) {
            message.schema = Some(Cow::Owned(text("schema")?));
        }
        if let Some(payload) = object.get("payload") {
            let Json::Object(payload) = payload else {
                return Err(invalid("`payload` is not an object").within("payload"));
            };
            // The entries are converted one by one, because the payload itself is never a
            // reference.
            for (key, value) in payload {
                if let Some(number) = exact::unholdable(value) {
                    let message = format!(
                        "{number} has more digits than a number of a frame: 6 places, or those of a 64-bit float; \
                         round it, or give it as a text"
                    );
                    return Err(invalid(message).within(key.clone()));
                }
                message
                    .payload
                    .insert(key.clone(), Value::from_json(value).into_owned());
            }
        }
        if let Some(metadata) = object.get("metadata") {
            message.envelope =
                Envelope::from_json(metadata).map_err(|error| error.within("metadata"))?;
        }
        Ok(message)
    }
}

impl Envelope<'_> {
    fn to_json(&self) -> JsonMap<String, Json> {
        let mut json = JsonMap::new();
        let mut put = |key: &str, value: Option<Json>| {
            if let Some(value) = value {
                json.insert(key.into(), value);
            }
        };
        put("msg_id", self.msg_id.as_ref().map(|text| json!(text)));
        put("sequence", self.sequence.map(|value| json!(value)));
        put("timestamp", self.timestamp.map(|value| json!(value)));
        put(
            "correlation_id",
            self.correlation_id.as_ref().map(|text| json!(text)),
        );
        put(
            "causation_id",
            self.causation_id.as_ref().map(|text| json!(text)),
        );
        put(
            "session_id",
            self.session_id.as_ref().map(|text| json!(text)),
        );
        put("ttl", self.ttl.map(|value| json!(value)));
        for (key, value) in self.extra.iter() {
            put(key, Some(value.to_json()));
        }
        json
    }

    fn from_json(json: &Json) -> Result<Envelope<'static>, EncodeError> {
        let object = json.as_object().ok_or_else(|| invalid("no object"))?;
        let mut envelope = Envelope::default();
        for (key, value) in object {
            let text = || match value {
                Json::String(text) => Ok(Some(Cow::Owned(text.clone()))),
                _ => Err(invalid("not a string").within(key.clone())),
            };
            let integer = || {
                value
                    .as_i64()
                    .ok_or_else(|| invalid("not a 64-bit integer").within(key.clone()))
            };
            let replaced = match key.as_str() {
                "msg_id" | "mid" => set(&mut envelope.msg_id, text()?),
                "sequence" | "seq" => {
                    let value = u64::try_from(integer()?)
                        .map_err(|_| invalid("negative").within(key.clone()))?;
                    set(&mut envelope.sequence, Some(value))
                }
                "timestamp" | "ts" => set(&mut envelope.timestamp, Some(integer()?)),
                "correlation_id" | "cid" => set(&mut envelope.correlation_id, text()?),
                "causation_id" | "aid" => set(&mut envelope.causation_id, text()?),
                "session_id" | "sid" => set(&mut envelope.session_id, text()?),
                "ttl" => set(&mut envelope.ttl, Some(integer()?)),
                _ => {
                    let value = Value::from_json(value).into_owned();
                    envelope.extra.insert(key.clone(), value).is_some()
                }
            };
            if replaced {
                let message = "stands under its full and under its short name";
                return Err(invalid(message).within(key.clone()));
            }
        }
        Ok(envelope)
    }
}

/// Sets a slot and returns whether it was set before.
fn set<T>(slot: &mut Option<T>, value: Option<T>) -> bool {
    core::mem::replace(slot, value).is_some()
}

#[cold]
fn invalid(message: impl Into<String>) -> EncodeError {
    EncodeError::new(ErrorCode::INVALID_TYPE, message)
}
