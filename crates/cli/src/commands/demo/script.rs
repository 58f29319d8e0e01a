//! The script of the demo with five agents. It uses the domain profiles of the draft (section 10), one after the
//! other.

/// The host of the session.
pub(super) const HOST: &str = "planner";
/// The members.
pub(super) const MEMBERS: [&str; 4] = ["research", "analyst", "dev", "reviewer"];

/// The text that the demo prints first.
pub(super) const INTRODUCTION: &str = "\
Five agents share a session: planner, its host, and research, analyst, dev and
reviewer. Frames are shown without their envelopes, each with its twin in plain
words. A checkpoint (*) is shown with its reason, the frames that moved from hot
to cold state, and the size of the context, of at most 500 hot and 2000 warm
tokens.
";

/// The agent that reads values back at the end.
pub(super) const READER: &str = "reviewer";
/// The references to read: a value, a fact, a frame.
pub(super) const READ: [&str; 3] = ["cold.k100_1", "warm.ckpt_3.web", "cold.p9"];

/// A step of the script. Frames are written without their envelopes.
#[derive(Debug, Clone, Copy)]
pub(super) enum ScriptStep {
    /// An agent sends a frame.
    Say(&'static str),
    /// An agent sends a request. Only the script uses the name of the chain.
    Ask(&'static str, &'static str),
    /// The agent that was asked answers. The mark that the request is handled is committed with the answer.
    Answer(&'static str, &'static str),
    /// The agent that was asked answers, but the host is killed before the agent gets an acknowledgement.
    AnswerInCrash(&'static str, &'static str),
    /// The agent that asked cancels the request.
    Cancel(&'static str, &'static str),
    /// An agent sends a frame of a stream, with this name as the `cid` of the stream.
    Stream(&'static str, &'static str),
    /// The application says that a phase of the work is over.
    Phase,
}

use ScriptStep::{Answer, AnswerInCrash, Ask, Cancel, Phase, Say, Stream};

/// The steps of the demo.
pub(super) const SCRIPT: &[ScriptStep] = &[
    Say("@planner>sync:state{v:1|delta:{goal:q3_review,sales_db:crm_prod}}"),
    Ask(
        "findings",
        "@planner>req:schedule{asgn:research|task:q3_findings|schema:TA}",
    ),
    Ask(
        "search",
        "@research>req:tool{tool:web_search|args:{q:Q3,max:5}|schema:TC}",
    ),
    Answer(
        "search",
        "@planner>done:tool{tool:web_search|res:{hits:[\"\
         Revenue_fell_12_%_on_the_quarter\\,_most_of_it_in_the_enterprise_segment.,\"\
         Churn_rose_by_3.2_points_after_the_price_list_changed_in_August.]}|schema:TC}",
    ),
    Ask(
        "lookup",
        "@analyst>qry:lookup{src:$ctx.sales_db|q:by_region}",
    ),
    Answer(
        "lookup",
        "@planner>done:lookup{d:{north:412.5,south:388.0,web:97.25}}",
    ),
    Answer(
        "findings",
        "@research>done:analyze{d:q3_sales|f:{rev:-12%QoQ,churn:+3.2%}}",
    ),
    Ask(
        "question",
        "@reviewer>req:chat{content:What_are_Q3_findings?|turn:1|schema:CH}",
    ),
    Answer(
        "question",
        "@analyst>done:chat{content:Revenue_declined_12%.|turn:2|schema:CH}",
    ),
    Ask(
        "alert",
        "@planner>req:schedule{asgn:dev|task:churn_alert|pri:high|schema:TA}",
    ),
    Ask(
        "payment",
        "@dev>req:transaction{txn:txn_001|amt:142.5|schema:TX}",
    ),
    Answer(
        "payment",
        "@planner>done:transaction{txn:txn_001|stat:settled|schema:TX}",
    ),
    Stream(
        "report_1",
        "@dev>stream:infer{idx:0|tot:2|d:\
         The_alert_watches_churn_by_segment_and_by_region._It_compares_each_week_with_the_four_\
         weeks_before_and_speaks_up_when_the_difference_is_over_two_points\\,_once_a_day_at_most._\
         Thresholds_are_kept_in_the_table_churn_limits_and_can_be_changed_without_a_release._A_\
         dry_run_over_the_last_two_quarters_would_have_raised_seven_alerts\\,_five_of_them_in_the_\
         enterprise_segment\\,_the_first_on_9_August\\,_three_days_after_the_price_list_changed._\
         Each_alert_names_the_segment\\,_the_region\\,_the_week_and_the_customers_that_left._|schema:ST}",
    ),
    Stream(
        "report_1",
        "@dev>stream:infer{idx:1|tot:2|done:true|d:\
         Two_of_the_seven_were_false\\:_a_customer_that_merged_with_another_and_one_that_moved_to_\
         yearly_invoices._Both_are_filtered_now._What_is_left_to_do\\:_a_page_for_the_sales_team_\
         that_shows_which_customers_stand_behind_an_alert\\,_a_limit_for_regions_with_fewer_than_\
         fifty_customers\\,_and_the_migration_of_the_old_reports\\,_which_nobody_has_opened_since_\
         March_and_which_could_be_dropped_instead._Two_days_of_work\\,_three_with_the_migration.\
         _Nothing_in_it_has_to_wait_for_the_next_sprint.|schema:ST}",
    ),
    Stream("report_1", "@dev>end:infer{}"),
    Say("@dev>fail:error{code:E4002|msg:Table_is_locked|retry:true|schema:ER}"),
    Ask(
        "reports",
        "@planner>req:execute{asgn:dev|task:move_reports|schema:TA}",
    ),
    Say("@dev>esc:review{q:drop_old_reports|pri:high}"),
    Cancel("reports", "@planner>cancel:execute{}"),
    Say("@planner>sync:state{v:2|delta:{task_1:done,task_2:wip}}"),
    AnswerInCrash(
        "alert",
        "@dev>done:schedule{task:churn_alert|stat:complete|schema:TA}",
    ),
    Phase,
    Ask(
        "evidence",
        "@reviewer>qry:explain{src:$cold.k100_1|d:$warm.ckpt_3.web}",
    ),
    Answer(
        "evidence",
        "@analyst>done:explain{stat:confirmed|d:$cold.k100_1}",
    ),
    Say("@reviewer>comp:state{}"),
    Say("@planner>sync:state{v:3|delta:{task_2:done,goal:~}}"),
];

impl ScriptStep {
    /// Returns the answer, if this step answers the chain `asked`.
    pub(super) fn answer_to(&self, asked: &str) -> Option<&'static str> {
        match self {
            Answer(chain, frame) | AnswerInCrash(chain, frame) if *chain == asked => Some(frame),
            _ => None,
        }
    }
}
