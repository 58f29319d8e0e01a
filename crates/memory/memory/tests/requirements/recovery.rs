//! Tests of the requirements for recovery (CTX-45 to CTX-47), integration (CTX-48 and CTX-49) and testing (CTX-62 to
//! CTX-65).

use accp_memory::disk::ContextError;
use accp_memory::disk::index::Filter;
use accp_memory::{Event, Hooks, Indicator, State, Tier, Verdict};
use serde_json::{Value as Json, json};

use crate::requirements::session::{TestSession, raws, summary, tiers};
use crate::requirements::talk::{INTENT, Talk, rows};

/// Returns a session in which the messages with the orders have left the list.
fn orders() -> TestSession {
    let session = TestSession::of(10_000);
    let mut talk = Talk::begun();
    for number in 12_340..12_350 {
        let order = format!(
            "order ORD-{number}: {} bags of larch screws, price 4.{number}",
            number % 7
        );
        talk = talk.used(
            "get_order",
            json!({ "id": format!("ORD-{number}") }),
            &order,
        );
    }
    let talk = talk.used("list_stock", json!({}), &rows(2_600));
    let done = session.compress(&talk.up_to(10_500, &session.window).list());
    assert_eq!(tiers(&done), [Tier::One, Tier::Three]);
    assert!(!done.list.to_string().contains("price 4.12346"));
    session
}

#[test]
fn ctx_45_accepts_the_file_that_matters_and_a_section_of_it() {
    let session = orders();
    let hits = session.search("row 321", &Filter::default());
    assert_eq!(
        hits[0].file,
        "cache/offloaded/20260129_142530_list_stock.md"
    );
    assert!(
        hits[0].text.contains("row 321: 321 bags of rye"),
        "{hits:?}"
    );
    let (first, last) = hits[0].lines;
    assert!((first..=last).contains(&321));
}

#[test]
fn ctx_45_refuses_whole_files_and_files_outside_the_filter() {
    let session = orders();
    let filter = Filter {
        path: Some("cache/offloaded".into()),
        ..Filter::default()
    };
    let hits = session.search("row 321", &filter);
    assert!(!hits.is_empty());
    for hit in hits {
        assert!(hit.lines.1 - hit.lines.0 < 30, "{hit:?}");
        assert!(hit.text.lines().count() <= 30);
        assert!(hit.file.starts_with("cache/offloaded/"));
    }
}

#[test]
fn ctx_46_accepts_one_interaction_of_the_whole_conversation() {
    let session = orders();
    let filter = Filter {
        tool: Some("get_order".into()),
        role: Some("tool".into()),
        ..Filter::default()
    };
    let hits = session.search("what is in ORD-12346?", &filter);
    assert_eq!(hits[0].file, "cache/conversations/trip_full.md");
    assert_eq!((hits[0].message, &*hits[0].role), (Some(14), "tool"));
    assert!(hits[0].text.contains("price 4.12346"), "{hits:?}");
}

#[test]
fn ctx_46_refuses_a_near_twin_before_the_one_that_is_asked_for() {
    let session = orders();
    for number in 12_340..12_350 {
        let hits = session.search(&format!("ORD-{number}"), &Filter::default());
        assert!(hits[0].text.contains(&format!("ORD-{number}")), "{hits:?}");
    }
}

#[test]
fn ctx_47_accepts_a_fact_by_its_exact_text_in_few_lines() {
    let session = orders();
    let hits = session.exact("price 4.12346");
    assert_eq!(hits.len(), 1);
    assert!(
        hits[0]
            .text
            .contains("order ORD-12346: 5 bags of larch screws")
    );
    let archive = session.read("cache/conversations/trip_full.md");
    assert!(hits[0].text.len() * 20 < archive.len());
}

#[test]
fn ctx_47_refuses_to_find_what_nobody_said() {
    let session = orders();
    assert_eq!(session.exact("price 4.99999"), []);
    assert_eq!(session.exact("price_4.12346"), []);
    assert_eq!(session.exact("%"), []);
}

#[test]
fn ctx_48_accepts_checkpoints_with_the_trigger_of_the_session_in_the_cache() {
    let session = orders();
    let text = session.read("cache/checkpoints/trip_1.json");
    let checkpoint: Json = serde_json::from_str(&text).unwrap();
    assert_eq!(checkpoint["on"], json!(["hot"]));
    assert_eq!(checkpoint["session"], "trip");
    assert_eq!(checkpoint["archive"], "cache/conversations/trip_full.md");
    assert!(
        checkpoint["list"][0]["content"]
            .as_str()
            .unwrap()
            .starts_with("## Session Summary")
    );
    let number = session.with(&(), |options| session.open().checkpoint(options).unwrap());
    assert_eq!(number, 2);
    assert!(
        session
            .files()
            .contains_key("cache/checkpoints/trip_2.json")
    );
    assert_eq!(session.open().checkpoint_text(1).unwrap(), text);
}

#[test]
fn ctx_48_refuses_a_checkpoint_that_was_not_taken() {
    let session = orders();
    for number in [0, 2, u64::MAX] {
        let refused = session.open().checkpoint_text(number);
        assert!(matches!(
            refused,
            Err(ContextError::NoCheckpoint { of: 1, .. })
        ));
    }
    let fresh = TestSession::of(10_000);
    let refused = fresh.with(&(), |options| fresh.open().checkpoint(options));
    assert!(matches!(refused, Err(ContextError::NoSession { .. })));
}

/// Hooks that note each tier, and defer one kind of tier.
#[derive(Default)]
struct Heard {
    off: Option<Tier>,
    before: Vec<Event>,
    after: Vec<Event>,
}

impl Hooks for Heard {
    fn before(&mut self, event: &Event) -> Verdict {
        self.before.push(event.clone());
        if self.off == Some(event.tier) {
            Verdict::Defer
        } else {
            Verdict::Act
        }
    }

    fn after(&mut self, event: &Event) {
        self.after.push(event.clone());
    }
}

#[test]
fn ctx_49_accepts_reports_of_use_and_of_each_tier() {
    let session = TestSession::of(10_000);
    let list = Talk::begun().up_to(7_600, &session.window).list();
    let mut heard = Heard::default();
    let done = session.compress_with(&list, &mut heard);
    assert_eq!(heard.before, done.events);
    assert_eq!(heard.after, done.events);
    assert_eq!(heard.after[0].before, 7_600);
    let used = session.open().begun().unwrap().usage().unwrap();
    assert_eq!((used.tokens, used.room), (done.after, 10_000));
    assert_eq!(done.state, session.window.state(used.tokens));
}

#[test]
fn ctx_49_refuses_to_act_where_the_program_puts_it_off_and_the_list_fits() {
    let session = TestSession::of(10_000);
    let list = Talk::begun().up_to(7_600, &session.window).list();
    let mut heard = Heard {
        off: Some(Tier::Three),
        ..Heard::default()
    };
    let done = session.compress_with(&list, &mut heard);
    assert_eq!(raws(&done.list), raws(&list));
    assert!(done.events[0].deferred && done.events[0].saved == 0);
    assert_eq!(done.state, State::Red);
    // A list over the window is compressed although the program puts the tier off.
    let over = TestSession::of(10_000);
    let list = Talk::begun().up_to(10_500, &over.window).list();
    let done = over.compress_with(&list, &mut heard);
    assert!(!done.events[0].deferred && done.after < 10_000);
}

#[test]
fn ctx_62_accepts_all_tiers_from_a_quarter_on_under_stress() {
    let session = TestSession::of(10_000).stress();
    let list = Talk::begun()
        .used("stock", json!({ "of": "rye" }), &rows(1_100))
        .wrote("a.md", &rows(1_100), "File written")
        .up_to(5_600, &session.window)
        .list();
    let done = session.compress(&list);
    assert_eq!(tiers(&done), [Tier::One, Tier::Two, Tier::Three]);
    let exact = TestSession::of(10_000).stress();
    let done = exact.compress(&Talk::begun().up_to(2_500, &exact.window).list());
    assert_eq!(
        (tiers(&done), done.events[0].before),
        (vec![Tier::Three], 2_500)
    );
}

#[test]
fn ctx_62_refuses_to_act_from_a_quarter_on_without_stress() {
    let session = TestSession::of(10_000);
    let done = session.compress(&Talk::begun().up_to(2_500, &session.window).list());
    assert_eq!(tiers(&done), []);
    let under = TestSession::of(10_000).stress();
    let done = under.compress(&Talk::begun().up_to(2_499, &under.window).list());
    assert_eq!(tiers(&done), []);
}

#[test]
fn ctx_63_accepts_facts_that_are_found_after_compression() {
    let session = orders();
    for number in 12_340..12_350 {
        let hits = session.exact(&format!("price 4.{number}"));
        assert!(hits[0].text.contains(&format!("ORD-{number}")), "{hits:?}");
    }
}

#[test]
fn ctx_63_refuses_to_lose_a_fact_with_the_index() {
    let session = orders();
    assert_eq!(session.exact("price 4.12346").len(), 1);
    for damage in [None, Some(b"not a database".as_slice())] {
        let index = session.root().join("cache/index.db");
        for entry in std::fs::read_dir(session.root().join("cache")).unwrap() {
            let path = entry.unwrap().path();
            if path.display().to_string().contains("index.db") {
                std::fs::remove_file(path).unwrap();
            }
        }
        if let Some(bytes) = damage {
            std::fs::write(index, bytes).unwrap();
        }
        assert_eq!(session.exact("price 4.12346").len(), 1);
    }
}

#[test]
fn ctx_64_accepts_a_task_that_goes_on_in_a_fresh_session_with_its_intent() {
    let session = orders();
    let fresh = session.with(&(), |options| session.open().resume(options).unwrap());
    assert!(summary(&fresh).contains(INTENT));
    assert_eq!(fresh.messages().len(), 2);
    let more = Talk::after(&fresh).assistant("Let me draw the walls of the garden shed.");
    let done = session.compress(&more.list());
    assert_eq!((done.drift, raws(&done.list)), (vec![], raws(&more.list())));
}

#[test]
fn ctx_64_refuses_a_list_of_another_task() {
    let session = orders();
    let other = Talk::default().user("Bake bread.").list();
    let refused = session.attempt(&other).unwrap_err().to_string();
    assert!(refused.contains("begin another session"), "{refused}");
    let text = session.open().begun().unwrap().intent();
    assert_eq!(text, [INTENT]);
}

/// Returns the signs in a text after a summary.
fn signs(text: &str) -> Vec<Indicator> {
    let session = orders();
    let list = session.with(&(), |options| session.open().resume(options).unwrap());
    let done = session.compress(&Talk::after(&list).assistant(text).list());
    done.drift.into_iter().map(|sign| sign.indicator).collect()
}

#[test]
fn ctx_65_accepts_planted_faults_as_found() {
    assert_eq!(signs("The task is complete."), [Indicator::Done]);
    assert_eq!(signs("Let me compose a pop song."), [Indicator::Unrelated]);
}

#[test]
fn ctx_65_refuses_to_find_faults_where_none_were_planted() {
    assert_eq!(signs("I draw the plan of the garden shed now."), []);
}
