//! The rules of an ABNF text, with their lines.

use std::collections::{BTreeMap, BTreeSet};

use abnf::types::{Kind, Node};

use super::error::GenerateError;

/// The core rules that ABNF texts use without defining them.
const CORE: &str = include_str!("core.abnf");

/// All rules by name: those of the text and the core rules.
pub(super) struct Rules {
    /// The rules by lower-case name: ABNF names ignore case.
    by_name: BTreeMap<String, Definition>,
    /// The lower-case names in the order of the text.
    order: Vec<String>,
    /// The lower-case names of the rules that the grammar needs.
    used: BTreeSet<String>,
}

pub(super) struct Definition {
    pub(super) name: String,
    pub(super) node: Node,
    /// The first line of the rule, counted from 1.
    pub(super) line: usize,
    /// Whether the rule is one of the core rules of RFC 5234, appendix B.1.
    pub(super) is_core: bool,
}

impl Definition {
    pub(super) fn key(&self) -> String {
        self.name.to_lowercase()
    }

    pub(super) fn error(&self, message: &str) -> GenerateError {
        GenerateError::abnf(self.line, format!("`{}`: {message}", self.name))
    }
}

impl Rules {
    pub(super) fn parse(text: &str) -> Result<Self, GenerateError> {
        let mut rules = Self {
            by_name: BTreeMap::new(),
            order: Vec::new(),
            used: BTreeSet::new(),
        };
        for (line, block) in blocks(text)? {
            rules.add(line, &block, false)?;
        }
        if rules.order.is_empty() {
            return Err(GenerateError::abnf(
                1,
                "there is no rule; write at least one `name = elements`".to_owned(),
            ));
        }
        for (line, block) in blocks(CORE)? {
            let name = block.split(' ').next().unwrap_or_default();
            if !rules.by_name.contains_key(&name.to_lowercase()) {
                rules.add(line, &block, true)?;
            }
        }
        rules.check_names()?;
        rules.used = rules.needed(&BTreeMap::new(), &[]);
        Ok(rules)
    }

    /// Returns the rule with this name, for a reference in the rule `user`.
    pub(super) fn get(
        &self,
        name: &str,
        line: usize,
        user: &str,
    ) -> Result<&Definition, GenerateError> {
        self.find(name).ok_or_else(|| {
            GenerateError::abnf(
                line,
                format!(
                    "`{user}` uses the rule `{name}`, which is not defined; \
                     add `{name} = ...` or correct the name"
                ),
            )
        })
    }

    pub(super) fn find(&self, name: &str) -> Option<&Definition> {
        self.by_name.get(&name.to_lowercase())
    }

    /// Returns the first name in an expression of the overrides that is not the name of a rule.
    pub(super) fn undefined(&self, node: &Node) -> Option<String> {
        let mut names = Vec::new();
        references(node, &mut names);
        names.into_iter().find(|name| self.find(name).is_none())
    }

    /// Updates the rules that the grammar needs, after overrides gave other elements to some rules (`other`) and named
    /// further rules (`more`).
    pub(super) fn replace(&mut self, other: &BTreeMap<String, &Node>, more: &[&Node]) {
        self.used = self.needed(other, more);
    }

    /// Returns all rules, including the core rules that no rule uses.
    pub(super) fn all(&self) -> impl Iterator<Item = &Definition> {
        self.order.iter().filter_map(|name| self.by_name.get(name))
    }

    /// Returns the rules of the text that the grammar needs, then the core rules that it needs.
    pub(super) fn used(&self) -> impl Iterator<Item = &Definition> {
        self.all().filter(|rule| self.used.contains(&rule.key()))
    }

    fn add(&mut self, line: usize, block: &str, is_core: bool) -> Result<(), GenerateError> {
        let head = block.lines().next().unwrap_or_default();
        let Ok(parsed) = abnf::rulelist(&lowercase_marks(block)) else {
            return Err(GenerateError::abnf(
                line,
                format!(
                    "`{head}` is not a rule of RFC 5234; a rule is `name = elements`, \
                     its elements are names, \"text\", %x41-5A, ( ), [ ], / and 1*"
                ),
            ));
        };
        for rule in parsed {
            let key = rule.name().to_lowercase();
            match (rule.kind(), self.by_name.get_mut(&key)) {
                (Kind::Basic, None) => {
                    self.order.push(key.clone());
                    self.by_name.insert(
                        key,
                        Definition {
                            name: rule.name().to_owned(),
                            node: rule.node().clone(),
                            line,
                            is_core,
                        },
                    );
                }
                (Kind::Basic, Some(other)) => {
                    return Err(GenerateError::abnf(
                        line,
                        format!(
                            "`{}` is already defined on line {}; \
                             remove one, or add alternatives with `=/`",
                            rule.name(),
                            other.line
                        ),
                    ));
                }
                (Kind::Incremental, Some(known)) => {
                    let mut nodes = match &known.node {
                        Node::Alternatives(nodes) => nodes.clone(),
                        node => vec![node.clone()],
                    };
                    match rule.node() {
                        Node::Alternatives(more) => nodes.extend_from_slice(more),
                        node => nodes.push(node.clone()),
                    }
                    known.node = Node::Alternatives(nodes);
                }
                (Kind::Incremental, None) => {
                    return Err(GenerateError::abnf(
                        line,
                        format!(
                            "`{0} =/` adds to a rule that is not defined; write `{0} =`",
                            rule.name()
                        ),
                    ));
                }
            }
        }
        Ok(())
    }

    fn check_names(&self) -> Result<(), GenerateError> {
        for rule in self.by_name.values() {
            let mut names = Vec::new();
            references(&rule.node, &mut names);
            for name in names {
                self.get(&name, rule.line, &rule.name)?;
            }
        }
        Ok(())
    }

    /// Returns the rules that the grammar needs. A rule leads to the rules that it uses, and to those that they use.
    /// A rule to which no earlier rule leads is the start of a grammar, and needs all rules to which it leads.
    fn needed(&self, other: &BTreeMap<String, &Node>, more: &[&Node]) -> BTreeSet<String> {
        let (mut reached, mut needed) = (BTreeSet::new(), BTreeSet::new());
        for rule in self.all().filter(|rule| !rule.is_core) {
            if !reached.contains(&rule.key()) {
                self.reach(rule.key(), &BTreeMap::new(), &mut reached);
                self.reach(rule.key(), other, &mut needed);
            }
        }
        let mut names = Vec::new();
        for node in more {
            references(node, &mut names);
        }
        for name in names {
            self.reach(name.to_lowercase(), other, &mut needed);
        }
        needed
    }

    /// Adds the name of a rule, and the names of the rules to which it leads.
    fn reach(
        &self,
        first: String,
        other: &BTreeMap<String, &Node>,
        reached: &mut BTreeSet<String>,
    ) {
        let mut open = vec![first];
        while let Some(name) = open.pop() {
            if let Some(rule) = self.by_name.get(&name)
                && reached.insert(name)
            {
                let mut names = Vec::new();
                references(other.get(&rule.key()).unwrap_or(&&rule.node), &mut names);
                open.extend(names.iter().map(|name| name.to_lowercase()));
            }
        }
    }
}

/// Appends the names that an expression refers to.
fn references(node: &Node, names: &mut Vec<String>) {
    match node {
        Node::Alternatives(nodes) | Node::Concatenation(nodes) => {
            for node in nodes {
                references(node, names);
            }
        }
        Node::Repetition { node, .. } | Node::Group(node) | Node::Optional(node) => {
            references(node, names);
        }
        Node::Rulename(name) => names.push(name.clone()),
        Node::String(_) | Node::TerminalValues(_) | Node::Prose(_) => {}
    }
}

pub(super) const BYTE_ORDER_MARK: char = '\u{feff}';

/// The error for a line that begins with a byte order mark.
pub(super) const HAS_BYTE_ORDER_MARK: &str = "the line begins with a byte order mark (U+FEFF), which no editor shows; save the file as \
     UTF-8 without BOM";

/// The deepest nesting of parentheses and brackets that is allowed.
const DEPTH: usize = 64;

/// Splits the text into rules, each with the number of its first line. A rule begins at the margin, which is the
/// indentation of the first rule. A line with more indentation continues the rule.
///
/// The ABNF parser reads one rule at a time, so that a mistake is reported at its rule.
fn blocks(text: &str) -> Result<Vec<(usize, String)>, GenerateError> {
    let mut blocks: Vec<(usize, String)> = Vec::new();
    let mut margin = None;
    for (index, line) in text.lines().enumerate() {
        let error = |message: String| Err(GenerateError::abnf(index + 1, message));
        if line.starts_with(BYTE_ORDER_MARK) {
            return error(HAS_BYTE_ORDER_MARK.to_owned());
        }
        let content = line.trim();
        if content.is_empty() || content.starts_with(';') {
            continue;
        }
        if let Some(c) = code(content)
            .chars()
            .find(|c| !matches!(c, '\t' | ' '..='~'))
        {
            return error(format!(
                "U+{:04X} ({c:?}) is not a character of ABNF; write it as %x{:02X}",
                c as u32, c as u32
            ));
        }
        let inner = line.trim_start_matches([' ', '\t']);
        let indent = line.len() - inner.len();
        let margin = *margin.get_or_insert(indent);
        if indent < margin {
            return error(format!(
                "`{content}` stands left of the first rule; all rules begin at one margin"
            ));
        }
        match blocks.last_mut() {
            Some((_, block)) if indent > margin => {
                block.push_str(line);
                block.push('\n');
            }
            _ => blocks.push((index + 1, format!("{inner}\n"))),
        }
    }
    for (line, block) in &blocks {
        if let Some(message) = nesting(block) {
            return Err(GenerateError::abnf(*line, message));
        }
    }
    Ok(blocks)
}

/// Returns a line without its comment.
fn code(line: &str) -> &str {
    let mut closing = None;
    for (at, c) in line.char_indices() {
        match (closing, c) {
            (Some(end), c) if c == end => closing = None,
            (Some(_), _) => {}
            (None, '"') => closing = Some('"'),
            (None, '<') => closing = Some('>'),
            (None, ';') => return &line[..at],
            (None, _) => {}
        }
    }
    line
}

/// Returns rules with a small letter after each `%`. ABNF reads `%X41` and `%x41` alike, but the crate that parses
/// ABNF knows only `%x41`.
pub(super) fn lowercase_marks(block: &str) -> String {
    let (mut small, mut closing, mut is_marked) = (String::new(), None, false);
    for c in block.chars() {
        let is_behind_mark = std::mem::take(&mut is_marked);
        match (closing, c) {
            (Some(end), c) if c == end => closing = None,
            (Some(_), _) => {}
            (None, '"') => closing = Some('"'),
            (None, '<') => closing = Some('>'),
            (None, ';') => closing = Some('\n'),
            (None, '%') => is_marked = true,
            (None, _) => {}
        }
        small.push(if is_behind_mark {
            c.to_ascii_lowercase()
        } else {
            c
        });
    }
    small
}

/// Returns a message if the groups of a rule are too deep for the ABNF parser.
fn nesting(block: &str) -> Option<String> {
    let (mut depth, mut closing) = (0_usize, None);
    for c in block
        .lines()
        .flat_map(|line| code(line).chars().chain(['\n']))
    {
        match (closing, c) {
            (Some(end), c) if c == end || c == '\n' => closing = None,
            (Some(_), _) => {}
            (None, '"') => closing = Some('"'),
            (None, '<') => closing = Some('>'),
            (None, '(' | '[') => depth += 1,
            (None, ')' | ']') => depth = depth.saturating_sub(1),
            (None, _) => {}
        }
        if depth > DEPTH {
            return Some(format!(
                "more than {DEPTH} parentheses and brackets stand in each other; give inner ones \
                 rules of their own"
            ));
        }
    }
    None
}
