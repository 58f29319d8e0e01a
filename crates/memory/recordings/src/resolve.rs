//! Replaces references by the values that they lead to.

use accp_frame::{Map, Value};

/// The longest chain of references that is followed. An encoder nests three: a long text inside
/// a deep value inside a value over the limits.
const MAX_CHAIN: usize = 32;
/// The largest number of references that are resolved for one value, at all levels together. Without this limit,
/// values that each name the next value twice would double the work at every level. A frame holds 4096 elements at
/// most.
const MAX_RESOLVED: usize = 100_000;

/// A reference that leads nowhere.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Unresolved {
    /// The reference in the value. The broken reference may be further along its chain.
    pub key: String,
    /// The message for the reader, with the expected reference.
    pub message: String,
}

/// Replaces each reference by the value that `read` returns for its key. `read` returns
/// `Ok(None)` when the key is not a reference but an ordinary value, which then stays.
///
/// ```
/// use accp_recordings::resolve;
/// use accp_runtime::Value;
///
/// let mut read = |key: &str| match key {
///     "cold.a" => Ok(Some(Value::from("a long text"))),
///     _ => Err(format!("nothing is kept under {key}")),
/// };
/// assert_eq!(resolve(&Value::Ref("cold.a".into()), &mut read)?, Value::from("a long text"));
/// let error = resolve(&Value::Ref("cold.b".into()), &mut read).unwrap_err();
/// assert_eq!(error.to_string(), "nothing is kept under cold.b");
/// # Ok::<(), accp_recordings::Unresolved>(())
/// ```
///
/// # Errors
/// When a reference cannot be read; the error names the first such reference and the reason.
pub fn resolve(
    value: &Value<'_>,
    read: &mut impl FnMut(&str) -> Result<Option<Value<'static>>, String>,
) -> Result<Value<'static>, Unresolved> {
    let mut resolver = Resolver { read, resolved: 0 };
    resolver.resolve(value, 0)
}

struct Resolver<'r, F> {
    read: &'r mut F,
    resolved: usize,
}

impl<F: FnMut(&str) -> Result<Option<Value<'static>>, String>> Resolver<'_, F> {
    fn resolve(&mut self, value: &Value<'_>, level: usize) -> Result<Value<'static>, Unresolved> {
        Ok(match value {
            Value::Array(items) => {
                let items = items.iter().map(|item| self.resolve(item, level));
                Value::Array(items.collect::<Result<_, _>>()?)
            }
            Value::Map(map) => {
                let entries = map.iter();
                let entries =
                    entries.map(|(key, item)| Ok((key.to_owned(), self.resolve(item, level)?)));
                Value::Map(entries.collect::<Result<Map<'_>, _>>()?)
            }
            Value::Ref(key) => {
                let unresolved = |message| Unresolved {
                    key: key.to_string(),
                    message,
                };
                let Some(found) = (self.read)(key).map_err(unresolved)? else {
                    return Ok(value.clone().into_owned());
                };
                self.resolved += 1;
                if level == MAX_CHAIN || self.resolved > MAX_RESOLVED {
                    return Err(unresolved(format!(
                        "${key} leads on to more than {MAX_CHAIN} references in a row, or \
                         {MAX_RESOLVED} in all"
                    )));
                }
                let inner = self.resolve(&found, level + 1);
                inner.map_err(|inner| unresolved(inner.message))?
            }
            other => other.clone().into_owned(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_are_followed_and_circles_end() {
        let mut read = |key: &str| match key {
            "ctx.a" => Ok(Some(Value::Array(vec![
                Value::Ref("ctx.b".into()),
                Value::from(1),
            ]))),
            "ctx.b" => Ok(Some(Value::from("deep"))),
            "ctx.round" => Ok(Some(Value::Ref("ctx.round".into()))),
            "ctx.twice" => Ok(Some(Value::Array(vec![Value::Ref("ctx.twice".into()); 2]))),
            "42.30" => Ok(None),
            key => Err(format!("no {key}")),
        };
        let mut resolve = |key: &str| {
            let map: Map<'_> = [("x", Value::Ref(key.to_owned().into()))]
                .into_iter()
                .collect();
            let found = super::resolve(&Value::Map(map), &mut read);
            found.map(|value| value.to_json().to_string())
        };
        assert_eq!(resolve("ctx.a").unwrap(), r#"{"x":["deep",1]}"#);
        assert_eq!(resolve("42.30").unwrap(), r#"{"x":{"$ref":"42.30"}}"#);
        assert_eq!(resolve("ctx.none").unwrap_err().message, "no ctx.none");
        for endless in ["ctx.round", "ctx.twice"] {
            let error = resolve(endless).unwrap_err();
            assert_eq!(error.key, endless);
            assert!(error.message.ends_with("or 100000 in all"), "{error}");
        }
    }
}
