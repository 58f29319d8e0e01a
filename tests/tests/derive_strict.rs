//! The code of `#[derive(AccpFrame)]` under denied lints, without a prelude, beside names that
//! shadow its own, and through a renamed runtime. Most of the test is that the code compiles.

#![deny(
    warnings,
    missing_docs,
    unused_qualifications,
    unreachable_pub,
    rust_2018_idioms
)]
#![deny(clippy::all, clippy::pedantic)]
#![forbid(unsafe_code, clippy::unwrap_in_result, clippy::panic_in_result_fn)]

/// The runtime under another name.
pub mod renamed {
    pub use accp_runtime::*;
}

/// A module without a prelude: its code has to write out all names.
#[no_implicit_prelude]
pub mod bare {
    use ::accp_runtime::AccpFrame;

    /// A frame.
    #[derive(AccpFrame, Debug, Clone, PartialEq)]
    #[accp(schema = "TA", intent = "req", operation = "schedule", crate = crate::renamed)]
    pub struct Task<'a> {
        /// The assignee.
        pub assignee: crate::renamed::AgentId<'a>,
        /// The task.
        pub task: ::std::borrow::Cow<'a, str>,
        /// The urgency.
        #[accp(default)]
        pub priority: ::core::option::Option<Priority>,
        /// Any other fields.
        #[accp(flatten)]
        pub others: crate::renamed::Map<'a>,
    }

    /// An enumeration.
    #[derive(AccpFrame, Debug, Clone, PartialEq)]
    #[accp(crate = "crate::renamed")]
    pub enum Priority {
        /// Usual priority.
        Medium,
        /// Top priority.
        #[accp(symbol = "!")]
        High,
    }

    /// A nested struct.
    #[derive(AccpFrame, Debug, Clone, PartialEq)]
    pub struct Range<T> {
        /// The start.
        pub from: T,
        /// The end.
        pub to: ::core::option::Option<::std::boxed::Box<Self>>,
    }

    /// A place.
    #[derive(AccpFrame, Debug, Clone, PartialEq)]
    #[accp(crate = crate::renamed, registry = "registry/warehouse.json", schema = "LC")]
    #[accp(ignore = "shelf")]
    pub struct Place {
        /// The aisle.
        pub aisle: ::std::string::String,
    }

    /// A stay at places, which are records of a schema.
    #[derive(AccpFrame, Debug, Clone, PartialEq)]
    #[accp(crate = crate::renamed, registry = "registry/warehouse.json", schema = "SV")]
    #[accp(
        ignore = "count",
        ignore = "fragile",
        ignore = "tags",
        ignore = "speed"
    )]
    pub struct Stay {
        /// The goods.
        pub item: ::std::string::String,
        /// The place now.
        pub target: ::core::option::Option<Place>,
        /// The places before.
        pub stops: ::std::vec::Vec<Place>,
    }

    /// A record of several forms.
    #[derive(AccpFrame, Debug, Clone, PartialEq)]
    #[accp(crate = crate::renamed, registry = "registry/payments.json", schema = "PM")]
    pub enum Payment<'a> {
        /// By card.
        Card {
            /// The number.
            number: ::std::string::String,
            /// What is paid.
            amount: ::core::option::Option<crate::renamed::Decimal>,
        },
        /// By transfer.
        BankTransfer {
            /// The account.
            iban: ::std::string::String,
            /// How many times the payment is tried.
            #[accp(default)]
            retries: i64,
        },
        /// Cash.
        Cash,
        /// Another way.
        #[accp(other)]
        Other(crate::renamed::Map<'a>),
    }

    /// A frame with such a record.
    #[derive(AccpFrame, Debug, Clone, PartialEq)]
    #[accp(crate = crate::renamed, registry = "registry/payments.json", schema = "OD")]
    #[accp(intent = "req", operation = "order")]
    pub struct Order<'a> {
        /// The order.
        pub id: ::std::string::String,
        /// How it is paid.
        pub pay: Payment<'a>,
    }

    /// Several frames.
    #[derive(AccpFrame, Debug, Clone, PartialEq)]
    #[accp(crate = crate::renamed)]
    pub enum Work<'a> {
        /// A frame with its own type.
        Task(Task<'a>),
        /// A frame with fields.
        #[accp(intent = "qry", operation = "lookup", deny_unknown_fields)]
        Lookup {
            /// The range to look up.
            query: Range<i64>,
            /// A keyword.
            r#type: ::std::string::String,
        },
    }

    /// A frame without fields.
    #[derive(AccpFrame, Debug, Clone, PartialEq)]
    #[accp(intent = "ping", operation = "link")]
    pub struct Ping;
}

/// Names that have another meaning here.
pub mod shadowed {
    #![allow(dead_code, missing_docs, clippy::all, clippy::pedantic, non_snake_case)]

    use accp_runtime::AccpFrame;

    pub struct Option;
    pub struct Result;
    pub struct Reader;
    pub struct Writer;
    pub struct Default;
    pub fn Ok() {}
    pub fn Some() {}
    pub fn None() {}
    pub const FRAME: u8 = 0;

    #[derive(AccpFrame)]
    #[accp(schema = "TA", intent = "done", operation = "schedule")]
    pub struct Report {
        pub task: String,
        pub status: std::option::Option<String>,
        #[accp(skip)]
        pub r: u8,
        #[accp(skip)]
        pub w: u8,
    }
}

mod from_macro {
    macro_rules! frame {
        ($name:ident { $($field:ident: $ty:ty),* }) => {
            #[derive(accp_runtime::AccpFrame, Debug, PartialEq)]
            #[accp(schema = "TA", intent = "done", operation = "execute")]
            pub(crate) struct $name { $(pub(crate) $field: $ty),* }
        };
    }

    frame!(Done { task: String, progress: Option<i64> });
}

use accp_runtime::{AgentId, Envelope, Typed};

#[test]
fn they_work_all_the_same() {
    for text in [
        "@a>req:schedule{asgn:dev|task:t|pri:!|zz:1|schema:TA}",
        "@a>qry:lookup{q:{from:1}|type:x}",
    ] {
        let typed = Typed::<bare::Work<'_>>::decode(text).unwrap();
        assert_eq!(typed.encode().unwrap(), text);
    }
    let typed = Typed::<bare::Ping>::decode("@a>ping:link{}").unwrap();
    assert_eq!(typed.encode().unwrap(), "@a>ping:link{}");

    let done = from_macro::Done {
        task: "t".to_owned(),
        progress: Some(100),
    };
    let typed = Typed::new(AgentId::new("a").unwrap(), done, Envelope::default());
    let text = typed.encode().unwrap();
    assert_eq!(text, "@a>done:execute{task:t|prog:100|schema:TA}");
    assert_eq!(Typed::<from_macro::Done>::decode(&text).unwrap(), typed);
}
