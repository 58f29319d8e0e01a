//! Which instructions a hop of a workflow answers.

use accp_aacp::fallback::{MemoryRegistry, Options, Source};

use super::wording::{ENGLISH, asked_by};

#[test]
fn aacp_42_accepts_what_a_hop_says() {
    let empty = MemoryRegistry::default();
    let fetch = "FETCH|HR|return:HR-Agent|p:1|aacp:1.1|res:emp_salary|period:2024-08|\
                 filter:status=active|fmt:json";
    let build = "BUILD|IT|return:HR-Agent|p:1|aacp:1.1|res:ad_account|filter:usr=j.smith|\
                 fields:email,dept,grp,pwd_reset|fmt:json";
    for (english, dom, packet) in [
        (ENGLISH, "HR", fetch),
        (
            "Please fetch the salaries of all active employees for 2024-08 as JSON",
            "HR",
            fetch,
        ),
        ("Get the employee salary data for August 2024", "HR", fetch),
        ("Create a directory account for j.smith", "IT", build),
        (
            "Merge the salary and budget data",
            "HR",
            "MERGE|HR|return:HR-Agent|p:1|aacp:1.1|rules:payroll_v2|validate:budget_cc",
        ),
        (
            "Retrieve the approved budgets and YTD spend of all cost centres for August 2024",
            "FIN",
            "FETCH|FIN|return:HR-Agent|p:1|aacp:1.1|res:budget_cc|period:2024-08|\
             fields:cc_id,approved_budget,ytd_spend|fmt:json",
        ),
        (
            "Provision VPN access for j.smith",
            "IT",
            "PROC|IT|return:HR-Agent|p:1|aacp:1.1|res:vpn_access|filter:usr=j.smith|\
             fields:profile,mfa",
        ),
        (
            "Process the invoice of Acme Ltd for 4,200 GBP, purchase order PO-441",
            "FIN",
            "PROC|FIN|return:HR-Agent|p:1|aacp:1.1|res:invoice|amt:4200|ccy:GBP|sup:Acme-Ltd|\
             match:PO-441|terms:net30|req:validate,schedule_pay",
        ),
        (
            "Set up a mailbox for j.smith@example.com",
            "IT",
            "PROC|IT|return:HR-Agent|p:1|aacp:1.1|res:m365_mailbox|\
             filter:email=j.smith@example.com|fields:licence,sig,dl",
        ),
    ] {
        let found = asked_by(&empty, english, dom, Options::default());
        assert_eq!(found, Some((Source::Rule, packet.to_owned())), "{english}");
    }
}

#[test]
fn aacp_42_refuses_what_a_hop_does_not_say_in_full() {
    let empty = MemoryRegistry::default();
    for (english, dom) in [
        (ENGLISH, "FIN"),
        ("Retrieve employee salaries", "HR"),
        ("Retrieve employee salaries for August", "HR"),
        ("Retrieve inactive employee salaries for August 2024", "HR"),
        ("Retrieve employee salary bonuses for August 2024", "HR"),
        (
            "Retrieve employee salaries for August 2024 without managers",
            "HR",
        ),
        (
            "Retrieve employee salaries for August 2024 and July 2024",
            "HR",
        ),
        ("Retrieve employee salaries for August 2024 in Berlin", "HR"),
        ("Delete employee salaries for August 2024", "HR"),
        (
            "Retrieve and delete employee salaries for August 2024",
            "HR",
        ),
        ("Create directory accounts for j.smith and a.jones", "IT"),
        ("Create a directory account for John Smith", "IT"),
        ("Send the payroll report for August 2024 to Eve", "HR"),
        (
            "Send the payroll report for August 2024 to the sales director",
            "HR",
        ),
        ("Retrieve employee salaries from August 2024", "HR"),
        ("Retrieve employee salaries until August 2024", "HR"),
        ("Retrieve employee salaries for August 2024 to HR", "HR"),
        ("Retrieve employee salaries for August 2024 as XML", "HR"),
        ("Retrieve active, employee salaries. For August 2024", "HR"),
        ("Retrieved employee salaries for August 2024", "HR"),
        (
            "Have employee salaries for August 2024 been retrieved?",
            "HR",
        ),
        (
            "Retrieve the status of employee salaries for August 2024",
            "HR",
        ),
        ("Retrieve and approve the budgets for August 2024", "FIN"),
        ("Retrieve the budgets and spend for August 2024", "FIN"),
        ("Merge the salary and budget data of the cost centre", "HR"),
        ("Create and send the payroll report", "HR"),
        ("Was the payroll report created?", "HR"),
        ("Create a directory account for HR", "IT"),
        ("Create a directory account for Smith", "IT"),
        ("Create a directory account by j.smith", "IT"),
        ("Provision VPN access for Profile", "IT"),
        (
            "Pay the invoice of Acme Ltd for 4,200 GBP, purchase order PO-441",
            "FIN",
        ),
    ] {
        assert_eq!(
            asked_by(&empty, english, dom, Options::default()),
            None,
            "{english}"
        );
    }
}
