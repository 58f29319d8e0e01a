//! Reads values: scalars, lists, maps, records and tables.

use accp_registry::lexical::Literal;
use accp_registry::view::{ABSENT, BELOW};
use accp_registry::{ErrorCode, Field, Schema, Type};

use super::cursor::{Broken, Cursor};
use super::members::{ANY, Members, UNTYPED};
use crate::view::shape::{Place, default_of};
use crate::view::text;
use accp_frame::__internal::{plain, wanted};
use accp_frame::{DecodeOptions, Map, Reader, Value};

/// Characters that may follow a cell.
const CELL_ENDS: [char; 4] = [',', ')', ']', '\n'];

impl<'r> Cursor<'r, '_> {
    /// Reads a value of this type.
    pub(super) fn value(&mut self, ty: &'r Type, depth: usize) -> Result<Value<'static>, Broken> {
        if depth > accp_registry::Limits::MAX_DEPTH as usize {
            return self.expected("less nesting");
        }
        self.gap();
        let start = self.at;
        match self.rest().chars().next() {
            Some('"') => {
                let text = self.quoted()?;
                Ok(self.string(start, &text, ty, true))
            }
            Some('[') => {
                self.at += 1;
                self.list(start, ty, depth)
            }
            Some('{') => {
                self.at += 1;
                let mut map = Map::new();
                let members = self.members(start, ty);
                self.entries(members, &mut map, depth, false)?;
                self.complete(members, &map);
                Ok(Value::Map(map))
            }
            _ => self.word(ty, depth),
        }
    }

    /// Reads an item of a list or of a map. A null is refused unless null is a value of the type.
    fn item(&mut self, ty: &'r Type, depth: usize) -> Result<Value<'static>, Broken> {
        self.gap();
        let (start, faults) = (self.at, self.faults.len());
        let value = self.value(ty, depth)?;
        // A value with a fault is read as null, too, but that fault has been reported already.
        if value == Value::Null && !ty.holds_null() && self.faults.len() == faults {
            self.misfit(start, ty, None);
        }
        Ok(value)
    }

    /// Reads the value under this key of a map or a record.
    fn member(
        &mut self,
        members: Members<'r>,
        key: &str,
        depth: usize,
    ) -> Result<Value<'static>, Broken> {
        match members {
            Members::Same(ty) => self.item(ty, depth),
            Members::Of(_) => self.value(members.ty(key), depth),
        }
    }

    /// Notes that the value at `at` does not fit its type.
    fn misfit(&mut self, at: usize, ty: &Type, found: Option<&str>) {
        let wanted = match ty {
            Type::List(_) => String::from("a list, such as [] or [1,2]"),
            Type::Map(_) => String::from("a map, such as {} or {key:1}"),
            Type::Schema(code) => format!("a record of {code}"),
            ty => wanted(ty, found),
        };
        self.fault(ErrorCode::INVALID_TYPE, at, wanted);
    }

    /// Returns the types of the values in a map that begins at `at`.
    fn members(&mut self, at: usize, ty: &'r Type) -> Members<'r> {
        let members = Members::of(self.registry, ty);
        members.unwrap_or_else(|| {
            self.misfit(at, ty, None);
            UNTYPED
        })
    }

    /// Notes the fields that a record lacks, at the record's last character.
    fn complete(&mut self, members: Members<'_>, map: &Map<'_>) {
        if let Members::Of(schema) = members {
            self.record_at(self.at.saturating_sub(1), schema, map);
        }
    }

    fn list(&mut self, start: usize, ty: &'r Type, depth: usize) -> Result<Value<'static>, Broken> {
        let item = match ty {
            Type::List(item) => item,
            Type::Any => &ANY,
            ty => {
                self.misfit(start, ty, None);
                &ANY
            }
        };
        let mut items = Vec::new();
        self.gap();
        if self.take(']') {
            return Ok(Value::Array(items));
        }
        loop {
            let at = format!("[{}]", items.len());
            items.push(self.within(&at, |cursor| cursor.item(item, depth + 1))?);
            self.gap();
            if self.take(']') {
                return Ok(Value::Array(items));
            }
            if !self.take(',') {
                return self.expected("',' or ']'");
            }
            if self.ends_late(']') {
                return Ok(Value::Array(items));
            }
        }
    }

    /// Reads a scalar, a record or a table.
    fn word(&mut self, ty: &'r Type, depth: usize) -> Result<Value<'static>, Broken> {
        let start = self.at;
        let word = self.until(|c| text::DELIMITERS.contains(&c));
        let word = self.trimmed(word);
        if let Some(value) = self.loose(start, word, ty) {
            return Ok(value);
        }
        if self.rest().starts_with('(') {
            let schema = self.record_schema(word, start, ty)?;
            self.at += 1;
            let members = self.members(start, ty);
            return self.record(schema, members, depth);
        }
        if self.rest().starts_with('[') {
            let schema = self.record_schema(word, start, ty)?;
            self.at += 1;
            let members = match ty {
                Type::List(item) => self.members(start, item),
                Type::Any => UNTYPED,
                ty => {
                    self.misfit(start, ty, None);
                    UNTYPED
                }
            };
            return self.table(schema, members, depth);
        }
        Ok(match (literal(word), ty) {
            (Some(value @ (Value::Null | Value::Ref(_))), _) | (Some(value), Type::Any) => value,
            (Some(_), ty) => self.string(start, word, ty, false),
            (None, Type::String | Type::Text | Type::Any) => {
                self.at = start;
                return self.expected("a value, or a JSON string such as \"-x\"");
            }
            (None, ty) => self.string(start, word, ty, false),
        })
    }

    /// Returns a text as a value of this type. A text that is quoted or stands below the line is never read as a
    /// number.
    pub(super) fn string(
        &mut self,
        start: usize,
        text: &str,
        ty: &Type,
        is_quoted: bool,
    ) -> Value<'static> {
        let is_text = matches!(
            ty,
            Type::String
                | Type::Text
                | Type::Agent
                | Type::Formatted(_)
                | Type::Enum(_)
                | Type::Any
        );
        let value = plain(text, ty).filter(|_| is_text || !is_quoted);
        let value = value.or_else(|| self.respelt(start, text, ty));
        value.unwrap_or_else(|| {
            self.misfit(start, ty, Some(text));
            Value::Null
        })
    }

    fn quoted(&mut self) -> Result<String, Broken> {
        let rest = self.rest();
        let mut escaped = false;
        let end = rest.char_indices().skip(1).find(|(_, c)| {
            let ends = *c == '"' && !escaped;
            escaped = *c == '\\' && !escaped;
            ends
        });
        let read = end.map(|(end, _)| (end, serde_json::from_str::<String>(&rest[..=end])));
        if let Some(text) =
            self.loosely_quoted(read.as_ref().map(|(end, read)| (*end, read.is_ok())))
        {
            return Ok(text);
        }
        match read {
            None => self.expected("a text that ends with '\"'"),
            Some((_, Err(_))) => self.expected("a JSON string"),
            Some((end, Ok(text))) => {
                self.at += end + 1;
                Ok(text)
            }
        }
    }

    /// Reads the entries of a map, up to its `}`.
    pub(super) fn entries(
        &mut self,
        members: Members<'r>,
        map: &mut Map<'static>,
        depth: usize,
        is_frame: bool,
    ) -> Result<(), Broken> {
        self.gap();
        if self.take('}') {
            return Ok(());
        }
        loop {
            self.gap();
            let start = self.at;
            let key = if self.rest().starts_with('"') {
                self.quoted()?
            } else {
                let key = self.until(|c| c == ':' || text::DELIMITERS.contains(&c));
                let key = String::from(self.key(key));
                // In `{a:1, b:2}` the model means the key `b` and not ` b`. So a key with spaces
                // around it is refused.
                if self.rest().starts_with(':')
                    && (key.is_empty() || key.trim_matches(text::is_blank) != key)
                {
                    self.at = start;
                    return self.expected("a key, without spaces around it, or a JSON string");
                }
                key
            };
            if !self.assigns() {
                return self.expected("':' behind a key");
            }
            if members.taken(&key, map).is_some() {
                self.at = start;
                return self.expected("each key once");
            }
            if is_frame && self.take(BELOW) {
                self.is_below(&key, members.ty(&key))?;
            } else {
                let value = self.within(&key, |cursor| cursor.member(members, &key, depth + 1))?;
                map.insert(key, value);
            }
            self.gap();
            if self.take('}') {
                return Ok(());
            }
            if !self.take(',') {
                return self.expected("',' or '}'");
            }
            if self.ends_late('}') {
                return Ok(());
            }
        }
    }

    fn is_below(&mut self, name: &str, ty: &'r Type) -> Result<(), Broken> {
        if self.below.is_some() {
            return self.expected("one text below the line");
        }
        self.below = Some((name.into(), ty));
        Ok(())
    }

    fn record(
        &mut self,
        schema: &'r Schema,
        members: Members<'r>,
        depth: usize,
    ) -> Result<Value<'static>, Broken> {
        let mut map = Map::new();
        self.cells(schema, members, &mut map, &Map::new(), depth, None)?;
        if !self.take(')') {
            return self.expected("',' or ')'");
        }
        self.complete(members, &map);
        Ok(Value::Map(map))
    }

    /// Reads the cells of a record or a row, up to the character that ends them.
    pub(super) fn cells(
        &mut self,
        schema: &'r Schema,
        members: Members<'r>,
        map: &mut Map<'static>,
        left_out: &Map<'_>,
        depth: usize,
        place: Place<'_>,
    ) -> Result<(), Broken> {
        let is_in = |(_, field): &(usize, &Field)| left_out.get(&field.name).is_none();
        let mut fields = schema.fields.iter().enumerate().filter(is_in).peekable();
        let mut more = fields.peek().is_some();
        for (at, field) in fields {
            self.gap();
            let rest = self.rest();
            if !more || rest.is_empty() || rest.starts_with(CELL_ENDS) {
                if let Some(default) = default_of(schema, at, place) {
                    let ty = members.ty(&field.name);
                    // If the place of the record is declared as a map, the default must have the type of the map's
                    // values.
                    if matches!(ty, Type::Any) || *ty == field.ty {
                        map.insert(field.name.clone(), default.into_owned());
                    } else {
                        self.misfit(self.at, ty, None);
                    }
                }
            } else if place.is_some() && self.take(BELOW) {
                self.is_below(&field.name, &field.ty)?;
            } else if rest
                .strip_prefix(ABSENT)
                .is_some_and(|rest| self.tightened(rest).starts_with(CELL_ENDS))
            {
                self.at += ABSENT.len();
            } else {
                let value = self.cell(field, members, depth)?;
                map.insert(field.name.clone(), value);
            }
            self.gap();
            more = more && self.take(',');
        }
        if more && !self.has_empty_cells() {
            return self.expected("no more values than the schema has fields");
        }
        Ok(())
    }

    /// Reads a value of this field. A record of the field's own schema has no code.
    fn cell(
        &mut self,
        field: &'r Field,
        members: Members<'r>,
        depth: usize,
    ) -> Result<Value<'static>, Broken> {
        let ty = members.ty(&field.name);
        self.within(&field.name, |cursor| match &field.ty {
            Type::Schema(code) if cursor.rest().starts_with('(') => {
                let start = cursor.at;
                let schema = cursor.schema(code, start)?;
                cursor.at += 1;
                let members = cursor.members(start, ty);
                cursor.record(schema, members, depth + 1)
            }
            _ => cursor.member(members, &field.name, depth + 1),
        })
    }

    /// Reads a list of records, after its `[`.
    fn table(
        &mut self,
        schema: &'r Schema,
        members: Members<'r>,
        depth: usize,
    ) -> Result<Value<'static>, Broken> {
        let outer = std::mem::replace(&mut self.is_in_table, true);
        let table = self.rows(schema, members, depth);
        self.is_in_table = outer;
        table
    }

    fn rows(
        &mut self,
        schema: &'r Schema,
        members: Members<'r>,
        depth: usize,
    ) -> Result<Value<'static>, Broken> {
        let mut constant = Map::new();
        self.gap();
        while !self.rest().starts_with(['\n', ']']) {
            let start = self.at;
            let name = self.until(|c| c == ':' || text::DELIMITERS.contains(&c));
            let name = self.key(name);
            let field = schema.field(name).map(|(_, field)| field);
            let Some(field) = field.filter(|_| self.assigns()) else {
                self.at = start;
                return self.expected("a field of the schema, and ':'");
            };
            let value = self.cell(field, members, depth)?;
            constant.insert(field.name.clone(), value);
            self.gap();
            if !self.take(',') {
                break;
            }
            self.gap();
        }
        let mut items = Vec::new();
        while self.take('\n') {
            let mut row = constant.clone();
            let at = format!("[{}]", items.len());
            self.within(&at, |cursor| {
                cursor.cells(schema, members, &mut row, &constant, depth + 1, None)?;
                if let Members::Of(schema) = members {
                    cursor.record_at(cursor.at, schema, &row);
                }
                Ok(())
            })?;
            items.push(Value::Map(row));
        }
        if !self.take(']') {
            return self.expected("a row, or ']'");
        }
        Ok(Value::Array(items))
    }
}

/// Returns the value of a word by its form alone, without a declared type.
pub(super) fn literal(word: &str) -> Option<Value<'static>> {
    if word.starts_with(['#', '$', '~']) {
        let mut r = Reader::new(word, DecodeOptions::default()).ok()?;
        let value = Value::read(&mut r).ok()?.into_owned();
        return r.finish().is_ok().then_some(value);
    }
    Some(match Literal::classify(word) {
        Literal::Boolean(value) => Value::Boolean(value),
        Literal::Integer(value) => Value::Integer(value),
        Literal::Decimal(value) => Value::Decimal(value),
        _ if text::is_bare(word) => Value::from(String::from(word)),
        _ => return None,
    })
}
