//! The shop: it hosts the session, tells the story, and kills the bank.

use std::io::Write as _;
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::Receiver;

use accp_runtime::session::{Options, Outbound, Rules, Transmit};
use accp_runtime::{AgentId, Decimal, DynamicFrame, Envelope, Typed};
use accp_store::{Driver, SqliteStore};

use crate::Result;
use crate::frames::{REGISTRY_JSON, RefundDone, RefundReq};
use crate::link::{lines, next, now};

/// The process of the bank. It ends when this process ends.
struct Bank {
    process: Child,
    input: ChildStdin,
    output: Receiver<String>,
}

impl Bank {
    fn start(folder: &Path) -> Result<Self> {
        let mut process = Command::new(std::env::current_exe()?)
            .arg("bank")
            .arg(folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let input = process.stdin.take().ok_or("no input")?;
        let output = lines(process.stdout.take().ok_or("no output")?);
        println!("    The bank runs as process {}.", process.id());
        Ok(Self {
            process,
            input,
            output,
        })
    }
}

impl Drop for Bank {
    /// Kills the process, with SIGKILL where there are signals.
    fn drop(&mut self) {
        // A process that has ended already cannot be killed.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Plays the session from the first frame to the answer.
pub fn play(folder: &Path) -> Result<()> {
    let agent = AgentId::new("shop")?;
    let options = Options::from_json("refunds", agent.clone(), REGISTRY_JSON)?;

    println!("1. The build script made Rust types of ten lines of JSON, registry/refunds.json:");
    for line in declaration("pub struct RefundReq {") {
        println!("    {line}");
    }
    let refund = RefundReq::new("A-1042", Decimal::parse("12.5")?).reason("it came late");

    println!("\n2. A value of that type, as a frame, and as JSON that says the same:");
    let text = Typed::new(agent, refund.clone(), Envelope::default()).encode()?;
    let json = DynamicFrame::decode(&text, &options.registry)?
        .to_json()
        .to_string();
    println!("    {:3} bytes  {text}", text.len());
    println!("    {:3} bytes  {json}", json.len());
    assert_eq!(Typed::<RefundReq>::decode(&text)?.frame, refund);

    println!(
        "\n3. The shop asks the bank. Each is a process that keeps its side of the session in a file."
    );
    let store = SqliteStore::open(folder.join("shop.accp"))?;
    let mut bank = Bank::start(folder)?;
    let link = Vec::<Transmit>::new();
    let mut shop = Driver::open_host(store, link, options, Rules::default(), now())?;
    let id = shop.join(&AgentId::new("bank")?, now())?;
    shop.send(&Outbound::frame(&refund), now())?;

    let (mut told, mut kills, mut answers) = (false, 0, Vec::new());
    while answers.is_empty() || !shop.session().is_quiet() {
        shop.serve(now(), |inbound| {
            answers.push(inbound.decode::<RefundDone>()?.frame.order);
            println!("    shop < {}", inbound.text());
            Ok(vec![])
        })?;
        for frame in shop.link_mut().drain(..) {
            if !told && frame.text.contains(">req:refund") {
                told = true;
                println!("    shop > {}", frame.text);
                let bytes = frame.text.len();
                println!(
                    "    {bytes} bytes: the number, the time and the proofs are the price of step 4."
                );
            }
            // If the process has died, the write fails, and the session sends the frame again later.
            let _ = writeln!(bank.input, "{}", frame.text);
        }
        match next(shop.session(), &bank.output)? {
            Some(frame) if frame.starts_with('@') => shop.receive(id, frame.as_bytes(), now())?,
            Some(words) => {
                println!("    bank: {words}");
                kills += 1;
                drop(bank);
                println!("    The bank is killed, and its answer is lost on the way.");
                println!("\n4. The bank starts again from its file.");
                bank = Bank::start(folder)?;
            }
            None => println!("    The shop waits no longer, and sends again."),
        }
    }

    let tables = rusqlite::Connection::open(folder.join("bank.accp"))?;
    let paid: u32 = tables.query_row("SELECT count(*) FROM app_paid", (), |row| row.get(0))?;
    println!(
        "\nKills: {kills}. Paid: {paid}. Answered: {}.",
        answers.len()
    );
    println!(
        "The payment, the answer and the mark of the request were one commit, so the answer went out again."
    );
    println!("\nNext: README.md, and docs/tutorial.md, which builds a program like this one.");
    Ok(())
}

/// Returns the lines of the declaration that begins with the line `first`, from the file that the build script made.
/// Leaves out doc comments.
fn declaration(first: &str) -> impl Iterator<Item = &'static str> {
    let generated = include_str!(concat!(env!("OUT_DIR"), "/accp.rs"));
    let lines = generated.lines().skip_while(move |line| *line != first);
    let lines = lines.filter(|line| !line.trim_start().starts_with("///"));
    let mut ended = false;
    lines.take_while(move |line| !std::mem::replace(&mut ended, *line == "}"))
}
