//! Workflows as data: packets made by rules from parameters, without a model (draft section 6.1).

mod error;
mod load;
mod template;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::OnceLock;

use accp_registry::Problems;

use crate::limits::Limits;
use crate::owned::PacketBuf;
use crate::vocabulary::{Kind, Vocabulary};

pub use error::WorkflowError;
pub use template::Rewrite;
use template::Template;

/// The parameters that every hop takes in addition to its own.
const OF_EVERY_HOP: [&str; 2] = ["return", "p"];

/// A workflow: hops, each of which makes one packet.
///
/// The same parameters give the same packets, to the byte, on every run and machine.
///
/// ```
/// use accp_aacp::Workflow;
///
/// let payroll = Workflow::named("payroll").expect("a standard workflow");
/// let packets = payroll.encode(Some("fetch_employees"), &[("period", "2024-08")])?;
/// assert_eq!(
///     packets[0].1.text(),
///     "FETCH|HR|return:HR-Agent|p:1|aacp:1.1|res:emp_salary|period:2024-08|\
///      filter:status=active|fmt:json",
/// );
/// # Ok::<(), accp_aacp::WorkflowError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Workflow {
    /// The name.
    pub name: String,
    /// What the workflow is for, in plain words.
    pub meaning: String,
    /// The hops, in their order.
    pub hops: Vec<Hop>,
}

/// A hop of a workflow.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Hop {
    /// The name.
    pub name: String,
    /// What the hop is for, in plain words.
    pub meaning: String,
    /// The task of its packet.
    pub task: String,
    /// The domain of its packet.
    pub dom: String,
    /// The agent that gets the result, unless the caller names another.
    pub receiver: String,
    /// The priority, unless the caller gives another.
    pub priority: String,
    /// Its own parameters. Every hop takes `return` and `p` as well.
    pub parameters: Vec<Parameter>,
    /// Words that an instruction for this hop has.
    pub keywords: Keywords,
    /// The fields of the hop in the order of the vocabulary, without return, p and aacp.
    fields: Vec<(String, Template)>,
}

/// A parameter of a hop.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Parameter {
    /// The name.
    pub name: String,
    /// The kind of its values.
    pub kind: Kind,
    /// The value when the caller gives none; `None` if the caller must give one.
    pub default: Option<String>,
    rewrite: Vec<Rewrite>,
}

/// Words by which an instruction is recognised as meant for a hop: one of the verbs, and all of the nouns.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Keywords {
    /// Verbs, of which one is enough.
    pub verbs: Vec<String>,
    /// Nouns, which are all needed.
    pub nouns: Vec<String>,
}

/// The standard workflows, in the order of the draft.
const STANDARD: [(&str, &str); 4] = [
    ("payroll.json", include_str!("../workflows/payroll.json")),
    ("it.json", include_str!("../workflows/it.json")),
    ("invoice.json", include_str!("../workflows/invoice.json")),
    ("contract.json", include_str!("../workflows/contract.json")),
];

impl Workflow {
    /// Returns the four workflows of the draft: the files in `workflows/` of this crate.
    pub fn standard() -> &'static [Self] {
        static SHARED: OnceLock<Vec<Workflow>> = OnceLock::new();
        SHARED.get_or_init(|| {
            let files = STANDARD.iter();
            // A test checks that the files have no problems, so none is left out.
            let read = |(file, text): &(&str, &str)| {
                Self::from_json(file, text, Vocabulary::standard()).ok()
            };
            files.filter_map(read).collect()
        })
    }

    /// Returns the standard workflow of this name.
    pub fn named(name: &str) -> Option<&'static Self> {
        Self::standard()
            .iter()
            .find(|workflow| workflow.name == name)
    }

    /// Reads a workflow. `file` is the name of the text in the problems.
    ///
    /// # Errors
    /// Every mistake, with line, column, JSON pointer and cure: also a task, domain or key that the
    /// vocabulary does not have, a parameter that no field takes, and a packet that could not be
    /// sent.
    pub fn from_json(file: &str, text: &str, vocabulary: &Vocabulary) -> Result<Self, Problems> {
        load::workflow(file, text, vocabulary)
    }

    /// Returns the hop of this name.
    ///
    /// # Errors
    /// An unknown name, with the names that there are.
    pub fn hop(&self, name: &str) -> Result<&Hop, WorkflowError> {
        let hop = self.hops.iter().find(|hop| hop.name == name);
        hop.ok_or_else(|| {
            let known = self.hops.iter().map(|hop| hop.name.as_str());
            WorkflowError::unknown("hop", name, known)
        })
    }

    /// Makes the packets of one hop, or of all hops in their order, each with the name of its hop.
    ///
    /// # Errors
    /// Parameters without a value, all in one error; a parameter that none of these hops has, or that is given twice;
    /// a value that cannot be written, or a `p` that is not a priority. No value is ignored.
    pub fn encode(
        &self,
        hop: Option<&str>,
        values: &[(&str, &str)],
    ) -> Result<Vec<(&str, PacketBuf)>, WorkflowError> {
        let hops = match hop {
            Some(name) => std::slice::from_ref(self.hop(name)?),
            None => &self.hops[..],
        };
        known(hops, values)?;
        let values: BTreeMap<&str, &str> = values.iter().copied().collect();
        let (mut missing, mut seen) = (Vec::new(), BTreeSet::new());
        for parameter in hops.iter().flat_map(|hop| &hop.parameters) {
            let is_given = values.contains_key(&parameter.name[..]);
            let is_needed = parameter.default.is_none() && !is_given;
            if is_needed && seen.insert(&parameter.name) {
                missing.push(parameter.name.clone());
            }
        }
        if !missing.is_empty() {
            return Err(WorkflowError::missing(missing));
        }
        let packets = hops
            .iter()
            .map(|hop| Ok((&hop.name[..], hop.encode(&values)?)));
        packets.collect()
    }
}

/// Checks the names of the parameters that are given.
fn known(hops: &[Hop], values: &[(&str, &str)]) -> Result<(), WorkflowError> {
    let own = hops.iter().flat_map(|hop| &hop.parameters);
    let own = own.map(|parameter| &parameter.name[..]);
    let mut all = BTreeSet::new();
    let names: Vec<&str> = own
        .chain(OF_EVERY_HOP)
        .filter(|name| all.insert(*name))
        .collect();
    let mut seen = BTreeSet::new();
    for (name, _) in values {
        if !all.contains(name) {
            return Err(WorkflowError::unknown(
                "parameter",
                name,
                names.iter().copied(),
            ));
        }
        if !seen.insert(name) {
            return Err(WorkflowError::repeated(name));
        }
    }
    Ok(())
}

impl Hop {
    /// Returns the keys of the hop's fields with their templates, in the order in which they are written: `{period}`
    /// stands for the value of a parameter.
    pub fn fields(&self) -> impl Iterator<Item = (&str, String)> {
        let fields = self.fields.iter();
        fields.map(|(key, template)| (&key[..], template.shown(&self.parameters)))
    }

    /// Makes the packet of this hop. The caller has checked that no needed value is missing.
    fn encode(&self, values: &BTreeMap<&str, &str>) -> Result<PacketBuf, WorkflowError> {
        let given = |name: &str| values.get(name).copied();
        let mut ready = Vec::new();
        for parameter in &self.parameters {
            let value = given(&parameter.name).or(parameter.default.as_deref());
            ready.push(parameter.ready(value.unwrap_or_default())?);
        }
        let receiver = given("return").unwrap_or(&self.receiver);
        let priority = given("p").unwrap_or(&self.priority);
        let known = Vocabulary::standard();
        if given("p").is_some() && known.priority(priority).is_none() {
            let names = known.priorities.iter().map(|word| &word.name[..]);
            let names = names.collect::<Vec<_>>().join(", ");
            let fault = format!("the value is not a priority; the priorities are {names}");
            return Err(WorkflowError::value("p", fault));
        }
        let mut fields = vec![
            ("return", receiver.to_owned()),
            ("p", priority.to_owned()),
            ("aacp", Vocabulary::standard().version().to_owned()),
        ];
        let mut bytes = 0;
        for (key, template) in &self.fields {
            let value = template.fill(&ready);
            bytes += value.len();
            fields.push((key, value));
            if bytes > Limits::DEFAULT.packet_bytes {
                break;
            }
        }
        // A field without a value is left out, but not `return`: a packet without a receiver is an
        // error.
        fields.retain(|(key, value)| *key == "return" || !value.is_empty());
        PacketBuf::new(&self.task, &self.dom, fields).map_err(WorkflowError::from)
    }
}

impl Parameter {
    /// Returns the rewritings of the parameter's values, in their order.
    pub fn rewriting(&self) -> &[Rewrite] {
        &self.rewrite
    }

    /// Checks a value and rewrites it.
    fn ready(&self, value: &str) -> Result<String, WorkflowError> {
        let fault = |what| Err(WorkflowError::value(&self.name, what));
        if value.is_empty() && self.default.is_none() {
            return fault("the value is empty; give one, because the packet needs it");
        }
        if self.kind == Kind::Number && !value.is_empty() && !is_decimal(value) {
            return fault(
                "the value is not a decimal number; write digits and `.`, such as 4200.50",
            );
        }
        if value.len() > Limits::DEFAULT.packet_bytes {
            return fault("the value is longer than a packet; point to the text with data_ptr");
        }
        PacketBuf::check(value).map_err(|error| WorkflowError::from(error.of(&self.name)))?;
        let rewritten = self.rewrite.iter();
        Ok(rewritten.fold(value.to_owned(), |value, rewrite| rewrite.apply(&value)))
    }
}

/// Returns whether a text is a decimal number.
fn is_decimal(text: &str) -> bool {
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let text = text.strip_prefix('-').unwrap_or(text);
    match text.split_once('.') {
        Some((whole, part)) => digits(whole) && digits(part),
        None => digits(text),
    }
}
