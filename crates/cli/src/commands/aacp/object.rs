//! A packet as a JSON object: its task, its domain, and its fields as pairs or as an object.

use std::fmt;

use accp_aacp::{PacketBuf, Vocabulary, WriteError};
use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::Value as Json;

/// Keys that `accp aacp decode` adds to an object. They only repeat the content of the packet, so they are ignored.
const REPEATED: [&str; 3] = ["line", "packet", "english"];

/// The parts of a packet.
pub(super) struct Object {
    task: String,
    dom: String,
    fields: Vec<(String, String)>,
}

impl Object {
    /// Makes the packet. `aacp` is added if it is missing.
    pub(super) fn packet(mut self) -> Result<PacketBuf, WriteError> {
        if !self.fields.iter().any(|(key, _)| key == "aacp") {
            let is_before = |field: &&(String, String)| matches!(&field.0[..], "return" | "p");
            let at = self.fields.iter().take_while(is_before).count();
            let at = if at == 0 { self.fields.len() } else { at };
            let version = Vocabulary::standard().version().to_owned();
            self.fields.insert(at, ("aacp".to_owned(), version));
        }
        PacketBuf::new(&self.task, &self.dom, self.fields)
    }
}

/// Returns the message for a line that is not the JSON object of a packet. The message leaves out the value that
/// serde found.
pub(super) fn read_error(error: &serde_json::Error, cure: &str) -> String {
    let message = error.to_string();
    let message = message.rsplit_once(" at line ").map_or("", |parts| parts.0);
    let wrong = message.strip_prefix("invalid ");
    let wrong = wrong.and_then(|wrong| wrong.rsplit_once(", expected "));
    let message = match wrong {
        Some((_, expected)) => format!("expected {expected}; {cure}"),
        None if error.is_data() => message.to_owned(),
        None => format!("{message}; {cure}"),
    };
    // An error at the first character may have the column 0.
    format!("character {}: {message}", error.column().max(1))
}

impl<'de> Deserialize<'de> for Object {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Parts;

        impl<'de> Visitor<'de> for Parts {
            type Value = Object;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object with `task`, `dom` and `fields`")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Object, A::Error> {
                let (mut task, mut dom, mut fields) = (None, None, None);
                while let Some(key) = map.next_key::<String>()? {
                    match key.as_str() {
                        "task" => once(&mut task, "task", map.next_value()?)?,
                        "dom" => once(&mut dom, "dom", map.next_value()?)?,
                        "fields" => once(&mut fields, "fields", map.next_value()?)?,
                        again if REPEATED.contains(&again) => drop(map.next_value::<Json>()?),
                        "errors" => {
                            return Err(A::Error::custom(
                                "the line has the errors of a packet in place of the packet; run \
                                 `accp aacp validate` on the packets, and mend this one",
                            ));
                        }
                        _ => {
                            let known = "the keys are task, dom and fields";
                            return Err(A::Error::custom(format!("an unknown key; {known}")));
                        }
                    }
                }
                let Fields(fields) = fields.ok_or_else(|| missing("fields"))?;
                Ok(Object {
                    task: task.ok_or_else(|| missing("task"))?,
                    dom: dom.ok_or_else(|| missing("dom"))?,
                    fields,
                })
            }
        }

        deserializer.deserialize_map(Parts)
    }
}

fn once<T, E: Error>(place: &mut Option<T>, name: &str, value: T) -> Result<(), E> {
    match place.replace(value) {
        None => Ok(()),
        Some(_) => Err(E::custom(format!(
            "`{name}` stands twice; keep one of the two"
        ))),
    }
}

fn missing<E: Error>(name: &str) -> E {
    E::custom(format!("there is no `{name}`; add it"))
}

/// The fields, in their order. Repeated keys are kept here, so that the writer of packets refuses them.
struct Fields(Vec<(String, String)>);

impl<'de> Deserialize<'de> for Fields {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Pairs;

        impl<'de> Visitor<'de> for Pairs {
            type Value = Fields;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an array of pairs, or an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Fields, A::Error> {
                let mut fields = Vec::new();
                while let Some((key, value)) = map.next_entry::<String, Field>()? {
                    fields.push((key, value.0));
                }
                Ok(Fields(fields))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Fields, A::Error> {
                let mut fields = Vec::new();
                while let Some((key, value)) = seq.next_element::<(String, Field)>()? {
                    fields.push((key, value.0));
                }
                Ok(Fields(fields))
            }
        }

        deserializer.deserialize_any(Pairs)
    }
}

/// The value of a field: a text, or an integer as its digits.
struct Field(String);

impl<'de> Deserialize<'de> for Field {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match Json::deserialize(deserializer)? {
            Json::String(text) => Ok(Self(text)),
            Json::Number(number) if !number.is_f64() => Ok(Self(number.to_string())),
            _ => Err(D::Error::custom(
                "a value is a string or an integer of at most 64 bits; write a list as one string with \
                 commas, and any other number as a string",
            )),
        }
    }
}
