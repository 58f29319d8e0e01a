//! Tests with the ABNF of published standards, such as RFC 3986.

use super::generate;
use super::peg::Peg;

macro_rules! abnf {
    ($name:literal) => {
        include_str!(concat!("../../../tests/abnf/", $name))
    };
}

/// Makes a grammar and returns it as pest reads it.
fn peg(abnf: &str, overrides: &str) -> Peg {
    let pest = generate(abnf, overrides).unwrap_or_else(|error| panic!("{error}"));
    Peg::new(&pest).unwrap_or_else(|error| panic!("{error}\n{pest}"))
}

/// Checks that the rule matches all of `texts` and none of `others`.
fn check(peg: &Peg, rule: &str, texts: &[&str], others: &[&str]) {
    for text in texts {
        assert!(peg.is(rule, text), "{rule} should take {text:?}");
    }
    for text in others {
        assert!(!peg.is(rule, text), "{rule} should not take {text:?}");
    }
}

#[test]
fn rfc_3986() {
    let peg = peg(abnf!("rfc3986.abnf"), abnf!("rfc3986.overrides"));
    let texts = [
        "ftp://ftp.is.co.za/rfc/rfc1808.txt",
        "http://www.ietf.org/rfc/rfc2396.txt",
        "ldap://[2001:db8::7]/c=GB?objectClass?one",
        "mailto:John.Doe@example.com",
        "news:comp.infosystems.www.servers.unix",
        "tel:+1-816-555-1212",
        "telnet://192.0.2.16:80/",
        "urn:oasis:names:specification:docbook:dtd:xml:4.1.2",
        "foo://a:b@1.2.3.4.example:8042/over/there?name=ferret#nose",
        "a:",
        "http://[v1.a:b]/%41",
    ];
    check(
        &peg,
        "URI",
        &texts,
        &["", "/a", "1a:b", "a:%4", "a://[1]", "a:b c"],
    );
    check(&peg, "URI_reference", &texts, &["a:%", "[", "1a:b"]);
    let relative = [
        "",
        "g",
        "./g",
        "g/",
        "/g",
        "//g",
        "?y",
        "g?y",
        "#s",
        "g;x=1/./y",
        "../../g",
    ];
    check(&peg, "URI_reference", &relative, &["a b", "g#s#t"]);
    check(
        &peg,
        "path",
        &["", "/a//b", "a:b/c", "a/", "//"],
        &["?", "a?"],
    );
    check(
        &peg,
        "IPv6address",
        &[
            "::",
            "::1",
            "1::",
            "1:2:3:4:5:6:7:8",
            "1::8",
            "1:2:3:4:5:6:1.2.3.4",
            "::1.2.3.4",
            "1:2:3:4:5:6:7::",
            "1:2:3:4::6:7:8",
            "abcd:ef01::2:3:4:5:6",
        ],
        &[
            "",
            ":",
            "1",
            "1:2:3:4:5:6:7",
            "1:2:3:4:5:6:7:8:9",
            "1::2::3",
            "12345::",
            "::1.2.3.256",
        ],
    );
    check(
        &peg,
        "dec_octet",
        &["0", "9", "10", "99", "100", "199", "249", "255"],
        &["256", "00", "1000"],
    );
}

#[test]
fn rfc_5234_reads_itself() {
    let text = abnf!("rfc5234.abnf").replace('\n', "\r\n");
    let peg = peg(abnf!("rfc5234.abnf"), "");
    let more = "a = 1*2( b / [ %x41.42-43 ] ) ; c\r\n";
    check(
        &peg,
        "rulelist",
        &[
            &text,
            "a=b\r\n",
            "a = 4*\"x\" <y>\r\n  ; z\r\n / %d1.2\r\n \r\nb =/ c\r\n",
        ],
        &["", "a=b", " a = b\r\n", "a = \r\n", more],
    );
    check(
        &peg,
        "repeat",
        &["1", "*", "1*", "*2", "12*34"],
        &["", "**", "1*2*"],
    );
}

#[test]
fn rfc_5322_atoms() {
    let peg = peg(abnf!("rfc5322.abnf"), "");
    let texts = [
        "a",
        " a",
        "a ",
        "(c)a",
        " (c (d\\)) e) \r\n a.b (f)",
        "a.b.c",
    ];
    check(
        &peg,
        "dot_atom",
        &texts,
        &["", " ", "a.", ".a", "a b", "(a", "a\r\n"],
    );
    check(&peg, "atom", &texts[..4], &["a.b"]);
    check(
        &peg,
        "CFWS",
        &[" ", "()", " \r\n ", " (a) (b) "],
        &["", "\r\n", "(", "a"],
    );
}

#[test]
fn rfc_8259() {
    let peg = peg(abnf!("rfc8259.abnf"), abnf!("rfc8259.overrides"));
    let texts = [
        "null",
        " true ",
        "{}",
        " [ ] ",
        "[1, -0, 0.5e+10, 1E3]",
        "{ \"a\" : [ { } , \"\\u00e9\\n\u{e9}\u{1f600}\" ] , \"b\":null }\n",
    ];
    let others = [
        "", "[1,]", "{\"a\"}", "01", "1.", "+1", "\"\n\"", "\"\\x\"", "nul", "[", "1 2",
    ];
    check(&peg, "JSON_text", &texts, &others);
}

#[test]
fn rfc_9110_fields() {
    let abnf = abnf!("rfc9110.abnf");
    let error = generate(abnf, "").unwrap_err();
    assert!(
        error.message().starts_with("`field-content`: `1*( "),
        "{error}"
    );
    assert!(
        error
            .message()
            .contains("`field-content as ELEMENTS ; reason`"),
        "{error}"
    );
    let peg = peg(abnf, abnf!("rfc9110.overrides"));
    let texts = [
        "",
        "a",
        "ab",
        "a b",
        "text/html; q=0.8",
        "a\t \tb",
        "\u{e9}",
    ];
    check(
        &peg,
        "field_value",
        &texts,
        &[" a", "a ", "\t", "a\nb", "\u{100}"],
    );
    check(
        &peg,
        "field_line",
        &["Host: example.org ", "a:", "a: \t"],
        &["a", ":b", "a :b"],
    );
}

/// Core rules and codes, as pest writes them.
#[test]
fn core_rules() {
    let peg = peg(
        "r = \"a\" LWSP \"b\" BIT CTL CHAR OCTET\nnul = %x00 / %x01.7F\n",
        "",
    );
    check(
        &peg,
        "r",
        &["a \r\n b1\tqx", "ab0\u{0}\u{1}\u{0}"],
        &["ab2\tqx", "ab0\t\u{0}x"],
    );
    check(&peg, "nul", &["\0", "\u{1}\u{7f}"], &["0", "\u{1}"]);
}

#[test]
fn counts_and_empty_texts() {
    for (abnf, texts, others) in [
        ("r = 0\"x\" \"y\"\n", &["y", "Y"][..], &["xy", ""][..]),
        ("r = 0<prose>\n", &[""], &["x"]),
        ("r = *([ \"x\" ])\n", &["", "x", "xX"], &["y"]),
        (
            "r = 2*3([\"x\"]) \"z\"\n",
            &["z", "xz", "xxxz"],
            &["xxxxz", "x"],
        ),
        ("r = *(*\"x\") \"y\"\n", &["y", "xxy"], &["x"]),
        ("r = *(\"x\" / \"\")\n", &["", "xx"], &["y"]),
        ("r = [\"x\"] / \"y\"\n", &["", "x", "y"], &["xy"]),
        ("r = s / \"y\"\ns = *\"x\"\n", &["", "xx", "y"], &["xy"]),
        (
            "r = %s\"aB\" %i\"c\" %d13.10 %x30-39\n",
            &["aBC\r\n7"],
            &["abc\r\n7"],
        ),
        // The letter after `%` may be a capital.
        (
            "r = %S\"aB\" %I\"c\" %D13.10 %X30-39 \"%X\" %B1011000 ; %X\n",
            &["aBC\r\n7%xX"],
            &["abc\r\n7%xX", "aBC\r\n7%xx"],
        ),
        (
            "r = 3(3\"x\" / s) \"z\"\ns = 4\"y\"\n",
            &["yyyyxxxxxxz"],
            &["xxxz"],
        ),
        (
            "r = \"a\"\nr =/ \"ab\" ; longer\nr =/\n\t%b1100011\n",
            &["a", "ab", "c"],
            &["b"],
        ),
    ] {
        check(&peg(abnf, ""), "r", texts, others);
    }
}

/// pest makes a copy of the item for each repetition, and nests the copies. pest runs in the compiler, whose threads
/// have a stack of 8 MiB. Within this stack, 1000 items must work.
#[test]
fn a_thousand_items() {
    let eight = std::thread::Builder::new().stack_size(8 << 20);
    let run = eight.spawn(|| {
        let peg = peg("r = 1000\"x\"\n", "");
        check(&peg, "r", &[&"x".repeat(1000)], &[&"x".repeat(999)]);
    });
    run.unwrap().join().unwrap();
}
