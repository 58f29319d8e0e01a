//! Tests of searches: queries of all kinds, and the messages that they find.

use accp_memory::disk::index::Filter;
use accp_memory::disk::read::read;
use proptest::prelude::*;

use crate::recovery::folder::{ARCHIVE, Folder, OFFLOADED, exact, found, said, search};

/// An archive of short messages.
fn archive(texts: &[&str]) -> Folder {
    let folder = Folder::new();
    let all: Vec<_> = texts
        .iter()
        .enumerate()
        .map(|(number, text)| said(number, "look", *text))
        .collect();
    folder.append(ARCHIVE, &all);
    folder
}

#[test]
fn a_hit_says_where_its_text_stands() {
    let folder = archive(&["first", "rye"]);
    let lines: Vec<_> = (1..=70).map(|line| format!("line {line}")).collect();
    folder.append(ARCHIVE, &[said(2, "look", lines.join("\n"))]);
    folder.write(OFFLOADED, lines.join("\n").replace("line 60", "spelt"));
    let mut index = folder.index();
    let hits = search(&mut index, "spelt");
    let hit = &hits[0];
    assert_eq!(
        (hits.len(), &*hit.file, hit.lines, hit.message),
        (1, OFFLOADED, (51, 70), None)
    );
    assert_eq!(
        (&*hit.role, hit.tool.as_deref()),
        ("tool", Some("web_search"))
    );
    for hit in search(&mut index, "line 60 spelt")
        .into_iter()
        .chain(exact(&mut index, "line 4"))
    {
        let lines = read(folder.path(), &hit.file, hit.lines.0..=hit.lines.1).unwrap();
        assert_eq!(lines.text, hit.text);
    }
}

#[test]
fn identifiers_rank_above_their_twins() {
    for (asked, twins) in [
        ("ORD-12345", ["ORD-12346", "ORD-123456"]),
        ("user_id", ["user_ids", "user id user id user"]),
        ("HAT170", ["HAT171", "HAT 170 HAT 170"]),
        (
            "src/a.b/c.rs",
            ["src/a.b/c.rsx", "src/a.c/b.rs src c rs a b"],
        ),
        (
            "ann.lee42@mill.example",
            ["ann.lee43@mill.example", "ann lee42 mill example ann"],
        ),
        ("2026-01-29", ["2026-01-28", "29-01-2026 2026 01 29"]),
        ("1284.50", ["1284.5", "50.1284 1284 50"]),
        ("Größe_4", ["Größe_5", "Größe 4 Größe 4"]),
    ] {
        let inside = format!("the result says {asked}, and more of it is not here to be seen");
        let folder = archive(&[twins[0], &inside, twins[1], twins[0]]);
        let mut index = folder.index();
        for query in [
            asked.to_owned(),
            asked.to_lowercase(),
            format!("what is {asked}?"),
        ] {
            assert_eq!(found(&search(&mut index, &query))[0], 1, "{query}");
        }
        assert_eq!(found(&exact(&mut index, asked))[0], 1, "{asked}");
    }
}

#[test]
fn filters_narrow_a_search() {
    let folder = Folder::new();
    let time = |text: &str| {
        let format = &time::format_description::well_known::Rfc3339;
        Some(time::OffsetDateTime::parse(text, format).unwrap())
    };
    let mut all = [
        said(0, "look", "rye"),
        said(1, "find", "rye"),
        said(2, "find_all", "rye"),
    ];
    all[1].role = "user".into();
    all[0].time = time("2026-01-29T10:00:00+02:00");
    all[1].time = time("2026-01-29T09:00:00Z");
    folder.append(ARCHIVE, &all);
    folder.write(OFFLOADED, "rye");
    let mut index = folder.index();
    let mut count = |filter: Filter| {
        let hits = index.search("rye", &filter, 10).unwrap();
        let same = index.exact("ry", &filter, 10).unwrap();
        let files = |hits: &[accp_memory::disk::index::Hit]| {
            hits.iter()
                .map(|hit| hit.file.clone())
                .collect::<std::collections::BTreeSet<_>>()
        };
        assert_eq!((hits.len(), files(&hits)), (same.len(), files(&same)));
        hits.len()
    };
    let none = Filter::default;
    assert_eq!(count(none()), 4);
    for (path, expected) in [
        (OFFLOADED, 1),
        ("cache/offloaded/", 1),
        ("cache", 4),
        ("s_full.md", 3),
        ("full.md", 0),
        ("", 0),
    ] {
        assert_eq!(
            count(Filter {
                path: Some(path.into()),
                ..none()
            }),
            expected,
            "{path}"
        );
    }
    for (tool, expected) in [("find", 1), ("web_search", 1), ("fin", 0), ("%", 0)] {
        assert_eq!(
            count(Filter {
                tool: Some(tool.into()),
                ..none()
            }),
            expected,
            "{tool}"
        );
    }
    assert_eq!(
        count(Filter {
            role: Some("user".into()),
            ..none()
        }),
        1
    );
    assert_eq!(
        count(Filter {
            messages: Some(1..=usize::MAX),
            ..none()
        }),
        2
    );
    assert_eq!(
        count(Filter {
            from: time("2026-01-29T08:30:00Z"),
            ..none()
        }),
        2
    );
    assert_eq!(
        count(Filter {
            to: time("2026-01-29T08:30:00Z"),
            ..none()
        }),
        1
    );
    let both = Filter {
        from: time("2026-01-29T14:25:30Z"),
        to: time("2026-01-29T14:25:30Z"),
        ..none()
    };
    assert_eq!(count(both), 1);
}

#[test]
fn exact_text_is_found_in_each_spelling() {
    let folder = archive(&[
        "a \"quoted\" wörd\0end",
        r#"{"text": "a \"quoted\" w\u00f6rd\nThe next"}"#,
        "ab 7",
        "😀 RYE",
    ]);
    let mut index = folder.index();
    assert_eq!(found(&exact(&mut index, "a \"quoted\" wörd")), [1, 0]);
    assert_eq!(found(&exact(&mut index, "wörd\nThe")), [1]);
    assert_eq!(found(&exact(&mut index, "wörd\0end")), [0]);
    assert_eq!(found(&exact(&mut index, "wördend")), [0usize; 0]);
    assert_eq!(found(&exact(&mut index, "7")), [2]);
    assert_eq!(found(&exact(&mut index, "😀")), [3]);
    assert_eq!(found(&exact(&mut index, "rye")), [3]);
    assert_eq!(found(&exact(&mut index, "")), [0usize; 0]);
    assert_eq!(found(&search(&mut index, "the")), [1]);
}

#[test]
fn an_exact_text_may_be_longer_than_a_section() {
    let lines: Vec<_> = (1..=90)
        .map(|line| format!("row {line} of the table"))
        .collect();
    let folder = archive(&["x", &lines.join("\n")]);
    let mut index = folder.index();
    let hits = exact(&mut index, &lines[20..60].join("\n"));
    assert_eq!((hits.len(), hits[0].lines), (1, (9 + 21, 9 + 60)));
    assert_eq!(hits[0].text, lines[20..60].join("\n"));
    let long = "spelt ".repeat(4_000);
    let folder = archive(&[&format!("{long}oats{long}"), &long]);
    let mut index = folder.index();
    assert_eq!(found(&exact(&mut index, &format!("{long}oats"))), [0]);
}

#[test]
fn words_are_letters_in_any_case_and_script() {
    let folder = archive(&["GRÖSSE der Mühle", "мельница у реки", "水車 と 川"]);
    let mut index = folder.index();
    for (query, expected) in [
        ("größe", None),
        ("mühle", Some(0)),
        ("МЕЛЬНИЦА", Some(1)),
        ("水車", Some(2)),
    ] {
        assert_eq!(
            found(&search(&mut index, query)).first().copied(),
            expected,
            "{query}"
        );
    }
}

#[test]
fn data_without_spaces_is_found_by_words_and_exactly() {
    let data = |seed: u64, alphabet: &str, length: u64| -> String {
        let letters: Vec<char> = alphabet.chars().collect();
        let at = |n: u64| (seed + n) * 2_654_435_761 % 4_294_967_291 % letters.len() as u64;
        (0..length).map(|n| letters[at(n) as usize]).collect()
    };
    let hex = "0123456789abcdef";
    let letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
    for length in [59, 60, 64, 65, 100, 256, 257, 300, 700] {
        for alphabet in [hex, letters] {
            let one = data(7, alphabet, length);
            let texts = [
                format!("the key is {one} of it"),
                format!("the key is {} of it", data(900, alphabet, length)),
                "no key of it".to_owned(),
            ];
            let folder = archive(&texts.each_ref().map(String::as_str));
            let mut index = folder.index();
            for query in [one.clone(), format!("where is {one}?")] {
                assert_eq!(found(&search(&mut index, &query))[0], 0, "{query}");
            }
            assert_eq!(found(&exact(&mut index, &one)), [0], "{one}");
        }
    }
}

#[test]
fn what_fts5_would_take_for_syntax_is_text() {
    let folder = archive(&["rye AND spelt NOT oats", "NEAR(the mill, 2)"]);
    let mut index = folder.index();
    for query in [
        "\"",
        "\"\"",
        "'",
        "AND",
        "rye AND",
        "NOT",
        "OR OR",
        "NEAR(",
        "NEAR(rye spelt, 2)",
        "*",
        "rye*",
        "^rye",
        "-rye",
        "plain : rye",
        "{plain whole} : rye",
        "(",
        ")",
        "rye)",
        "\0",
        "rye\0spelt",
        "rye + spelt",
        ":",
        ",",
        "-",
        "\\",
        "%",
        "_",
        "__",
        "😀",
        "\u{2028}",
        "'; DROP TABLE file; --",
        "#",
        "a,b",
        "1,2",
        "@",
        "\"rye",
    ] {
        let hits = search(&mut index, query);
        assert!(hits.len() <= 2);
        exact(&mut index, query);
    }
    assert_eq!(found(&search(&mut index, "near")), [1]);
    assert_eq!(found(&search(&mut index, "and")), [0]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    /// Each part of a message finds this message, and no query fails.
    #[test]
    fn any_part_of_a_message_is_found(
        texts in prop::collection::vec("([a-zA-Z0-9_./@:,+#\\\\\"'*(){}^-]|\\PC|[ \n\r\0\t]){1,80}", 1..5),
        which: prop::sample::Index, from: prop::sample::Index, length in 1usize..30, other in "\\PC{0,20}",
    ) {
        let folder = archive(&texts.iter().map(String::as_str).collect::<Vec<_>>());
        let mut index = folder.index();
        let number = which.index(texts.len());
        let text: Vec<char> = texts[number].trim_end_matches('\n').chars().collect();
        if !text.is_empty() {
            let from = from.index(text.len());
            let part: String = text[from..(from + length).min(text.len())].iter().collect();
            prop_assert!(found(&exact(&mut index, &part)).contains(&number), "{part:?}");
        }
        search(&mut index, &other);
        search(&mut index, &texts[number]);
        exact(&mut index, &other);
    }
}
