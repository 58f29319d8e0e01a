//! The writer of packets.

use crate::class::{SEPARATOR, is_head, is_key};
use crate::error::{WriteError, WriteFault};
use crate::finding::{Code, Finding, Severity};
use crate::limits::Limits;
use crate::scan::{Scan, Seen};
use crate::value::{PacketValue, ValueWriter, plain};

type Result<T> = std::result::Result<T, WriteError>;

/// Writes the fields of one packet. A reader returns every value that the writer has accepted.
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
    fields: usize,
    seen: Seen,
    /// Whether `return` and `aacp` have a value.
    core: [bool; 2],
    /// Whether each field is certain to have a different key. The writer does not compare the keys to find out.
    is_sure: bool,
}

impl<'w> PacketWriter<'w> {
    fn new(out: &'w mut String) -> Self {
        Self {
            out,
            fields: 0,
            seen: Seen::default(),
            core: [false; 2],
            is_sure: true,
        }
    }

    /// Returns whether the packet is certain to have no error after its domain: each value was checked as it was
    /// written.
    fn is_valid(&self) -> bool {
        let Limits {
            packet_bytes,
            fields,
        } = Limits::DEFAULT;
        self.is_sure
            && self.core == [true; 2]
            && self.fields <= fields
            && self.out.len() <= packet_bytes
    }

    /// Records a field that was written.
    fn wrote(&mut self, key: &str, is_empty: bool) {
        self.fields += 1;
        self.is_sure &= self.seen.is_new(key);
        match key {
            "return" => self.core[0] = !is_empty,
            "aacp" => self.core[1] = !is_empty,
            _ => {}
        }
    }
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
        let mut writer = PacketWriter::new(&mut out);
        fields(&mut writer)?;
        if writer.is_valid() && is_head(task) && is_head(dom) {
            return Ok(out);
        }
        Self::judged(out)
    }

    /// Returns a packet if the validator finds no error in it.
    #[cold]
    fn judged(out: String) -> Result<String> {
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
    /// A text that is not a key, or a value that cannot be written. The error has the name of the key and the cure.
    /// Nothing is written then.
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
            self.is_sure = false;
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
        match written {
            Ok(()) => {
                self.wrote(key, self.out.len() == start);
                Ok(())
            }
            Err(error) => {
                self.out.truncate(before);
                Err(error.of(key))
            }
        }
    }
}

/// Checks that a text can be a value.
pub(crate) fn value(text: &str) -> Result<()> {
    plain(text)?;
    spaceless(text)
}

/// Refuses a space at either end, because a reader drops such a space.
fn spaceless(value: &str) -> Result<()> {
    if matches!(value.as_bytes(), [b' ', ..] | [.., b' ']) {
        return Err(WriteError::new(WriteFault::Space));
    }
    Ok(())
}
