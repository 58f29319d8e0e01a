//! The workflows of AACP as types.
//!
//! `accp generate --aacp -o tests/goldens/workflows.rs` writes the types anew, and with `--owned` those
//! in `workflows_owned.rs`.

use std::path::Path;

use accp_aacp::{DecodePacket as _, EncodePacket as _, Workflow};
use accp_build::{WorkflowOptions, generate_workflows};

use super::goldens::{workflows, workflows_owned};

/// Checks the structs that are generated for the hops of a workflow, with borrowed and with owned texts. Each
/// struct must write the packet that the workflow writes, and read it back.
macro_rules! hops {
    ($($workflow:ident.$hop:literal => $ty:ident($($name:literal: $value:expr),*);)*) => {$(
        let values: &[(&str, &str)] = &[$(($name, $value)),*];
        let workflow = Workflow::named(stringify!($workflow)).unwrap();
        let packets = workflow.encode(Some($hop), values).unwrap();
        let [(_, packet)] = &packets[..] else { panic!("one hop makes one packet") };
        let typed = workflows::$workflow::$ty::new($($value),*);
        assert_eq!(typed.to_packet().unwrap(), packet.text());
        assert_eq!(workflows::$workflow::$ty::decode(packet.text()), Ok(typed));
        let typed = workflows_owned::$workflow::$ty::new($($value),*);
        assert_eq!(typed.to_packet().unwrap(), packet.text());
        assert_eq!(workflows_owned::$workflow::$ty::decode(packet.text()), Ok(typed));
    )*};
}

/// The 18 hops of the four workflows, as types.
#[test]
fn aacp_35_generated_types_write_what_the_workflows_write() {
    hops! {
        payroll."fetch_employees" => FetchEmployees("period": "2024-08");
        payroll."fetch_budgets" => FetchBudgets("period": "2024-08");
        payroll."merge_and_calculate" => MergeAndCalculate();
        payroll."generate_report" => GenerateReport();
        payroll."log_run" => LogRun();
        payroll."send_report" => SendReport("period": "2024-08");
        it."create_ad_account" => CreateAdAccount("username": "j.smith");
        it."provision_email" => ProvisionEmail("email": "j.smith@example.com");
        it."provision_vpn" => ProvisionVpn("username": "j.smith");
        it."provision_crm" => ProvisionCrm("username": "j.smith");
        it."provision_badge" => ProvisionBadge("username": "j.smith");
        it."log_provisioning" => LogProvisioning("username": "j.smith");
        invoice."process_invoice" => ProcessInvoice(
            "supplier": "ABC Ltd", "amount": "4200", "currency": "gbp", "purchase_order": "PO-441"
        );
        invoice."schedule_payment" => SchedulePayment(
            "supplier": "ABC Ltd", "amount": "4200.50", "currency": "GBP"
        );
        invoice."log_invoice" => LogInvoice(
            "invoice_ref": "INV-7", "supplier": "ABC Ltd", "amount": "4200", "currency": "gbp"
        );
        contract."request_review" => RequestReview("contract_type": "nda", "party": "Acme Ltd");
        contract."flag_clause" => FlagClause(
            "contract_type": "nda", "party": "Acme Ltd", "clause_ref": "s7",
            "issue": "IP rights restriction"
        );
        contract."log_review" => LogReview(
            "contract_type": "nda", "party": "Acme Ltd", "risk": "HIGH", "recommendation": "sign"
        );
    }
    let hops: usize = Workflow::standard()
        .iter()
        .map(|workflow| workflow.hops.len())
        .sum();
    assert_eq!(hops, 18);
}

/// A caller may give an empty value for a parameter with a default. Then the workflow leaves the field
/// out, and the type can do so as well.
#[test]
fn a_field_that_a_workflow_leaves_out_is_an_option() {
    let payroll = Workflow::named("payroll").unwrap();
    let packets = payroll.encode(Some("log_run"), &[("status", ""), ("chain", "")]);
    let packets = packets.unwrap();
    let text = packets[0].1.text();
    assert_eq!(text, "LOG|HR|return:AUD-Agent|p:2|aacp:1.1|actor:HR-Agent");
    let mut typed = workflows::payroll::LogRun::new();
    (typed.status, typed.chain) = (None, Vec::new());
    assert_eq!(typed.to_packet().unwrap(), text);
    assert_eq!(workflows::payroll::LogRun::decode(text), Ok(typed));
}

#[test]
fn aacp_35_generated_files_are_up_to_date() {
    let goldens = Path::new(env!("CARGO_MANIFEST_DIR")).join("goldens");
    for (name, owned) in [("workflows.rs", false), ("workflows_owned.rs", true)] {
        let options = WorkflowOptions {
            owned,
            ..WorkflowOptions::default()
        };
        let text = generate_workflows(Workflow::standard(), &options).unwrap();
        accp_build::check(goldens.join(name), &text).unwrap();
    }
}
