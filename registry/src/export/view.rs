//! The grammar rules for views of frames.

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;

use super::builder::Builder;
use super::formats;
use super::frames::{Frame, Param, Record, records};
use super::grammar::{
    Expr, Grammar, choice, class, literal, many, optional, repeat, sequence, some,
};
use super::rules::{has_levels, separated, word};
use super::tokens::{self, bytes, chars, digits};
use crate::lexical::is_agent_char;
use crate::model::{Registry, Schema};
use crate::protocol::NO_HEAD;
use crate::types::{EnumValue, Type};
use crate::view::{
    ABSENT, BELOW, DELIMITERS, ROLE, SPOKEN, implied, is_bare, is_bare_key, is_hidden,
    may_stand_below, words_of, write_quoted,
};

/// Letters beyond ASCII that a text without quotes may begin with. Only scripts whose letters form a few ranges of
/// characters are listed.
const LETTERS: [(char, char); 14] = [
    ('À', 'Ö'),
    ('Ø', 'ö'),
    ('ø', 'ʯ'),
    ('Α', 'Ρ'),
    ('Σ', 'ϵ'),
    ('Ѐ', 'ҁ'),
    ('Ҋ', 'ԯ'),
    ('א', 'ת'),
    ('ؠ', 'ي'),
    ('ऄ', 'ह'),
    ('ぁ', 'ゖ'),
    ('ァ', 'ヺ'),
    ('一', '鿿'),
    ('가', '힣'),
];

/// Returns the grammar of views of these frames.
pub(super) fn grammar(registry: &Registry, frames: &[Frame<'_>], depth: u32) -> Grammar {
    let mut view = View {
        registry,
        builder: Builder::default(),
        values: BTreeMap::new(),
    };
    let start = view.builder.reserve("start");
    let block = view.builder.reserve("block");
    let mut options = Vec::new();
    for (intent, operation, mark) in SPOKEN {
        let mut spoken = frames
            .iter()
            .filter(|frame| frame.head == [intent, operation]);
        if spoken.next().is_some() {
            options.extend(view.spoken(intent, operation, mark));
        }
    }
    for frame in frames {
        options.push(sequence([literal(">"), view.frame(frame, depth)]));
    }
    let agent = view.builder.token("agent", tokens::agent);
    let body = sequence([literal("@"), agent, choice(options)]);
    let block = view.builder.define(block, body);
    view.builder.define(start, some(block));
    view.builder
        .grammar("The views of a registry's frames, by `accp grammar export --form view")
}

struct View<'r> {
    registry: &'r Registry,
    builder: Builder,
    /// The rules for values and records.
    values: BTreeMap<String, Expr>,
}

impl View<'_> {
    /// Returns the rule for a frame that is shown as a text only. `None` if the frame requires a field that such a
    /// view cannot give: a field other than the text and the role, and without a default.
    fn spoken(&mut self, intent: &str, operation: &str, mark: char) -> Option<Expr> {
        let schema = implied(self.registry, intent, operation)?;
        let words = words_of(schema)?;
        let head = [intent, operation];
        let role = schema.field(ROLE).filter(|_| mark == '?');
        let is_role = |name: &str| role.is_some_and(|(_, field)| field.name == name);
        let is_said = |name: &str| {
            let index = schema.field(name).map(|(index, _)| index);
            name == words.name
                || is_role(name)
                || index.is_some_and(|index| schema.has_default(index, &head))
        };
        let takes_names =
            role.is_none_or(|(_, role)| matches!(role.ty, Type::String | Type::Text | Type::Agent));
        if !takes_names || !schema.required(&head).all(is_said) {
            return None;
        }
        let first = self.builder.token("line", line);
        let lines = sequence([optional(first), self.lines(), literal("\n")]);
        Some(sequence([literal(&format!("{mark} ")), lines]))
    }

    /// Returns the lines after the first line of a text. None of them begins a new block.
    fn lines(&mut self) -> Expr {
        let next = self.builder.token("next", next_line);
        many(sequence([literal("\n"), optional(next)]))
    }

    /// Returns a frame as a record. One of its texts may stand below the line.
    fn frame(&mut self, frame: &Frame<'_>, depth: u32) -> Expr {
        let title = self.registry.protocol().title(frame.head);
        let at = self
            .builder
            .reserve(&format!("{}_{}", frame.head.join("_"), frame.code));
        let open = literal(&format!("{title} {}(", frame.code));
        let Some(schema) = self.registry.schema(frame.code) else {
            return self.builder.define(at, open);
        };
        let cells = self.cells(schema, frame.head, &frame.params, None, depth);
        let mut options = Vec::new();
        options.push(sequence([open.clone(), cells, literal(")\n")]));
        for (below, param) in frame.params.iter().enumerate() {
            if !may_stand_below(&param.field.ty) {
                continue;
            }
            let cells = self.cells(schema, frame.head, &frame.params, Some(below), depth);
            let first = self.builder.token("next", next_line);
            let lines = sequence([optional(first), self.lines()]);
            options.push(sequence([
                open.clone(),
                cells,
                literal(")\n"),
                lines,
                literal("\n"),
            ]));
        }
        self.builder.define(at, choice(options))
    }

    /// Returns the cells of a record. The cells after the last required one may be missing.
    fn cells<S: AsRef<str>>(
        &mut self,
        schema: &Schema,
        head: &[S],
        params: &[Param<'_>],
        below: Option<usize>,
        depth: u32,
    ) -> Expr {
        let mut cells = Vec::new();
        for (index, param) in params.iter().enumerate() {
            if below == Some(index) {
                cells.push(literal(BELOW.encode_utf8(&mut [0; 4])));
                continue;
            }
            let value = self.cell(&param.field.ty, depth, !param.must);
            let absent = schema.has_default(index, head).then(|| literal(ABSENT));
            let options = choice([value].into_iter().chain(absent));
            cells.push(if param.must {
                options
            } else {
                optional(options)
            });
        }
        let is_needed = |index: usize| params[index].must || below == Some(index);
        let last = (0..cells.len())
            .rfind(|index| is_needed(*index))
            .unwrap_or(0);
        let mut behind: Option<Expr> = None;
        for cell in cells.drain((last + 1).min(cells.len())..).rev() {
            let cell = [literal(","), cell].into_iter().chain(behind);
            behind = Some(optional(sequence(cell)));
        }
        let mut all = Vec::new();
        for cell in cells {
            all.extend((!all.is_empty()).then(|| literal(",")));
            all.push(cell);
        }
        sequence(all.into_iter().chain(behind))
    }

    /// Returns the rule with this name, and makes it if it is new.
    fn known(&mut self, name: String, body: impl FnOnce(&mut Self) -> Expr) -> Expr {
        if let Some(rule) = self.values.get(&name) {
            return rule.clone();
        }
        let at = self.builder.reserve(&name);
        self.values.insert(name, self.builder.rule(at));
        let body = body(self);
        self.builder.define(at, body)
    }

    /// Returns the rule for the value of a cell, where a record of the declared schema has no code.
    fn cell(&mut self, ty: &Type, depth: u32, is_nullable: bool) -> Expr {
        let Type::Schema(code) = ty else {
            return self.value(ty, depth, is_nullable);
        };
        let null = if is_nullable { "" } else { "given_" };
        let name = format!("{null}cell_{}_{depth}", word(ty));
        self.known(name, |view| {
            let records = depth
                .checked_sub(1)
                .map(|depth| view.record(code, "", depth));
            let mut options: Vec<Expr> = records.into_iter().collect();
            view.others(&mut options, is_nullable);
            choice(options)
        })
    }

    /// Returns the rule for a value of a type, with at most `depth` levels of lists and maps.
    fn value(&mut self, ty: &Type, depth: u32, is_nullable: bool) -> Expr {
        let depth = if has_levels(ty) { depth } else { 0 };
        let null = if is_nullable { "" } else { "given_" };
        let name = format!("{null}value_{}_{depth}", word(ty));
        self.known(name, |view| {
            let mut options = view.options(ty, depth);
            view.others(&mut options, is_nullable);
            choice(options)
        })
    }

    /// Adds the options that every type has: a null where it is allowed, and a reference.
    fn others(&mut self, options: &mut Vec<Expr>, is_nullable: bool) {
        options.extend(is_nullable.then(|| literal("~")));
        options.push(self.builder.token("reference", tokens::reference));
    }

    fn text(&mut self) -> [Expr; 2] {
        let bare = self.builder.token("bare", || bare(""));
        [bare, self.builder.token("quoted", quoted)]
    }

    fn options(&mut self, ty: &Type, depth: u32) -> Vec<Expr> {
        let mut options = Vec::new();
        match ty {
            Type::String | Type::Text => options.extend(self.text()),
            Type::Integer => options.push(self.builder.token("integer", tokens::integer)),
            Type::Decimal => options.push(self.builder.token("decimal", tokens::decimal)),
            Type::Number => options.push(self.builder.token("number", tokens::number)),
            Type::Boolean => options.extend(["true", "false"].map(literal)),
            Type::Agent => options.push(self.builder.token("name", agent)),
            Type::Formatted(format) => {
                let word = format.word();
                let quoted = format!("quoted{word}");
                options.push(self.builder.token(word, || formats::bare(*format)));
                options.push(self.builder.token(&quoted, || formats::quoted(*format)));
            }
            Type::Enum(values) => options.extend(values.iter().map(enum_value)),
            Type::Any => {
                options.extend(self.text());
                options.push(self.builder.token("negative", negative));
                options.push(self.builder.token("marked", tokens::marked));
            }
            Type::List(_) | Type::Map(_) | Type::Schema(_) => {}
        }
        let Some(inner) = depth.checked_sub(1) else {
            return options;
        };
        match ty {
            Type::Any => {
                options.push(self.list(&Type::Any, inner));
                options.push(self.map(&Type::Any, inner));
            }
            Type::List(item) => {
                options.push(self.list(item, inner));
                if let (Type::Schema(code), Some(inner)) = (&**item, inner.checked_sub(1))
                    && !self.is_union(code)
                {
                    let rows = some(sequence([literal("\n"), self.row(code, inner)]));
                    options.push(sequence([literal(&format!("{code}[")), rows, literal("]")]));
                }
            }
            Type::Map(item) => options.push(self.map(item, inner)),
            Type::Schema(code) => options.push(self.record(code, code, inner)),
            _ => {}
        }
        options
    }

    fn list(&mut self, item: &Type, depth: u32) -> Expr {
        let item = self.value(item, depth, item.holds_null());
        let items = sequence([item.clone(), many(sequence([literal(","), item]))]);
        sequence([literal("["), optional(items), literal("]")])
    }

    fn map(&mut self, item: &Type, depth: u32) -> Expr {
        let bare = self.builder.token("key", || bare(":"));
        let quoted = self.builder.token("quoted", quoted);
        let key = choice([bare, quoted]);
        let value = self.value(item, depth, item.holds_null());
        let entry = sequence([key, literal(":"), value]);
        let entries = sequence([entry.clone(), many(sequence([literal(","), entry]))]);
        sequence([literal("{"), optional(entries), literal("}")])
    }

    fn is_union(&self, code: &str) -> bool {
        let schema = self.registry.schema(code);
        schema.is_some_and(|schema| schema.union.is_some())
    }

    /// Returns a record: its values by position after the code `shown`, or a map with the names of its fields. A
    /// record of a union is always a map.
    fn record(&mut self, code: &str, shown: &str, depth: u32) -> Expr {
        let mut options = Vec::new();
        if !self.is_union(code) {
            let open = literal(&format!("{shown}("));
            options.push(sequence([open, self.row(code, depth), literal(")")]));
        }
        let records = self.registry.schema(code).map(records);
        for mut record in records.into_iter().flatten() {
            // A primer names the tag of a union first, and then the fields in the order of the schema.
            let taught = record.variant.is_some().then(|| record.tag_first());
            record.params.sort_by_key(|param| &param.field.name);
            let taught = taught.unwrap_or_else(|| record.params.clone());
            for params in record.orders(taught) {
                options.push(self.entries(&record, &params, depth));
            }
        }
        choice(options)
    }

    /// Returns a record as a map with the names of its fields.
    fn entries(&mut self, record: &Record<'_>, params: &[Param<'_>], depth: u32) -> Expr {
        let entries = params.iter().map(|param| {
            let mut key = String::new();
            match &*param.field.name {
                name if is_bare_key(name) => key.push_str(name),
                name => write_quoted(&mut key, name),
            }
            let value = match record.constant(param.field) {
                Some(name) => closed_text(name),
                None => self.value(&param.field.ty, depth, !param.must),
            };
            (sequence([literal(&format!("{key}:")), value]), param.must)
        });
        let entries = separated(entries.collect(), ",");
        let all = [Some(literal("{")), entries, Some(literal("}"))];
        sequence(all.into_iter().flatten())
    }

    /// Returns the rule for the cells of a record.
    fn row(&mut self, code: &str, depth: u32) -> Expr {
        self.known(format!("cells_{code}_{depth}"), |view| {
            let params = params(view.registry, code);
            match view.registry.schema(code) {
                Some(schema) => view.cells(schema, NO_HEAD, &params, None, depth),
                None => literal(""),
            }
        })
    }
}

/// Returns the fields of a nested record, in the order of the schema.
fn params<'r>(registry: &'r Registry, code: &str) -> Vec<Param<'r>> {
    let schema = registry.schema(code);
    let fields = schema.into_iter().flat_map(|schema| {
        let required = |field| schema.requires(field, NO_HEAD);
        let fields = schema.fields.iter();
        fields.map(move |field| Param {
            field,
            must: required(field),
        })
    });
    fields.collect()
}

/// Returns a class of the visible characters, except those of `without`.
fn shown(without: &str) -> Expr {
    let all = [('\t', '\t'), (' ', char::MAX)].into_iter();
    let all = all.flat_map(|(first, last)| first..=last);
    chars(all, |c| {
        (c == '\t' || !is_hidden(c)) && !without.contains(c)
    })
}

/// Returns a line of a text.
fn line() -> Expr {
    some(shown(""))
}

/// Returns a line that does not begin a block.
fn next_line() -> Expr {
    sequence([shown("@"), many(shown(""))])
}

/// Returns a text without quotes and without the characters of `without`.
fn bare(without: &str) -> Expr {
    let is_inner = |c: char| !DELIMITERS.contains(&c) && !is_hidden(c) && !without.contains(c);
    let first = |c: char| {
        let is_letter = LETTERS
            .iter()
            .any(|(first, last)| (*first..=*last).contains(&c));
        c.is_ascii_alphanumeric() || c == '_' || is_letter
    };
    let all = || ' '..=char::MAX;
    let last = chars(all(), |c| is_inner(c) && c != ' ');
    let rest = sequence([many(chars(all(), is_inner)), last]);
    sequence([chars(all(), first), optional(rest)])
}

/// Returns a JSON string without hidden characters.
fn quoted() -> Expr {
    let hex = || class(&[(b'0', b'9'), (b'A', b'F'), (b'a', b'f')]);
    let of = |set: &'static str| bytes(move |byte| set.contains(byte as char));
    let plain = chars(' '..=char::MAX, |c| !is_hidden(c) && c != '"' && c != '\\');
    let low = || repeat(hex(), 2, Some(2));
    // A lone surrogate is not a character.
    let unit = choice([
        sequence([of("0123456789ABCEFabcef"), repeat(hex(), 3, Some(3))]),
        sequence([of("Dd"), of("01234567"), low()]),
        sequence([
            of("Dd"),
            of("89ABab"),
            low(),
            literal("\\u"),
            of("Dd"),
            of("CDEFcdef"),
            low(),
        ]),
    ]);
    let escape = choice([of("\"\\/bfnrt"), sequence([literal("u"), unit])]);
    let escaped = sequence([literal("\\"), escape]);
    sequence([literal("\""), many(choice([plain, escaped])), literal("\"")])
}

/// Returns an agent id, in quotes where it begins with a dash.
fn agent() -> Expr {
    let first = bytes(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    let bare = sequence([first, many(bytes(is_agent_char))]);
    let quoted = sequence([literal("\""), tokens::agent(), literal("\"")]);
    choice([bare, quoted])
}

/// Returns the name of a value of an enumeration as a view writes it.
fn enum_value(value: &EnumValue) -> Expr {
    closed_text(&value.name)
}

/// Returns the only spelling of a text: without quotes if possible, otherwise as a JSON string.
fn closed_text(text: &str) -> Expr {
    let mut written = String::new();
    if is_bare(text) {
        written.push_str(text);
    } else {
        write_quoted(&mut written, text);
    }
    literal(&written)
}

/// Returns a number below zero, in its canonical spelling.
fn negative() -> Expr {
    let lowest = literal(&i64::MIN.to_string()[1..]);
    let whole = choice([tokens::positive(), lowest]);
    let places = || sequence([digits(0, Some(5)), class(&[(b'1', b'9')])]);
    let fraction = sequence([literal("."), choice([places(), literal("0")])]);
    sequence([
        literal("-"),
        choice([
            sequence([whole, optional(fraction)]),
            sequence([literal("0."), places()]),
        ]),
    ])
}

#[cfg(test)]
mod tests {
    use super::{LETTERS, is_bare};

    #[test]
    fn letters_begin_a_text_without_quotes() {
        for c in LETTERS.into_iter().flat_map(|(first, last)| first..=last) {
            assert!(is_bare(c.encode_utf8(&mut [0; 4])), "{c:?}");
        }
    }
}
