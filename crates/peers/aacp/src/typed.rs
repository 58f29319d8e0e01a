//! Packets as Rust types: the traits that `#[derive(AacpPacket)]` implements.

use crate::error::{DecodeError, WriteError};
use crate::packet::Packet;
use crate::writer::PacketWriter;

/// A type of packet: its task and its domain.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a packet",
    note = "derive `AacpPacket` for it, with a task and a domain"
)]
pub trait AacpPacket {
    /// The task (draft section 5.1).
    const TASK: &'static str;
    /// The domain (draft section 5.2).
    const DOM: &'static str;
}

/// A type that is written as a packet.
///
/// ```
/// use accp_aacp::{AacpPacket, DecodeError, DecodePacket, EncodePacket, Packet, PacketWriter, WriteError};
///
/// #[derive(Debug, PartialEq)]
/// struct Fetch<'p> {
///     agent: &'p str,
///     period: Option<&'p str>,
/// }
///
/// impl AacpPacket for Fetch<'_> {
///     const TASK: &'static str = "FETCH";
///     const DOM: &'static str = "HR";
/// }
///
/// impl EncodePacket for Fetch<'_> {
///     fn encode_fields(&self, writer: &mut PacketWriter<'_>) -> Result<(), WriteError> {
///         writer.field("return", &self.agent)?;
///         writer.raw("aacp", "1.1")?;
///         self.period.iter().try_for_each(|period| writer.field("period", period))
///     }
/// }
///
/// impl<'p> DecodePacket<'p> for Fetch<'p> {
///     fn decode_fields(packet: &Packet<'p>) -> Result<Self, DecodeError> {
///         Ok(Self { agent: packet.required("return")?, period: packet.value("period")? })
///     }
/// }
///
/// let fetch = Fetch { agent: "HR-Agent", period: Some("2024-08") };
/// let text = fetch.to_packet()?;
/// assert_eq!(text, "FETCH|HR|return:HR-Agent|aacp:1.1|period:2024-08");
/// assert_eq!(Fetch::decode(&text)?, fetch);
/// assert!(Fetch::decode("SEND|HR|return:HR-Agent|aacp:1.1").is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a packet",
    note = "derive `AacpPacket` for it, with a task and a domain"
)]
pub trait EncodePacket: AacpPacket {
    /// Writes the fields after the domain.
    ///
    /// # Errors
    /// The errors of the writer.
    fn encode_fields(&self, writer: &mut PacketWriter<'_>) -> Result<(), WriteError>;

    /// Returns the text of the packet.
    ///
    /// # Errors
    /// A value that cannot be written, and every error that the validator would find.
    fn to_packet(&self) -> Result<String, WriteError> {
        PacketWriter::packet(Self::TASK, Self::DOM, |writer| self.encode_fields(writer))
    }
}

/// A type that is read from a packet; it borrows from the text if possible.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a packet",
    note = "derive `AacpPacket` for it, with a task and a domain"
)]
pub trait DecodePacket<'p>: AacpPacket + Sized {
    /// Reads the fields of a packet of this task and domain.
    ///
    /// # Errors
    /// A missing key, and a value that its type cannot hold.
    fn decode_fields(packet: &Packet<'p>) -> Result<Self, DecodeError>;

    /// Reads a packet of this task and domain.
    ///
    /// # Errors
    /// The first error of the validator, another task or domain, and the errors of
    /// [`decode_fields`](Self::decode_fields).
    fn decode(text: &'p str) -> Result<Self, DecodeError> {
        let packet = Packet::parse(text)?;
        if (packet.task(), packet.dom()) != (Self::TASK, Self::DOM) {
            return Err(DecodeError::head(Self::TASK, Self::DOM));
        }
        Self::decode_fields(&packet)
    }
}
