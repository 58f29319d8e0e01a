//! The report on replayed conversations.

use std::path::Path;

use accp_recordings::Conversation;
use serde_json::{Value as Json, json};

use crate::audit::Audit;
use accp_console::table::Table;

/// Counts for all conversations of a file.
#[derive(Debug, Default)]
pub(super) struct Report {
    pub(super) conversations: u64,
    pub(super) members: u64,
    pub(super) values: u64,
    pub(super) value_bytes: u64,
    /// The largest numbers of tokens in hot and warm state.
    pub(super) hot: u32,
    pub(super) warm: u32,
    pub(super) faults: u64,
    messages: u64,
    /// The bytes of the messages as compact JSON. `back` counts only the messages that were restored without a
    /// difference.
    bytes: u64,
    back: u64,
    entries: u64,
    frames: u64,
    checkpoints: u64,
    by_size: u64,
    moved: u64,
    references: u64,
}

impl Report {
    /// Compares a restored conversation with the recorded conversation, counts their bytes, and returns the
    /// differences.
    pub(super) fn compare(
        &mut self,
        recorded: &Conversation,
        back: Option<&Conversation>,
    ) -> Vec<String> {
        let mut faults = Vec::new();
        let mut back = back.map(Conversation::messages).into_iter().flatten();
        self.messages += recorded.messages().len() as u64;
        for (at, message) in recorded.messages().enumerate() {
            let bytes = message.as_json().to_string().len() as u64;
            self.bytes += bytes;
            if back.next() == Some(message) {
                self.back += bytes;
            } else {
                faults.push(format!("message {} did not come back equal", at + 1));
            }
        }
        faults
    }

    pub(super) fn add(&mut self, audit: &Audit) {
        self.entries += audit.entries;
        self.frames += audit.frames;
        self.checkpoints += audit.checkpoints;
        self.by_size += audit.by_size;
        self.moved += audit.moved;
        self.references += audit.references;
    }

    fn merge(&mut self, other: &Self) {
        let Self {
            conversations,
            members,
            values,
            value_bytes,
            hot,
            warm,
            faults,
            messages,
            bytes,
            back,
            entries,
            frames,
            checkpoints,
            by_size,
            moved,
            references,
        } = other;
        self.conversations += conversations;
        self.members += members;
        self.values += values;
        self.value_bytes += value_bytes;
        self.hot = self.hot.max(*hot);
        self.warm = self.warm.max(*warm);
        self.faults += faults;
        self.messages += messages;
        self.bytes += bytes;
        self.back += back;
        self.entries += entries;
        self.frames += frames;
        self.checkpoints += checkpoints;
        self.by_size += by_size;
        self.moved += moved;
        self.references += references;
    }

    fn rows(&self) -> [(&'static str, String); 14] {
        let share = match self.bytes {
            0 => 100.0,
            bytes => 100.0 * self.back as f64 / bytes as f64,
        };
        [
            ("conversations", self.conversations.to_string()),
            ("messages", self.messages.to_string()),
            ("members", self.members.to_string()),
            ("frames", self.frames.to_string()),
            ("log entries", self.entries.to_string()),
            ("checkpoints", self.checkpoints.to_string()),
            ("by size alone", self.by_size.to_string()),
            ("frames they moved", self.moved.to_string()),
            ("values in cold", self.values.to_string()),
            ("their bytes", self.value_bytes.to_string()),
            ("references read", self.references.to_string()),
            ("most tokens in hot", format!("{}/500", self.hot)),
            ("most tokens in warm", format!("{}/2000", self.warm)),
            ("bytes read back", format!("{share:.1} %")),
        ]
    }

    fn json(&self) -> Json {
        json!({
            "conversations": self.conversations, "messages": self.messages,
            "members": self.members, "frames": self.frames, "entries": self.entries,
            "checkpoints": self.checkpoints, "checkpoints_by_size": self.by_size, "moved": self.moved, "values": self.values,
            "value_bytes": self.value_bytes, "references": self.references, "hot": self.hot,
            "warm": self.warm, "bytes": self.bytes, "bytes_back": self.back,
            "faults": self.faults,
        })
    }
}

/// Makes a table with a row for each file.
pub(super) fn table(files: &[(&Path, Report)]) -> String {
    let total = total(files);
    if files.len() == 1 {
        let mut table = Table::default().indented(2);
        for (what, figure) in total.rows() {
            table.row([what.to_owned(), format!("{figure:>9}")]);
        }
        return table.to_string();
    }
    let mut table = Table::headed([
        "file",
        "chats",
        "messages",
        "frames",
        "checkpoints",
        "moved",
        "values",
        "hot",
        "warm",
        "read back",
    ]);
    let named = files.iter().map(|(path, report)| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        (name.into_owned(), report)
    });
    for (name, report) in named.chain([("all".to_owned(), &total)]) {
        let back = report.rows()[13].1.clone();
        table.row([
            name,
            report.conversations.to_string(),
            report.messages.to_string(),
            report.frames.to_string(),
            report.checkpoints.to_string(),
            report.moved.to_string(),
            report.values.to_string(),
            report.hot.to_string(),
            report.warm.to_string(),
            back,
        ]);
    }
    table.to_string()
}

pub(super) fn to_json(files: &[(&Path, Report)]) -> Json {
    let mut json = total(files).json();
    let each = files.iter().map(|(path, report)| {
        let mut json = report.json();
        json["file"] = json!(path.display().to_string());
        json
    });
    json["files"] = each.collect();
    json
}

fn total(files: &[(&Path, Report)]) -> Report {
    let mut total = Report::default();
    for (_, report) in files {
        total.merge(report);
    }
    total
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_or_changed_is_told() {
        let messages = [
            json!({ "role": "user" }),
            json!({ "id": 1 }),
            json!({ "id": 22 }),
        ];
        let conversation = |messages: &[&Json]| Conversation::new(json!(messages)).unwrap();
        let recorded = conversation(&messages.each_ref());
        let mut report = Report::default();
        assert!(report.compare(&recorded, Some(&recorded)).is_empty());
        assert_eq!(report.bytes, report.back);
        let other = conversation(&[&messages[0], &messages[2]]);
        let faults = report.compare(&recorded, Some(&other));
        assert_eq!(
            faults,
            [
                "message 2 did not come back equal",
                "message 3 did not come back equal"
            ]
        );
        assert_eq!((report.messages, report.bytes, report.back), (6, 64, 47));
    }
}
