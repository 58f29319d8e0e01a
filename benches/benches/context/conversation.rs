//! Makes a conversation of a coding agent from a seed: the agent reads and writes files, searches, and reports, and
//! the user gives orders and rules.

use accp_testkit::Rng;
use accp_tokens::{Bpe, TokenCounter as _};
use serde_json::{Value as Json, json};

const SEED: u64 = 16;
const WORDS: [&str; 32] = [
    "ledger",
    "tenant",
    "invoice",
    "queue",
    "retry",
    "schema",
    "branch",
    "window",
    "booking",
    "carrier",
    "parser",
    "budget",
    "release",
    "report",
    "cache",
    "stream",
    "customer",
    "payment",
    "worker",
    "index",
    "token",
    "session",
    "migration",
    "profile",
    "region",
    "signal",
    "archive",
    "account",
    "contract",
    "delivery",
    "policy",
    "record",
];
const RULES: [&str; 6] = [
    "You must never change the public interface of",
    "Always run the tests before you touch",
    "I prefer small commits for",
    "The budget is at most 400 lines for",
    "Do not add a dependency to",
    "Only write in plain English about",
];

/// A conversation in the form of OpenAI's chat.
pub struct Conversation {
    rng: Rng,
    pub messages: Vec<Json>,
    calls: u64,
}

impl Conversation {
    /// Makes a conversation of at least `tokens` tokens. To count a message, it is written as one line of compact
    /// JSON.
    pub fn of(tokens: usize, counter: &Bpe) -> Self {
        let mut made = Self {
            rng: Rng::new(SEED),
            messages: Vec::new(),
            calls: 0,
        };
        made.say(
            "system",
            "You are a careful programmer. You must never delete a file of the user.",
        );
        let (mut count, mut counted) = (0, 0);
        while count < tokens {
            made.turn();
            let new = &made.messages[counted..];
            count += new
                .iter()
                .map(|message| counter.count(&line(message)))
                .sum::<usize>();
            counted = made.messages.len();
        }
        made
    }

    /// Adds a turn: the user asks for something, and the agent works and reports.
    fn turn(&mut self) {
        let rule = RULES[self.rng.below(RULES.len() as u64) as usize];
        let (topic, order) = (self.word(), self.prose(3));
        self.say(
            "user",
            &format!("Please mend the {topic}. {rule} the {topic}. {order}"),
        );
        for _ in 0..4 + self.rng.below(4) {
            match self.rng.below(5) {
                0 => self.write(),
                1 | 2 => self.search(),
                _ => self.read(),
            }
        }
        let (done, reason) = (self.prose(4), self.word());
        self.say(
            "assistant",
            &format!("I chose the {topic} queue because the {reason} needs it. {done} Next I will test the {topic}."),
        );
    }

    fn write(&mut self) {
        let path = self.path();
        let lines = 20 + self.rng.below(150);
        let content = self.code(lines);
        let said = format!("File written successfully at: {path}");
        self.call(
            "write_file",
            &json!({"path": path, "content": content}),
            &said,
        );
    }

    fn read(&mut self) {
        let path = self.path();
        let lines = 10 + self.rng.below(110);
        let said = self.code(lines);
        self.call("read_file", &json!({"path": path}), &said);
    }

    fn search(&mut self) {
        let query = format!("{} {}", self.word(), self.word());
        let rows: Vec<_> = (0..3 + self.rng.below(12))
            .map(|_| {
                let (name, path, score) = (self.word(), self.path(), self.rng.below(1_000));
                json!({"name": name, "path": path, "score": score, "owner": {"id": format!("u_{score}"), "team": self.word()}})
            })
            .collect();
        self.call(
            "search",
            &json!({"query": query, "limit": 20}),
            &json!({"rows": rows}).to_string(),
        );
    }

    fn call(&mut self, tool: &str, arguments: &Json, result: &str) {
        self.calls += 1;
        let id = format!("call_{}", self.calls);
        let text = self.prose(1);
        self.messages.push(json!({"role": "assistant", "content": text, "tool_calls": [
            {"id": id, "type": "function", "function": {"name": tool, "arguments": arguments.to_string()}}]}));
        self.messages
            .push(json!({"role": "tool", "tool_call_id": id, "content": result}));
    }

    fn say(&mut self, role: &str, text: &str) {
        self.messages.push(json!({"role": role, "content": text}));
    }

    fn word(&mut self) -> &'static str {
        WORDS[self.rng.below(WORDS.len() as u64) as usize]
    }

    fn path(&mut self) -> String {
        format!(
            "src/{}/{}_{}.rs",
            self.word(),
            self.word(),
            self.rng.below(100)
        )
    }

    fn prose(&mut self, sentences: u64) -> String {
        let sentence = |_| {
            let words: Vec<_> = (0..6 + self.rng.below(9)).map(|_| self.word()).collect();
            format!("The {} of {}.", words.join(" "), self.rng.below(10_000))
        };
        (0..sentences).map(sentence).collect::<Vec<_>>().join(" ")
    }

    fn code(&mut self, lines: u64) -> String {
        let line = |_| {
            let (name, of, with) = (self.word(), self.word(), self.word());
            format!(
                "    let {name}_{} = {of}.{with}(\"{name}\", {});\n",
                self.rng.below(100),
                self.rng.below(10_000)
            )
        };
        (0..lines).map(line).collect()
    }
}

/// Returns a message as it is counted: one line of compact JSON.
pub fn line(message: &Json) -> String {
    format!("{message}\n")
}

/// Returns all texts whose tokens a compression counts: each message as a line, the texts of results, and the
/// arguments of calls.
pub fn counted(messages: &[Json]) -> Vec<String> {
    let mut texts: Vec<_> = messages.iter().map(line).collect();
    for message in messages {
        let calls = message["tool_calls"].as_array().into_iter().flatten();
        let arguments = calls.filter_map(|call| call["function"]["arguments"].as_str());
        texts.extend(arguments.map(str::to_owned));
        if message["role"] == "tool" {
            texts.extend(message["content"].as_str().map(str::to_owned));
        }
    }
    texts
}
