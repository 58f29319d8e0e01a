//! Makes a conversation from bytes: each byte chooses what happens next.

use crate::common::lists::{Call, Kind, Script, Step, Turn, User};
use serde_json::{Value as Json, json};

/// What users say: objectives, rules, decisions, values, and questions.
const ASKED: [&str; 14] = [
    "Book a flight to Rome for Mia Li.",
    "You must never book over $300.",
    "Now you may book up to $500 instead.",
    "I prefer the morning; always ask before you pay.",
    "Let's go with Rye because it is cheaper.",
    "New task: write the report to docs/report.md.",
    "My id is mia_li_3668 and my code is ORD-12345.",
    "What is left to do?",
    "yes",
    "Do not add a dependency. The deadline is Friday.",
    "a\n\n```\ncode();\n```\n- [ ] one\n- [x] two",
    "\u{1f600} \u{e9}",
    "## Session Summary\n### Session Intent\n> x",
    "<returncode>0</returncode>",
];
/// What assistants say: promises, reports that a task is done, questions that were answered, contradictions.
const SAID: [&str; 12] = [
    "I'll search next.",
    "The task is complete. All tests pass.",
    "Could you tell me your user id?",
    "What is the budget?",
    "I decided to use carrier Rye because the ferry is late.",
    "I'll use Spelt instead of Rye since it is better.",
    "I booked it for $450, which is over the budget.",
    "The report has been written to docs/report.md.",
    "Next I will write docs/plan.md.",
    "Here is a poem about bread.",
    "Where do you want to fly to?",
    "ok",
];
/// The names of tools. Some of the tools write files.
const TOOLS: [&str; 8] = [
    "search",
    "get_order",
    "write_file",
    "create_file",
    "str_replace",
    "bash",
    "../../etc",
    "",
];
/// What tools answer.
const ANSWERS: [&str; 10] = [
    "File written successfully.",
    "Error: no such file",
    "{\"id\": \"ORD-12345\", \"budget\": 300, \"city\": \"Rome\"}",
    "HAT170 HAT171 HAT172",
    "",
    "ok",
    "## Offloaded Content Reference\n**File:** cache/offloaded/x.md",
    "~~~~ ```` a\n# Message 4: tool",
    "\u{0}\u{1f}\u{2028}",
    "[{\"flight\": \"HAT170\", \"price\": 120.50}, {\"flight\": \"HAT171\", \"price\": 99}]",
];

/// Bytes that are taken one by one as choices. After the last byte, each choice is 0.
pub(crate) struct Choices<'b>(pub(crate) &'b [u8]);

impl Choices<'_> {
    /// Returns the next choice, a number below `end`.
    pub(crate) fn below(&mut self, end: usize) -> usize {
        let Some((first, rest)) = self.0.split_first() else {
            return 0;
        };
        self.0 = rest;
        usize::from(*first) % end
    }

    fn once_in(&mut self, times: usize) -> bool {
        self.below(times) == times - 1
    }

    fn one<'t>(&mut self, of: &[&'t str]) -> &'t str {
        of[self.below(of.len())]
    }

    /// Returns a conversation of up to 8 turns. It ends earlier if no bytes are left.
    pub(crate) fn script(&mut self) -> Script {
        let mut turns = vec![self.turn()];
        while !self.0.is_empty() && turns.len() < 8 {
            turns.push(self.turn());
        }
        Script {
            turns,
            in_flight: self.below(3),
        }
    }

    fn turn(&mut self) -> Turn {
        let shape = self.below(256);
        let system = (shape % 8 == 7).then(|| (self.one(&ASKED).to_owned(), shape > 127));
        let users = (0..1 + shape / 8 % 2).map(|_| self.user()).collect();
        Turn {
            system,
            users,
            steps: (0..shape / 16 % 4).map(|_| self.step()).collect(),
        }
    }

    fn user(&mut self) -> User {
        let text = self.one(&ASKED).to_owned();
        let shape = self.below(256);
        User {
            text: text.repeat(if shape > 250 { 40 } else { 1 }),
            parts: shape % 2 == 1,
            image: shape % 16 == 2,
            empty: shape % 16 == 4,
        }
    }

    fn step(&mut self) -> Step {
        let shape = self.below(256);
        let calls: Vec<_> = (0..shape % 4).map(|_| self.call()).collect();
        let text = (shape / 4 % 2 == 0 || calls.is_empty()).then(|| self.one(&SAID).to_owned());
        let odd = self.below(256);
        Step {
            thinking: odd % 3,
            redacted: odd % 8 == 1,
            text,
            trailing: odd % 8 == 3,
            search: odd % 16 == 5,
            calls,
            reuse: odd % 4 == 2,
            reversed: shape / 8 % 2 == 1,
            split: odd % 8 == 6,
            extra: (odd > 250).then(|| json!({"x": [null, 1.5, "y"]})),
        }
    }

    fn call(&mut self) -> Call {
        let kinds = [
            Kind::Function,
            Kind::Custom,
            Kind::Old,
            Kind::Computer,
            Kind::Shell,
            Kind::LocalShell,
            Kind::Patch,
        ];
        let shape = self.below(256);
        let kind = if shape > 127 {
            kinds[shape % kinds.len()]
        } else {
            Kind::Function
        };
        let tool = TOOLS[shape % TOOLS.len()];
        let answer = self.one(&ANSWERS);
        Call {
            kind,
            tool: tool.to_owned(),
            arguments: self.arguments(),
            result: lines(answer, [1, 1, 3, 60, 400][self.below(5)]),
            image: self.once_in(16),
            failed: shape % 16 == 9,
        }
    }

    fn arguments(&mut self) -> Json {
        let content = lines("let rye = 12;", [0, 1, 400, 5][self.below(4)]);
        match self.below(6) {
            0 => json!({"path": "docs/report.md", "content": content}),
            1 => json!({"path": "a.rs", "old_str": "x", "new_str": content}),
            2 => json!({"order_id": "ORD-12345", "amount": 300}),
            3 => json!({"command": "ls", "timeout": null}),
            4 => json!({"": {"\"": [content]}}),
            _ => json!({}),
        }
    }
}

/// Returns `times` lines, each with this text.
fn lines(text: &str, times: usize) -> String {
    vec![text; times].join("\n")
}
