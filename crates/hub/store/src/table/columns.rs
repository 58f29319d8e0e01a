//! Reads the columns of rows with a checksum, and checks them.

use accp_registry::Hash;
use accp_session::{MemberId, Mid};

use super::cell::{Cell, checksum};

/// Says how data in the store differs from what was written.
#[derive(Debug)]
pub(crate) struct Damage(pub String);

/// The names of the columns of a row, for error messages.
pub(crate) trait Names {
    /// Returns the name of a column.
    fn name(&self, index: usize) -> Option<&str>;
}

/// The columns of a row, in order, after its checksum was compared.
pub(crate) struct Columns<'a> {
    row: &'a dyn Names,
    table: &'static str,
    /// The number of columns that make the key.
    keys: usize,
    first: usize,
    next: usize,
    /// The columns from `first` on. Reading all of them at once is faster where many rows are read.
    values: [Cell<'a>; MOST],
}

/// The most columns of a row.
const MOST: usize = 18;

impl<'a> Columns<'a> {
    /// Takes the `count` columns from `first` on. The first `keys` of these columns are the key, and the last column
    /// is the checksum.
    pub(crate) fn new<F: From<Damage>>(
        row: &'a dyn Names,
        (table, keys): (&'static str, usize),
        first: usize,
        count: usize,
        cell: impl Fn(usize) -> Result<Cell<'a>, F>,
    ) -> Result<Self, F> {
        let mut columns = Self {
            row,
            table,
            keys,
            first,
            next: first,
            values: [Cell::Null; MOST],
        };
        let last = first + count - 1;
        for (index, value) in (first..last).zip(&mut columns.values) {
            *value = cell(index)?;
        }
        let found = checksum(&columns.values[..count - 1]);
        match cell(last)? {
            Cell::Integer(written) if written == found => Ok(columns),
            _ => Err(columns.fault("its checksum does not match").into()),
        }
    }

    pub(crate) fn integer(&mut self) -> Result<i64, Damage> {
        match self.take()? {
            Cell::Integer(number) => Ok(number),
            _ => Err(self.wrong("an integer")),
        }
    }

    pub(crate) fn optional_integer(&mut self) -> Result<Option<i64>, Damage> {
        match self.take()? {
            Cell::Null => Ok(None),
            Cell::Integer(number) => Ok(Some(number)),
            _ => Err(self.wrong("an integer or nothing")),
        }
    }

    /// Reads an integer that must be in the range of the type.
    pub(crate) fn number<T: TryFrom<i64>>(&mut self) -> Result<T, Damage> {
        T::try_from(self.integer()?).map_err(|_| self.wrong("a number in its range"))
    }

    pub(crate) fn flag(&mut self) -> Result<bool, Damage> {
        match self.integer()? {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(self.wrong("0 or 1")),
        }
    }

    pub(crate) fn text(&mut self) -> Result<&'a str, Damage> {
        match self.take()? {
            Cell::Text(bytes) => std::str::from_utf8(bytes).map_err(|_| self.wrong("UTF-8")),
            _ => Err(self.wrong("a text")),
        }
    }

    /// Reads bytes, which may be absent.
    pub(crate) fn optional_blob(&mut self) -> Result<Option<&'a [u8]>, Damage> {
        match self.take()? {
            Cell::Null => Ok(None),
            Cell::Bytes(bytes) => Ok(Some(bytes)),
            _ => Err(self.wrong("bytes or nothing")),
        }
    }

    pub(crate) fn optional_digest(&mut self) -> Result<Option<Hash>, Damage> {
        let bytes = self.optional_blob()?.map(<[u8; 32]>::try_from).transpose();
        let bytes = bytes.map_err(|_| self.wrong("32 bytes"))?;
        Ok(bytes.map(Hash::from))
    }

    pub(crate) fn digest(&mut self) -> Result<Hash, Damage> {
        self.optional_digest()?
            .ok_or_else(|| self.wrong("32 bytes"))
    }

    pub(crate) fn member(&mut self) -> Result<MemberId, Damage> {
        let number: u16 = self.number()?;
        MemberId::new(number).ok_or_else(|| self.wrong("a member, 100 to 899 or 9000 to 9999"))
    }

    pub(crate) fn mid(&mut self) -> Result<Mid, Damage> {
        let mid = match self.take()? {
            Cell::Integer(bits) => u64::try_from(bits).ok().and_then(Mid::from_bits),
            Cell::Text(name) => {
                let name = std::str::from_utf8(name).map_err(|_| self.wrong("UTF-8"))?;
                // Twelve hexadecimal digits are stored as an integer. As a text they would be a
                // second spelling, which the index would not find.
                Some(Mid::parse(name)).filter(|mid| !mid.is_hex())
            }
            _ => None,
        };
        mid.ok_or_else(|| self.wrong("48 bits, or a name that is not 12 hexadecimal digits"))
    }

    /// Makes the fault for the column that was read last, which holds something that it may not
    /// hold.
    pub(crate) fn wrong(&self, expected: &str) -> Damage {
        let index = self.next - 1;
        let column = self.row.name(index).unwrap_or("?");
        let found = self.words(index);
        self.fault(&format!(
            "column `{column}` holds {found}, and may hold {expected}"
        ))
    }

    fn fault(&self, text: &str) -> Damage {
        let keys = self.first..self.first + self.keys;
        let keys: Vec<_> = keys.map(|index| self.words(index)).collect();
        let table = self.table;
        Damage(format!(
            "table `{table}`, row ({}): {text}",
            keys.join(", ")
        ))
    }

    fn words(&self, index: usize) -> String {
        match self.values.get(index - self.first) {
            Some(Cell::Integer(number)) => number.to_string(),
            Some(Cell::Text(text)) => {
                let text = String::from_utf8_lossy(text);
                format!("`{}`", text.chars().take(50).collect::<String>())
            }
            Some(Cell::Bytes(bytes)) => format!("{} bytes", bytes.len()),
            _ => "nothing".to_owned(),
        }
    }

    fn take(&mut self) -> Result<Cell<'a>, Damage> {
        let value = self.values.get(self.next - self.first).copied();
        self.next += 1;
        value.ok_or_else(|| self.wrong("one of the columns of the table"))
    }
}

/// Checks that the keys of rows ascend. A damaged page can give one sound row in place of another.
pub(crate) fn ascend<T: PartialOrd>(
    table: &'static str,
    keys: impl IntoIterator<Item = T>,
) -> Result<(), Damage> {
    if keys.into_iter().is_sorted_by(|a, b| a < b) {
        return Ok(());
    }
    let text = format!("table `{table}` gives a row twice, or in the place of another");
    Err(Damage(text))
}

/// Checks that two ways to read a table find the same number of rows. If a key or an index is damaged, a read may not
/// find a row, and the checksum of that row cannot show this.
pub(crate) fn same_count(table: &'static str, read: usize, found: i64) -> Result<(), Damage> {
    if i64::try_from(read).is_ok_and(|read| read == found) {
        return Ok(());
    }
    Err(Damage(format!(
        "table `{table}`: its keys are damaged, because one way to its rows finds {read} of them \
         and another {found}"
    )))
}
