//! Tests that write records by position, and read them back with a reader that knows no more than a model.

use proptest::prelude::*;

use super::*;
use crate::engine::shapes::INSIDE;

/// Returns the JSON from which a result was made. `before` has the results so far, as the list has them.
fn records(json: &Json, before: &[(String, Json)]) -> Json {
    match json {
        Json::Array(items) => items.iter().map(|item| records(item, before)).collect(),
        Json::Object(map) => match (map.get("columns"), map.get("rows"), map.get("groups")) {
            (Some(columns), Some(Json::Array(rows)), None) => {
                table_rows(&column_names(columns, before), rows, before)
            }
            (Some(columns), None, Some(Json::Array(groups))) => {
                let columns = column_names(columns, before);
                let groups = groups.iter();
                let groups =
                    groups.map(|rows| table_rows(&columns, rows.as_array().unwrap(), before));
                groups.collect()
            }
            _ => {
                if let (Some(keys), Some(values)) = (map.get("keys and columns"), map.get("values"))
                {
                    let of = keys.as_str().unwrap().strip_prefix("as in ").unwrap();
                    return by_shape(values, stands(of, before), before);
                }
                let mut members = map.iter();
                if let Some((key, Json::Object(others))) = members.next()
                    && let Some(of) = key.strip_prefix("as ")
                    && let Some(of) = of.strip_suffix(", but")
                {
                    let mut record = records(stands(of, before), before);
                    record.as_object_mut().unwrap().extend(others.clone());
                    return record;
                }
                let members = map.iter();
                let members = members.map(|(key, value)| (key.clone(), records(value, before)));
                Json::Object(members.collect())
            }
        },
        scalar => scalar.clone(),
    }
}

/// Returns the earlier result that these words name, in the form that the list has.
fn stands<'b>(of: &str, before: &'b [(String, Json)]) -> &'b Json {
    let name = of.strip_prefix("result ").unwrap();
    let (_, stands) = before.iter().find(|(known, _)| known == name).unwrap();
    stands
}

/// Adds the names of an earlier value to a value that has none.
fn by_shape(value: &Json, of: &Json, before: &[(String, Json)]) -> Json {
    let Json::Array(values) = value else {
        return records(value, before);
    };
    match of {
        Json::Object(map) if map.contains_key("rows") => {
            table_rows(&column_names(&map["columns"], before), values, before)
        }
        Json::Object(map) if !map.contains_key("columns") && !map.contains_key("values") => {
            assert_eq!(map.len(), values.len());
            let members = map.iter().zip(values);
            let members =
                members.map(|((key, of), value)| (key.clone(), by_shape(value, of, before)));
            Json::Object(members.collect())
        }
        Json::Array(items) if !items.is_empty() && items.iter().all(Json::is_object) => {
            let records = items.iter().map(|item| item.as_object().unwrap());
            match flat(&records.collect::<Vec<_>>()) {
                Some(flat) if !flat[0].is_empty() => {
                    let names = flat[0].iter().map(|(name, _)| name.clone());
                    table_rows(&names.collect::<Vec<_>>(), values, before)
                }
                _ => self::records(value, before),
            }
        }
        _ => records(value, before),
    }
}

fn column_names(given: &Json, before: &[(String, Json)]) -> Vec<String> {
    let place = given.as_str().and_then(|text| text.strip_prefix("as in "));
    let of = place.map(|place| {
        let (member, name) = place.split_once("result ").unwrap();
        let of = stands(&format!("result {name}"), before);
        columns_at(of, None, member.strip_suffix(" of ")).unwrap()
    });
    let names = of.unwrap_or(given).as_array().unwrap().iter();
    names
        .map(|name| name.as_str().unwrap().to_owned())
        .collect()
}

fn table_rows(columns: &[String], rows: &[Json], before: &[(String, Json)]) -> Json {
    let rows = rows.iter().map(|row| {
        let mut record = Json::Object(Map::new());
        let cells = row.as_array().unwrap();
        assert_eq!(cells.len(), columns.len());
        for (name, cell) in columns.iter().zip(cells) {
            let mut steps = name.split(INSIDE);
            let place = steps.try_fold(&mut record, |inside, step| {
                let inside = inside.as_object_mut()?;
                Some(
                    inside
                        .entry(step)
                        .or_insert_with(|| Json::Object(Map::new())),
                )
            });
            *place.unwrap() = records(cell, before);
        }
        record
    });
    rows.collect()
}

/// Returns the name of the member that a reader takes for the place of a value inside `map`: `key`, but in a table the
/// place of the table, and in a record by position none.
fn inside_of<'j>(map: &Map<String, Json>, at: Option<&'j str>, key: &'j str) -> Option<&'j str> {
    match (map.contains_key("columns"), map.contains_key("values")) {
        (true, _) => at,
        (_, true) => None,
        _ => Some(key),
    }
}

/// Returns the first columns that stand at a member of a result.
fn columns_at<'j>(json: &'j Json, at: Option<&str>, wanted: Option<&str>) -> Option<&'j Json> {
    match json {
        Json::Array(items) => items.iter().find_map(|item| columns_at(item, at, wanted)),
        Json::Object(map) => {
            let columns = map.get("columns").filter(|columns| columns.is_array());
            let mut inside = map.iter();
            columns.filter(|_| at == wanted).or_else(|| {
                inside.find_map(|(key, value)| {
                    let at = inside_of(map, at, key);
                    columns_at(value, at, wanted)
                })
            })
        }
        _ => None,
    }
}

fn places(name: &str, json: &Json, at: Option<&str>, all: &mut Vec<(String, String)>) {
    match json {
        Json::Array(items) => items.iter().for_each(|item| places(name, item, at, all)),
        Json::Object(map) => {
            let columns = map.get("columns").filter(|columns| columns.is_array());
            all.extend(columns.map(|columns| (place(at, name), columns.to_string())));
            for (key, value) in map {
                let at = inside_of(map, at, key);
                places(name, value, at, all);
            }
        }
        _ => {}
    }
}

fn alone(text: &str) -> Option<String> {
    by_position(text, "c1", &Shapes::default())
}

#[test]
fn records_become_rows_under_their_columns() {
    let flights = r#"[ {"no": "K17", "seats": {"near": 4, "far": 0}, "price": 1.50},
        {"no": "K18", "seats": {"near": 0, "far": 2}, "price": 2.0} ]"#;
    // `1.50` would become `1.5`.
    assert_eq!(alone(flights), None);
    let flights = flights.replace("1.50", "1.5");
    let expected = r#"{"columns":["no","seats.near","seats.far","price"],"rows":[["K17",4,0,1.5],["K18",0,2,2.0]]}"#;
    assert_eq!(alone(&flights).as_deref(), Some(expected));
    let one = r#"{ "found": [ { "a": 1 } ], "n": "3" }"#;
    assert_eq!(
        alone(one).as_deref(),
        Some(r#"{"found":[{"a":1}],"n":"3"}"#)
    );
    for other in ["not JSON", "[1,2", r#"{"a":1,"a":2}"#, r#"["\ud800"]"#] {
        assert_eq!(alone(other), None, "{other}");
    }
}

#[test]
fn lists_of_lists_have_common_columns() {
    let trips = r#"[[{"no":"K1","at":7},{"no":"K2","at":9}],[],[{"no":"K3","at":8}]]"#;
    let expected = r#"{"columns":["no","at"],"groups":[[["K1",7],["K2",9]],[],[["K3",8]]]}"#;
    assert_eq!(alone(trips).as_deref(), Some(expected));
}

#[test]
fn what_an_earlier_result_has_is_said_by_its_name() {
    let mut shapes = Shapes::default();
    let first = r#"{"id":"A","who":"ann","paid":[{"how":"card","sum":3},{"how":"cash","sum":4}],"bags":[{"no":1}],"seat":{"row":4,"at":"K"}}"#;
    let stands = by_position(first, "c1", &shapes).unwrap();
    shapes.add("c1", &stands, first);
    let second = r#"{"id":"B","who":"bo","paid":[{"how":"card","sum":9}],"bags":[],"seat":{"row":5,"at":"K"}}"#;
    let expected =
        r#"{"keys and columns":"as in result c1","values":["B","bo",[["card",9]],[],[5,"K"]]}"#;
    let placed = by_position(second, "c2", &shapes);
    assert_eq!(placed.as_deref(), Some(expected));
    shapes.add("c2", expected, second);
    // A reader would take this value for another one, so all names stay.
    let odd = r#"{"id":"B","who":"cy","paid":[7],"bags":[],"seat":[1]}"#;
    assert_eq!(by_position(odd, "c3", &shapes).as_deref(), Some(odd));
    // A record with other keys keeps its keys.
    let third = r#"{"id":"B","who":"bo","bags":0,"more":1}"#;
    assert_eq!(by_position(third, "c3", &shapes).as_deref(), Some(third));
}

#[test]
fn a_record_that_changed_says_what_changed() {
    let mut shapes = Shapes::default();
    let first = r#"{"id":"A","who":"ann","from":"2031-06-01","to":"2031-06-09","free":true}"#;
    shapes.add("c1", first, first);
    let second = first.replace("true}", r#"false,"note":"gone"}"#);
    let expected = r#"{"as result c1, but":{"free":false,"note":"gone"}}"#;
    assert_eq!(
        by_position(&second, "c2", &shapes).as_deref(),
        Some(expected)
    );
    let same = by_position(first, "c2", &shapes);
    assert_eq!(same.as_deref(), Some(r#"{"as result c1, but":{}}"#));
    // Only half of it is the same as the earlier record.
    let other = r#"{"id":"B","who":"bo","from":"2031-06-02","to":"2031-06-09","free":true}"#;
    let placed = by_position(other, "c2", &shapes).unwrap();
    assert!(placed.starts_with(r#"{"keys and columns""#), "{placed}");
    // A reference cannot say that a member is gone or stands elsewhere.
    let gone = r#"{"id":"A","who":"ann","from":"2031-06-01","to":"2031-06-09"}"#;
    assert_eq!(by_position(gone, "c2", &shapes).as_deref(), Some(gone));
}

#[test]
fn words_around_the_json_stay() {
    let json = r#"[ {"no": "K17", "near": 4, "far": 0}, {"no": "K18", "near": 0, "far": 2}, {"no": "K19", "near": 1, "far": 2} ]"#;
    let (before, behind) = ("Exit code: 0\nOutput:\n", "\n\n<note>\n [1]\n</note> ");
    let expected =
        r#"{"columns":["no","near","far"],"rows":[["K17",4,0],["K18",0,2],["K19",1,2]]}"#;
    let expected = format!("{before}{expected}{behind}");
    let given = format!("{before}{json}{behind}");
    assert_eq!(alone(&given).as_deref(), Some(&*expected));
    // A later result refers to the columns of this one.
    let mut shapes = Shapes::default();
    shapes.add("c1", &expected, &given);
    let later = by_position(json, "c2", &shapes).unwrap();
    assert!(
        later.starts_with(r#"{"columns":"as in result c1","#),
        "{later}"
    );
}

fn any_json() -> impl Strategy<Value = Json> {
    let scalar = prop_oneof![
        any::<i32>().prop_map(Json::from),
        "[a-z1-9.\"\\\\]{0,5}".prop_map(Json::from),
        Just(Json::Null),
    ];
    scalar.prop_recursive(4, 40, 4, |inner| {
        let record =
            |value: &Json| json!({ "k": value, "in": { "x": value, "y": 1 }, "z": 0, "w": 2 });
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Json::from),
            prop::collection::vec(("[ab]{1,2}", inner.clone()), 0..4)
                .prop_map(|members| Json::Object(members.into_iter().collect())),
            (inner.clone(), inner.clone())
                .prop_map(move |(one, other)| json!([record(&one), record(&other)])),
            inner
                .clone()
                .prop_map(move |one| json!([[record(&one)], [], [record(&one)]])),
            inner.prop_map(move |one| record(&one)),
        ]
    })
}

proptest! {
    #[test]
    fn a_table_says_all_that_the_records_said(all in prop::collection::vec(any_json(), 1..4)) {
        let mut shapes = Shapes::default();
        let mut before: Vec<(String, Json)> = Vec::new();
        for (at, json) in all.iter().enumerate() {
            let name = format!("c{at}");
            let text = serde_json::to_string_pretty(json).unwrap();
            if let Some(table) = by_position(&text, &name, &shapes) {
                let read: Json = serde_json::from_str(&table).unwrap();
                // A result may refer to its own earlier columns.
                before.push((name.clone(), read.clone()));
                // A reader takes the first columns of a member. That is right only if the member has no other
                // columns.
                let mut all = Vec::new();
                for (name, json) in &before {
                    places(name, json, None, &mut all);
                }
                all.sort();
                all.dedup();
                let mut once: Vec<_> = all.iter().map(|(place, _)| place).collect();
                once.dedup();
                if once.len() == all.len() {
                    prop_assert_eq!(&records(&read, &before), json);
                }
                shapes.add(&name, &table, &text);
            }
        }
    }
}
