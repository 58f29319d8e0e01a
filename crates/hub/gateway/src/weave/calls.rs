//! The calls of one turn of a chat, which come in pieces.

use serde_json::Value as Json;

use super::pieces::{bytes_of, grow};
use super::set;
use crate::tool::NAME;

/// A call, and the number that the provider gives to its pieces.
#[derive(Debug)]
struct Called {
    index: u64,
    json: Json,
}

/// The calls of a turn, in the order of their numbers.
#[derive(Debug, Default)]
pub(super) struct Calls(Vec<Called>);

fn is_ours(call: &Json) -> bool {
    call["function"]["name"] == NAME
}

impl Calls {
    /// Takes the calls of a whole answer.
    pub(super) fn of_whole(calls: impl Iterator<Item = Json>) -> Self {
        let calls = (0..).zip(calls);
        Self(calls.map(|(index, json)| Called { index, json }).collect())
    }

    /// Returns all calls, each with whether it calls the gateway's tool.
    pub(super) fn all(&self) -> impl Iterator<Item = (&Json, bool)> {
        let calls = self.0.iter().map(|call| &call.json);
        calls.map(|call| (call, is_ours(call)))
    }

    /// Returns the calls of the client's tools.
    pub(super) fn others(&self) -> impl Iterator<Item = &Json> {
        let others = self.all().filter(|(_, is_ours)| !is_ours);
        others.map(|(call, _)| call)
    }

    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    /// Takes a piece of a call. Returns how many bytes are kept of the piece, and the piece as the client sees it;
    /// `None` if the client does not see it. Without `keeps`, nothing is kept: a call that begins then passes, and only
    /// its place counts.
    pub(super) fn take(&mut self, piece: &Json, keeps: bool) -> (usize, Option<Json>) {
        let at = self.place_of(piece);
        let Some(call) = self.0.get_mut(at) else {
            return (0, None);
        };
        let mut kept = 0;
        if keeps {
            let mut new = piece.clone();
            if let Some(new) = new.as_object_mut() {
                new.shift_remove("index");
            }
            kept = bytes_of(&new);
            grow(&mut call.json, &new);
        }
        let is_seen = !is_ours(&call.json);
        (kept, is_seen.then(|| self.shown(piece)))
    }

    /// Returns the place of the call that a piece belongs to. A piece of another call begins a call.
    fn place_of(&mut self, piece: &Json) -> usize {
        // A piece without a number goes on with the newest call.
        let newest = self.0.last().map_or(0, |call| call.index);
        let index = piece["index"].as_u64().unwrap_or(newest);
        let found = self.0.iter().rposition(|call| call.index == index);
        let begun = found.filter(|at| {
            let call = self.0.get(*at);
            call.is_some_and(|call| !is_another(&call.json, piece))
        });
        begun.unwrap_or_else(|| {
            let at = self.0.partition_point(|call| call.index <= index);
            let json = Json::Null;
            self.0.insert(at, Called { index, json });
            at
        })
    }

    /// Returns a piece with the number that its call has for the client, who does not see the calls of the gateway's
    /// tool.
    fn shown(&self, piece: &Json) -> Json {
        let mut piece = piece.clone();
        let Some(index) = piece["index"].as_u64() else {
            return piece;
        };
        let others = self.0.iter().filter(|call| !is_ours(&call.json));
        let seen: Vec<u64> = others.map(|call| call.index).collect();
        let before = self.0.iter().map(|call| call.index);
        let before = before.filter(|other| *other < index && !seen.contains(other));
        let mut hidden: Vec<u64> = before.collect();
        hidden.dedup();
        if !hidden.is_empty() {
            let shown = index.saturating_sub(hidden.len() as u64);
            set(&mut piece, "index", Json::from(shown));
        }
        piece
    }
}

/// Returns whether a piece belongs to another call than this one, although it has the same number. Some providers give
/// each call the number 0, or no number. There, a piece that names its tool begins a call, unless it has the id and the
/// name of this one.
fn is_another(call: &Json, piece: &Json) -> bool {
    let differs = |place: &str| {
        let text = |json: &Json| {
            let text = json.pointer(place).and_then(Json::as_str);
            text.filter(|text| !text.is_empty()).map(str::to_owned)
        };
        matches!((text(call), text(piece)), (Some(one), Some(other)) if one != other)
    };
    let name = piece["function"]["name"].as_str();
    name.is_some_and(|name| !name.is_empty()) && (differs("/id") || differs("/function/name"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn begins(id: &str, name: &str) -> Json {
        json!({ "id": id, "function": { "name": name, "arguments": "" } })
    }

    fn goes_on(arguments: &str) -> Json {
        json!({ "function": { "arguments": arguments } })
    }

    fn numbered(mut piece: Json, index: u64) -> Json {
        set(&mut piece, "index", Json::from(index));
        piece
    }

    #[test]
    fn calls_are_told_apart_without_numbers() {
        let pieces = [
            begins("a", NAME),
            goes_on("{}"),
            begins("b", "guests"),
            goes_on("[1"),
            // Some providers repeat the id and the name.
            json!({ "id": "b", "function": { "name": "guests", "arguments": "]" } }),
            begins("", "tables"),
        ];
        for number in [None, Some(0)] {
            let mut calls = Calls::default();
            let pieces = pieces.iter().cloned().map(|piece| match number {
                Some(index) => numbered(piece, index),
                None => piece,
            });
            let pieces: Vec<Json> = pieces.collect();
            let seen = pieces.iter().filter_map(|piece| calls.take(piece, true).1);
            let seen: Vec<Json> = seen.collect();
            // The client sees the pieces as they came.
            assert_eq!(seen, pieces[2..]);
            let arguments = calls
                .all()
                .map(|(call, is_ours)| (&call["function"]["arguments"], is_ours));
            let arguments: Vec<_> = arguments.collect();
            assert_eq!(
                arguments,
                [
                    (&json!("{}"), true),
                    (&json!("[1]"), false),
                    (&json!(""), false)
                ]
            );
        }
    }

    #[test]
    fn the_client_counts_only_its_own_calls() {
        let mut calls = Calls::default();
        let pieces = [
            numbered(begins("a", "guests"), 0),
            numbered(begins("b", NAME), 1),
            numbered(goes_on("{}"), 1),
            numbered(begins("c", "guests"), 2),
            numbered(goes_on("{}"), 2),
        ];
        let seen = pieces.iter().filter_map(|piece| calls.take(piece, true).1);
        let numbers: Vec<_> = seen.map(|piece| piece["index"].as_u64()).collect();
        assert_eq!(numbers, [Some(0), Some(1), Some(1)]);
        assert_eq!(calls.others().count(), 2);
    }
}
