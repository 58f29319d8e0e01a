//! The second judge: it applies the rules of the issue and the specification to a folder in memory.

use std::rc::Rc;

use crate::walks::declared::{self, Codes, Declared, Doc, FORBIDDEN, OF_STATE};
use crate::walks::line::Line;
use crate::walks::log::{Lines, Log};
use crate::walks::story::Story;
use crate::walks::texts;
use crate::walks::world::World;

const TEXTS: [&str; 5] = [
    "proposal.md",
    "review.md",
    "decisions.md",
    "readiness.md",
    "conclusion.md",
];

/// The last readings of the judge, kept because most steps change neither protocol.json nor the
/// log.
#[derive(Default)]
pub(crate) struct Memory {
    lines: Lines,
    protocol: (Vec<u8>, Option<Rc<Declared>>, Codes),
    log: (Vec<u8>, Rc<Log>),
}

/// Codes, and whether they are complete. A broken folder has at least one mistake, but no rule says
/// which others a check has to report.
#[derive(Debug, Default)]
pub(crate) struct Verdict {
    pub errors: Codes,
    pub warnings: Codes,
    pub is_exact: bool,
}

pub(crate) struct Judge<'w> {
    world: &'w World,
    pub declared: Option<Rc<Declared>>,
    of_protocol: Codes,
    pub log: Rc<Log>,
}

impl<'w> Judge<'w> {
    pub(crate) fn new(world: &'w World, memory: &mut Memory) -> Self {
        let protocol = world.bytes("protocol.json");
        let is_known = memory.protocol.0 == protocol && !protocol.is_empty();
        if !is_known {
            let (declared, codes) = declared::read(protocol);
            memory.protocol = (protocol.to_vec(), declared.map(Rc::new), codes);
        }
        let (_, declared, of_protocol) = &memory.protocol;
        let bytes = world.bytes("events.jsonl");
        if !is_known || memory.log.0 != bytes {
            let log = memory.lines.log(bytes, declared.as_deref());
            memory.log = (bytes.to_vec(), Rc::new(log));
        }
        Self {
            world,
            declared: declared.clone(),
            of_protocol: of_protocol.clone(),
            log: Rc::clone(&memory.log.1),
        }
    }

    /// Returns the story of the folder, if its declarations and its log are valid.
    pub(crate) fn story(&self) -> Option<(&Declared, Story<'_>)> {
        let is_sound = self.log.wrong.is_empty() && self.world.has("events.jsonl");
        let declared = self.declared.as_deref().filter(|_| is_sound)?;
        Some((declared, Story::of(Some(declared), &self.log.events)?))
    }

    /// Returns the codes for a folder whose declarations or log are invalid.
    fn fallen(&self) -> Codes {
        let mut codes = Codes::new();
        if !self.world.has("protocol.json") {
            codes.insert("protocol-missing");
        } else if self.declared.is_none() {
            codes.insert("protocol-invalid");
        }
        if !self.log.wrong.is_empty() || !self.world.has("events.jsonl") {
            codes.insert("log-invalid");
        }
        codes
    }

    fn has_event(&self, names: &[&str]) -> bool {
        let mut all = self.log.events.iter();
        all.any(|event| names.contains(&&event.event[..]))
    }

    /// Returns whether readiness.md has a question that stops every participant.
    pub(crate) fn has_questions(&self) -> bool {
        !texts::questions(&self.readiness()).is_empty()
    }

    /// Returns whether a deliverable has the status Frozen, and a text in each section.
    pub(crate) fn is_fit_to_freeze(&self, doc: &Doc) -> bool {
        let text = self.world.text(&doc.name);
        texts::deliverable(&text, &doc.sections, true).is_empty()
    }

    fn readiness(&self) -> String {
        self.world.text("readiness.md")
    }

    /// Returns the verdict on an event: it may be appended if there is no code.
    pub(crate) fn may(&self, event: &Line) -> Verdict {
        let mut codes = Codes::new();
        if event.summary.trim().is_empty() {
            codes.insert("summary-blank");
        }
        let Some((declared, story)) = self.story() else {
            codes.extend(self.fallen());
            return Verdict {
                errors: codes,
                ..Verdict::default()
            };
        };
        codes.extend(event.lacks(Some(declared), self.log.events.last()));
        let doc = event.doc.as_deref();
        let path = doc.map(|doc| doc.strip_prefix("external:").unwrap_or(doc));
        if path.is_some_and(|path| !declared::stays_below(path)) {
            codes.insert("path-escape");
        }
        codes.extend(story.against(event));
        codes.extend(self.files_against(event, declared, &story));
        // An event with one of these faults may break further rules by chance, so the verdict is
        // not exact.
        let is_odd = [
            "role-missing",
            "doc-missing",
            "doc-not-primary",
            "doc-not-supporting",
            "sha256-missing",
            "path-escape",
            "seq",
        ];
        let is_over = ["completed", "blocked"].contains(&story.sum().0);
        Verdict {
            is_exact: !is_over && !is_odd.iter().any(|code| codes.contains(code)),
            errors: codes,
            warnings: Codes::new(),
        }
    }

    fn files_against(&self, event: &Line, declared: &Declared, story: &Story<'_>) -> Codes {
        let mut codes = Codes::new();
        let name = &event.event[..];
        let is_last = name == "readiness_passed" || name == "completed";
        let readiness = self.readiness();
        // A file that cannot be read may have open questions, so it is a reason to refuse.
        if !self.world.is_utf8("readiness.md") {
            codes.insert("unreadable");
        }
        // As in the Python scripts, the questions are checked again with each event after an
        // acceptance.
        if is_last || name == "decision_accepted" || self.has_event(&["decision_accepted"]) {
            codes.extend(texts::questions(&readiness));
        }
        if let Some(doc) = event.doc_of(declared).filter(|_| event.is_of_deliverable()) {
            codes.extend(self.deliverable_against(event, doc));
        }
        if name == "decision_accepted" {
            let text = self.world.text("decisions.md");
            if !texts::has_decision(&text) {
                codes.insert("decision-none");
            }
            codes.extend(texts::decisions(&text, declared));
            codes.remove("decision-rationale");
            if !self.world.is_utf8("decisions.md") {
                codes.insert("unreadable");
            }
        }
        if !is_last {
            return codes;
        }
        codes.extend(self.unchecked(declared, story));
        if name == "completed" {
            codes.extend(self.unfit(declared, story));
        }
        // Faults of the copy of the state do not count: the log decides, and the append mends the
        // copy.
        let mut wrong = self.validate().errors;
        wrong.retain(|code| !OF_STATE.contains(code));
        codes.extend(wrong);
        codes
    }

    fn deliverable_against(&self, event: &Line, doc: &Doc) -> Codes {
        if !self.world.has(&doc.name) {
            return Codes::from(["file-missing"]);
        }
        if !self.world.is_utf8(&doc.name) {
            return Codes::from(["unreadable"]);
        }
        if event.event != "deliverable_frozen" {
            return Codes::new();
        }
        let text = self.world.text(&doc.name);
        let mut codes = texts::deliverable(&text, &doc.sections, true);
        let now = sha256(self.world.bytes(&doc.name));
        if event.has_sha256() && event.sha256 != Some(now) {
            codes.insert("sha256-differs");
        }
        codes
    }

    /// Returns the codes for gates that are not checked in readiness.md, and for a missing SHA-256.
    fn unchecked(&self, declared: &Declared, story: &Story<'_>) -> Codes {
        let text = self.readiness();
        let mut codes = texts::unchecked(&text, &declared.gates);
        let sha256 = story.frozen(&declared.primary.reference);
        if sha256.is_some_and(|sha256| !text.contains(sha256)) {
            codes.insert("snapshot-missing");
        }
        codes
    }

    /// Returns what the conclusion lacks.
    fn unfit(&self, declared: &Declared, story: &Story<'_>) -> Codes {
        let text = self.world.text("conclusion.md");
        let mut codes = texts::conclusion(&text, declared);
        let sha256 = story.frozen(&declared.primary.reference);
        codes.extend(texts::receipt(&text, declared, sha256));
        codes
    }

    pub(crate) fn validate(&self) -> Verdict {
        let mut found = Verdict {
            errors: self.of_protocol.clone(),
            ..Verdict::default()
        };
        let errors = &mut found.errors;
        errors.extend(&self.log.wrong);
        for name in TEXTS.into_iter().chain(["protocol.json", "events.jsonl"]) {
            if !self.world.has(name) {
                errors.insert("file-required");
            }
        }
        if TEXTS.iter().any(|name| !self.world.is_utf8(name)) {
            errors.insert("unreadable");
        }
        if FORBIDDEN.iter().any(|name| self.world.has(name)) {
            errors.insert("file-forbidden");
        }
        if self.log.is_torn {
            found.warnings.insert("log-torn");
        }
        if !self.world.has("protocol.json") {
            errors.remove("unreadable");
        }
        let Some((declared, story)) = self.story() else {
            return found;
        };
        found.is_exact = true;
        let (phase, owner, asked) = story.sum();
        let [of_phase, of_owner, of_asked] = &declared.copy;
        if *of_phase != phase || *of_owner != owner || *of_asked != serde_json::json!(asked) {
            errors.insert("state-differs");
        }
        let text = self.world.text("review.md");
        let (wrong, odd) = texts::reviews(&text, declared, &self.log.events);
        errors.extend(wrong);
        found.warnings.extend(odd);
        let mut wrong = texts::decisions(&self.world.text("decisions.md"), declared);
        if wrong.remove("decision-rationale") {
            found.warnings.insert("decision-rationale");
        }
        errors.extend(wrong);
        errors.extend(self.of_docs(declared));
        for (_, name) in &declared.attachments {
            if !self.world.has(name) {
                errors.insert("attachment-missing");
            }
        }
        self.of_readiness(declared, &mut found);
        found
    }

    fn of_docs(&self, declared: &Declared) -> Codes {
        let mut codes = Codes::new();
        let is_passed = self.has_event(&["readiness_passed", "completed"]);
        let supporting = declared.supporting.iter().map(|doc| (doc, true));
        for (doc, is_supporting) in std::iter::once((&declared.primary, false)).chain(supporting) {
            let mut freezes = self.log.events.iter().filter(|event| {
                event.event == "deliverable_frozen"
                    && event.is_supporting() == is_supporting
                    && event.doc.as_ref() == Some(&doc.reference)
            });
            let hash = freezes
                .next()
                .map(|event| event.sha256.clone().unwrap_or_default());
            if is_supporting && doc.is_frozen && hash.is_none() {
                codes.insert("freeze-missing");
            }
            if is_supporting && !doc.is_frozen && hash.is_some() {
                codes.insert("freeze-unmarked");
            }
            if !self.world.has(&doc.name) {
                codes.insert("deliverable-missing");
                continue;
            }
            if !self.world.is_utf8(&doc.name) {
                codes.insert("unreadable");
                continue;
            }
            let now = sha256(self.world.bytes(&doc.name));
            if hash.as_ref().is_some_and(|hash| *hash != now) {
                codes.insert("sha256-differs");
            }
            let is_final = doc.is_frozen || hash.is_some() || is_passed && !is_supporting;
            let text = self.world.text(&doc.name);
            codes.extend(texts::deliverable(&text, &doc.sections, is_final));
        }
        codes
    }

    fn of_readiness(&self, declared: &Declared, found: &mut Verdict) {
        let text = self.readiness();
        let is_completed = self.has_event(&["completed"]);
        let is_passed = is_completed || self.has_event(&["readiness_passed"]);
        let questions = texts::questions(&text);
        if is_passed || self.has_event(&["decision_accepted"]) {
            found.errors.extend(questions);
        } else if questions.contains("reason-missing") {
            found.warnings.insert("reason-missing");
        }
        // As in the Python scripts, the gates are checked only after `completed`.
        if is_completed {
            found
                .errors
                .extend(texts::unchecked(&text, &declared.gates));
            let conclusion = self.world.text("conclusion.md");
            found
                .errors
                .extend(texts::conclusion(&conclusion, declared));
        } else if is_passed {
            found.errors.extend(texts::unchecked(&text, &[]));
        }
    }

    /// Returns whether a participant has the turn.
    pub(crate) fn is_asked(&self, who: &str) -> bool {
        let story = self.story();
        story.is_some_and(|(_, story)| story.sum().2.contains(&who))
    }

    /// Returns the action of a participant.
    ///
    /// # Errors
    /// The codes, if the participant has no action.
    pub(crate) fn todo(&self, who: &str) -> Result<&'static str, Codes> {
        let Some((declared, story)) = self.story() else {
            return Err(self.fallen());
        };
        if !declared.participants.iter().any(|one| one == who) {
            return Err(Codes::from(["participant-unknown"]));
        }
        let (phase, owner, asked) = story.sum();
        let is_asked = asked.contains(&who);
        let has_questions = self.has_questions();
        Ok(match phase {
            "completed" => "stop",
            "blocked" => "stop-blocked",
            "reviewing" if is_asked => "review",
            "reviewing" => "wait-reviewers",
            "decision_review" if !story.is_classified() || has_questions => {
                if who == owner {
                    "classify"
                } else {
                    "wait-owner"
                }
            }
            "decision_review" if is_asked => "accept",
            "decision_review" => "wait-acceptances",
            _ if who != owner => "wait-owner",
            "revising" => "revise",
            "drafting" if story.has("deliverable_drafted") => "submit",
            "drafting" => "draft",
            _ if has_questions => "clear-readiness",
            _ if self.to_freeze().is_some() => "freeze",
            _ if !self.unchecked(declared, &story).is_empty() => "check-gates",
            _ if !story.has("readiness_passed") => "pass-readiness",
            _ if !self.unfit(declared, &story).is_empty() => "conclude",
            _ => "complete",
        })
    }

    /// Returns the deliverable that is to be frozen next, and its role.
    pub(crate) fn to_freeze(&self) -> Option<(&Doc, &'static str)> {
        let (declared, story) = self.story()?;
        let supporting = declared.supporting.iter().filter(|doc| doc.is_frozen);
        let supporting = supporting.map(|doc| (doc, "supporting"));
        let mut all = std::iter::once((&declared.primary, "primary")).chain(supporting);
        all.find(|(doc, _)| story.frozen(&doc.reference).is_none())
    }
}

/// Returns the SHA-256 of bytes, in small hexadecimal digits.
pub(crate) fn sha256(bytes: &[u8]) -> String {
    use sha2::Digest as _;
    let digits = sha2::Sha256::digest(bytes);
    let of_digit = |digit: u8| char::from_digit(digit.into(), 16).expect("a digit");
    let pairs = digits.iter().map(|byte| [byte >> 4, byte & 15]);
    pairs.flatten().map(of_digit).collect()
}
