//! Fuzzes the compression of lists. The input is a list of messages, or chooses what happens in a conversation.
//! Nothing may panic, and a repair must give each call its result. A valid list must stay valid and fit its window,
//! and a second compression must change nothing.
#![no_main]

#[path = "../../crates/memory/memory/tests/common/mod.rs"]
mod common;
#[path = "context/script.rs"]
mod script;

use std::collections::BTreeSet;

use accp_frame::TokenCounter as _;
use accp_memory::{
    Code, FileLookup, Form, ListSession, MessageList, Options, PlanError, SessionId, Window, check,
    repair,
};
use common::lists;
use common::quarters::Quarters;

/// The greatest number of shorter versions of a conversation that are compressed before the whole conversation.
const STEPS: usize = 4;

/// The written files, and the time in seconds. Each compression gets another second, because two summaries with the
/// same text and the same second would be identical.
#[derive(Default)]
struct Files(BTreeSet<String>, i64);

impl FileLookup for Files {
    fn is_taken(&self, path: &str) -> bool {
        self.0.contains(path)
    }

    fn written(&self, _: &str) -> Option<String> {
        None
    }
}

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    if let [form @ 1..=3, shape, rest @ ..] = bytes {
        return of_script(*form, *shape, rest);
    }
    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    let forms = [Form::OpenAi, Form::Anthropic, Form::Responses].map(Some);
    for form in forms.into_iter().chain([None]) {
        match MessageList::read(text, form) {
            Ok(list) => of_list(&list),
            Err(fault) => assert!(fault.text.len() > 10, "{fault:?}"),
        }
    }
});

fn of_list(list: &MessageList) {
    let again = MessageList::read(&list.to_string(), Some(list.form())).expect("it was read");
    assert_eq!(raws(&again), raws(list));
    let faults = check(list);
    for fault in &faults {
        assert!(fault.text.len() > 10, "{fault:?}");
    }
    if let Ok((mended, repairs)) = repair(list) {
        let paired = [
            Code::ResultMissing,
            Code::ResultMisplaced,
            Code::ResultOrphan,
            Code::ResultRepeated,
        ];
        let left = check(&mended).into_iter();
        let left: Vec<_> = left.filter(|fault| paired.contains(&fault.code)).collect();
        assert!(left.is_empty(), "{left:?}\n{mended}");
        if faults.is_empty() {
            assert!(repairs.is_empty(), "{repairs:?}");
            assert_eq!(mended.to_string(), list.to_string());
        }
    }
    if faults.is_empty() {
        // One window is about as large as the list, and the other about a third of it.
        let tokens = Quarters.count(&list.to_string()) as u64;
        for size in [tokens + 20, tokens / 3 + 20] {
            grows(list, size);
        }
    }
}

/// Lets a conversation grow in some steps, and compresses it at each step. The compression gets the whole
/// conversation, as from some programs, or the last compressed list with the messages since then.
fn of_script(form: u8, shape: u8, rest: &[u8]) {
    let form = [Form::OpenAi, Form::Anthropic, Form::Responses][usize::from(form) - 1];
    let (size, is_whole) = (
        [600, 900, 1_500, 4_000][usize::from(shape % 4)],
        shape & 4 == 0,
    );
    let window = Window::of(size)
        .expect("a window")
        .with_stress(shape & 8 == 0);
    let script = script::Choices(rest).script();
    let messages = lists::render::messages(form, &script);
    let list = lists::list(form, &messages);
    of_list(&list);
    let all = raws(&list);
    let mut session = ListSession::new(SessionId::new("s").expect("an id"), form);
    let mut files = Files::default();
    let (mut shown, mut said) = (Vec::new(), 0);
    let step = all.len() / STEPS + 1;
    let ends = (1..all.len()).step_by(step).chain([all.len()]);
    for end in ends {
        let since = all[said..end].iter().map(|raw| (*raw).to_owned());
        let given: Vec<_> = if is_whole {
            all[..end].iter().map(|raw| (*raw).to_owned()).collect()
        } else {
            shown.iter().cloned().chain(since).collect()
        };
        let given = MessageList::of(form, given.iter().map(String::as_str)).expect("messages");
        // A list that ends within a turn may break a rule. The target leaves such a list out.
        if check(&given).is_empty() && compress(&mut session, &mut files, &given, &window) {
            let plan = session.plan(&given, &options(&window, &files), &files, &mut ());
            let out = plan.expect("it was planned before").list(&given);
            shown = raws(&out).into_iter().map(str::to_owned).collect();
            said = end;
            let restored = session.restored().expect("messages");
            assert_eq!(raws(&restored), all[..said]);
        }
    }
}

/// Compresses the first half of a list, and then the whole list.
fn grows(list: &MessageList, size: u64) {
    let window = Window::of(size).expect("a window").with_stress(true);
    let mut session = ListSession::new(SessionId::new("s").expect("an id"), list.form());
    let mut files = Files::default();
    let raws = raws(list);
    let half = raws[..raws.len() / 2].iter().copied();
    let half = MessageList::of(list.form(), half).expect("messages");
    if check(&half).is_empty() {
        compress(&mut session, &mut files, &half, &window);
    }
    if compress(&mut session, &mut files, list, &window) {
        let restored = session.restored().expect("messages");
        assert_eq!(self::raws(&restored), raws);
    }
}

/// Compresses a list, and then compresses the result and the list again. Returns whether the first
/// compression gave a list.
fn compress(
    session: &mut ListSession,
    files: &mut Files,
    list: &MessageList,
    window: &Window,
) -> bool {
    files.1 += 1;
    let plan = match session.plan(list, &options(window, files), files, &mut ()) {
        Ok(plan) => plan,
        Err(PlanError::OverWindow(_) | PlanError::NoRoom(_)) => return false,
        Err(error) => panic!("the list is valid, and it is refused: {error}\n{list}"),
    };
    let out = plan.list(list);
    assert_eq!(check(&out), [], "{out}");
    assert_eq!(window.count(&out, &Quarters), plan.after);
    assert!(plan.after <= window.room());
    session.apply(&plan);
    for file in &plan.files {
        let is_new = files.0.insert(file.path.clone());
        assert!(is_new || file.grows, "{}", file.path);
    }
    // The conversation has no new messages, so planning again for either list changes nothing.
    for given in [&out, list] {
        let plan = session.plan(given, &options(window, files), files, &mut ());
        let plan = plan.expect("it was planned before");
        let is_quiet = plan.events.is_empty() && plan.files.is_empty();
        assert!(is_quiet, "{:?}\n{given}\n{list}", plan.events);
        assert_eq!(raws(&plan.list(given)), raws(&out));
    }
    true
}

fn options<'w>(window: &'w Window, files: &Files) -> Options<'w> {
    let now = time::OffsetDateTime::UNIX_EPOCH + time::Duration::seconds(files.1);
    Options::new(window, &Quarters, now)
}

fn raws(list: &MessageList) -> Vec<&str> {
    list.messages()
        .iter()
        .map(|message| message.raw())
        .collect()
}
