//! The writer of packets.

use crate::class::{SEPARATOR, is_key, trim};
use crate::error::{WriteError, WriteFault};
use crate::finding::{Code, Finding, Severity};
use crate::limits::Limits;
use crate::scan::Scan;
use crate::value::{PacketValue, ValueWriter, plain};

type Result<T> = std::result::Result<T, WriteError>;

/// Writes the fields of one packet. What it takes, a reader gives back.
///
/// ```
/// use accp_aacp::{Packet, PacketWriter};
///
/// let text = PacketWriter::packet("FETCH", "HR", |writer| {
///     writer.raw("return", "HR-Agent")?;
///     writer.field("p", &1_u8)?;
///     writer.raw("aacp", "1.1")?;
///     writer.field("fields", &vec!["dept", "grp"])
/// })?;
/// assert_eq!(text, "FETCH|HR|return:HR-Agent|p:1|aacp:1.1|fields:dept,grp");
/// assert!(Packet::parse(&text).is_ok());
/// # Ok::<(), accp_aacp::WriteError>(())
/// ```
#[derive(Debug)]
pub struct PacketWriter<'w> {
    out: &'w mut String,
}

impl PacketWriter<'_> {
    /// Writes a packet: the task, the domain, and what `fields` writes.
    ///
    /// # Errors
    /// The errors of `fields`, and every error that the validator would find in the packet: there is
    /// no way to write a packet that cannot be sent.
    pub fn packet(
        task: &str,
        dom: &str,
        fields: impl FnOnce(&mut PacketWriter<'_>) -> Result<()>,
    ) -> Result<String> {
        let mut out = String::with_capacity(128);
        for (name, word) in [("task", task), ("dom", dom)] {
            value(word).map_err(|error| error.of(name))?;
        }
        out.push_str(task);
        out.push(SEPARATOR);
        out.push_str(dom);
        fields(&mut PacketWriter { out: &mut out })?;
        let scan = Scan::of(&out, Limits::DEFAULT);
        let mut errors = scan.findings.iter();
        let Some(error) = errors.find(|finding| finding.severity == Severity::Error) else {
            return Ok(out);
        };
        let name = match error.field {
            Some(0) => "task",
            Some(1) => "dom",
            Some(index) => scan.fields.get(index - 2).map_or("", |field| field.0),
            None => "",
        };
        let fault = WriteError::new(WriteFault::Finding(error.clone()));
        Err(if name.is_empty() {
            fault
        } else {
            fault.of(name)
        })
    }

    /// Writes a field with a value of a Rust type.
    ///
    /// # Errors
    /// A key that is not one, and a value that cannot be written: with the name of the key, and the
    /// cure. Nothing is written then.
    pub fn field<'p>(&mut self, key: &str, value: &impl PacketValue<'p>) -> Result<()> {
        if !is_key(key) {
            let finding = Finding::error(Code::KeyInvalid);
            return Err(WriteError::new(WriteFault::Finding(finding)).of(key));
        }
        self.separated(key, ":", |writer| value.write(writer))
    }

    /// Writes a field whose value is text.
    ///
    /// The key `""` stands for a field without a key, which only a packet of version 1.0 may have.
    ///
    /// # Errors
    /// As [`PacketWriter::field`].
    pub fn raw(&mut self, key: &str, value: &str) -> Result<()> {
        if key.is_empty() {
            if value.contains(':') {
                return Err(WriteError::new(WriteFault::Colon));
            }
            return self.separated("", "", |writer| writer.text(value));
        }
        self.field(key, &value)
    }

    /// Writes one field, or nothing if there is an error.
    fn separated(
        &mut self,
        key: &str,
        colon: &str,
        value: impl FnOnce(&mut ValueWriter<'_>) -> Result<()>,
    ) -> Result<()> {
        let before = self.out.len();
        self.out.push(SEPARATOR);
        self.out.push_str(key);
        self.out.push_str(colon);
        let start = self.out.len();
        let written = value(&mut ValueWriter::new(self.out))
            .and_then(|()| spaceless(self.out.get(start..).unwrap_or_default()));
        written.map_err(|error| {
            self.out.truncate(before);
            error.of(key)
        })
    }
}

/// Checks that a text can be a value.
pub(crate) fn value(text: &str) -> Result<()> {
    plain(text)?;
    spaceless(text)
}

/// Refuses a space at an end, which would not come back.
fn spaceless(value: &str) -> Result<()> {
    if trim(value).len() < value.len() {
        return Err(WriteError::new(WriteFault::Space));
    }
    Ok(())
}
