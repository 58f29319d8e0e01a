//! Instructions that look alike and do not share a packet.

use accp_aacp::fallback::Source;

use super::wording::{asked, stored};

/// Pairs of instructions that share most words but ask for different things. The packet of the first instruction has a
/// text that looks like the value that changes.
#[test]
fn a_small_word_can_change_what_is_asked() {
    for (one, other) in [
        (
            "Inform Ada of the delay",
            "Inform Ada's manager of the delay",
        ),
        ("Turn the alerts on", "Turn the alerts off"),
        ("Turn the alerts on", "Turn the alerts"),
        ("Keep the old files", "Get rid of the old files"),
        ("Deactivate the users", "Deactivate the retired users"),
        ("Pay up to 500 EUR", "Pay 500 EUR"),
        ("Roll the release", "Roll back the release"),
        ("Raise the limit to 5", "Raise the limit to 5 billion"),
        ("Raise the price by 5", "Raise the price by 5 %"),
        ("Raise the price by 5", "Raise the price by .5"),
        ("Raise the price by 5", "Raise the price by (5)"),
        ("Raise the price by 5 %", "Raise the price by 5 €"),
        ("Send the report to Ada", "Send the report to Ada and legal"),
        (
            "Move the files from Ada to Bob",
            "Move the files from Bob to Ada",
        ),
        (
            "Move the files from Ada to Bob",
            "Move the files to Ada from Bob",
        ),
        (
            "Approve then pay the invoice",
            "Pay then approve the invoice",
        ),
        ("Delete the users", "Delete the deleted users"),
        ("Pay the invoice", "Has the invoice been paid?"),
        ("Pay the invoice", "Was the invoice paid?"),
        ("Pay the invoice", "The invoice was paid"),
        ("Close the account of Ada", "Close all accounts of Ada"),
        ("Send a report", "Send every report"),
        ("Send this report", "Send that report"),
        ("Pay my invoice", "Pay your invoice"),
        (
            "Delete the set of records",
            "Delete the database of records",
        ),
        ("Delete the workflow records", "Delete the records"),
        ("Wipe the data", "Wipe the"),
        ("Assign the ticket to Ada", "Assign the ticket to PO-441"),
        ("Please", "Could you?"),
        ("!!", "??"),
        ("Pay the bill of 2024-08", "Pay the bill 2024-08"),
        ("Pay the bill of August 2024", "Pay the bill August 2024"),
        ("Do pay Ada", "Do not pay Ada"),
        ("Retrieve the paid invoice", "Retrieve the pay invoice"),
        ("Stop. Backup the disk", "Stop backup the disk"),
    ] {
        for (one, other) in [(one, other), (other, one)] {
            let packet = "PROC|HR|return:A|aacp:1.1|res:Ada,500,EUR|filter:emp=Bob,5|subj:PO-441";
            let registry = stored(one, packet);
            assert_eq!(asked(&registry, other, "HR"), None, "{one} / {other}");
        }
    }
}

#[test]
fn a_value_that_no_packet_can_hold_goes_to_the_model() {
    let packet = "SEND|HR|return:A|aacp:1.1|to:Ada|subj:hello";
    let registry = stored("Send \"hello\" to Ada", packet);
    for text in ["a|b", "", "a,b", "a\u{202e}b", "a\u{7}b"] {
        let english = format!("Send \"{text}\" to Ada");
        assert_eq!(asked(&registry, &english, "HR"), None, "{text:?}");
    }
    let found = asked(&registry, "Send \"good-bye\" to Ada", "HR");
    assert_eq!(found.map(|found| found.0), Some(Source::Pattern));
}
