//! Values with what their references lead to in the place of the references.

use accp_runtime::session::Reference;
use accp_runtime::{Map, Value};

/// References within what references lead to, followed this deep.
const MAX_CHAIN: usize = 32;
/// References that one value may lead to, all levels together: a few values that name each
/// other twice would double at every level.
const MAX_RESOLVED: usize = 100_000;

/// Puts in the place of each reference what `read` says that it leads to. A reference of no
/// tier is a value like any other.
///
/// # Errors
/// The first reference that cannot be read, and why.
pub fn resolve(
    value: Value<'static>,
    read: &mut impl FnMut(&Reference<'_>) -> Result<Value<'static>, String>,
) -> Result<Value<'static>, String> {
    let mut resolver = Resolver { read, resolved: 0 };
    resolver.resolve(value, 0)
}

struct Resolver<'r, F> {
    read: &'r mut F,
    resolved: usize,
}

impl<F: FnMut(&Reference<'_>) -> Result<Value<'static>, String>> Resolver<'_, F> {
    fn resolve(&mut self, value: Value<'static>, level: usize) -> Result<Value<'static>, String> {
        Ok(match value {
            Value::Array(items) => {
                let items = items.into_iter().map(|item| self.resolve(item, level));
                Value::Array(items.collect::<Result<_, _>>()?)
            }
            Value::Map(map) => {
                let entries = map.into_iter();
                let entries = entries.map(|(key, item)| Ok((key, self.resolve(item, level)?)));
                Value::Map(entries.collect::<Result<Map<'_>, String>>()?)
            }
            Value::Ref(key) => match Reference::parse(&key) {
                None => Value::Ref(key),
                Some(reference) => {
                    self.resolved += 1;
                    if level == MAX_CHAIN || self.resolved > MAX_RESOLVED {
                        return Err(format!(
                            "${key} leads on to more than {MAX_CHAIN} references in a row, or \
                             {MAX_RESOLVED} in all"
                        ));
                    }
                    let found = (self.read)(&reference)?;
                    self.resolve(found, level + 1)?
                }
            },
            other => other,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_are_followed_and_circles_end() {
        let mut read = |reference: &Reference<'_>| match reference.to_string().as_str() {
            "ctx.a" => Ok(Value::Array(vec![
                Value::Ref("ctx.b".into()),
                Value::from(1),
            ])),
            "ctx.b" => Ok(Value::from("deep")),
            "ctx.round" => Ok(Value::Ref("ctx.round".into())),
            "ctx.twice" => Ok(Value::Array(vec![Value::Ref("ctx.twice".into()); 2])),
            key => Err(format!("no {key}")),
        };
        let mut resolve = |key: &str| {
            let map: Map<'_> = [("x", Value::Ref(key.to_owned().into()))]
                .into_iter()
                .collect();
            super::resolve(Value::Map(map), &mut read).map(|value| value.to_json().to_string())
        };
        assert_eq!(resolve("ctx.a").unwrap(), r#"{"x":["deep",1]}"#);
        assert_eq!(resolve("42.30").unwrap(), r#"{"x":{"$ref":"42.30"}}"#);
        assert_eq!(resolve("ctx.none").unwrap_err(), "no ctx.none");
        for endless in ["ctx.round", "ctx.twice"] {
            let error = resolve(endless).unwrap_err();
            assert!(error.ends_with("or 100000 in all"), "{error}");
        }
    }
}
