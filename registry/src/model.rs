//! The registry: checked schemas, by name and by code.

use alloc::borrow::ToOwned;
use alloc::string::String;
use alloc::vec::Vec;

use serde_json::Value;

use crate::accp::ACCP;
use crate::memo::Memo;
use crate::protocol::Protocol;
use crate::rules::SchemaRules;
use crate::tables::is_core_operation;
use crate::types::Type;

/// A set of schemas that fit together (draft section 6.2).
///
/// A registry has passed every check of this crate, from whichever source it comes: names and codes
/// are unambiguous, types are known, defaults fit their types.
///
/// ```
/// use accp_registry::Registry;
///
/// let registry = Registry::from_json(r#"{ "schemas": { "sales_report": {
///     "code": "SR", "version": 1,
///     "fields": ["period", "revenue"],
///     "defaults": { "period": "quarterly" }
/// } } }"#)?;
/// let schema = registry.schema("SR").expect("it was just defined");
/// assert_eq!(schema.fields[0].default_wire.as_deref(), Some("quarterly"));
/// # Ok::<(), accp_registry::Problems>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Registry {
    /// The version that `sync:registry` announces as `v` (draft section 6.4).
    pub version: u64,
    /// The tokenizer that the names of the registry were chosen for. It does not choose the counter of a session.
    pub tokenizer: Option<String>,
    pub(crate) protocol: &'static Protocol,
    /// The schemas, sorted by name. The digest of their hash is kept with them, because each session asks for it.
    pub(crate) schemas: Memo<Vec<Schema>, [u8; 32]>,
}

/// The code of the error profile (draft section 3.6).
pub const ERRORS: &str = "ER";

/// The head of an error.
pub(crate) const ERROR: [&str; 2] = ["fail", "error"];

/// Returns the built-in error profile; `None` without `std`, because the parsed registry could not be kept then.
fn profile_of_errors() -> Option<&'static Schema> {
    #[cfg(feature = "std")]
    return Registry::shared().schema(ERRORS);
    #[cfg(not(feature = "std"))]
    None
}

/// A schema: the fields that one code stands for.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Schema {
    /// The name in the registry: `task_assignment`.
    pub name: String,
    /// The code on the wire: `TA`.
    pub code: String,
    /// The version of the schema.
    pub version: u64,
    /// The purpose of the schema.
    pub doc: Option<String>,
    /// The fields, in the order of `fields` and then of `optional`.
    pub fields: Vec<Field>,
    /// The frames that carry the schema, and the demands of each.
    pub frames: Vec<FrameSpec>,
    /// The full name of the field that says which of the `variants` a record is; `None` for a schema that is not a
    /// union. A union is a nested schema: no frame lists it.
    pub union: Option<String>,
    /// The variants of a union, each with its name as its head. A record has the tag, and fields of its variant alone.
    pub variants: Vec<FrameSpec>,
    /// The full names of the fields whose values later calls need. They stay when the rest of a record leaves the
    /// context. Empty: keep no field. `None`: the registry does not say which fields to keep. This is advice to the
    /// code that cuts a context. Like a doc, it changes nothing on the wire, and the hash does not cover it.
    pub keep: Option<Vec<String>>,
    /// The rules that the host of a session enforces. The hash does not cover them.
    pub rules: SchemaRules,
}

/// A field of a schema.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Field {
    /// The full name.
    pub name: String,
    /// The key on the wire: the field's own abbreviation, or the standard one, or the name.
    pub short: String,
    /// Its type.
    pub ty: Type,
    /// The value of the field in a frame that leaves it out.
    pub default: Option<Value>,
    /// The default as its wire text. An encoder leaves out a value with this text.
    pub default_wire: Option<String>,
    /// Whether each frame with this schema must carry the field, unless its `fields` leave the field out.
    pub required: bool,
    /// Whether the field stands under `optional`: beyond the field set of the draft.
    pub optional: bool,
    /// Whether the field is sent in the frame even when it is long (an exception of OPT-03).
    pub inline: bool,
    /// The meaning of the field.
    pub doc: Option<String>,
    /// Further keys that a reader accepts for the field: earlier names of the field, each with its standard
    /// abbreviation. No writer uses these keys, so the hash does not cover them.
    pub aliases: Vec<String>,
}

/// The demands of a schema on the frames with one head.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct FrameSpec {
    /// The words of the head, in the order of [`Protocol::head`]: the intent's code, then the
    /// operation.
    pub head: Vec<String>,
    /// Fields that this frame must carry, beyond those that the schema requires.
    pub required: Vec<String>,
    /// The fields that this frame is about. For any other field, the frame takes no default, and does not require the
    /// field unless its own `required` lists it. `None`: all fields.
    pub fields: Option<Vec<String>>,
    /// Envelope fields that the frame must carry, by short name.
    pub envelope: Vec<String>,
    /// The full name of the field that names the agent that the frame is for: a field of type `agent` of a `req` or a
    /// `qry`. The host of a session hands the frame to the handlers of that agent alone. Only hosts use `to`, so the
    /// hash does not cover it.
    pub to: Option<String>,
    /// The meaning of the frame.
    pub doc: Option<String>,
}

impl Registry {
    /// Returns a registry without schemas, version 1.
    pub fn empty() -> Self {
        Self::empty_of(&ACCP)
    }

    /// Returns a registry of another protocol, without schemas, version 1.
    pub fn empty_of(protocol: &'static Protocol) -> Self {
        Self {
            version: 1,
            tokenizer: None,
            protocol,
            schemas: Memo::default(),
        }
    }

    /// Returns the protocol of the schemas.
    pub fn protocol(&self) -> &'static Protocol {
        self.protocol
    }

    /// Returns the schema with this code; `None` is E1003.
    pub fn schema(&self, code: &str) -> Option<&Schema> {
        self.schemas.iter().find(|schema| schema.code == code)
    }

    /// Returns the schema of a frame with this code and head; `None` is E1003.
    ///
    /// This is [`Registry::schema`], but for errors: every peer must be able to read why its frame failed, so
    /// `fail:error` under `ER` has the [error profile](crate::ERRORS) even if the registry has no schema `ER`, or
    /// uses this code for other frames. A registry that declares `fail:error` for its `ER` extends the profile; the
    /// check of the registry makes sure that all errors still fit. (Draft section 3.6. Without feature `std`, this
    /// function only looks in the registry itself.)
    ///
    /// ```
    /// use accp_registry::Registry;
    ///
    /// let registry = Registry::from_json(r#"{ "schemas": { "emergency_room": {
    ///     "code": "ER", "fields": ["room"], "frames": [{ "intent": "req", "operation": "book_room" }]
    /// } } }"#)?;
    /// let name = |head: [&str; 2]| Some(registry.schema_of("ER", &head)?.name.as_str());
    /// assert_eq!(name(["req", "book_room"]), Some("emergency_room"));
    /// assert_eq!(name(["fail", "error"]), Some("error"));
    /// # Ok::<(), accp_registry::Problems>(())
    /// ```
    pub fn schema_of<S: AsRef<str>>(&self, code: &str, head: &[S]) -> Option<&Schema> {
        let own = self.schema(code);
        let is_error = code == ERRORS && head.iter().map(AsRef::as_ref).eq(ERROR);
        let is_own = own.is_some_and(|own| own.frame(head).is_some());
        if is_error && !is_own && *self.protocol == ACCP {
            return profile_of_errors().or(own);
        }
        // A union is only the value of a field, so a frame cannot name it as its schema.
        own.filter(|own| own.union.is_none())
    }

    /// Returns the schema with this name.
    pub fn schema_by_name(&self, name: &str) -> Option<&Schema> {
        let found = self.schemas.binary_search_by(|s| s.name.as_str().cmp(name));
        self.schemas.get(found.ok()?)
    }

    /// Returns the first schema that a frame with this head carries, and the demands of that frame.
    pub fn frame<S: AsRef<str>>(&self, head: &[S]) -> Option<(&Schema, &FrameSpec)> {
        let mut schemas = self.schemas.iter();
        schemas.find_map(|schema| Some((schema, schema.frame(head)?)))
    }

    /// Returns the schemas, sorted by name.
    pub fn schemas(&self) -> impl ExactSizeIterator<Item = &Schema> {
        self.schemas.iter()
    }

    /// Returns whether the operation is registered: as a core operation, or by a `frames` entry
    /// (draft section 4.3). Frames may also carry operations that are not registered.
    pub fn has_operation(&self, operation: &str) -> bool {
        let mut frames = self.schemas.iter().flat_map(|schema| &schema.frames);
        is_core_operation(operation) || frames.any(|frame| frame.operation() == operation)
    }

    /// Inserts a checked schema, so that the schemas stay sorted by name.
    pub(crate) fn insert(&mut self, schema: Schema) {
        let at = self
            .schemas
            .partition_point(|other| other.name < schema.name);
        self.schemas.insert(at, schema);
    }
}

impl Default for Registry {
    fn default() -> Self {
        Self::empty()
    }
}

impl Schema {
    /// Returns a schema without fields, version 1, for [`Registry::register`].
    ///
    /// ```
    /// use accp_registry::{Field, Registry, Schema, Type};
    ///
    /// let mut schema = Schema::new("finding", "FD");
    /// schema.fields.push(Field::new("topic", Type::String));
    /// let mut registry = Registry::standard();
    /// registry.register(schema)?;
    /// assert!(registry.schema("FD").is_some());
    /// # Ok::<(), accp_registry::Problems>(())
    /// ```
    pub fn new(name: &str, code: &str) -> Self {
        Self {
            name: name.to_owned(),
            code: code.to_owned(),
            version: 1,
            doc: None,
            fields: Vec::new(),
            frames: Vec::new(),
            union: None,
            variants: Vec::new(),
            keep: None,
            rules: SchemaRules::default(),
        }
    }

    /// Returns the field with this full name, short name or alias, and its index in
    /// [`Schema::fields`].
    pub fn field(&self, key: &str) -> Option<(usize, &Field)> {
        let fields = || self.fields.iter().enumerate();
        // No alias is the name or the short name of a field. So the aliases are searched only for a key that is
        // neither.
        fields()
            .find(|(_, field)| field.name == key || field.short == key)
            .or_else(|| fields().find(|(_, field)| field.aliases.iter().any(|alias| alias == key)))
    }

    /// Returns the demands of a frame with this head, if the registry declares them. The head of a variant is its name.
    pub fn frame<S: AsRef<str>>(&self, head: &[S]) -> Option<&FrameSpec> {
        let is_it = |frame: &&FrameSpec| frame.has_head(head);
        let frame = self.frames.iter().find(is_it);
        frame.or_else(|| self.variants.iter().find(is_it))
    }

    /// Returns the tag of a union and its index in [`Schema::fields`].
    pub fn tag(&self) -> Option<(usize, &Field)> {
        self.field(self.union.as_deref()?)
    }

    /// Returns whether the field at this index takes its default in a frame with this head, or in a nested map, which
    /// has [no head](crate::protocol::NO_HEAD). The field takes no default if the matching `frames` entry lists
    /// `fields` without the field, or requires the field. The field also takes no default in a frame that the schema
    /// does not list. A schema without `frames` lists every frame.
    pub fn has_default<S: AsRef<str>>(&self, index: usize, head: &[S]) -> bool {
        let with_default = |field: &&Field| field.default.is_some();
        let Some(field) = self.fields.get(index).filter(with_default) else {
            return false;
        };
        self.fills(field, head, self.frame(head))
    }

    /// Returns whether a field takes its default, if it has one, in a record with this head. `frame` is what
    /// [`frame`](Self::frame) returns for the head.
    #[doc(hidden)]
    pub fn fills<S>(&self, field: &Field, head: &[S], frame: Option<&FrameSpec>) -> bool {
        match frame {
            Some(frame) => frame.fills(&field.name),
            None => head.is_empty() || self.frames.is_empty(),
        }
    }

    /// Returns whether the schema lists a frame with this head: a schema without `frames` lists every frame, and a
    /// union lists none.
    pub fn lists<S: AsRef<str>>(&self, head: &[S]) -> bool {
        let is_open = self.frames.is_empty() && self.union.is_none();
        is_open || self.frames.iter().any(|frame| frame.has_head(head))
    }

    /// Returns the full names of the fields that a frame with this head must carry: first those
    /// that the schema requires and that the frame is about, then those of the matching `frames` entry.
    pub fn required<'s, S: AsRef<str>>(
        &'s self,
        head: &[S],
    ) -> impl Iterator<Item = &'s str> + use<'s, S> {
        let frame = self.frame(head);
        let always = move |field: &Field| {
            field.required && frame.is_none_or(|frame| frame.is_about(&field.name))
        };
        let here = frame.into_iter();
        let here = here.flat_map(|frame| &frame.required).map(String::as_str);
        let is_new = move |name: &&str| self.field(name).is_none_or(|(_, field)| !always(field));
        let fields = self.fields.iter().filter(move |field| always(field));
        fields
            .map(|field| field.name.as_str())
            .chain(here.filter(is_new))
    }

    /// Returns whether a frame with this head must carry this field, with a value.
    pub fn requires<S: AsRef<str>>(&self, field: &Field, head: &[S]) -> bool {
        let frame = self.frame(head);
        frame.map_or(field.required, |frame| frame.requires(field))
    }

    /// Returns whether two schemas differ only in their docs, aliases, `keep`, `rules` and `to`.
    pub(crate) fn means_the_same(&self, other: &Self) -> bool {
        let bare = |schema: &Self| {
            let mut bare = schema.without_docs();
            bare.keep = None;
            bare.rules = SchemaRules::default();
            for field in &mut bare.fields {
                field.aliases.clear();
            }
            for frame in bare.frames.iter_mut().chain(&mut bare.variants) {
                frame.to = None;
            }
            bare
        };
        bare(self) == bare(other)
    }

    /// Returns whether two schemas differ only in their docs.
    pub(crate) fn acts_the_same(&self, other: &Self) -> bool {
        self.without_docs() == other.without_docs()
    }

    fn without_docs(&self) -> Self {
        let mut bare = self.clone();
        bare.doc = None;
        for field in &mut bare.fields {
            field.doc = None;
        }
        for frame in bare.frames.iter_mut().chain(&mut bare.variants) {
            frame.doc = None;
        }
        bare
    }
}

impl Field {
    /// Returns a field without a default, with the standard abbreviation of the draft if there is
    /// one.
    pub fn new(name: &str, ty: Type) -> Self {
        Self::of(&ACCP, name, ty)
    }

    /// Returns a field without a default, with the standard abbreviation of the protocol if there
    /// is one.
    pub(crate) fn of(protocol: &Protocol, name: &str, ty: Type) -> Self {
        Self {
            name: name.to_owned(),
            short: protocol.abbreviate(name).unwrap_or(name).to_owned(),
            ty,
            default: None,
            default_wire: None,
            required: false,
            optional: false,
            inline: false,
            doc: None,
            aliases: Vec::new(),
        }
    }

    /// Returns every key that a reader accepts for the field: the full name, the short name if it differs, and the
    /// aliases.
    ///
    /// ```
    /// use accp_registry::Registry;
    ///
    /// let registry = Registry::from_json(r#"{ "schemas": { "sales_report": {
    ///     "code": "SR", "fields": ["urgency"], "aliases": { "urgency": ["priority"] }
    /// } } }"#)?;
    /// let (_, urgency) = registry.schema("SR").and_then(|schema| schema.field("priority")).expect("an alias");
    /// // `pri` is the standard abbreviation of `priority`.
    /// assert_eq!(urgency.keys().collect::<Vec<_>>(), ["urgency", "priority", "pri"]);
    /// # Ok::<(), accp_registry::Problems>(())
    /// ```
    pub fn keys(&self) -> impl Iterator<Item = &str> {
        let short = (self.short != self.name).then_some(&self.short);
        let names = [&self.name].into_iter().chain(short);
        names.chain(&self.aliases).map(String::as_str)
    }
}

impl FrameSpec {
    /// Returns a frame without demands.
    pub fn new<S: AsRef<str>>(head: &[S]) -> Self {
        Self {
            head: head.iter().map(|word| word.as_ref().to_owned()).collect(),
            required: Vec::new(),
            fields: None,
            envelope: Vec::new(),
            to: None,
            doc: None,
        }
    }

    /// Returns the intent's code: the first part of an ACCP head.
    pub fn intent(&self) -> &str {
        self.head.first().map_or("", String::as_str)
    }

    /// Returns the operation: the second part of an ACCP head.
    pub fn operation(&self) -> &str {
        self.head.get(1).map_or("", String::as_str)
    }

    fn has_head<S: AsRef<str>>(&self, head: &[S]) -> bool {
        let words = head.iter().map(AsRef::as_ref);
        self.head.iter().map(String::as_str).eq(words)
    }

    /// Returns whether this frame must carry a field of its schema, with a value.
    pub fn requires(&self, field: &Field) -> bool {
        let is_required = field.required && self.is_about(&field.name);
        is_required || self.required.contains(&field.name)
    }

    /// Returns whether a field that this frame leaves out gets its default, if it has one.
    fn fills(&self, name: &str) -> bool {
        self.is_about(name) && !self.required.iter().any(|other| other == name)
    }

    /// Returns whether this frame has a field of its schema: it is about the field, or requires it.
    pub(crate) fn carries(&self, name: &str) -> bool {
        self.is_about(name) || self.required.iter().any(|other| other == name)
    }

    /// Returns whether [`fields`](Self::fields) lists the field, or the frame has no such list.
    pub fn is_about(&self, name: &str) -> bool {
        let has = |names: &Vec<String>| names.iter().any(|other| other == name);
        self.fields.as_ref().is_none_or(has)
    }
}
