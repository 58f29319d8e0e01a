//! The options for generating Rust source from a registry.

use accp_registry::{ACCP, Protocol};

/// What the generated text depends on, in addition to the registry.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is a choice of its own")]
pub struct Options {
    /// The path at which the derive finds the registry, absolute or relative to the folder of the `Cargo.toml` of the
    /// crate that compiles the text. `None` if there are only the standard profiles, which the derive knows.
    pub registry: Option<String>,
    /// Whether to generate the standard profiles too, if the registry does not define them itself. The module
    /// `accp_runtime::profiles` already has their types.
    pub standard_profiles: bool,
    /// The path of the runtime crate: `accp_runtime`.
    pub runtime: String,
    /// Whether the text uses `alloc` instead of `std`. If the runtime path is `crate`, the text always uses `alloc`.
    /// The crate that compiles the text must say `extern crate alloc;`.
    pub no_std: bool,
    /// Whether the frames name no schema, like the control frames of a session. A reader of such a frame does not
    /// know the types of its fields. The text has neither the constants of the registry nor its JSON.
    pub schemaless: bool,
    /// Whether each enum has one more variant, for the values that the registry does not list: `Other(String)`, or
    /// `Unknown(String)` where the registry has the value `other`. Such a value is written in the same way as it was
    /// read. The enum of a union gets such a variant with a `Map`, which holds the whole record.
    pub open_enums: bool,
    /// Whether the types own their texts and have no lifetime: `String` instead of `Cow<str>`, and `Value<'static>`.
    /// Such a frame can cross threads and be a field of any struct, but reading it copies its texts.
    pub owned: bool,
    /// The name of the enum over the frames of all schemas; `AnyFrame` by default.
    pub any_frame: Option<String>,
    /// Attributes for types, each with the path of the types that get it; see
    /// [`Builder::type_attribute`](crate::Builder::type_attribute).
    pub type_attributes: Vec<(String, String)>,
    /// Attributes for fields and variants, each with the path of the fields or variants that get it; see
    /// [`Builder::field_attribute`](crate::Builder::field_attribute).
    pub field_attributes: Vec<(String, String)>,
    /// Types for fields, each with the path of the fields that have it. Of several paths that name a field, the last
    /// counts; see
    /// [`Builder::field_type`](crate::Builder::field_type).
    pub field_types: Vec<(String, String)>,
    /// Types that replace generated types, each with the path of the type; see
    /// [`Builder::replace`](crate::Builder::replace).
    pub replaced: Vec<(String, String)>,
    /// Types that another crate generates, or their modules, each with the path of the type or of the schema; see
    /// [`Builder::extern_path`](crate::Builder::extern_path).
    pub extern_paths: Vec<(String, String)>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            registry: None,
            standard_profiles: false,
            runtime: ACCP.rust.runtime.to_owned(),
            no_std: false,
            schemaless: false,
            open_enums: false,
            owned: false,
            any_frame: None,
            type_attributes: Vec::new(),
            field_attributes: Vec::new(),
            field_types: Vec::new(),
            replaced: Vec::new(),
            extern_paths: Vec::new(),
        }
    }
}

impl Options {
    /// Returns the command that generates with these options.
    pub(crate) fn command(&self, protocol: &Protocol) -> String {
        let mut words = vec!["accp".to_owned(), "generate".to_owned()];
        words.extend(self.registry.as_deref().map(word));
        let mut flag = |is_set: bool, name: &str| words.extend(is_set.then(|| name.to_owned()));
        flag(self.standard_profiles, "--standard");
        if self.runtime != protocol.rust.runtime {
            flag(true, "--runtime");
            flag(true, &self.runtime);
        }
        flag(self.no_std, "--no-std");
        flag(self.schemaless, "--schemaless");
        flag(self.open_enums, "--open-enums");
        flag(self.owned, "--owned");
        if let Some(name) = &self.any_frame {
            flag(true, "--any-frame");
            flag(true, name);
        }
        for (name, attributes) in [
            ("--type-attribute", &self.type_attributes),
            ("--field-attribute", &self.field_attributes),
            ("--field-type", &self.field_types),
            ("--replace", &self.replaced),
            ("--extern-path", &self.extern_paths),
        ] {
            for (path, attribute) in attributes {
                flag(true, name);
                flag(true, &quoted(&format!("{path}={attribute}")));
            }
        }
        words.join(" ")
    }
}

/// Returns a word as it is written in a shell, in quotes if necessary.
pub(crate) fn word(word: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "-_./:=,+@%".contains(c);
    if word.chars().all(is_plain) {
        word.to_owned()
    } else {
        quoted(word)
    }
}

/// Returns a word in quotes for a shell.
fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}
