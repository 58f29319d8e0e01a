//! Faults that the derive finds in the enum of a union: one function each.

use accp_runtime::formats::Date;
use accp_runtime::{AccpFrame, Decimal, Map};

fn union_on_a_struct() {
    #[derive(AccpFrame)]
    #[accp(registry = "registry/payments.json", schema = "PM")]
    struct Payment {
        kind: String,
        number: Option<String>,
    }
}

fn union_as_a_frame() {
    #[derive(AccpFrame)]
    #[accp(registry = "registry/payments.json", schema = "PM")]
    #[accp(intent = "req", operation = "pay")]
    struct Pay {
        number: Option<String>,
    }

    #[derive(AccpFrame)]
    #[accp(registry = "registry/payments.json")]
    enum Frames {
        #[accp(schema = "PM", intent = "req", operation = "pay")]
        Pay { number: Option<String> },
    }
}

fn variant_that_the_union_lacks() {
    #[derive(AccpFrame)]
    #[accp(registry = "registry/payments.json", schema = "PM")]
    enum Payment {
        Card { number: String },
        BankTransfers { iban: String, #[accp(default)] retries: i64 },
        #[accp(rename = "coins")]
        Cash,
    }
}

fn variants_missing() {
    #[derive(AccpFrame)]
    #[accp(registry = "registry/payments.json", schema = "PM")]
    enum Payment {
        Card { number: String },
    }

    // The variant for others is no place for those of the registry.
    #[derive(AccpFrame)]
    #[accp(registry = "registry/payments.json", schema = "PM")]
    enum Any<'a> {
        Card { number: String },
        Cash,
        #[accp(other)]
        Other(Map<'a>),
    }
}

fn variant_twice() {
    #[derive(AccpFrame)]
    #[accp(registry = "registry/payments.json", schema = "PM")]
    enum Payment {
        Card { number: String },
        #[accp(rename = "card")]
        Second { number: String },
        BankTransfer { iban: String, #[accp(default)] retries: i64 },
        Cash,
    }
}

fn variants_that_hold_types() {
    #[derive(AccpFrame)]
    struct Card {
        number: String,
    }

    #[derive(AccpFrame)]
    #[accp(registry = "registry/payments.json", schema = "PM")]
    enum Payment {
        Card(Card),
        BankTransfer(String, i64),
        Cash,
    }
}

fn variants_with_heads_and_symbols() {
    #[derive(AccpFrame)]
    #[accp(registry = "registry/payments.json", schema = "PM")]
    enum Payment {
        #[accp(intent = "req", operation = "pay")]
        Card { number: String },
        #[accp(schema = "PM")]
        BankTransfer { iban: String, #[accp(default)] retries: i64 },
        #[accp(symbol = "$")]
        Cash,
    }
}

fn attributes_of_the_enum() {
    #[derive(AccpFrame)]
    #[accp(registry = "registry/payments.json", schema = "PM", intent = "req", operation = "pay")]
    #[accp(deny_unknown_fields, new)]
    enum Payment {
        Card { number: String },
        BankTransfer { iban: String, #[accp(default)] retries: i64 },
        Cash,
    }
}

fn field_of_another_variant() {
    #[derive(AccpFrame)]
    #[accp(registry = "registry/payments.json", schema = "PM")]
    enum Payment {
        Card { number: String, iban: Option<String> },
        BankTransfer { iban: String, #[accp(default)] retries: i64 },
        Cash { numbr: Option<String> },
    }
}

fn tag_as_a_field() {
    #[derive(AccpFrame)]
    #[accp(registry = "registry/payments.json", schema = "PM")]
    enum Payment {
        Card { kind: String, number: String },
        BankTransfer { iban: String, #[accp(default)] retries: i64 },
        Cash,
    }
}

fn required_field_as_an_option() {
    #[derive(AccpFrame)]
    #[accp(registry = "registry/payments.json", schema = "PM")]
    enum Payment {
        Card { number: Option<String> },
        BankTransfer { iban: String, #[accp(default)] retries: i64 },
        Cash,
    }
}

fn required_field_missing() {
    #[derive(AccpFrame)]
    #[accp(registry = "registry/payments.json", schema = "PM")]
    enum Payment<'a> {
        Card { expires: Option<Date<'a>> },
        BankTransfer { iban: String, #[accp(default)] retries: i64 },
        Cash,
    }
}

fn field_that_may_be_absent_without_an_option() {
    #[derive(AccpFrame)]
    #[accp(registry = "registry/payments.json", schema = "PM")]
    enum Payment {
        Card { number: String, amount: Decimal },
        BankTransfer { iban: String, #[accp(default)] retries: i64 },
        Cash,
    }
}

fn default_that_would_be_lost() {
    #[derive(AccpFrame)]
    #[accp(registry = "registry/payments.json", schema = "PM")]
    enum Payment {
        Card { number: String },
        BankTransfer { iban: String },
        Cash,
    }
}

fn default_that_the_registry_lacks() {
    #[derive(AccpFrame)]
    #[accp(registry = "registry/payments.json", schema = "PM")]
    enum Payment {
        Card { number: String, #[accp(default)] amount: Decimal },
        BankTransfer { iban: String, #[accp(default)] retries: i64 },
        Cash,
    }
}

fn fields_of_other_types() {
    #[derive(AccpFrame)]
    #[accp(registry = "registry/payments.json", schema = "PM")]
    enum Payment {
        Card { number: i64, expires: Option<bool> },
        BankTransfer { iban: Vec<String>, #[accp(default)] retries: String },
        Cash,
    }
}

fn unknown_fields_kept_in_a_variant() {
    #[derive(AccpFrame)]
    #[accp(registry = "registry/payments.json", schema = "PM")]
    enum Payment<'a> {
        Card { number: String, #[accp(flatten)] more: Map<'a> },
        BankTransfer { iban: String, #[accp(default)] retries: i64 },
        Cash,
    }
}

fn alias_that_the_registry_lacks() {
    #[derive(AccpFrame)]
    #[accp(registry = "registry/payments.json", schema = "PM")]
    enum Payment {
        Card { #[accp(alias = "digits")] number: String },
        BankTransfer { iban: String, #[accp(default)] retries: i64 },
        Cash,
    }
}

fn others_that_hold_no_record() {
    #[derive(AccpFrame)]
    #[accp(registry = "registry/payments.json", schema = "PM")]
    enum Payment {
        Card { number: String },
        BankTransfer { iban: String, #[accp(default)] retries: i64 },
        Cash,
        #[accp(other)]
        Other(String),
    }

    #[derive(AccpFrame)]
    #[accp(registry = "registry/payments.json", schema = "PM")]
    enum Second {
        Card { number: String },
        BankTransfer { iban: String, #[accp(default)] retries: i64 },
        Cash,
        #[accp(other)]
        Other,
    }
}

fn others_twice_and_by_name() {
    #[derive(AccpFrame)]
    #[accp(registry = "registry/payments.json", schema = "PM")]
    enum Payment<'a> {
        Card { number: String },
        BankTransfer { iban: String, #[accp(default)] retries: i64 },
        Cash,
        #[accp(other, rename = "coins")]
        Other(Map<'a>),
        #[accp(other)]
        More(Map<'a>),
    }
}

fn main() {}
