//! Tests of agents that use a hub over MCP and A2A: what an agent costs, and which frames it gets after the hub was
//! killed.

use std::path::Path;

use serde_json::{Value as Json, json};

use super::http;
use super::hub::Running;

/// A client of MCP over HTTP.
struct Model {
    url: String,
    session: String,
}

impl Model {
    fn opens(hub: &str, agent: &str) -> Self {
        let mut model = Self {
            url: format!("{hub}/mcp/main/{agent}"),
            session: String::new(),
        };
        let params = json!({
            "protocolVersion": "2025-11-25", "capabilities": {},
            "clientInfo": { "name": "test", "version": "1" },
        });
        let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params });
        let answer = model.post(&call);
        assert_eq!(answer.status(), 200);
        let session = answer.headers()["mcp-session-id"].to_str().unwrap();
        session.clone_into(&mut model.session);
        read(answer);
        let told = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
        read(model.post(&told));
        model
    }

    fn post(&self, body: &Json) -> ureq::http::Response<ureq::Body> {
        let mut request = http()
            .post(&self.url)
            .content_type("application/json")
            .header("accept", "application/json, text/event-stream");
        if !self.session.is_empty() {
            request = request.header("mcp-session-id", &self.session);
        }
        request.send(body.to_string()).unwrap()
    }

    /// Calls a tool, and returns its result as JSON.
    fn calls(&self, tool: &str, args: &Json) -> Json {
        let params = json!({ "name": tool, "arguments": args });
        let call = json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": params });
        let said = read(self.post(&call));
        let answers = said.lines().filter_map(|line| line.strip_prefix("data:"));
        let mut answers = answers.filter_map(|data| serde_json::from_str::<Json>(data.trim()).ok());
        let answer = answers.find(|answer| answer["id"] == 2);
        let result = answer.ok_or(&said).unwrap()["result"].clone();
        assert_ne!(result["isError"], true, "{tool}: {result}");
        result["structuredContent"].clone()
    }

    fn sends(&self, task: &str) {
        let params = json!({ "assignee": "dev", "task": task });
        let frame = json!({ "intent": "req", "operation": "schedule", "params": params });
        self.calls("accp_send", &frame);
    }

    /// Waits until the model has got these tasks, in this order and each only once. Returns the ids of the frames.
    fn gets(&self, tasks: &[&str]) -> Vec<String> {
        let mut frames: Vec<Json> = Vec::new();
        while frames.len() < tasks.len() {
            let more = self.calls("accp_receive", &json!({ "timeout": 30 }));
            let more = more["frames"].as_array().unwrap();
            assert!(!more.is_empty(), "only {frames:?}");
            frames.extend(more.iter().cloned());
        }
        let came: Vec<&str> = frames
            .iter()
            .map(|frame| frame["params"]["task"].as_str().unwrap())
            .collect();
        assert_eq!(came, tasks);
        let ids = frames
            .iter()
            .map(|frame| frame["id"].as_str().unwrap().to_owned());
        ids.collect()
    }

    fn replies(&self, id: &str, task: &str) {
        let params = json!({ "task": task, "status": "complete" });
        let done = json!({ "id": id, "intent": "done", "operation": "schedule", "params": params });
        self.calls("accp_reply", &done);
    }
}

fn read(mut answer: ureq::http::Response<ureq::Body>) -> String {
    answer.body_mut().read_to_string().unwrap()
}

/// After the hub was killed, the model gets each question that has no answer again, but no answered question. It gets
/// a question that arrived while it was away only once.
#[test]
fn a_model_goes_on_where_it_was_when_its_hub_is_killed() {
    let folder = tempfile::tempdir().unwrap();
    let start = || Running::hub("hub.accp", folder.path());
    let (hub, url) = start();
    let (planner, dev) = (Model::opens(&url, "planner"), Model::opens(&url, "dev"));
    planner.sends("bread");
    planner.sends("soup");
    let ids = dev.gets(&["bread", "soup"]);
    dev.replies(&ids[0], "bread");
    drop(hub);
    let (hub, url) = start();
    let planner = Model::opens(&url, "planner");
    planner.sends("cake");
    let dev = Model::opens(&url, "dev");
    let ids = dev.gets(&["soup", "cake"]);
    dev.replies(&ids[0], "soup");
    dev.replies(&ids[1], "cake");
    drop(hub);
    let (_hub, url) = start();
    let (planner, dev) = (Model::opens(&url, "planner"), Model::opens(&url, "dev"));
    planner.sends("tea");
    dev.gets(&["tea"]);
}

/// The memory of a hub's process, and the size of its files.
#[derive(Debug, Clone, Copy)]
struct Weight {
    memory: u64,
    files: u64,
}

fn weigh(hub: &Running, folder: &Path) -> Weight {
    let status = std::fs::read_to_string(format!("/proc/{}/status", hub.id())).unwrap();
    let resident = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kilobytes: u64 = resident
        .unwrap()
        .trim()
        .trim_end_matches(" kB")
        .parse()
        .unwrap();
    let files = std::fs::read_dir(folder).unwrap();
    let sizes = files.map(|file| file.unwrap().metadata().unwrap().len());
    Weight {
        memory: kilobytes * 1024,
        files: sizes.sum(),
    }
}

/// Returns how much the memory and the files of a hub have grown after 200 agents have entered the hub, and after
/// 400.
fn crowd(enters: impl Fn(&str, usize)) -> [Weight; 2] {
    let folder = tempfile::tempdir().unwrap();
    let (hub, url) = Running::hub("hub.accp", folder.path());
    // The first 20 agents are not measured, because the hub allocates much for the first ones.
    (0..20).for_each(|number| enters(&url, number));
    let begin = weigh(&hub, folder.path());
    [(20..220), (220..420)].map(|numbers| {
        numbers.for_each(|number| enters(&url, number));
        let now = weigh(&hub, folder.path());
        Weight {
            memory: now.memory.saturating_sub(begin.memory),
            files: now.files.saturating_sub(begin.files),
        }
    })
}

/// A function with which the agent with this number enters the hub at this URL.
type Enters = fn(&str, usize);

fn posts(url: &str, number: usize) {
    let frame =
        format!("@agent{number}>req:chat{{content:Lunch?|schema:CH}}[mid:{number:012x},seq:1]");
    let post = http().post(format!("{url}/accp/v1/frames?session=main"));
    let answer = post.content_type("application/accp").send(&frame).unwrap();
    assert_eq!(answer.status(), 200, "{}", read(answer));
}

fn opens_a_model(url: &str, number: usize) {
    Model::opens(url, &format!("agent{number}"));
}

/// The client has no session of MCP, so the hub refuses it, and opens no agent.
fn asks_for_tools(url: &str, number: usize) {
    let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list" });
    let post = http().post(format!("{url}/mcp/main/agent{number}"));
    let post = post.content_type("application/json");
    let post = post.header("accept", "application/json, text/event-stream");
    read(post.send(call.to_string()).unwrap());
}

fn sends_a_message(url: &str, number: usize) {
    if number == 0 {
        // With this frame another agent joins the session. It may take the messages of the A2A clients.
        posts(url, 999);
    }
    let message = json!({
        "messageId": format!("m{number}"), "role": "ROLE_USER", "parts": [{ "text": "Lunch?" }],
    });
    let params = json!({ "message": message, "configuration": { "returnImmediately": true } });
    let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": params });
    let post = http().post(format!("{url}/a2a/main/agent{number}"));
    let post = post
        .content_type("application/json")
        .header("A2A-Version", "1.0");
    let said = read(post.send(call.to_string()).unwrap());
    assert!(said.contains("TASK_STATE_"), "{said}");
}

/// An agent over MCP or A2A costs as much as an agent over POST, plus a constant that docs/limits.md states. Most of
/// this constant is the MCP session, which belongs to the client. Twice the number of agents costs twice as much.
#[test]
fn an_agent_costs_the_same_however_it_comes() {
    const KIB: u64 = 1024;
    let posted = crowd(posts);
    assert!(posted[1].memory < 400 * 16 * KIB, "{posted:?}");
    assert!(posted[1].files < 400 * 16 * KIB, "{posted:?}");
    let refused = crowd(asks_for_tools);
    assert_eq!(refused.map(|weight| weight.files), [0, 0], "{refused:?}");
    let grows = refused[1].memory.saturating_sub(refused[0].memory);
    assert!(grows < 200 * 4 * KIB, "{refused:?}");
    let ways: [(&str, Enters, u64); 2] = [
        ("MCP", opens_a_model, 96 * KIB),
        ("A2A", sends_a_message, 16 * KIB),
    ];
    for (way, enters, constant) in ways {
        let came = crowd(enters);
        println!("{way}: {came:?}, POST: {posted:?}");
        for (agents, (came, posted)) in [200, 400].into_iter().zip(came.iter().zip(&posted)) {
            let allowed = 2 * posted.memory + agents * constant;
            assert!(came.memory < allowed, "{way}: {came:?}, POST: {posted:?}");
            let allowed = 2 * posted.files + agents * KIB;
            assert!(came.files < allowed, "{way}: {came:?}, POST: {posted:?}");
        }
        // The hub takes memory and file space in blocks of many pages, so the bound is wide.
        assert!(
            came[1].memory < 3 * came[0].memory + 4 * KIB * KIB,
            "{way}: {came:?}"
        );
        assert!(came[1].files < 3 * came[0].files, "{way}: {came:?}");
    }
}
