//! Answers the instructions in the lines of a file, on several threads.

use std::path::Path;
use std::sync::Mutex;
use std::thread;

use accp_aacp::Vocabulary;
use accp_aacp::fallback::{FallbackError, Instruction, Request};
use serde::Deserialize;
use serde_json::{Value as Json, json};

use super::super::lines::refuse;
use super::worker::{Reply, Worker, worker};
use super::{EnglishArgs, Mode, is_input, shown, verdict};
use accp_console::choices::Format;
use accp_console::input::{Input, Line};
use accp_console::outcome::{Outcome, Verdict};
use accp_console::output::Output;

/// For each thread, the command reads this many lines before it prints their answers.
const LINES: usize = 16;

/// Why a line has no answer.
#[derive(Clone)]
enum LineFault {
    /// The line is not an object with an instruction: the reason.
    Line(String),
    Request(FallbackError),
}

/// One line: its number, its request, and later its answer.
struct Task {
    number: u64,
    request: Result<Request, LineFault>,
    reply: Option<Result<Reply, LineFault>>,
}

/// Answers the lines of a file, and prints the answers in the order of the lines. Holds only a limited number of
/// lines in memory.
pub(super) fn run(
    args: &EnglishArgs,
    file: &Path,
    vocabulary: &Vocabulary,
    format: Format,
    mode: Mode,
) -> Outcome {
    let mut lines = Input::open(Some(file))?.into_lines();
    let name = lines.name.clone();
    let jobs = usize::from(args.jobs);
    let model = args.model.load(vocabulary)?;
    let mut workers = Vec::with_capacity(jobs);
    for _ in 0..jobs {
        workers.push(worker(args, model.clone(), vocabulary, mode)?);
    }
    let mut out = Output::stdout();
    let (mut inputs, mut others) = (0, 0);
    loop {
        let mut tasks = Vec::new();
        while tasks.len() < jobs * LINES
            && let Some(line) = lines.next_line()?
        {
            let (number, request) = (line.number, request(line, args));
            tasks.push(Task {
                number,
                request,
                reply: None,
            });
        }
        if tasks.is_empty() {
            break;
        }
        share(&mut workers, &mut tasks);
        for task in tasks {
            match (task.reply, format) {
                (Some(Ok(reply)), format) => {
                    inputs += u64::from(reply.verdict == Verdict::AtFault);
                    match format {
                        Format::Text => out.record(reply.text)?,
                        Format::Json => out.record(reply.json)?,
                    }
                }
                (Some(Err(fault)), format) => {
                    let is_input = fault.is_input();
                    inputs += u64::from(is_input);
                    others += u64::from(!is_input);
                    refuse(&name, task.number, format, &fault.to_json(), &mut out)?;
                }
                (None, _) => others += 1,
            }
        }
        out.flush()?;
    }
    out.finish()?;
    verdict(inputs, others)
}

/// Lets the workers answer all tasks: each worker takes the next task when it is free.
fn share(workers: &mut [Worker<'_>], tasks: &mut [Task]) {
    let queue = Mutex::new(tasks.iter_mut());
    let next = || queue.lock().ok()?.next();
    thread::scope(|scope| {
        for worker in workers {
            scope.spawn(|| {
                while let Some(task) = next() {
                    let reply = match (&task.request, &mut *worker) {
                        (Ok(request), Worker::Ready(work)) => {
                            work(request).map_err(LineFault::Request)
                        }
                        (Ok(_), Worker::Failed(error)) => Err(LineFault::Request(error.clone())),
                        (Err(fault), _) => Err(fault.clone()),
                    };
                    task.reply = Some(reply);
                }
            });
        }
    });
}

/// A line of the file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct InstructionLine {
    english: String,
    dom: Option<String>,
    #[serde(rename = "return")]
    receiver: Option<String>,
    p: Option<Json>,
}

/// Reads the request of a line: a JSON object with `english`. Values that the line does not give come from the
/// options.
fn request(line: Line<'_>, args: &EnglishArgs) -> Result<Request, LineFault> {
    let fault = |text: String| Err(LineFault::Line(text));
    if line.is_cut() {
        let most = Instruction::LIMIT;
        return fault(format!(
            "the line is too long; an instruction has at most {most} bytes"
        ));
    }
    let line: InstructionLine = match serde_json::from_slice(line.bytes) {
        Ok(line) => line,
        Err(error) => {
            return fault(format!(
                "character {}: the line is not an object with the strings english, dom, return and \
                 p, each once and no others; write such an object",
                error.column()
            ));
        }
    };
    let missing = |key| {
        LineFault::Line(format!(
            "there is no `{key}`; add it, or give the option --{key}"
        ))
    };
    let dom = line.dom.as_ref().or(args.dom.as_ref());
    let receiver = line.receiver.as_ref().or(args.receiver.as_ref());
    let priority = match &line.p {
        None => args.p.clone(),
        Some(Json::String(text)) => text.clone(),
        Some(Json::Number(number)) => number.to_string(),
        Some(_) => String::new(),
    };
    if Vocabulary::standard().priority(&priority).is_none() {
        return fault("`p` is not a priority; write 1, 2 or 3".to_owned());
    }
    let dom = dom.ok_or_else(|| missing("dom"))?;
    let receiver = receiver.ok_or_else(|| missing("return"))?;
    Request::new(&line.english, dom, receiver, &priority).map_err(LineFault::Request)
}

impl LineFault {
    fn is_input(&self) -> bool {
        match self {
            Self::Line(_) => true,
            Self::Request(error) => is_input(error),
        }
    }

    fn to_json(&self) -> Json {
        match self {
            Self::Line(text) => json!({ "code": "json", "field": null, "message": text }),
            Self::Request(error) => shown(error),
        }
    }
}
