//! Judges, which decide whether a message is a sign of drift.

use super::case::{Case, Sign};
use super::kind::Indicator;
use super::{clarification, contradiction, done, missing, unrelated};
use crate::prose::may_be_english;

/// Judges a message of an assistant after a summary.
///
/// A judge only warns and never stops anything. It may miss drift, or see drift where there is none. It is called
/// once for each of the next six messages of the assistant. A judge that asks a model returns no sign if the model
/// does not answer.
///
/// The judge in this example knows one more sentence of a model that has lost its task. The program adds this judge to
/// the judges by words:
///
/// ```
/// use accp_memory::{Case, Indicator, Judge, LEXICAL, Sign};
///
/// struct Shrugs;
///
/// impl Judge for Shrugs {
///     fn judge(&self, case: &Case<'_>) -> Vec<Sign> {
///         if !case.message().text.contains("what were we doing") {
///             return Vec::new();
///         }
///         let intent = case.intent().into_iter().map(|(message, _)| message);
///         vec![Sign::new(Indicator::Clarification, "has lost the task", intent.collect())]
///     }
/// }
///
/// let mut judges = LEXICAL.to_vec();
/// judges.push(&Shrugs);
/// # use accp_memory::{Form, MessageList, Options, ListSession, SessionId, Window};
/// # let counter = accp_tokens::Bpe::o200k_base();
/// # let window = Window::of(2_000)?;
/// let options = Options {
///     judges: &judges,
///     ..Options::new(&window, &counter, time::OffsetDateTime::now_utc())
/// };
/// # let mut session = ListSession::new(SessionId::new("s")?, Form::OpenAi);
/// # let said = |role: &str, text: &str| serde_json::json!({ "role": role, "content": text }).to_string();
/// # let mut said_so_far = vec![said("user", "Plan a shed."), said("assistant", &"Rye. ".repeat(850)), said("user", "And?")];
/// # let list = MessageList::of(Form::OpenAi, said_so_far.iter().map(String::as_str))?;
/// # let plan = session.plan(&list, &options, &(), &mut ())?;
/// # assert_eq!(plan.events.len(), 1);
/// # session.apply(&plan);
/// # said_so_far.push(said("assistant", "Sorry, what were we doing?"));
/// # let list = MessageList::of(Form::OpenAi, said_so_far.iter().map(String::as_str))?;
/// let plan = session.plan(&list, &options, &(), &mut ())?;
/// assert_eq!(plan.drift[0].evidence, "has lost the task");
/// assert!(plan.drift[0].recovered);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait Judge {
    /// Returns the signs of drift in a message: none, or one for each matter in which the message shows drift.
    fn judge(&self, case: &Case<'_>) -> Vec<Sign>;
}

/// Judges one indicator by words, without a model. It reads English, and sees no signs in a message in another
/// language. Only a missing constraint is looked for in the list, whatever the language of the message.
#[derive(Debug, Clone, Copy)]
pub struct Lexical(
    /// The indicator that is judged.
    pub Indicator,
);

/// The judges by words, one for each indicator. A program without a judge of its own uses these.
///
/// ```
/// use accp_memory::{Indicator, LEXICAL};
/// assert_eq!(LEXICAL.len(), Indicator::ALL.len());
/// ```
pub const LEXICAL: &[&dyn Judge] = &[
    &Lexical(Indicator::Clarification),
    &Lexical(Indicator::Done),
    &Lexical(Indicator::Unrelated),
    &Lexical(Indicator::Contradiction),
    &Lexical(Indicator::Constraint),
];

impl Judge for Lexical {
    fn judge(&self, case: &Case<'_>) -> Vec<Sign> {
        // A missing constraint is found in the list, whatever the language of the message.
        if self.0 != Indicator::Constraint && !may_be_english(&case.message.text) {
            return Vec::new();
        }
        match self.0 {
            Indicator::Clarification => clarification::judge(case),
            Indicator::Done => done::judge(case).into_iter().collect(),
            Indicator::Unrelated => unrelated::judge(case).into_iter().collect(),
            Indicator::Contradiction => contradiction::judge(case),
            Indicator::Constraint => missing::judge(case),
        }
    }
}

/// Returns the signs that all judges see in a message, at most `most`. A sign that several judges see counts once.
pub(crate) fn judged(judges: &[&dyn Judge], case: &Case<'_>, most: usize) -> Vec<Sign> {
    let mut found: Vec<Sign> = Vec::new();
    for judge in judges {
        let mut signs = judge.judge(case);
        signs.retain(|sign| !found.iter().any(|known| known.is_same(sign)));
        found.append(&mut signs);
    }
    found.truncate(most);
    found
}
