//! Faults that the derive finds in the variant for other texts: one function each.

use accp_runtime::AccpFrame;

fn other_among_frames() {
    #[derive(AccpFrame)]
    enum Work {
        #[accp(intent = "req", operation = "plan")]
        Plan { task: String },
        #[accp(other)]
        Other(String),
    }
}

fn other_with_a_head() {
    #[derive(AccpFrame)]
    enum Level {
        Low,
        #[accp(other, intent = "req", operation = "plan")]
        Other(String),
    }
}

fn other_alone() {
    #[derive(AccpFrame)]
    enum Text {
        #[accp(other)]
        Other(String),
    }
}

fn other_that_holds_fields() {
    #[derive(AccpFrame)]
    enum Level {
        Low,
        #[accp(other)]
        Other { text: String },
    }

    #[derive(AccpFrame)]
    enum Grade {
        Low,
        #[accp(other)]
        Other(String, String),
    }
}

fn other_that_borrows() {
    #[derive(AccpFrame)]
    enum Level {
        Low,
        #[accp(other)]
        Other(std::borrow::Cow<'static, str>),
    }
}

fn other_on_a_struct_and_a_field() {
    #[derive(AccpFrame)]
    #[accp(intent = "req", operation = "plan", other)]
    struct Plan {
        task: String,
    }

    #[derive(AccpFrame)]
    #[accp(intent = "req", operation = "plan")]
    struct Task {
        #[accp(other)]
        task: String,
    }
}

fn other_with_a_value() {
    #[derive(AccpFrame)]
    enum Level {
        Low,
        #[accp(other = "more")]
        Other(String),
    }
}

fn other_that_holds_no_text() {
    #[derive(AccpFrame)]
    enum Level {
        Low,
        #[accp(other)]
        Other,
    }

    #[derive(AccpFrame)]
    enum Grade {
        Low,
        #[accp(other)]
        Other(i64),
    }
}

fn other_twice() {
    #[derive(AccpFrame)]
    enum Level {
        Low,
        #[accp(other)]
        Other(String),
        #[accp(other)]
        More(String),
    }
}

fn other_with_a_name() {
    #[derive(AccpFrame)]
    enum Level {
        Low,
        #[accp(other, rename = "more", symbol = "+")]
        Other(String),
    }
}

fn main() {}
