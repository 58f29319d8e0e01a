//! Phrases that people and models use. The first half of each list is for tuning, the second half is held out.
//!
//! [`filled`] replaces `{a}`, `{b}` and so on by words of a scenario.

/// How a user tells `{a}`, whose value is `{b}`.
pub(super) const TOLD: [&str; 6] = [
    "The {a} is {b}.",
    "By the way, {b} is the {a}.",
    "You should know the {a}: it's {b}.",
    "For the {a}, take {b}.",
    "As to the {a} - that would be {b}.",
    "Note the {a}, which is {b}.",
];
/// How a model asks for `{a}`.
pub(super) const ASKS: [&str; 12] = [
    "Could you tell me the {a}?",
    "Before I go on: what is the {a}?",
    "I need the {a} to continue. Please provide it.",
    "Which {a} should I use?",
    "Can you please give me the {a}?",
    "To proceed, please let me know the {a}.",
    "Sorry, can you remind me of the {a}?",
    "I don't seem to have the {a}. Would you send it?",
    "Please share the {a} with me so that I can go ahead.",
    "Would you mind repeating the {a}?",
    "I'm missing the {a} - what was it again?",
    "May I ask for the {a} first?",
];
/// Questions and remarks that ask for nothing; `{a}` is `{b}`.
pub(super) const ASKS_NOT: [&str; 10] = [
    "Shall I go ahead with the next part?",
    "The {a} is {b}, so I will use it.",
    "Would you like me to add a short introduction?",
    "I have noted the {a}. Is there anything else you need?",
    "Does this look right to you?",
    "I'm going to use {b} as the {a}.",
    "Do you want me to carry on?",
    "Thanks, the {a} was all that I needed.",
    "Are you happy with this version?",
    "What a nice task! I'll begin with the {a}.",
];
/// How a model says that all is done.
pub(super) const DONE: [&str; 12] = [
    "The task is complete.",
    "All done! Everything you asked for is finished.",
    "I have completed the work.",
    "That's it, we are finished here.",
    "Everything is done now.",
    "I'm finished with the task.",
    "We can consider this job closed.",
    "Nothing is left to do on my side.",
    "And with that, the assignment is wrapped up.",
    "Mission accomplished: the whole thing is ready.",
    "I've now finished what you asked me to do.",
    "Your request has been fully taken care of.",
];
/// How a model says that something is done, and not all; `{a}` is the file and `{b}` a step.
pub(super) const DONE_NOT: [&str; 10] = [
    "Step one is complete; I will now {b}.",
    "I am not done yet: {a} still has to be written.",
    "Once {a} is written, the task will be complete.",
    "The first part is finished. Next I'll {b}.",
    "I'll {b} and then report.",
    "We're halfway there; {a} is next.",
    "Before the work is complete I have to {b}.",
    "Done with the reading, now I'll {b}.",
    "The draft isn't finished, so let me {b}.",
    "If {a} is complete by tonight, we are ahead of time.",
];
/// Phrases in which a model announces that it will do `{a}`.
pub(super) const PLANS: [&str; 8] = [
    "Let me {a}.",
    "I'll {a} now.",
    "Next I will {a}.",
    "First of all, I'm going to {a}.",
    "Now it's time to {a}.",
    "I think I should {a} at this point.",
    "My plan is to {a} next.",
    "Right, on to the next thing: I {a}.",
];
/// How a model decides on `{b}` for `{a}`, because `{d}`.
pub(super) const DECIDES: [&str; 6] = [
    "I'll use {b} for the {a} because {d}.",
    "We decided on {b} for the {a} because {d}.",
    "Let's go with {b} as the {a}, since {d}.",
    "For the {a} I've chosen {b}, because {d}.",
    "As the {a}, I opted for {b} given that {d}.",
    "We settled on {b} for the {a}, since {d}.",
];
/// How a model contradicts: `{c}` and not `{b}` for `{a}`.
pub(super) const CONTRADICTS: [&str; 12] = [
    "I'll use {c} for the {a}.",
    "I am switching the {a} from {b} to {c}.",
    "The {a} will not be {b}.",
    "Let's use {c} instead of {b}.",
    "I decided to take {c} for the {a}.",
    "We won't use {b} for the {a}.",
    "As for the {a}, I'm setting up {c} now.",
    "Let's drop {b} and take {c}.",
    "I've picked {c} as our {a}.",
    "We're not going with {b} after all.",
    "The {a} is going to be {c}.",
    "I have replaced {b} by {c}.",
];
/// Phrases that follow a decision; `{e}` is a step.
pub(super) const KEEPS: [&str; 10] = [
    "I'll use {b} for the {a}, as decided.",
    "The {a} is {b}.",
    "I'll {e} with {b} as the {a}.",
    "With {b} in place, I can {e}.",
    "Let me {e}.",
    "We stick with {b} for the {a}.",
    "I've set up {b} as the {a}.",
    "Since the {a} is settled, I'll {e}.",
    "I kept {b} for the {a} and did not change it.",
    "The {a} stays as it is, and next I'll {e}.",
];
/// How a user changes a decision to `{c}` for `{a}`.
pub(super) const CHANGES: [&str; 4] = [
    "Please change the {a} to {c}.",
    "I'd rather have {c} for the {a}.",
    "Take {c} for the {a} after all.",
    "On reflection, make the {a} {c}.",
];

/// Returns the second half of the phrases if `held_out` is true, and otherwise the first half.
pub(super) fn half<'p>(all: &'p [&'p str], held_out: bool) -> &'p [&'p str] {
    let middle = all.len() / 2;
    if held_out {
        &all[middle..]
    } else {
        &all[..middle]
    }
}

/// Returns a phrase with these values in place of `{a}` to `{e}`.
pub(super) fn filled(phrase: &str, values: [&str; 5]) -> String {
    let mut out = phrase.to_owned();
    for (name, value) in ["{a}", "{b}", "{c}", "{d}", "{e}"].into_iter().zip(values) {
        out = out.replace(name, value);
    }
    let mut letters = out.chars();
    match letters.next() {
        Some(first) => first.to_uppercase().chain(letters).collect(),
        None => out,
    }
}
