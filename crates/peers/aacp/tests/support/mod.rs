//! Helpers of the tests of packets.

use accp_aacp::{Code, Finding, Report, Validator, Vocabulary, validate};

/// The examples of draft section 4.4, joined from their lines.
pub(crate) const EXAMPLES: [&str; 6] = [
    "FETCH|HR|return:HR-Agent|p:1|aacp:1.1|res:emp_salary|period:2024-08|filter:status=active|\
     fmt:json",
    "MERGE|HR|return:HR-Agent|p:1|aacp:1.1|rules:payroll_v2|validate:budget_cc",
    "FLAG|LEGAL|return:LEG-Agent|p:1|aacp:1.1|type:NDA|party:Acme-Ltd|clause:s7|\
     issue:ip_rights_restriction|risk:high|block:signature",
    "BUILD|IT|return:IT-Agent|p:1|aacp:1.1|res:ad_account|filter:usr=j.smith|\
     fields:email,dept,grp,pwd_reset",
    "PROC|FIN|return:FIN-Agent|p:2|aacp:1.1|res:invoice|sup:ABC-Ltd|amt:4200|ccy:GBP|\
     match:PO-441|terms:net30",
    "LOG|HR|return:AUD-Agent|p:2|aacp:1.1|actor:ORCHESTRATOR|\
     chain:HR-AGENT,FIN-AGENT,HR-AGENT,HR-AGENT|status:review_required",
];

/// The start of a packet without findings.
pub(crate) const HEAD: &str = "FETCH|HR|return:HR-Agent|p:1|aacp:1.1";

/// Returns the codes of errors, or of warnings.
pub(crate) fn codes<'r>(findings: impl Iterator<Item = &'r Finding>) -> Vec<&'static str> {
    findings.map(|finding| finding.code.as_str()).collect()
}

/// Returns the codes of the errors of a text.
pub(crate) fn errors(text: impl AsRef<[u8]>) -> Vec<&'static str> {
    codes(validate(text).errors())
}

/// Returns the codes of the warnings of a text, which must have no errors.
pub(crate) fn warnings(text: &str) -> Vec<&'static str> {
    let report = validate(text);
    assert_eq!(codes(report.errors()), [""; 0], "{text}");
    codes(report.warnings())
}

/// Returns code, field and byte of the first finding of a code.
pub(crate) fn place(text: impl AsRef<[u8]>, code: Code) -> Option<(Option<usize>, Option<usize>)> {
    let report = validate(text);
    let mut findings = report.findings().iter();
    let found = findings.find(|finding| finding.code == code)?;
    Some((found.field, found.at))
}

/// Checks a text with the standard vocabulary and the words that `own` adds to it.
pub(crate) fn with_own(own: &str, text: &str) -> Report {
    let own = Vocabulary::standard().extended("own.json", own).unwrap();
    let validator = Validator {
        vocabulary: &own,
        ..Validator::default()
    };
    validator.validate(text)
}
