//! Rows with a checksum: how they are checked when they are read, and how many rows are written at once.

use std::borrow::Cow;

use tokio_postgres::Row;

use super::fault::Fault;
use super::link::{FlightStep, Param};
use super::text::{escaped, unescaped};
use crate::side::SideId;
use crate::table::{Cell, Columns, Names, checksum};

/// The type of a column.
#[derive(Debug, Clone, Copy)]
pub(super) enum Kind {
    /// `bigint`.
    Integer,
    /// `smallint`.
    Small,
    /// `text`.
    Text,
    /// `text` with a message id.
    Mid,
    /// `bytea`.
    Bytes,
}

/// A table whose rows end in a checksum.
#[derive(Debug)]
pub(super) struct Table {
    pub name: &'static str,
    /// The number of columns that make the key.
    pub keys: usize,
    /// The columns without the checksum. The first two are the side.
    pub columns: &'static [Kind],
}

/// A row of the database, with the values of its columns.
pub(super) struct Decoded<'r> {
    row: &'r Row,
    first: usize,
    table: &'static Table,
    values: Vec<Value<'r>>,
}

enum Value<'r> {
    Null,
    Integer(i64),
    Text(Cow<'r, str>),
    Bytes(&'r [u8]),
}

impl Table {
    /// Reads the columns of a row of this table. The columns begin at the index `first` in `row`.
    pub(super) fn decode<'r>(
        &'static self,
        row: &'r Row,
        first: usize,
    ) -> Result<Decoded<'r>, Fault> {
        let kinds = self.columns.iter().chain([&Kind::Integer]); // the checksum
        let values = kinds.enumerate().map(|(index, kind)| {
            let index = first + index;
            Ok(match kind {
                Kind::Integer => Value::integer(row.try_get(index)?),
                Kind::Small => Value::integer(row.try_get::<_, Option<i16>>(index)?.map(i64::from)),
                Kind::Text => Value::text(row.try_get(index)?)?,
                Kind::Mid => Value::mid(row.try_get(index)?)?,
                Kind::Bytes => match row.try_get(index)? {
                    Some(bytes) => Value::Bytes(bytes),
                    None => Value::Null,
                },
            })
        });
        Ok(Decoded {
            row,
            first,
            table: self,
            values: values.collect::<Result<_, Fault>>()?,
        })
    }
}

impl<'r> Value<'r> {
    fn integer(number: Option<i64>) -> Self {
        number.map_or(Self::Null, Self::Integer)
    }

    fn text(kept: Option<&'r str>) -> Result<Self, Fault> {
        let Some(kept) = kept else {
            return Ok(Self::Null);
        };
        let wrong = || Fault::Corrupt("a text has U+0001 where no text has it".to_owned());
        Ok(Self::Text(unescaped(kept).ok_or_else(wrong)?))
    }

    fn mid(kept: Option<&'r str>) -> Result<Self, Fault> {
        let bits = kept.filter(|kept| is_hex(kept));
        match bits.and_then(|kept| i64::from_str_radix(kept, 16).ok()) {
            Some(bits) => Ok(Self::Integer(bits)),
            None => Self::text(kept),
        }
    }
}

/// Returns whether a text is a message id of 48 bits as the column spells it: 12 hexadecimal digits, in small letters.
fn is_hex(text: &str) -> bool {
    text.len() == 12 && text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
}

impl Decoded<'_> {
    /// Compares the checksum of the row. Returns the side in the first two columns, and a reader of the other columns.
    pub(super) fn columns(&self) -> Result<(SideId, Columns<'_>), Fault> {
        let table = self.table;
        let count = table.columns.len() + 1;
        let cell = |index: usize| {
            Ok::<_, Fault>(match self.values.get(index - self.first) {
                Some(Value::Integer(number)) => Cell::Integer(*number),
                Some(Value::Text(text)) => Cell::Text(text.as_bytes()),
                Some(Value::Bytes(bytes)) => Cell::Bytes(bytes),
                Some(Value::Null) | None => Cell::Null,
            })
        };
        let names = (table.name, table.keys);
        let mut columns = Columns::new(self.row, names, self.first, count, cell)?;
        let side = SideId::new(columns.text()?, columns.text()?);
        Ok((side, columns))
    }
}

impl Names for Row {
    fn name(&self, index: usize) -> Option<&str> {
        self.columns().get(index).map(tokio_postgres::Column::name)
    }
}

/// Rows for one statement, which takes each column as an array. Statements with much text are split.
pub(super) struct Rows {
    sql: &'static str,
    table: &'static Table,
    chunks: Vec<Chunk>,
}

struct Chunk {
    columns: Vec<Column>,
    crcs: Vec<i64>,
    bytes: usize,
}

enum Column {
    Integers(Vec<Option<i64>>),
    Texts(Vec<Option<String>>),
    Bytes(Vec<Option<Vec<u8>>>),
}

/// A statement with more bytes than this gets no further rows.
const MOST: usize = 16 << 20;

impl Rows {
    pub(super) fn new(sql: &'static str, table: &'static Table) -> Self {
        Self {
            sql,
            table,
            chunks: Vec::new(),
        }
    }

    /// Adds a row, given without its checksum.
    pub(super) fn push(&mut self, cells: &[Cell<'_>]) {
        let table = self.table;
        if self.chunks.last().is_none_or(|last| last.bytes > MOST) {
            self.chunks.push(Chunk::new(table));
        }
        let Some(chunk) = self.chunks.last_mut() else {
            return;
        };
        for (cell, column) in cells.iter().zip(&mut chunk.columns) {
            chunk.bytes += column.push(*cell);
        }
        chunk.crcs.push(checksum(cells));
    }

    /// Adds the steps that write the rows.
    pub(super) fn into_steps(self, steps: &mut Vec<FlightStep<'_>>) {
        for chunk in self.chunks {
            let mut params: Vec<Param<'_>> = Vec::new();
            for column in chunk.columns {
                params.push(match column {
                    Column::Integers(all) => Box::new(all),
                    Column::Texts(all) => Box::new(all),
                    Column::Bytes(all) => Box::new(all),
                });
            }
            params.push(Box::new(chunk.crcs));
            steps.push(FlightStep::Query(self.sql, params));
        }
    }
}

impl Chunk {
    fn new(table: &Table) -> Self {
        let columns = table.columns.iter().map(|kind| match kind {
            Kind::Integer | Kind::Small => Column::Integers(Vec::new()),
            Kind::Text | Kind::Mid => Column::Texts(Vec::new()),
            Kind::Bytes => Column::Bytes(Vec::new()),
        });
        Self {
            columns: columns.collect(),
            crcs: Vec::new(),
            bytes: 0,
        }
    }
}

impl Column {
    /// Adds a value, and returns its length.
    fn push(&mut self, cell: Cell<'_>) -> usize {
        match (self, cell) {
            (Self::Integers(all), Cell::Integer(number)) => all.push(Some(number)),
            (Self::Integers(all), _) => all.push(None),
            (Self::Texts(all), Cell::Text(text)) => {
                let text = escaped(&String::from_utf8_lossy(text)).into_owned();
                let length = text.len();
                all.push(Some(text));
                return length;
            }
            // An integer for a column of texts is a message id, which the column has as 12
            // hexadecimal digits.
            (Self::Texts(all), Cell::Integer(bits)) => all.push(Some(format!("{bits:012x}"))),
            (Self::Texts(all), _) => all.push(None),
            (Self::Bytes(all), Cell::Bytes(bytes)) => {
                all.push(Some(bytes.to_vec()));
                return bytes.len();
            }
            (Self::Bytes(all), _) => all.push(None),
        }
        8
    }
}
