//! Conformance of the registry and of the codec API: REG (draft section 6), and the encode and
//! decode parts of API (7). `docs/conformance.md` lists the tests of each requirement.

use std::collections::BTreeMap;

use accp_registry::{Field, Schema, Type};
use accp_runtime::profiles::{ExecuteReq, ScheduleReq};
use accp_runtime::{
    AgentId, DynamicFrame, EncodeError, EncodeOptions, Envelope, ErrorCode, External, Externals,
    Registry, Typed, Value,
};
use accp_tests::judges::agree;
use proptest::prelude::*;
use serde_json::{Value as Json, json};

// ---- REG-01 ------------------------------------------------------------------------

/// The registry as draft section 6.2 prints it.
const DRAFT: &str = r#"   {
     "schemas": {
       "sales_report": {
         "code": "SR",
         "version": 1,
         "fields": ["period", "revenue", "growth_pct",
                     "segments", "notes"],
         "defaults": { "period": "quarterly", "segments": [] }
       },
       "task_assignment": {
         "code": "TA",
         "version": 2,
         "fields": ["assignee", "task", "priority",
                     "deadline", "deps"],
         "defaults": { "priority": "medium", "deps": [] }
       }
     }
   }"#;

#[test]
fn reg_01_accepts_the_registry_of_the_draft_unchanged() {
    let registry = Registry::from_json(DRAFT).unwrap();
    let json: Json = serde_json::from_str(DRAFT).unwrap();
    let schemas = json["schemas"].as_object().unwrap();
    assert_eq!(registry.schemas().len(), schemas.len());
    for (name, expected) in schemas {
        let schema = registry.schema_by_name(name).unwrap();
        assert_eq!(expected["code"], schema.code);
        assert_eq!(expected["version"], schema.version);
        let fields: Vec<&str> = schema
            .fields
            .iter()
            .map(|field| field.name.as_str())
            .collect();
        assert_eq!(expected["fields"], json!(fields));
        for field in &schema.fields {
            assert_eq!(
                expected["defaults"].get(&field.name),
                field.default.as_ref()
            );
        }
    }
    let text = "@a>done:analyze{growth_pct:-3.2|revenue:142.5|schema:SR}";
    let report = DynamicFrame::decode(text, &registry).unwrap();
    assert_eq!(
        Value::Map(report.payload.clone()).to_json(),
        json!({ "period": "quarterly", "revenue": 142.5, "growth_pct": -3.2, "segments": [] }),
    );
    assert_eq!(
        report.encode(&registry).unwrap(),
        "@a>done:analyze{revenue:142.5|growth_pct:-3.2|schema:SR}"
    );
}

#[test]
fn reg_01_refuses_a_registry_with_a_mistake() {
    for (from, to, line, about) in [
        ("\"SR\"", "\"TA\"", 11, "TA"),
        ("\"code\": \"SR\",", "", 3, "code"),
        ("\"version\": 1", "\"version\": \"one\"", 5, "version"),
        ("\"notes\"", "\"period\"", 7, "period"),
        ("\"notes\"", "\"end notes\"", 7, "end notes"),
        (
            "\"period\": \"quarterly\"",
            "\"perod\": \"quarterly\"",
            8,
            "period",
        ),
        ("\"schemas\"", "\"schema\"", 2, "schemas"),
    ] {
        let text = DRAFT.replacen(from, to, 1);
        let problems = Registry::from_json(&text).unwrap_err().to_string();
        assert!(
            problems.contains(&format!("registry:{line}:")),
            "{line}: {problems}"
        );
        assert!(problems.contains(about), "{about}: {problems}");
    }
    for end in 0..DRAFT.len() {
        Registry::from_json(&DRAFT[..end]).unwrap_err();
    }
}

// ---- REG-02 ------------------------------------------------------------------------

#[test]
fn reg_02_accepts_a_code_and_fills_the_fields_of_its_schema() {
    let text = "@planner>req:execute{schema:TA|assignee:dev|task:auth_module|deadline:sprint_14}";
    assert!(agree(text.as_bytes()));
    let message = DynamicFrame::decode(text, Registry::shared()).unwrap();
    assert_eq!(message.schema.as_deref(), Some("TA"));
    assert_eq!(
        Value::Map(message.payload.clone()).to_json(),
        json!({
            "assignee": "dev", "task": "auth_module", "priority": "medium",
            "deadline": "sprint_14", "deps": [],
        }),
    );
    let typed = Typed::<ExecuteReq<'_>>::decode(text).unwrap();
    assert_eq!(
        (&*typed.frame.priority, typed.frame.deps.len()),
        ("medium", 0)
    );
    let canonical = "@planner>req:execute{asgn:dev|task:auth_module|dead:sprint_14|schema:TA}";
    assert_eq!(typed.encode().unwrap(), canonical);
    assert_eq!(message.encode(Registry::shared()).unwrap(), canonical);
    for schema in Registry::shared().schemas() {
        for (index, field) in schema.fields.iter().enumerate() {
            assert_eq!(schema.field(&field.name), Some((index, field)));
            assert_eq!(schema.field(&field.short), Some((index, field)));
        }
    }
}

proptest! {
    #[test]
    fn reg_02_refuses_an_unknown_code(code in "[A-Za-z0-9_]{1,4}|ta|TA1|\"TA|task__assignment") {
        prop_assume!(Registry::shared().schema(&code).is_none());
        let text = format!("@a>req:execute{{asgn:dev|task:t|schema:{code}}}");
        prop_assert!(agree(text.as_bytes()));
        let error = DynamicFrame::decode(&text, Registry::shared()).unwrap_err();
        prop_assert_eq!((error.code(), error.at()), (ErrorCode::UNKNOWN_SCHEMA, 38));
        let error = Typed::<ExecuteReq<'_>>::decode(&text).unwrap_err();
        prop_assert_eq!(error.code(), ErrorCode::UNKNOWN_SCHEMA);
        let message = DynamicFrame::new("a", "req", "execute").unwrap().under(code);
        let error = message.encode(Registry::shared()).unwrap_err();
        prop_assert_eq!(error.code(), ErrorCode::UNKNOWN_SCHEMA);
    }
}

// ---- API-01 ------------------------------------------------------------------------

fn schedule<'a>(task: &'a str, deps: &[&'a str]) -> Typed<'a, ScheduleReq<'a>> {
    let frame = ScheduleReq {
        assignee: AgentId::new("dev").unwrap(),
        task: task.into(),
        priority: "medium".into(),
        deadline: None,
        deps: deps.iter().map(|&dep| dep.into()).collect(),
        status: None,
        progress: None,
    };
    Typed::new(
        AgentId::new("planner").unwrap(),
        frame,
        Envelope::new("1", 1),
    )
}

proptest! {
    /// Decoding an encoded message gives the message back, typed or not, and its encoding is
    /// unique.
    #[test]
    fn api_01_accepts_encode_and_decode_as_inverses(
        task in "\\PC{0,50}", deps in proptest::collection::vec("\\PC{0,50}", 0..4)
    ) {
        let deps: Vec<&str> = deps.iter().map(String::as_str).collect();
        let typed = schedule(&task, &deps);
        let text = typed.encode().unwrap();
        prop_assert!(agree(text.as_bytes()));
        prop_assert_eq!(&Typed::decode(&text).unwrap(), &typed);
        let message = DynamicFrame::decode(&text, Registry::shared()).unwrap();
        prop_assert_eq!(message.payload.get("task"), Some(&Value::from(task.as_str())));
        prop_assert_eq!(message.encode(Registry::shared()).unwrap(), text);
    }
}

#[test]
fn api_01_accepts_a_schema_at_run_time() {
    let mut registry = Registry::standard();
    let text = "@a>done:review{topic:limits|schema:FD}";
    assert_eq!(
        DynamicFrame::decode(text, &registry).unwrap_err().code(),
        ErrorCode::UNKNOWN_SCHEMA
    );
    let mut schema = Schema::new("finding", "FD");
    schema.fields.push(Field::new("topic", Type::String));
    let mut severity = Field::new("severity", Type::String);
    severity.default = Some(json!("low"));
    schema.fields.push(severity);
    registry.register(schema).unwrap();
    let message = DynamicFrame::decode(text, &registry).unwrap();
    assert_eq!(message.payload.get("severity"), Some(&Value::from("low")));
    assert_eq!(message.encode(&registry).unwrap(), text);
}

#[test]
fn api_01_refuses_and_changes_nothing() {
    // Encode: the buffer holds its old content and nothing more.
    let long = "x".repeat(51);
    let mut out = String::from("before");
    let error = schedule(&long, &[])
        .encode_into(&mut out, EncodeOptions::default())
        .unwrap_err();
    assert_eq!(
        (error.code(), error.path().as_str()),
        (ErrorCode::INVALID_TYPE, "ScheduleReq.task")
    );
    assert_eq!(out, "before");
    // Decode: the error names the byte, the expected text and the field.
    let text = "@a>req:schedule{asgn:dev|task:t|deps:[x,[y]]|schema:TA}";
    let error = Typed::<ScheduleReq<'_>>::decode(text).unwrap_err();
    assert_eq!(
        (error.code(), error.at()),
        (ErrorCode::INVALID_TYPE, text.find("[y]").unwrap())
    );
    assert_eq!(error.path(), "ScheduleReq.deps[1]");
    // RegisterSchema: the code is taken, or a field has no name.
    let mut registry = Registry::standard();
    let hash = registry.hash();
    let mut nameless = Schema::new("finding", "FD");
    nameless.fields.push(Field::new("", Type::String));
    for faulty in [Schema::new("task", "TA"), nameless] {
        registry.register(faulty).unwrap_err();
        assert_eq!(registry, Registry::standard());
        assert_eq!(registry.hash(), hash);
    }
}

// ---- API-02 and API-03 ---------------------------------------------------------------

#[derive(Debug, Default)]
struct Kept(BTreeMap<String, Json>);

impl Externals for Kept {
    fn put(&mut self, external: External<'_, '_>) -> Result<String, EncodeError> {
        let key = format!("cold.k{}", self.0.len() + 1);
        self.0.insert(key.clone(), external.value.to_json());
        Ok(key)
    }
}

/// The encoder takes a message through these steps of section 7.2: schema, abbreviations, references for large
/// values, defaults, the limits of a frame, and the text.
#[test]
fn api_02_accepts_a_message_and_takes_it_through_the_steps() {
    let long = "x".repeat(51);
    let message = DynamicFrame::new("planner", "req", "schedule")
        .unwrap()
        .under("TA")
        .with("note", long.as_str())
        .with("query", "why")
        .with("deps", Vec::new())
        .with("priority", "medium")
        .with("deadline", long.as_str())
        .with("task", "impl_auth")
        .with("assignee", "dev");
    let mut kept = Kept::default();
    let options = EncodeOptions {
        externals: Some(&mut kept),
        ..EncodeOptions::default()
    };
    let text = message.encode_with(Registry::shared(), options).unwrap();
    assert_eq!(
        text,
        "@planner>req:schedule{asgn:dev|task:impl_auth|dead:$cold.k1|note:$cold.k2|q:why|schema:TA}"
    );
    assert_eq!(
        kept.0.into_values().collect::<Vec<_>>(),
        [json!(long), json!(long)]
    );
    assert!(agree(text.as_bytes()));
}

/// A default value is left out at any length, and no part of the value is stored elsewhere.
#[test]
fn api_02_accepts_a_long_default_and_leaves_it_out() {
    let long = "x".repeat(60);
    let schema = json!({ "code": "NT", "fields": ["note"], "defaults": { "note": long } });
    let registry =
        Registry::from_json(&json!({ "schemas": { "note": schema } }).to_string()).unwrap();
    let message = DynamicFrame::new("a", "sync", "state")
        .unwrap()
        .under("NT")
        .with("note", long.as_str());
    let mut kept = Kept::default();
    let options = EncodeOptions {
        externals: Some(&mut kept),
        ..EncodeOptions::default()
    };
    assert_eq!(
        message.encode_with(&registry, options).unwrap(),
        "@a>sync:state{schema:NT}"
    );
    assert!(kept.0.is_empty());
    assert_eq!(
        message.encode(&registry).unwrap(),
        "@a>sync:state{schema:NT}"
    );
}

/// Each step refuses before the next step has any effect.
#[test]
fn api_02_refuses_a_message_before_anything_leaves_it() {
    let long = "x".repeat(51);
    let message = |schema| {
        DynamicFrame::new("a", "req", "schedule")
            .unwrap()
            .under(schema)
            .with("note", long.clone())
    };
    for (message, code) in [
        (message("XX"), ErrorCode::UNKNOWN_SCHEMA),
        (message("TA"), ErrorCode::INVALID_TYPE),
        (
            message("TA").with("assignee", "dev").with("task", 7),
            ErrorCode::INVALID_TYPE,
        ),
        (
            message("TA")
                .with("assignee", "dev")
                .with("asgn", "dev")
                .with("task", "t"),
            ErrorCode::PARSE_ERROR,
        ),
    ] {
        let mut kept = Kept::default();
        let options = EncodeOptions {
            externals: Some(&mut kept),
            ..EncodeOptions::default()
        };
        assert_eq!(
            message
                .encode_with(Registry::shared(), options)
                .unwrap_err()
                .code(),
            code
        );
        assert!(kept.0.is_empty());
    }
}

#[test]
fn api_03_accepts_a_frame_and_takes_it_through_the_steps() {
    let text =
        "@analyst>req:schedule{task:$warm.ckpt_1.task|q:why|asgn:dev|schema:TA}[seq:2,mid:1]";
    assert!(agree(text.as_bytes()));
    let message = DynamicFrame::decode(text, Registry::shared()).unwrap();
    assert_eq!(
        message.to_json(),
        json!({
            "agent": "analyst", "intent": "req", "operation": "schedule", "schema": "TA",
            "payload": {
                "assignee": "dev", "task": { "$ref": "warm.ckpt_1.task" }, "priority": "medium",
                "deps": [], "query": "why",
            },
            "metadata": { "msg_id": "1", "sequence": 2 },
        }),
    );
    // Decoding passes the reference on. `into_data` puts in the value that its caller has.
    let task = message.payload.get("task").unwrap().clone();
    let resolved =
        task.into_data(&mut |key| (key == "warm.ckpt_1.task").then(|| json!("impl_auth")));
    assert_eq!(resolved, Ok(json!("impl_auth")));
}

/// The error comes from the first failing step of section 7.3, not from the first faulty byte.
#[test]
fn api_03_refuses_by_the_first_step_that_fails() {
    for (text, code) in [
        (
            "@a>nope:x{schema:XX|turn:x|turn:x}[mid]",
            ErrorCode::PARSE_ERROR,
        ),
        (
            "@a>req:x{schema:XX|turn:x|turn:x}[mid:1]x",
            ErrorCode::PARSE_ERROR,
        ),
        (
            "@a>nope:x{schema:XX|turn:x|turn:x}",
            ErrorCode::INVALID_INTENT,
        ),
        ("@a>req:chat{turn:x|schema:XX}", ErrorCode::UNKNOWN_SCHEMA),
        ("@a>req:chat{turn:x|schema:CH}", ErrorCode::INVALID_TYPE),
        (
            "@a>req:chat{content:a|content:a|schema:CH}",
            ErrorCode::PARSE_ERROR,
        ),
        ("@a>req:chat{schema:CH}", ErrorCode::INVALID_TYPE),
    ] {
        agree(text.as_bytes());
        assert_eq!(
            DynamicFrame::decode(text, Registry::shared())
                .unwrap_err()
                .code(),
            code,
            "{text}"
        );
    }
    let unknown = Value::Ref("warm.gone".into()).into_data(&mut |_| None);
    assert_eq!(unknown, Err("warm.gone".to_owned()));
}
