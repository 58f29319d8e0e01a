//! Counts of tokens, compared with tiktoken-rs and bpe-openai: `cargo bench --manifest-path benches/Cargo.toml --bench
//! tokens`.
//!
//! A piece of work is one frame, or one kilobyte of a text. The frames have different values, but some names occur in
//! many frames, as in a session. In the random text, few words occur twice.

use std::fs;
use std::path::Path;

use accp_bench::{Contender, contender, many, race};
use accp_tokens::{Bpe, GrowingCount, TokenCounter};
use bpe_openai::Tokenizer;
use tiktoken_rs::CoreBPE;

/// The number of different frames that are counted, one after the other.
const FRAMES: usize = 4000;

struct Numbers(u64);

impl Numbers {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 8) as usize % bound
    }

    fn pick<'t>(&mut self, of: &[&'t str]) -> &'t str {
        of[self.below(of.len())]
    }
}

fn frames(prose: &str) -> Vec<String> {
    let mut numbers = Numbers(88_172_645_463_325_252);
    let words: Vec<String> = prose
        .split(|letter: char| !letter.is_ascii_alphabetic())
        .filter(|word| word.len() > 2)
        .map(str::to_lowercase)
        .collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let agents = [
        "research", "strategy", "planner", "coder", "billing", "scout",
    ];
    let operations = ["schedule", "analyze", "lookup", "report", "tool", "refund"];
    let keys = [
        "d", "f", "nx", "task", "deps", "asgn", "pri", "dl", "ref", "cur", "amt", "status",
    ];
    let mut frame = || {
        let intent = numbers.pick(&["req", "done", "fail", "sync", "ack", "query"]);
        let (agent, operation) = (numbers.pick(&agents), numbers.pick(&operations));
        let mut text = format!("@{agent}>{intent}:{operation}{{");
        for at in 0..2 + numbers.below(5) {
            text.push_str(if at > 0 { "|" } else { "" });
            text.push_str(numbers.pick(&keys));
            let [one, two, three] = [0; 3].map(|_| numbers.pick(&words));
            text.push_str(&match numbers.below(6) {
                0 => format!(":{one}"),
                1 => format!(":{one}_{two}"),
                2 => format!(":{}.{}", numbers.below(5000), numbers.below(100)),
                3 => format!(":[{one}:{}%,{two}:{three}]", numbers.below(100)),
                4 => format!(":@{}:{}", numbers.pick(&agents), numbers.pick(&operations)),
                _ => format!(":{one} {two} {three}"),
            });
        }
        let [mid, cid] = [0; 2].map(|_| numbers.below(1 << 48));
        let (sequence, time) = (numbers.below(9999), numbers.below(999_999_999));
        format!("{text}}}[mid:{mid:012x},seq:{sequence},ts:1{time:09},sid:s7,cid:{cid:012x}]")
    };
    (0..FRAMES).map(|_| frame()).collect()
}

/// Returns words of random letters, with and without capitals.
fn words_at_random() -> String {
    let mut numbers = Numbers(3);
    let mut text = String::new();
    for _ in 0..8000 {
        for _ in 0..1 + numbers.below(12) {
            text.push(char::from(b'a' + numbers.below(26) as u8));
        }
        text.push_str(numbers.pick(&[" ", ", ", ".", "\n", ":", " A"]));
    }
    text
}

fn read(files: &[&str]) -> String {
    let top = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    files
        .iter()
        .map(|file| fs::read_to_string(top.join(file)).expect("a file of the workspace"))
        .collect()
}

/// Returns contenders that count the texts one after the other. One call counts about 8 KB. A piece of work has
/// `work` bytes.
fn contenders<'t>(
    texts: &'t [&'t str],
    work: usize,
    tiktoken: &'t CoreBPE,
    openai: &'t Tokenizer,
    bpe: Bpe,
) -> Vec<Contender<'t>> {
    for text in texts {
        let expected = tiktoken.encode_ordinary(text).len();
        assert_eq!(bpe.count(text), expected);
        assert_eq!(openai.count(*text), expected);
    }
    fn turns<'t>(
        name: &'static str,
        texts: &'t [&'t str],
        work: usize,
        count: impl Fn(&str) -> usize + 't,
    ) -> Contender<'t> {
        let mut next = texts.iter().cycle();
        many(name, move || {
            let mut bytes = 0;
            while bytes < 8000 {
                let text = next.next().expect("a text");
                std::hint::black_box(count(text));
                bytes += text.len();
            }
            (bytes / work).max(1)
        })
    }
    vec![
        turns("tiktoken-rs", texts, work, move |text| {
            tiktoken.encode_ordinary(text).len()
        }),
        turns("bpe-openai", texts, work, move |text| openai.count(text)),
        turns("ACCP", texts, work, move |text| bpe.count(text)),
    ]
}

fn main() {
    let prose = read(&[
        "docs/tutorial.md",
        "docs/hub.md",
        "docs/sessions.md",
        "docs/design/index.md",
    ]);
    let code = read(&[
        "accp-runtime/frame/src/reader.rs",
        "accp-runtime/frame/src/typed.rs",
        "crates/cli/src/commands/serve.rs",
    ]);
    let frames = frames(&prose);
    let all: Vec<&str> = frames.iter().map(String::as_str).collect();
    let size = frames.iter().map(String::len).sum::<usize>() / frames.len();
    let json = read(&["examples/days.jsonl"]);
    let random = words_at_random();
    let chinese =
        "国务院办公厅关于印发全国统一大市场建设的指导意见，数据要素市场化配置改革进一步深化。"
            .repeat(100);
    let word = "incomprehensibilities".repeat(50_000);
    for (bpe, tiktoken, openai) in [
        (
            Bpe::o200k_base(),
            tiktoken_rs::o200k_base_singleton(),
            bpe_openai::o200k_base(),
        ),
        (
            Bpe::cl100k_base(),
            tiktoken_rs::cl100k_base_singleton(),
            bpe_openai::cl100k_base(),
        ),
    ] {
        let name = bpe.name();
        race(
            &format!("{name}, a frame of {size} bytes"),
            contenders(&all, size, tiktoken, openai, bpe),
        );
        for (what, text) in [
            ("prose", &prose),
            ("code", &code),
            ("JSON", &json),
            ("Chinese", &chinese),
            ("words at random", &random),
            ("one word of a megabyte", &word),
        ] {
            let parts: Vec<&str> = match what {
                "one word of a megabyte" => vec![text],
                // Parts of about four kilobytes, cut at a space, a line feed or a comma.
                _ => parts(text),
            };
            race(
                &format!("{name}, a kilobyte of {what}"),
                contenders(&parts, 1000, tiktoken, openai, bpe),
            );
        }
    }
    let bpe = Bpe::o200k_base();
    let mut next = all.iter().cycle();
    let mut growing = GrowingCount::new(bpe);
    let mut list = String::new();
    let mut frames = all.iter().cycle();
    race(
        "a frame more in a list of 50 KB",
        vec![
            contender("counted anew", || {
                if list.len() > 50_000 {
                    list.drain(..25_000);
                }
                list.push_str(next.next().expect("a frame"));
                bpe.count(&list)
            }),
            contender("appended", || {
                growing.append(frames.next().expect("a frame"))
            }),
        ],
    );
}

fn parts(text: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let after = rest.char_indices().map(|(at, _)| at).find(|&at| at >= 4000);
        let end =
            after.and_then(|after| rest[after..].find([' ', '\n', '，']).map(|at| after + at));
        let (part, behind) = rest.split_at(end.unwrap_or(rest.len()));
        parts.push(part);
        rest = behind;
    }
    parts
}
