//! The validator (draft section 7).

use accp_registry::nearest;

use crate::class::{is_head, is_key};
use crate::finding::{Code, Finding, Severity};
use crate::limits::Limits;
use crate::scan::{Scan, not_utf8, too_long};
use crate::vocabulary::Vocabulary;

/// Checks bytes against the grammar, the rules of draft section 7 and the standard vocabulary, under
/// the default limits.
///
/// ```
/// use accp_aacp::{Code, validate};
///
/// let report = validate("FETCH|HR|return:|res:emp_salary");
/// let errors: Vec<Code> = report.errors().map(|error| error.code).collect();
/// assert_eq!(errors, [Code::ReturnEmpty, Code::AacpMissing]);
/// assert_eq!(report.warnings().next().map(|warning| warning.code), Some(Code::PMissing));
/// assert!(!report.is_valid());
/// ```
pub fn validate(text: impl AsRef<[u8]>) -> Report {
    Validator::default().validate(text)
}

/// A validator with a vocabulary and limits of its own.
///
/// ```
/// use accp_aacp::{Limits, Validator, Vocabulary};
///
/// let own = Vocabulary::standard().extended("own.json", r#"{ "domains": ["OPS"] }"#)?;
/// let validator = Validator { vocabulary: &own, limits: Limits::DEFAULT };
/// let report = validator.validate("FETCH|OPS|return:a|p:1|aacp:1.1");
/// assert_eq!(report.findings().len(), 0);
/// # Ok::<(), accp_registry::Problems>(())
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Validator<'v> {
    /// The words that are known.
    pub vocabulary: &'v Vocabulary,
    /// The limits, which are checked first.
    pub limits: Limits,
}

impl Default for Validator<'static> {
    fn default() -> Self {
        Self {
            vocabulary: Vocabulary::standard(),
            limits: Limits::DEFAULT,
        }
    }
}

/// All that a validator found, in the order of the text. Findings about missing fields stand last.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Report {
    findings: Vec<Finding>,
}

impl Report {
    /// Returns all findings.
    pub fn findings(&self) -> &[Finding] {
        &self.findings
    }

    /// Returns whether the packet can be sent: there is no error. Warnings never prevent sending.
    pub fn is_valid(&self) -> bool {
        self.errors().next().is_none()
    }

    /// Returns the first error of each code.
    pub fn errors(&self) -> impl Iterator<Item = &Finding> {
        self.first_of_each(Severity::Error)
    }

    /// Returns the first warning of each code.
    pub fn warnings(&self) -> impl Iterator<Item = &Finding> {
        self.first_of_each(Severity::Warning)
    }

    fn first_of_each(&self, severity: Severity) -> impl Iterator<Item = &Finding> {
        let of = move |finding: &Finding| finding.severity == severity;
        let findings = self.findings.iter().enumerate();
        findings.filter_map(move |(index, finding)| {
            let before = self.findings.iter().take(index);
            let is_first = || !before.clone().any(|f| of(f) && f.code == finding.code);
            (of(finding) && is_first()).then_some(finding)
        })
    }
}

impl Validator<'_> {
    /// Checks bytes, and reports all that is found.
    pub fn validate(&self, text: impl AsRef<[u8]>) -> Report {
        let bytes = text.as_ref();
        let mut findings = Vec::new();
        if bytes.len() > self.limits.packet_bytes {
            let read = bytes.get(..self.limits.packet_bytes).unwrap_or(bytes);
            findings.extend(too_long(read, self.limits));
            // The limit may fall within a character. Such a character at the end is not an error.
            let error = std::str::from_utf8(read).err();
            let error = error.filter(|error| error.error_len().is_some());
            findings.extend(error.map(|error| not_utf8(read, error.valid_up_to())));
        } else if let Ok(text) = std::str::from_utf8(bytes) {
            self.examine(text, &mut findings);
        } else {
            // Each byte that is not UTF-8 becomes one `?`, so that the places of other findings
            // stay right.
            let mut text = String::with_capacity(bytes.len());
            for chunk in bytes.utf8_chunks() {
                text.push_str(chunk.valid());
                if !chunk.invalid().is_empty() && findings.is_empty() {
                    findings.push(not_utf8(bytes, text.len()));
                }
                text.extend(chunk.invalid().iter().map(|_| '?'));
            }
            self.examine(&text, &mut findings);
        }
        findings.sort_by_key(|finding| finding.at.unwrap_or(usize::MAX));
        Report { findings }
    }

    fn examine(&self, text: &str, findings: &mut Vec<Finding>) {
        let mut scan = Scan::of(text, self.limits);
        let is_empty = scan.findings.iter().any(|f| f.code == Code::PacketEmpty);
        let has_keys = scan.findings.is_empty();
        findings.append(&mut scan.findings);
        if !is_empty {
            self.head(&scan, findings);
            self.fields(&scan, has_keys, findings);
            self.needs(&scan, findings);
        }
    }

    /// Checks the task and the domain. The scanner has already reported a missing or malformed one as an error.
    fn head(&self, scan: &Scan<'_>, findings: &mut Vec<Finding>) {
        let Self { vocabulary, .. } = self;
        let heads = [
            (scan.task, vocabulary.task(scan.task), Code::TaskUnknown),
            (scan.dom, vocabulary.domain(scan.dom), Code::DomUnknown),
        ];
        for (index, (word, found, code)) in heads.into_iter().enumerate() {
            if found.is_none() && is_head(word) {
                let known = [vocabulary.tasks(), vocabulary.domains()][index];
                let known = known.iter().map(|word| word.name.as_str());
                let finding = Finding::warning(code).at(index, scan.offset(word));
                findings.push(suggest(finding, word, known));
            }
        }
    }

    /// Checks each field. If a key stands twice, its first value counts. `has_keys` says that every field is known to
    /// have a different key.
    fn fields(&self, scan: &Scan<'_>, has_keys: bool, findings: &mut Vec<Finding>) {
        for (index, (key, value)) in scan.fields.iter().take(self.limits.fields).enumerate() {
            let index = index + 2;
            let at = |part: &str| (index, scan.offset(part));
            let mut note = |code, (index, at)| findings.push(Finding::warning(code).at(index, at));
            let is_first = || is_key(key) && scan.find(key).is_some_and(|first| first.0 == index);
            if !has_keys && !is_first() {
                continue;
            }
            let is_core = matches!(*key, "return" | "aacp");
            if value.is_empty() && !is_core {
                note(Code::ValueEmpty, at(key));
            }
            match *key {
                "p" if self.vocabulary.priority(value).is_none() => {
                    note(
                        Code::PUnknown,
                        at(if value.is_empty() { key } else { value }),
                    );
                }
                "aacp" if !value.is_empty() && *value != self.vocabulary.version => {
                    let (index, at) = at(value);
                    findings.push(differs(value).at(index, at));
                }
                _ => {}
            }
            if self.vocabulary.key(key).is_none() {
                let (index, at) = at(key);
                let known = self.vocabulary.keys.iter().map(|key| key.name.as_str());
                let finding = Finding::warning(Code::KeyUnknown).at(index, at);
                findings.push(suggest(finding, key, known));
            }
        }
    }

    /// Checks for missing fields.
    fn needs(&self, scan: &Scan<'_>, findings: &mut Vec<Finding>) {
        if scan.find("p").is_none() {
            findings.push(Finding::warning(Code::PMissing));
        }
        for rule in &self.vocabulary.companions {
            if let Some((index, _)) = scan.find(&rule.key)
                && scan.find(&rule.needs).is_none()
            {
                let key = scan.fields.get(index - 2).map_or("", |field| field.0);
                findings.push(Finding::warning(rule.code).at(index, scan.offset(key)));
            }
        }
        if let Some((index, at)) = scan.space {
            findings.push(Finding::warning(Code::SpaceTrimmed).at(index, at));
        }
    }
}

/// Adds the word that was probably meant. The word of the packet is not shown.
fn suggest<'k>(finding: Finding, word: &str, known: impl Iterator<Item = &'k str>) -> Finding {
    match nearest(word, known) {
        Some(near) => finding.detail(format!("did you mean `{near}`?")),
        None => finding,
    }
}

/// Makes the warning about another version. It names the version only if the text has the form of a
/// version.
fn differs(version: &str) -> Finding {
    let finding = Finding::warning(Code::VersionDiffers);
    let is_number = |part: &str| {
        (1..=4).contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_digit())
    };
    match version.split_once('.') {
        Some((major, minor)) if is_number(major) && is_number(minor) => {
            finding.detail(format!("version {version}"))
        }
        _ => finding,
    }
}
