//! Collects the rules of a grammar while the grammar is made.

use alloc::borrow::ToOwned;
use alloc::collections::BTreeSet;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::grammar::{Expr, Grammar, Rule};

#[derive(Default)]
pub(super) struct Builder {
    rules: Vec<Rule>,
    tokens: Vec<Rule>,
    names: BTreeSet<String>,
}

impl Builder {
    /// Reserves the place of a rule whose body is not known yet. The rule gets a name made from `hint`.
    pub(super) fn reserve(&mut self, hint: &str) -> usize {
        let words = hint.split(|c: char| !c.is_ascii_alphanumeric());
        let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
        let hint = words.join("_").to_ascii_lowercase();
        let mut name = hint.clone();
        let mut count = 1;
        while !self.names.insert(name.clone()) {
            count += 1;
            name = format!("{hint}_{count}");
        }
        self.rules.push(Rule::new(&name, Expr::Choice(Vec::new())));
        self.rules.len() - 1
    }

    /// Returns a token, and adds its rule. Rule names have several words, so they never equal the
    /// one-word names of tokens.
    pub(super) fn token(&mut self, name: &str, body: impl FnOnce() -> Expr) -> Expr {
        if self.tokens.iter().all(|token| token.name != name) {
            let mut rule = Rule::new(name, body());
            rule.token = true;
            self.tokens.push(rule);
        }
        Expr::Rule(name.to_owned())
    }

    /// Returns a use of a reserved rule.
    pub(super) fn rule(&self, at: usize) -> Expr {
        Expr::Rule(self.rules[at].name.clone())
    }

    /// Gives a reserved rule its body.
    pub(super) fn define(&mut self, at: usize, body: Expr) -> Expr {
        self.rules[at].body = body;
        self.rule(at)
    }

    /// Returns the grammar, with the tokens last.
    pub(super) fn grammar(mut self, title: &'static str) -> Grammar {
        self.rules.append(&mut self.tokens);
        Grammar::new(self.rules, title)
    }
}
