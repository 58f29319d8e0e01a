//! A file of any size is read in the memory of one conversation.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use std::fs;
use std::io::{BufReader, Read};

use accp_recordings::conversations;

/// The forms of a file, each the text before, between and behind the conversations.
const FORMS: [(&str, [&str; 3]); 4] = [
    ("a conversation a line", ["", "\n", "\n"]),
    ("an array on one line", ["[", ",", "]"]),
    ("an array over many lines", ["[\n", ",\n", "\n]\n"]),
    ("documents one behind the other", ["", "", ""]),
];

/// A file that is made while it is read.
struct Made {
    form: [&'static str; 3],
    conversation: Vec<u8>,
    left: usize,
    begun: bool,
    text: Vec<u8>,
    at: usize,
}

impl Read for Made {
    fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
        if self.at == self.text.len() {
            let [before, between, behind] = self.form;
            self.at = 0;
            self.text.clear();
            if self.left > 0 {
                let front = if self.begun { between } else { before };
                self.text.extend_from_slice(front.as_bytes());
                self.text.extend_from_slice(&self.conversation);
                self.left -= 1;
                self.begun = true;
            } else if self.begun {
                self.text.extend_from_slice(behind.as_bytes());
                self.begun = false;
            }
        }
        let count = (&self.text[self.at..]).read(out)?;
        self.at += count;
        Ok(count)
    }
}

/// Returns the highest memory use of this process so far, in KiB.
fn peak() -> usize {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let words = line.unwrap().split_whitespace();
    words.into_iter().next().unwrap().parse().unwrap()
}

/// Returns a conversation of about 20 kB; over many lines if it is `pretty`.
fn conversation(pretty: bool) -> Vec<u8> {
    let turn = r#"{ "role": "user", "content": "Is there rye \"flour\" for [2026/17}?" }"#;
    let turns = vec![turn; 300].join(if pretty { ",\n" } else { "," });
    let text = format!("{{ \"id\": \"bakery/1\", \"messages\": [{turns}] }}");
    text.into_bytes()
}

/// `ACCP_MEGABYTES` makes the files larger. The limit stays the same.
#[test]
fn memory_does_not_grow_with_the_file() {
    let megabytes = std::env::var("ACCP_MEGABYTES").map_or(8, |text| text.parse().unwrap());
    let conversation_of = |form: &str| conversation(!form.contains("line"));
    let mut first = None;
    for (form, words) in FORMS {
        let conversation = conversation_of(form);
        let count = megabytes * 1_000_000 / conversation.len();
        let made = Made {
            form: words,
            conversation,
            left: count,
            begun: false,
            text: Vec::new(),
            at: 0,
        };
        let mut read = 0;
        for conversation in conversations(BufReader::new(made)) {
            assert_eq!(conversation.unwrap().messages().len(), 300);
            read += 1;
            let first = *first.get_or_insert_with(peak);
            let more = peak() - first;
            assert!(
                more < 4096,
                "{more} KiB more after {read} of {count}, {form}"
            );
        }
        assert_eq!(read, count, "{form}");
        println!(
            "{form}: {megabytes} MB, {} KiB more",
            peak() - first.unwrap()
        );
    }
}
