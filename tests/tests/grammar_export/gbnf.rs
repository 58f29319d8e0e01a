//! A reader of GBNF, the notation of llama.cpp. It reads only the shapes that the export writes.

use accp_registry::export::Expr;

/// Returns the rules of a grammar, as names and bodies.
pub(crate) fn parse(text: &str) -> Vec<(String, Expr)> {
    let lines = text
        .lines()
        .filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines
        .map(|line| {
            let (name, body) = line.split_once(" ::= ").unwrap();
            let mut parser = Parser { rest: body };
            let body = parser.choice();
            assert_eq!(parser.rest, "", "in {line}");
            (name.to_owned(), body)
        })
        .collect()
}

struct Parser<'t> {
    rest: &'t str,
}

impl Parser<'_> {
    fn eat(&mut self, text: &str) -> bool {
        let rest = self.rest.strip_prefix(text);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    /// Takes characters up to the first that is not of the kind.
    fn take(&mut self, is: impl Fn(char) -> bool) -> String {
        let end = self.rest.find(|c| !is(c)).unwrap_or(self.rest.len());
        let (taken, rest) = self.rest.split_at(end);
        self.rest = rest;
        taken.to_owned()
    }

    fn character(&mut self) -> char {
        let first = self.rest.chars().next().unwrap();
        self.rest = &self.rest[first.len_utf8()..];
        if first != '\\' {
            return first;
        }
        match self.character_raw() {
            'x' => self.code(2),
            'u' => self.code(4),
            'U' => self.code(8),
            'n' => '\n',
            escaped @ ('"' | '\\' | '[' | ']') => escaped,
            other => panic!("GBNF has no escape {other}"),
        }
    }

    fn code(&mut self, digits: usize) -> char {
        let (code, rest) = self.rest.split_at(digits);
        self.rest = rest;
        char::from_u32(u32::from_str_radix(code, 16).unwrap()).unwrap()
    }

    fn character_raw(&mut self) -> char {
        let first = self.rest.chars().next().unwrap();
        self.rest = &self.rest[first.len_utf8()..];
        first
    }

    fn choice(&mut self) -> Expr {
        let mut options = vec![self.sequence()];
        while self.eat(" | ") {
            options.push(self.sequence());
        }
        match options.len() {
            1 => options.remove(0),
            _ => Expr::Choice(options),
        }
    }

    fn sequence(&mut self) -> Expr {
        let mut parts = vec![self.repeated()];
        while !self.rest.starts_with(" | ") && self.eat(" ") {
            parts.push(self.repeated());
        }
        match parts.len() {
            1 => parts.remove(0),
            _ => Expr::Sequence(parts),
        }
    }

    fn repeated(&mut self) -> Expr {
        let item = self.item();
        let (min, max) = if self.eat("?") {
            (0, Some(1))
        } else if self.eat("*") {
            (0, None)
        } else if self.eat("+") {
            (1, None)
        } else if self.eat("{") {
            let min = self.take(|c| c.is_ascii_digit()).parse().unwrap();
            let max = if self.eat(",") {
                self.take(|c| c.is_ascii_digit()).parse().ok()
            } else {
                Some(min)
            };
            assert!(self.eat("}"));
            (min, max)
        } else {
            return item;
        };
        Expr::Repeat {
            item: Box::new(item),
            min,
            max,
        }
    }

    fn item(&mut self) -> Expr {
        if self.eat("(") {
            let inner = self.choice();
            assert!(self.eat(")"), "at {}", self.rest);
            inner
        } else if self.eat("\"") {
            let mut text = String::new();
            while !self.eat("\"") {
                text.push(self.character());
            }
            Expr::Literal(text)
        } else if self.eat("[") {
            let mut ranges = Vec::new();
            while !self.eat("]") {
                let first = self.character();
                let last = if self.eat("-") {
                    self.character()
                } else {
                    first
                };
                ranges.push((first, last));
            }
            Expr::Class(ranges)
        } else {
            let name = self.take(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-');
            assert!(!name.is_empty(), "at {}", self.rest);
            Expr::Rule(name)
        }
    }
}
