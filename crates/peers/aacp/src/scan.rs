//! The scanner: one pass over the text of a packet; it borrows all it reads.

use crate::class::{forbidden_at, is_head, is_key, marks, separators, trim};
use crate::finding::{Code, Finding, Severity};
use crate::limits::Limits;

/// A key and its value. An unnamed field of a packet of version 1.0 has the key `""`.
pub(crate) type Field<'a> = (&'a str, &'a str);

/// The parts of a text, and its errors. Field `i` of a packet is `fields[i - 2]`.
#[derive(Debug)]
pub(crate) struct Scan<'a> {
    text: &'a str,
    pub(crate) task: &'a str,
    /// Empty if it is missing.
    pub(crate) dom: &'a str,
    /// The fields from the third on.
    pub(crate) fields: Vec<Field<'a>>,
    /// The errors, and the findings that are errors only in versions other than 1.0.
    pub(crate) findings: Vec<Finding>,
    /// The field and the byte of the first space that does not count.
    pub(crate) space: Option<(usize, usize)>,
    seen: Seen,
}

/// A slot between two separators, as far as it is read.
#[derive(Clone, Copy)]
struct Slot {
    index: usize,
    /// The first byte of the field.
    from: usize,
    /// The byte of the field's first colon; `usize::MAX` if there is none.
    colon: usize,
}

impl Default for Slot {
    fn default() -> Self {
        Self {
            index: 0,
            from: 0,
            colon: usize::MAX,
        }
    }
}

impl Slot {
    fn next(self, from: usize) -> Self {
        Self {
            index: self.index + 1,
            from,
            ..Self::default()
        }
    }
}

/// The keys so far, one bit for many: a key whose bit is not set is new.
#[derive(Debug, Default)]
struct Seen(u64);

impl Seen {
    fn add(&mut self, key: &str) {
        self.0 |= Self::bit(key);
    }

    fn may_have(&self, key: &str) -> bool {
        self.0 & Self::bit(key) != 0
    }

    fn bit(key: &str) -> u64 {
        match key.as_bytes() {
            [first, .., last] => {
                let sum = usize::from(*first) + 5 * usize::from(*last) + 7 * key.len();
                1 << (sum % 64)
            }
            _ => 1,
        }
    }
}

impl<'a> Scan<'a> {
    /// Reads a text to its end, whatever it holds. A text over the limit of bytes is not read.
    ///
    /// ```abnf
    /// packet = task "|" dom 1*( "|" field )
    /// ```
    pub(crate) fn of(text: &'a str, limits: Limits) -> Self {
        let mut scan = Self {
            text,
            task: "",
            dom: "",
            fields: Vec::new(),
            findings: Vec::new(),
            space: None,
            seen: Seen::default(),
        };
        if text.len() > limits.packet_bytes {
            scan.findings = too_long(text.as_bytes(), limits);
            return scan;
        }
        if trim(text).is_empty() {
            scan.findings.push(Finding::error(Code::PacketEmpty));
            return scan;
        }
        let slots = separators(text) + 1;
        scan.fields.reserve_exact(slots.saturating_sub(2));
        let mut slot = Slot::default();
        marks(text, |at, byte| {
            if byte == b':' {
                slot.colon = slot.colon.min(at);
            } else {
                scan.slot(slot, at, limits);
                slot = slot.next(at + 1);
            }
        });
        scan.slot(slot, text.len(), limits);
        if slots == 1 {
            scan.findings.push(Finding::error(Code::DomMissing));
        }
        scan.characters();
        scan.required("return", [Code::ReturnMissing, Code::ReturnEmpty]);
        scan.required("aacp", [Code::AacpMissing, Code::AacpEmpty]);
        scan.soften();
        scan
    }

    /// Returns the byte at which a part of the text begins.
    pub(crate) fn offset(&self, part: &str) -> usize {
        part.as_ptr().addr() - self.text.as_ptr().addr()
    }

    /// Returns the index and the value of the first field with this key.
    pub(crate) fn find(&self, key: &str) -> Option<(usize, &'a str)> {
        if !self.seen.may_have(key) {
            return None;
        }
        let mut fields = self.fields.iter().zip(2..);
        let ((_, value), index) = fields.find(|((other, _), _)| *other == key)?;
        Some((index, value))
    }

    /// Reads the task or the domain.
    fn head(&mut self, index: usize, slot: &'a str, codes: [Code; 2]) -> &'a str {
        let word = self.trimmed(index, slot);
        let [missing, invalid] = codes;
        if word.is_empty() {
            self.note(missing, index, slot);
        } else if !is_head(word) {
            self.note(invalid, index, word);
        }
        word
    }

    /// Reads the slot that ends before a byte.
    #[inline]
    fn slot(&mut self, slot: Slot, to: usize, limits: Limits) {
        let text = self.text.get(slot.from..to).unwrap_or_default();
        match slot.index {
            0 => self.task = self.head(0, text, [Code::TaskMissing, Code::TaskInvalid]),
            1 => self.dom = self.head(1, text, [Code::DomMissing, Code::DomInvalid]),
            index => {
                let colon = (slot.colon < to).then(|| slot.colon - slot.from);
                self.field(index, text, colon, limits);
            }
        }
    }

    /// ```abnf
    /// field = key ":" value
    /// ```
    #[inline]
    fn field(&mut self, index: usize, slot: &'a str, colon: Option<usize>, limits: Limits) {
        let is_over = self.fields.len() >= limits.fields;
        if self.fields.len() == limits.fields {
            let finding = Finding::error(Code::TooManyFields).at(index, self.offset(slot));
            self.findings.push(finding.detail(most(limits)));
        }
        let Some((key, value)) = colon.and_then(|colon| slot.split_at_checked(colon)) else {
            let field = self.trimmed(index, slot);
            let code = if field.is_empty() {
                Code::FieldEmpty
            } else {
                Code::FieldUnnamed
            };
            self.note(code, index, if field.is_empty() { slot } else { field });
            self.fields.push(("", field));
            return;
        };
        let key = self.trimmed(index, key);
        let value = self.trimmed(index, value.get(1..).unwrap_or_default());
        if !is_key(key) {
            self.note(Code::KeyInvalid, index, trim(slot));
        } else if !is_over && self.find(key).is_some() {
            // Comparing keys takes time. The scanner skips it for a packet with too many fields,
            // because that packet is refused anyway.
            self.note(Code::KeyRepeated, index, key);
        }
        self.seen.add(key);
        self.fields.push((key, value));
    }

    /// Takes the spaces away from both ends, and remembers the first.
    #[inline]
    fn trimmed(&mut self, index: usize, part: &'a str) -> &'a str {
        match part.as_bytes() {
            [b' ', ..] | [.., b' '] => self.cut(index, part),
            _ => part,
        }
    }

    #[cold]
    fn cut(&mut self, index: usize, part: &'a str) -> &'a str {
        let trimmed = trim(part);
        if self.space.is_none() {
            let before = part.len() - part.trim_start_matches(' ').len();
            let in_front = if before > 0 { 0 } else { trimmed.len() };
            self.space = Some((index, self.offset(part) + in_front));
        }
        trimmed
    }

    fn note(&mut self, code: Code, index: usize, part: &str) {
        let at = self.offset(part);
        self.findings.push(Finding::error(code).at(index, at));
    }

    /// Checks the characters of the whole text.
    fn characters(&mut self) {
        if let Some(at) = forbidden_at(self.text) {
            let before = self.text.get(..at).unwrap_or_default();
            let field = before.bytes().filter(|byte| *byte == b'|').count();
            let finding = Finding::error(Code::ControlCharacter).at(field, at);
            self.findings.push(finding);
        }
    }

    fn required(&mut self, key: &str, codes: [Code; 2]) {
        let [missing, empty] = codes;
        match self.find(key) {
            None => self.findings.push(Finding::error(missing)),
            Some((index, "")) => {
                let at = self.fields.get(index - 2).map_or(0, |f| self.offset(f.0));
                self.findings.push(Finding::error(empty).at(index, at));
            }
            Some(_) => {}
        }
    }

    /// Version 1.0 had fields without keys, and empty fields for those that were left out.
    fn soften(&mut self) {
        if !self.findings.is_empty() && self.find("aacp").is_some_and(|(_, v)| v == "1.0") {
            for finding in &mut self.findings {
                if matches!(finding.code, Code::FieldEmpty | Code::FieldUnnamed) {
                    finding.severity = Severity::Warning;
                }
            }
        }
    }
}

fn most(limits: Limits) -> String {
    format!("at most {}", limits.fields)
}

/// Returns the findings for a text that is too long, from its first bytes.
pub(crate) fn too_long(bytes: &[u8], limits: Limits) -> Vec<Finding> {
    let mut finding = Finding::error(Code::TooLong);
    finding.at = Some(limits.packet_bytes);
    let detail = format!("at most {} bytes", limits.packet_bytes);
    let mut findings = vec![finding.detail(detail)];
    let read = bytes.iter().take(limits.packet_bytes).enumerate();
    let mut separators = read.filter(|(_, byte)| **byte == b'|');
    if let Some((at, _)) = separators.nth(limits.fields + 1) {
        let finding = Finding::error(Code::TooManyFields).at(limits.fields + 2, at + 1);
        findings.push(finding.detail(most(limits)));
    }
    findings
}

/// Returns the finding for a byte outside UTF-8.
pub(crate) fn not_utf8(bytes: &[u8], at: usize) -> Finding {
    let before = bytes.iter().take(at);
    let field = before.filter(|byte| **byte == b'|').count();
    Finding::error(Code::NotUtf8).at(field, at)
}
