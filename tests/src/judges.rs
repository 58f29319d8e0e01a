//! Judges one text twice: with the scanner of the runtime and with the reference parser.
#![expect(clippy::panic, reason = "a disagreement fails the test that asked")]

use accp_frame::{Reader, Token};
use accp_grammar::ast;
use accp_registry::lexical::Literal;
use accp_runtime::{DecodeError, DecodeOptions, Frame};

/// A frame as both judges read it, with the meaning of each scalar.
#[derive(Debug, PartialEq)]
struct Tree<'a> {
    header: [&'a str; 3],
    payload: Vec<(&'a str, Node<'a>)>,
    metadata: Vec<(&'a str, Node<'a>)>,
}

#[derive(Debug, PartialEq)]
enum Node<'a> {
    Null,
    Scalar(&'a str, Literal<'a>),
    Ref(&'a str),
    Array(Vec<Node<'a>>),
    Map(Vec<(&'a str, Node<'a>)>),
}

/// Checks that the two judges agree on the verdict, on the tree and on the place of a fault.
/// Returns whether they accept the text.
///
/// # Panics
/// If the two judges disagree.
pub fn agree(bytes: &[u8]) -> bool {
    let reference = accp_grammar::parse_bytes(bytes);
    let scanned = Frame::parse_bytes(bytes);
    let shown = String::from_utf8_lossy(bytes);
    match (&reference, &scanned) {
        (Ok(reference), Ok(scanned)) => {
            let text = shown.as_ref();
            assert_eq!(scanned.to_string(), text, "the scanner's frame is the text");
            assert_eq!(
                reference.to_string(),
                text,
                "the parser's frame is the text"
            );
            let tree = scan(text).unwrap_or_else(|error| panic!("{text:?}: {error}"));
            assert_eq!(tree, of_ast(reference), "{text:?}");
            true
        }
        (Err(reference), Err(scanned)) => {
            // The scanner stops as soon as a limit is exceeded, and the parser counts at the end. So the two report
            // a limit at different places.
            let in_grammar = matches!(reference.fault(), accp_grammar::Fault::Expected(_));
            if in_grammar && !scanned.expected().starts_with("at most ") {
                assert_eq!(
                    reference.at(),
                    scanned.at(),
                    "{shown:?}\n{reference}\n{scanned}"
                );
            }
            assert_eq!(scanned.code().to_string(), accp_grammar::SyntaxError::CODE);
            false
        }
        _ => panic!("{shown:?}\nreference: {reference:?}\nscanner: {scanned:?}"),
    }
}

fn scan(text: &str) -> Result<Tree<'_>, DecodeError> {
    let mut r = Reader::new(text, DecodeOptions::default())?;
    let header = r.header()?;
    let mut payload = Vec::new();
    while let Some(key) = r.param()? {
        payload.push((key, scan_value(&mut r)?));
    }
    let mut metadata = Vec::new();
    while let Some(key) = r.metadata()? {
        metadata.push((key, scan_value(&mut r)?));
    }
    r.finish()?;
    Ok(Tree {
        header: [header.agent, header.intent, header.operation],
        payload,
        metadata,
    })
}

fn scan_value<'a>(r: &mut Reader<'a>) -> Result<Node<'a>, DecodeError> {
    Ok(match r.token()? {
        Token::Null => Node::Null,
        Token::Scalar(raw) => Node::Scalar(raw, Literal::classify(raw)),
        Token::Ref(key) => Node::Ref(key),
        Token::Array => {
            let mut items = Vec::new();
            while r.element(items.len())? {
                items.push(scan_value(r)?);
            }
            Node::Array(items)
        }
        Token::Map => {
            let mut entries = Vec::new();
            while let Some(key) = r.entry(entries.len())? {
                entries.push((key, scan_value(r)?));
            }
            Node::Map(entries)
        }
    })
}

fn of_ast<'a>(frame: &ast::Frame<'a>) -> Tree<'a> {
    let params = |params: &[ast::Param<'a>]| {
        params
            .iter()
            .map(|param| (param.key, of_value(&param.value)))
            .collect()
    };
    Tree {
        header: [frame.agent, frame.intent, frame.operation],
        payload: params(&frame.payload),
        metadata: params(frame.metadata.as_deref().unwrap_or_default()),
    }
}

fn of_value<'a>(value: &ast::Value<'a>) -> Node<'a> {
    match &value.kind {
        ast::ValueKind::Null => Node::Null,
        ast::ValueKind::Scalar(scalar) => Node::Scalar(scalar.raw, scalar.literal()),
        ast::ValueKind::Ref(key) => Node::Ref(key),
        ast::ValueKind::Array(items) => Node::Array(items.iter().map(of_value).collect()),
        ast::ValueKind::Map(entries) => Node::Map(
            entries
                .iter()
                .map(|entry| (entry.key, of_value(&entry.value)))
                .collect(),
        ),
        other => panic!("a kind of value that the scanner does not know: {other:?}"),
    }
}
