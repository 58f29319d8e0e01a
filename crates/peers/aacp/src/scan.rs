//! The scanner: one pass over the text of a packet; it borrows all it reads.

use crate::class::{ends, forbidden_at, is_head, is_key, key_run, trim};
use crate::finding::{Code, Finding, Severity};
use crate::limits::Limits;

/// A key and its value. An unnamed field of a packet of version 1.0 has the key `""`.
pub(crate) type Field<'a> = (&'a str, &'a str);

/// The number of bytes of a short field. The list of fields begins with room for as many short fields as fit in the
/// text.
const FIELD: usize = 10;

/// The parts of a text, and its errors. Field `i` of a packet is `fields[i - 2]`.
#[derive(Debug)]
pub(crate) struct Scan<'a> {
    text: &'a str,
    pub(crate) task: &'a str,
    /// Empty if the domain is missing.
    pub(crate) dom: &'a str,
    /// The fields from the third on.
    pub(crate) fields: Vec<Field<'a>>,
    /// The errors, and the findings that are errors only in versions other than 1.0.
    pub(crate) findings: Vec<Finding>,
    /// The field and the byte of the first space that does not count.
    pub(crate) space: Option<(usize, usize)>,
    seen: Seen,
}

/// The keys so far. Several keys share one bit, so a key whose bit is not set is certain to be new.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Seen(u64);

impl Seen {
    /// Returns whether the key is certain to be new, and marks it as seen.
    #[inline]
    pub(crate) fn is_new(&mut self, key: &str) -> bool {
        let bit = Self::bit(key);
        let is_new = self.0 & bit == 0;
        self.0 |= bit;
        is_new
    }

    #[inline]
    fn may_have(self, key: &str) -> bool {
        self.0 & Self::bit(key) != 0
    }

    #[inline]
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
        scan.fields
            .reserve_exact(limits.fields.min(text.len() / FIELD));
        if scan.slots(limits) == 1 {
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
    #[inline]
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

    /// Reads the slots between the separators. Returns how many there are.
    #[inline]
    fn slots(&mut self, limits: Limits) -> usize {
        let (mut index, mut from) = (0, 0);
        ends(self.text, |to| {
            self.slot(index, [from, to], limits);
            (index, from) = (index + 1, to + 1);
        });
        index
    }

    /// Reads the slot between two bytes.
    #[inline]
    fn slot(&mut self, index: usize, place: [usize; 2], limits: Limits) {
        let text = self.text.get(place[0]..place[1]).unwrap_or_default();
        let run = key_run(text.as_bytes());
        let is_plain = match index {
            0 => self.plain_head(text, run, |scan| &mut scan.task),
            1 => self.plain_head(text, run, |scan| &mut scan.dom),
            _ => self.plain_field(text, run, limits),
        };
        if !is_plain {
            self.any_slot(index, text, limits);
        }
    }

    /// Takes a task or a domain that has only letters, digits and `_`. The text begins with `run` such characters.
    /// Returns false if the text has other characters.
    #[inline]
    fn plain_head(
        &mut self,
        text: &'a str,
        run: usize,
        place: impl Fn(&mut Self) -> &mut &'a str,
    ) -> bool {
        *place(self) = text;
        run == text.len() && run > 0
    }

    /// Takes a field without spaces at its ends, whose key is valid and certain to be new. The text begins with `run`
    /// letters, digits and `_`. Returns false if the field does not have this form.
    #[inline]
    fn plain_field(&mut self, text: &'a str, run: usize, limits: Limits) -> bool {
        let Some((key, value)) = text.split_at_checked(run) else {
            return false;
        };
        let Some(value) = value.strip_prefix(':') else {
            return false;
        };
        let begins = key.as_bytes().first().is_some_and(u8::is_ascii_alphabetic);
        let is_spaced = matches!(value.as_bytes(), [b' ', ..] | [.., b' ']);
        let is_plain = begins && !is_spaced && self.fields.len() < limits.fields;
        if !is_plain || self.seen.may_have(key) {
            return false;
        }
        self.seen.is_new(key);
        self.fields.push((key, value));
        true
    }

    /// Reads a slot that may be anything.
    #[inline(never)]
    fn any_slot(&mut self, index: usize, text: &'a str, limits: Limits) {
        match index {
            0 => self.task = self.head(0, text, [Code::TaskMissing, Code::TaskInvalid]),
            1 => self.dom = self.head(1, text, [Code::DomMissing, Code::DomInvalid]),
            index => self.field(index, text, limits),
        }
    }

    /// ```abnf
    /// field = key ":" value
    /// ```
    fn field(&mut self, index: usize, slot: &'a str, limits: Limits) {
        let is_over = self.fields.len() >= limits.fields;
        if self.fields.len() == limits.fields {
            let finding = Finding::error(Code::TooManyFields).at(index, self.offset(slot));
            self.findings.push(finding.detail(most(limits)));
        }
        let Some((key, value)) = slot.split_once(':') else {
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
        let value = self.trimmed(index, value);
        if !is_key(key) {
            self.note(Code::KeyInvalid, index, trim(slot));
        } else if !is_over && self.find(key).is_some() {
            // Comparing keys takes time. The scanner skips it for a packet with too many fields,
            // because that packet is refused anyway.
            self.note(Code::KeyRepeated, index, key);
        }
        self.seen.is_new(key);
        self.fields.push((key, value));
    }

    /// Takes the spaces away from both ends, and records the place of the first space.
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

    #[inline]
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

    /// Makes warnings of the errors that version 1.0 allowed: fields without keys, and empty fields in place of
    /// fields that were left out.
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
