mod peg;
mod random;
mod standards;

use super::*;
use crate::grammar::{AACP, ACCP};

fn generate(abnf: &str, overrides: &str) -> Result<String, GenerateError> {
    Grammar {
        abnf,
        overrides,
        ..ACCP
    }
    .generate()
}

fn check(pest: &str) -> Result<(), GenerateError> {
    ACCP.check(pest)
}

/// The `.pest` files of the repository must equal the result of the generator.
/// `ACCP_BLESS=1 cargo test -p accp-grammar` writes the files again.
#[test]
fn the_checked_in_grammars_are_up_to_date() {
    for grammar in [&ACCP, &AACP] {
        let (fresh, name) = (grammar.generate().unwrap(), grammar.protocol.name);
        if std::env::var_os("ACCP_BLESS").is_some() && std::env::var_os("CI").is_none() {
            let path = format!("{}/{name}.pest", env!("CARGO_MANIFEST_DIR"));
            std::fs::write(path, &fresh).unwrap();
            continue;
        }
        assert!(
            fresh == grammar.pest,
            "grammar/{name}.pest is not what its sources give; repair it with `{}`\n{}",
            grammar.command,
            grammar.check(grammar.pest).unwrap_err()
        );
        grammar.check(grammar.pest).unwrap();
    }
}

/// Returns the errors of pairs of ABNF and overrides.
fn errors(inputs: &[(&str, &str)]) -> String {
    let lines = inputs
        .iter()
        .map(|(abnf, overrides)| match generate(abnf, overrides) {
            Ok(pest) => format!("no error: {pest}"),
            Err(error) => error.to_string(),
        });
    lines.collect::<Vec<_>>().join("\n") + "\n"
}

#[test]
fn mistakes_in_the_abnf() {
    let greedy = "* greedy ; why";
    insta::assert_snapshot!(errors(&[
        ("", greedy),
        ("; only a comment\n", greedy),
        ("a = \"x\"\n\nb = >\n", greedy),
        ("a = \"x", greedy),
        ("a = %z1\n", greedy),
        ("  a = \"x\"\n b = \"y\"\n", greedy),
        ("\u{feff}a = \"x\"\n", greedy),
        ("a = \"x\"\nb = \"é\"\n", greedy),
        ("a = b\n", greedy),
        ("a = b\n\nb = ALPHA bee\n", greedy),
        ("a = \"x\"\nA = \"y\"\n", greedy),
        ("a =/ \"x\"\n", greedy),
        ("a = <a word>\n", greedy),
        ("a = %xD800\n", greedy),
        ("a = %x110000-110001\n", greedy),
        ("a = %x5A-41\n", greedy),
        ("a = b \"x\"\nb = [\"y\"] a\n", greedy),
        ("a = 4*2\"x\"\n", greedy),
        ("a = *1001\"x\"\n", greedy),
        ("a = 40(\"y\" 2*30\"x\")\n", greedy),
        ("a = 99999999999999999999\"x\"\n", greedy),
        ("a = *\"x\" \"x\"\n", greedy),
        ("a = \"y\"\nb = [\"a\"] \"ab\"\n", ""),
        ("a = b \"x\"\n\nb = *ALPHA\n", greedy),
        ("a = *b \"z\"\nb = *\"x\"\n", greedy),
        ("a = b / c\nb = *\"x\"\nc = *\"y\"\n", greedy),
        ("a = *(\"x\" / \"y\") \"z\" / *\"x\" 1*2(\"z\" / \"y\")\n", greedy),
        ("a = type\ntype = \"x\"\n", greedy),
        ("a = b-c\nb-c = \"x\"\n", "b-c rename a ; why"),
        ("a = b b-c\nb = \"x\"\nb-c = \"y\"\n", "b marks c ; why"),
    ]), @r#"
    ABNF, line 1: there is no rule; write at least one `name = elements`
    ABNF, line 1: there is no rule; write at least one `name = elements`
    ABNF, line 3: `b = >` is not a rule of RFC 5234; a rule is `name = elements`, its elements are names, "text", %x41-5A, ( ), [ ], / and 1*
    ABNF, line 1: `a = "x` is not a rule of RFC 5234; a rule is `name = elements`, its elements are names, "text", %x41-5A, ( ), [ ], / and 1*
    ABNF, line 1: `a = %z1` is not a rule of RFC 5234; a rule is `name = elements`, its elements are names, "text", %x41-5A, ( ), [ ], / and 1*
    ABNF, line 2: `b = "y"` stands left of the first rule; all rules begin at one margin
    ABNF, line 1: the line begins with a byte order mark (U+FEFF), which no editor shows; save the file as UTF-8 without BOM
    ABNF, line 2: U+00E9 ('é') is not a character of ABNF; write it as %xE9
    ABNF, line 1: `a` uses the rule `b`, which is not defined; add `b = ...` or correct the name
    ABNF, line 3: `b` uses the rule `bee`, which is not defined; add `bee = ...` or correct the name
    ABNF, line 2: `A` is already defined on line 1; remove one, or add alternatives with `=/`
    ABNF, line 1: `a =/` adds to a rule that is not defined; write `a =`
    ABNF, line 1: `a`: <a word> is prose, which no parser can read; spell it out
    ABNF, line 1: `a`: %xD800 is not a Unicode character
    ABNF, line 1: `a`: %x110000 is not a Unicode character
    ABNF, line 1: `a`: the range 'Z' to 'A' is empty
    ABNF, line 1: `a`: begins with itself, which no PEG can read (a > b > a); write it as a repetition
    ABNF, line 1: `a`: `4*2"x"` repeats at least 4 times and at most 2 times; write the smaller number first
    ABNF, line 1: `a`: `*1001"x"` counts above 1000; write `*` and count in your program
    ABNF, line 1: `a`: `2*30"x"` stands in another repetition, and the two count above 1000; give it a rule of its own
    ABNF, line 1: `a = 99999999999999999999"x"` is not a rule of RFC 5234; a rule is `name = elements`, its elements are names, "text", %x41-5A, ( ), [ ], / and 1*
    ABNF, line 1: `a`: `*"x"` takes all it can, and a PEG never gives back what may belong to what follows (as in "X"); write the rule so that the next characters tell, or state in the overrides `a as ELEMENTS ; reason` (checked against the ABNF) or `a narrows ; reason` (such texts may be refused)
    ABNF, line 2: `b`: `[ "a" ]` takes all it can, and a PEG never gives back what may belong to what follows (as in "AB"); write the rule so that the next characters tell, or state in the overrides `b as ELEMENTS ; reason` (checked against the ABNF) or `b narrows ; reason` (such texts may be refused)
    ABNF, line 3: `b`: `*alpha` takes all it can, and a PEG never gives back what may belong to what follows (as in "X"); write the rule so that the next characters tell, or state in the overrides `b as ELEMENTS ; reason` (checked against the ABNF) or `b narrows ; reason` (such texts may be refused)
    ABNF, line 1: `a`: repeats `b`, which can be empty, so a PEG would never end; write `b` with at least one character and `[ b ]` where it may be absent, or give `a` other elements in the overrides: `a as ELEMENTS ; reason`
    ABNF, line 1: `a`: has alternatives that begin alike: a PEG takes the first that fits, and no order is right for all texts: `b` hides `c` (as in "Y"); write the rule so that the next characters tell, or state in the overrides `a as ELEMENTS ; reason` (checked against the ABNF) or `a narrows ; reason` (such texts may be refused)
    ABNF, line 1: `a`: has alternatives that begin alike: a PEG takes the first that fits, and no order is right for all texts: `*( "x" / "y" ) "z"` hides `*"x" 1*2( "z" / "y" )` (as in "ZY"); write the rule so that the next characters tell, or state in the overrides `a as ELEMENTS ; reason` (checked against the ABNF) or `a narrows ; reason` (such texts may be refused)
    ABNF, line 2: `type` is a reserved word of Rust or pest; give the rule another name in the overrides: `type rename NAME ; reason`
    ABNF, line 2: `b-c` and `a` both need the pest name `a`; give one of them another with `rename` or `marks`
    ABNF, line 3: `b-c` and `b` both need the pest name `b_c`; give one of them another with `rename` or `marks`
    "#);
}

#[test]
fn nested_groups_have_a_limit() {
    let nested = |depth: usize| format!("a = {}\"x\"{}\n", "(".repeat(depth), ")".repeat(depth));
    for depth in [65, 3000, 300_000] {
        let error = generate(&nested(depth), "").unwrap_err();
        assert_eq!(
            error.to_string(),
            "ABNF, line 1: more than 64 parentheses and brackets stand in each other; \
             give inner ones rules of their own"
        );
    }
    assert!(
        generate(&nested(64), "")
            .unwrap()
            .contains("a = { ^\"x\" }")
    );
    // Parentheses in quotes and comments do not count as nesting.
    let texts = format!("a = \"{0}\" ; {0}\n", "(".repeat(3000));
    assert!(generate(&texts, "").is_ok());
}

/// A long chain of rules, each of which uses the next, must not overflow the stack.
#[test]
fn long_chains_of_rules() {
    let rules = (0..3000).map(|at| format!("r{at} = r{}\n", at + 1));
    let chain: String = rules.chain(["r3000 = \"x\"\n".to_owned()]).collect();
    assert!(generate(&chain, "").is_ok());
    let doubled = (0..60).map(|at| format!("r{at} = r{0} r{0}\n", at + 1));
    let doubled: String = doubled.chain(["r60 = \"x\"\n".to_owned()]).collect();
    assert!(generate(&doubled, "").is_ok());
}

#[test]
fn mistakes_in_the_overrides() {
    let abnf = "a = b [\"x\"] / \"x\" / c\nb = 1*\"y\"\nc = \"yz\"\n";
    let rows = [
        "b atomic",
        "b atomic ;",
        "* atomic ; why",
        "d atomic ; why",
        "DIGIT silent ; why",
        "b tokenised ; why",
        "b atomic yes ; why",
        "a order ; why",
        "a order b [\"x\"] / c ; why",
        "a order b [\"x\"] / b / c ; why",
        "b order y ; why",
        "b atomic ; why\nb atomic ; why",
        "b not-before >< ; why",
        "b not-before \"x\" ; why",
        "b not-before [\"x\"] ; why",
        "b whole-input ; why",
        "b as *\"y\" ; why",
        "b as \"y\" ; why",
        "b as bee ; why",
        "b narrows y ; why",
        "a order b [\"x\"] / c / \"x\" ; why",
        "a order b [\"x\"] / \"x\" / c ; why\na as \"x\" ; why",
        "b not-before bee ; why",
        "b rename 2b ; why",
        "b rename self ; why",
        "b marks y! ; why",
        "\u{feff}b atomic ; why",
    ]
    .map(|row| (abnf, row));
    let marks = [
        ("b = \"y\" \"z\"\n", "b marks y ; why"),
        ("b = \"y\" \"z\"\n", "b marks y y ; why"),
    ];
    insta::assert_snapshot!(errors(&rows) + &errors(&marks), @r#"
    overrides, line 1: `b atomic` gives no reason; write `rule decision ; reason`
    overrides, line 1: `b atomic` has an empty reason after `;`; say why
    overrides, line 1: `* atomic` is not a decision for all rules; only `* greedy` is
    overrides, line 1: the ABNF has no rule `d`; correct the name or remove the row
    overrides, line 1: the ABNF has no rule `DIGIT`; correct the name or remove the row
    overrides, line 1: `tokenised` is not a decision; there are whole-input, order, as, narrows, not-before, case-sensitive, atomic, silent, marks and rename
    overrides, line 1: `b atomic` takes no operand
    overrides, line 1: `a order` needs an operand
    overrides, line 1: `b ["x"] / c` must name each alternative of `a = b ["x"] / "x" / c` once
    overrides, line 1: `b ["x"] / b / c` must name each alternative of `a = b ["x"] / "x" / c` once
    overrides, line 1: `y` must name each alternative of `b = 1*"y"` once
    overrides, line 2: `b atomic` repeats or contradicts an earlier row; remove one
    overrides, line 1: `><` is not an ABNF expression, such as `safe-char / "x"`
    overrides, line 1: `b`: `not-before` refuses what may follow in the ABNF (as in "X"); correct the row, or say that it takes texts away: `b narrows ; reason`
    overrides, line 1: `b` could never end: `not-before [ "x" ]` names what can be empty
    overrides, line 1: `b`: `whole-input` refuses texts in which something stands beside it, and another rule uses it; correct the row, or say that it takes texts away: `b narrows ; reason`
    overrides, line 1: `b`: `as` has the text "" here, and the ABNF does not; correct the row
    overrides, line 1: `b`: the ABNF has the text "yy" here, and `as` does not; correct the row, or say that it takes texts away: `b narrows ; reason`
    overrides, line 1: `bee` uses the rule `bee`, which the ABNF does not define; correct the name or spell the rule out
    overrides, line 1: `b narrows` takes no operand
    overrides, line 1: `a`: `order` tries `b [ "x" ]` where `c` is meant (as in "YZ"); correct the row, or say that it takes texts away: `a narrows ; reason`
    overrides, line 2: `a` has both `order` and `as`; write the alternatives of `as` in their order
    overrides, line 1: `bee` uses the rule `bee`, which the ABNF does not define; correct the name or spell the rule out
    overrides, line 1: `2b` is not a name for a pest rule (letters, digits, `_`); choose another
    overrides, line 1: `self` is a reserved word of Rust or pest; choose another
    overrides, line 1: `y!` is not a name for a mark (letters, digits, `_`)
    overrides, line 1: the line begins with a byte order mark (U+FEFF), which no editor shows; save the file as UTF-8 without BOM
    overrides, line 1: `b` has 2 literals, and `marks` names 1; name each, left to right
    overrides, line 1: the mark `y` cannot name both ^"y" and ^"z"
    "#);
}

#[test]
fn a_stale_file_is_named_with_the_repair() {
    check(ACCP.pest).unwrap();
    let stale = ACCP.pest.replacen("header = {", "header = ${", 1);
    insta::assert_snapshot!(check(&stale).unwrap_err(), @r#"generated grammar, line 7: this differs from the grammar that the ABNF and the overrides give; run `accp grammar --write` to write the file again"#);
    insta::assert_snapshot!(check(&ACCP.pest[..ACCP.pest.len() - 10]).unwrap_err(), @r#"generated grammar, line 99: this differs from the grammar that the ABNF and the overrides give; run `accp grammar --write` to write the file again"#);
}

/// Each construct of ABNF and each decision must give its pest rule.
#[test]
fn constructs_and_decisions() {
    let abnf = r#"
; a comment
first    = *a 2b 1*3c 4*d *5e ["?" f]   ; behind a rule
a        = "Ab" / %s"ab" / %i"aB"
b        = ("x" / "y") (%x30-39 / %x41.42)
         / %d13.10
c        = second
second   = %x22 / "\" / %x27-27 / %xE9
second   =/ "=" / ";"
d        = "on"
e        = "x" [":" "x" ] *("," "x")
f        = VCHAR CRLF WSP HEXDIG
"#;
    let overrides = r#"
*      greedy                        ; why
first  whole-input                   ; why
a      order %s"ab" / "Ab" / "aB"    ; why
b      silent                        ; why
c      rename third                  ; why
d      case-sensitive                ; why
d      not-before second / "a"       ; why
d      atomic                        ; why
e      marks x colon x comma x       ; why
"#;
    insta::assert_snapshot!(generate(abnf, overrides).unwrap(), @r#"
    // Generated by `accp grammar --write` from accp.abnf and accp.overrides. Do not edit.

    // first = *a 2b 1*3c 4*d *5e ["?" f]
    first = { SOI ~ a* ~ b{2} ~ third{1,3} ~ d{4,} ~ e{,5} ~ ("?" ~ f)? ~ EOI }

    // a = "Ab" / %s"ab" / "aB"
    a = { "ab" | ^"Ab" | ^"aB" }

    // b = ("x" / "y") (%x30-39 / %x41.42) / %x0D.0A
    b = _{ (^"x" | ^"y") ~ ('0'..'9' | "AB") | "\r\n" }

    // c = second
    third = { second }

    // second = %x22 / "\" / %x27-27 / %xE9 / "=" / ";"
    second = { "\"" | "\\" | '\''..'\'' | "é" | "=" | ";" }

    // d = "on"
    d = @{ "on" ~ !(second | "a") }

    // e = "x" [":" "x"] *("," "x")
    e = { e_x ~ (e_colon ~ e_x)? ~ (e_comma ~ e_x)* }
    e_x = { ^"x" }
    e_colon = { ":" }
    e_comma = { "," }

    // f = VCHAR CRLF WSP HEXDIG
    f = { VCHAR ~ CRLF ~ WSP ~ HEXDIG }

    // CR = %x0D
    CR = _{ "\r" }

    // CRLF = CR LF
    CRLF = _{ CR ~ LF }

    // DIGIT = %x30-39
    DIGIT = _{ '0'..'9' }

    // HEXDIG = DIGIT / "A" / "B" / "C" / "D" / "E" / "F"
    HEXDIG = _{ DIGIT | ^"A" | ^"B" | ^"C" | ^"D" | ^"E" | ^"F" }

    // HTAB = %x09
    HTAB = _{ "\t" }

    // LF = %x0A
    LF = _{ "\n" }

    // SP = %x20
    SP = _{ " " }

    // VCHAR = %x21-7E
    VCHAR = _{ '!'..'~' }

    // WSP = SP / HTAB
    WSP = _{ SP | HTAB }
    "#);
}

#[test]
fn line_ends_do_not_matter() {
    let crlf = |text: &str| text.replace('\n', "\r\n");
    assert_eq!(
        generate(&crlf(ACCP.abnf), &crlf(ACCP.overrides)).unwrap(),
        ACCP.pest
    );
    assert_eq!(
        generate(ACCP.abnf.trim_end(), ACCP.overrides.trim_end()).unwrap(),
        ACCP.pest
    );
}

proptest::proptest! {
    /// The generator must return for any change of the sources. It must return an error when a row
    /// is missing that the grammar needs.
    #[test]
    fn damaged_sources_give_an_error_or_a_grammar(
        at in proptest::prelude::any::<proptest::sample::Index>(),
        byte in b' '..=b'~',
        in_abnf in proptest::prelude::any::<bool>(),
    ) {
        let mut texts = [ACCP.abnf.to_owned(), ACCP.overrides.to_owned()];
        let text = &mut texts[usize::from(!in_abnf)];
        let at = at.index(text.len());
        text.replace_range(at..=at, &char::from(byte).to_string());
        if let Err(error) = generate(&texts[0], &texts[1]) {
            proptest::prop_assert!(error.line() >= 1);
            proptest::prop_assert!(!error.message().is_empty());
        }
    }
}
