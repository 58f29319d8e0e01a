//! What persons type, in several languages.

use proptest::prelude::*;

/// Texts with a number in place of `#`, so that all messages differ.
const TEXTS: [&str; 22] = [
    "And use SQLite, the customer has no Postgres. (#)",
    "stop using tabs in file #",
    "no emails to customers of group #",
    "You may push # now.",
    "Do not push # yet.",
    "good, next (#)",
    "# is wrong, take it back",
    "Here is what they see in #:\n1. The first row is skipped.\n2. Totals drift by a cent.\n\n3. The button does nothing.\nFix them one by one.",
    "Bitte alles auf Deutsch, auch die Fehlermeldungen von Modul #.",
    "Den Port # nehmen wir doch nicht, der ist belegt.",
    "Und keine Kommentare mehr im Code (siehe #)!",
    "把端口改成#，不要再用旧的。",
    "所有日志都用中文写，第#个模块除外",
    "请先不要提交#",
    "```rust\nfn count_#(rows: &[Row]) -> usize {\n    rows.iter().filter(|row| row.ok).count()\n}\n```",
    "SELECT id, name\n  FROM parcels\n WHERE depot = '#' AND status <> 'held';",
    "### Next Steps\n- none of # | all\n> quoted by me\n\n## Session Summary",
    "<div>\n  <b>#</b>\n</div>",
    "Note: # is Priya's.",
    "Issue #: the export is empty",
    "  two spaces before #\n\ttab\n",
    "\u{1f4e6}\u{1f4e6} # \u{2192} erst prüfen, dann 发送",
];

/// Returns the texts that are typed, each by its index, and with the number of calls before it.
pub(crate) fn typed() -> impl Strategy<Value = Vec<(usize, usize)>> {
    prop::collection::vec((0..TEXTS.len(), 0..4_usize), 4..16)
}

/// Returns a text that occurs nowhere else.
pub(crate) fn text(of: usize, number: usize) -> String {
    TEXTS[of].replace('#', &format!("q{}", 1_000 + number))
}
