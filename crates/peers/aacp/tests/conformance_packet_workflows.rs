//! Draft section 6.1: packets by rules.

use accp_aacp::{Vocabulary, Workflow, validate};
use proptest::prelude::*;

/// Makes the packets of a workflow.
fn made(workflow: &str, values: &[(&str, &str)]) -> Vec<String> {
    let workflow = Workflow::named(workflow).unwrap();
    let packets = workflow.encode(None, values).unwrap();
    let packets = packets
        .into_iter()
        .map(|(_, packet)| packet.text().to_owned());
    packets.collect()
}

/// Returns the error of a call.
fn error(workflow: &str, hop: Option<&str>, values: &[(&str, &str)]) -> String {
    let workflow = Workflow::named(workflow).unwrap();
    workflow.encode(hop, values).unwrap_err().to_string()
}

#[test]
fn aacp_29_accepts_structured_input() {
    for workflow in Workflow::standard() {
        for hop in &workflow.hops {
            let values: Vec<(&str, &str)> = hop
                .parameters
                .iter()
                .map(|parameter| (&parameter.name[..], "1"))
                .collect();
            let packets = workflow.encode(Some(&hop.name), &values).unwrap();
            assert_eq!(validate(packets[0].1.text()).findings(), [], "{}", hop.name);
        }
    }
}

#[test]
fn aacp_29_refuses_what_makes_no_packet() {
    insta::assert_snapshot!(error("payroll", None, &[]), @"no value for `period`; give one for each");
    insta::assert_snapshot!(error("payroll", Some("send"), &[]), @"`send` is not a hop here; the hops are fetch_employees, fetch_budgets, merge_and_calculate, generate_report, log_run, send_report");
    let perod = [("period", "2024-08"), ("perod", "2024-08")];
    insta::assert_snapshot!(error("payroll", Some("fetch_employees"), &perod), @"`perod` is not a parameter here; did you mean `period`?; the parameters are period, return, p");
    let twice = [("period", "2024-08"), ("period", "2024-09")];
    insta::assert_snapshot!(error("payroll", None, &twice), @"`period` is given twice; a list is one value with commas");
    insta::assert_snapshot!(error("payroll", None, &[("period", "a|return:b")]), @"`period`: `|` separates fields and cannot stand in a value; take another character, or point to the text with data_ptr");
    insta::assert_snapshot!(error("payroll", None, &[("period", "a\nb")]), @"`period`: a control, line break, bidirectional or invisible character stands in the packet; take another character, or point to the text with data_ptr");
    insta::assert_snapshot!(error("payroll", None, &[("period", "")]), @"`period`: the value is empty; give one, because the packet needs it");
    insta::assert_snapshot!(error("payroll", None, &[("period", "1"), ("return", "")]), @"`return`: `return` has no value; name the agent that gets the result: return:AGENT");
    let amount = [
        ("supplier", "a"),
        ("amount", "4,200"),
        ("currency", "GBP"),
        ("purchase_order", "1"),
        ("invoice_ref", "1"),
    ];
    insta::assert_snapshot!(error("invoice", None, &amount), @"`amount`: the value is not a decimal number; write digits and `.`, such as 4200.50");
}

proptest! {
    #[test]
    fn aacp_30_accepts_any_input_and_gives_the_same_packets(
        period in "[0-9]{4}-[0-9]{2}", flags in "[a-z,]{0,9}", p in "[123]",
    ) {
        let values = [("period", &period[..]), ("flags", &flags), ("p", &p)];
        let mut other = values;
        other.reverse();
        prop_assert_eq!(made("payroll", &values), made("payroll", &other));
    }
}

#[test]
fn aacp_30_refuses_to_leave_anything_to_chance() {
    let [a, b] = ["2024-08", "2024-09"].map(|period| made("payroll", &[("period", period)]));
    let differ: Vec<bool> = a.iter().zip(&b).map(|(a, b)| a != b).collect();
    assert_eq!(differ, [true, true, false, false, false, true]);
}

#[test]
fn aacp_31_accepts_the_six_hops_of_payroll() {
    insta::assert_snapshot!(made("payroll", &[("period", "2024-08")]).join("\n"), @"
    FETCH|HR|return:HR-Agent|p:1|aacp:1.1|res:emp_salary|period:2024-08|filter:status=active|fmt:json
    FETCH|FIN|return:HR-Agent|p:1|aacp:1.1|res:budget_cc|period:2024-08|fields:cc_id,approved_budget,ytd_spend|fmt:json
    MERGE|HR|return:HR-Agent|p:1|aacp:1.1|rules:payroll_v2|validate:budget_cc
    REPORT|HR|return:HR-Agent|p:2|aacp:1.1|fmt:pdf,xlsx|highlight:REVIEW_REQ
    LOG|HR|return:AUD-Agent|p:2|aacp:1.1|status:review_required|actor:HR-Agent|chain:HRMS,FIN,PAY,RPT
    SEND|HR|return:HR-Agent|p:2|aacp:1.1|to:fin_director,hr_director|subj:payroll_2024_08_REVIEW_REQ|att:rpt://payroll/2024-08:pdf|flag_msg:review_required
    ");
}

#[test]
fn aacp_31_refuses_a_period_in_a_hop_without_one() {
    insta::assert_snapshot!(error("payroll", Some("generate_report"), &[("period", "1")]), @"`period` is not a parameter here; the parameters are return, p");
}

#[test]
fn aacp_32_accepts_the_six_hops_of_provisioning() {
    let values = [("username", "j.smith"), ("email", "j.smith@example.com")];
    insta::assert_snapshot!(made("it", &values).join("\n"), @"
    BUILD|IT|return:IT-Agent|p:1|aacp:1.1|res:ad_account|filter:usr=j.smith|fields:email,dept,grp,pwd_reset|fmt:json
    PROC|IT|return:IT-Agent|p:1|aacp:1.1|res:m365_mailbox|filter:email=j.smith@example.com|fields:licence,sig,dl
    PROC|IT|return:IT-Agent|p:2|aacp:1.1|res:vpn_access|filter:usr=j.smith|fields:profile,mfa
    PROC|IT|return:IT-Agent|p:2|aacp:1.1|res:salesforce_user|filter:usr=j.smith|fields:profile,team,mgr,view
    PROC|IT|return:IT-Agent|p:2|aacp:1.1|res:badge_access|filter:usr=j.smith|fields:main_entrance,office_floor
    LOG|IT|return:AUD-Agent|p:3|aacp:1.1|filter:usr=j.smith|status:ok|actor:IT-Agent|chain:AD,M365,VPN,CRM,BADGE
    ");
}

#[test]
fn aacp_32_refuses_provisioning_without_a_user() {
    insta::assert_snapshot!(error("it", None, &[("email", "x")]), @"no value for `username`; give one for each");
}

#[test]
fn aacp_33_accepts_the_three_hops_of_an_invoice() {
    let values = [
        ("supplier", "ABC Ltd"),
        ("amount", "4200.50"),
        ("currency", "gbp"),
        ("purchase_order", "PO-441"),
        ("invoice_ref", "INV-7"),
    ];
    insta::assert_snapshot!(made("invoice", &values).join("\n"), @"
    PROC|FIN|return:FIN-Agent|p:2|aacp:1.1|res:invoice|amt:4200.50|ccy:GBP|sup:ABC-Ltd|match:PO-441|terms:net30|req:validate,schedule_pay
    PROC|FIN|return:FIN-Agent|p:2|aacp:1.1|res:bank_transfer|amt:4200.50|ccy:GBP|sup:ABC-Ltd|terms:net30|req:schedule,confirm
    LOG|FIN|return:AUD-Agent|p:3|aacp:1.1|filter:inv=INV-7|amt:4200.50|ccy:GBP|sup:ABC-Ltd|status:ok|actor:FIN-Agent
    ");
}

#[test]
fn aacp_33_refuses_an_amount_that_is_not_a_number() {
    let values = [("supplier", "a"), ("amount", "much"), ("currency", "GBP")];
    insta::assert_snapshot!(error("invoice", Some("schedule_payment"), &values), @"`amount`: the value is not a decimal number; write digits and `.`, such as 4200.50");
}

#[test]
fn aacp_34_accepts_the_three_hops_of_a_review() {
    let values = [
        ("contract_type", "nda"),
        ("party", "Acme Ltd"),
        ("clause_ref", "s7"),
        ("issue", "IP rights restriction"),
        ("risk", "HIGH"),
        ("recommendation", "do_not_sign"),
    ];
    insta::assert_snapshot!(made("contract", &values).join("\n"), @"
    FLAG|LEGAL|return:LEG-Agent|p:1|aacp:1.1|type:NDA|party:Acme-Ltd|risk:medium|req:clause_review,risk_assess,sign_recommend
    FLAG|LEGAL|return:LEG-Agent|p:1|aacp:1.1|type:NDA|party:Acme-Ltd|clause:s7|issue:ip_rights_restriction|risk:high|block:signature|req:senior_review
    LOG|LEGAL|return:AUD-Agent|p:2|aacp:1.1|type:NDA|party:Acme-Ltd|risk:high|status:do_not_sign|actor:LEG-Agent
    ");
}

#[test]
fn aacp_34_refuses_a_review_of_no_contract() {
    insta::assert_snapshot!(error("contract", Some("request_review"), &[]), @"no value for `contract_type`, `party`; give one for each");
}

#[test]
fn aacp_35_accepts_a_workflow_as_data() {
    let text = r#"{ "name": "greet", "meaning": "Greet people", "hops": [
        { "name": "hello", "meaning": "Say hello", "task": "SEND", "dom": "CS",
          "return": "CS-Agent", "p": "3",
          "parameters": [{ "name": "who", "kind": "list", "rewrite": ["lower", "space-to-hyphen"] }],
          "fields": { "subj": "hello-{who}", "to": "{who}" } } ] }"#;
    let greet = Workflow::from_json("greet.json", text, Vocabulary::standard()).unwrap();
    let packets = greet
        .encode(None, &[("who", "Ann B,Bob"), ("p", "1")])
        .unwrap();
    assert_eq!(
        packets[0].1.text(),
        "SEND|CS|return:CS-Agent|p:1|aacp:1.1|to:ann-b,bob|subj:hello-ann-b,bob"
    );
}

#[test]
fn aacp_35_refuses_a_workflow_with_a_mistake() {
    let text = r#"{ "name": "greet", "meaning": "Greet people", "hops": [
        { "name": "hello", "meaning": "Say hello", "task": "SEND", "dom": "CS",
          "return": "CS-Agent", "p": "3", "fields": { "to": "{who}" } } ] }"#;
    let problems = Workflow::from_json("greet.json", text, Vocabulary::standard());
    insta::assert_snapshot!(problems.unwrap_err().to_string(), @"
    greet.json:3:55 at /hops/0/fields/to: `who` is not a parameter of this hop
        declare it under `parameters`
    ");
}
