//! Phrases of models. The first half of each list is for the conversations that judges are developed with.

/// Phrases that ask for `{a}`.
pub(crate) const ASKS: [&str; 16] = [
    "Could you please provide your {a}?",
    "What is the {a}?",
    "Please share the {a} so that I can continue.",
    "May I have the {a}, please?",
    "To go on, I need the {a}. Can you give it to me?",
    "Can you tell me which {a} this is about?",
    "Please confirm the {a} for me.",
    "I do not have the {a}. What was it?",
    "I'd be glad to help - kindly supply the {a}.",
    "Just to be sure, what's the {a} again?",
    "Which {a} do you mean?",
    "Before I can continue I have to ask you for the {a}.",
    "It looks like the {a} is missing. Mind passing it along?",
    "Do you happen to have the {a} at hand?",
    "One thing that I still need from you: the {a}.",
    "Would you be so kind as to state the {a}?",
];
/// Phrases that say that all is done.
pub(crate) const DONE: [&str; 12] = [
    "The task is complete.",
    "Everything you asked for is done. Have a nice day!",
    "I have finished the work.",
    "All done!",
    "Your request has been completed.",
    "That's it, the whole job is finished.",
    "We're all set: nothing remains to be done.",
    "I've wrapped everything up for you.",
    "The assignment is now fully accomplished.",
    "With that, all your wishes have been taken care of.",
    "And we are finished - the entire task is concluded.",
    "Consider it done, the job is closed.",
];
/// Phrases that repeat a decision, `{d}`.
pub(crate) const RESTATES: [&str; 8] = [
    "{d}",
    "As decided: {d}",
    "So, {d}",
    "Now I go on. {d}",
    "To sum up, {d}",
    "Moving on: {d}",
    "Good. {d}",
    "Here is where we are. {d}",
];

/// Returns the first half of the phrases if `is_known` is true, and otherwise the second half.
pub(crate) fn half<'p>(all: &'p [&'p str], is_known: bool) -> &'p [&'p str] {
    let (known, other) = all.split_at(all.len() / 2);
    if is_known { known } else { other }
}
