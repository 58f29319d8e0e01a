//! Rows with a checksum: how to write them, and how to read them without trust.

use std::fmt::Write as _;

use accp_registry::Hash;
use accp_runtime::session::{MemberId, Mid};
use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{Connection, Params, Row, params_from_iter};

use super::fault::Fault;

/// Runs a statement whose parameters are the columns of a row, followed by its checksum.
pub(super) fn write(conn: &Connection, sql: &str, columns: &[ValueRef<'_>]) -> Result<(), Fault> {
    let mut crc = Crc::default();
    for column in columns {
        crc.column(*column);
    }
    let crc = ValueRef::Integer(crc.finish());
    let all = columns
        .iter()
        .copied()
        .chain([crc])
        .map(ToSqlOutput::Borrowed);
    conn.prepare_cached(sql)?.execute(params_from_iter(all))?;
    Ok(())
}

/// Reads every row of a query.
pub(super) fn all<T>(
    conn: &Connection,
    sql: &str,
    params: impl Params,
    mut read: impl FnMut(&rusqlite::Row<'_>) -> Result<T, Fault>,
) -> Result<Vec<T>, Fault> {
    let mut statement = conn.prepare_cached(sql)?;
    let mut rows = statement.query(params)?;
    let mut all = Vec::new();
    while let Some(row) = rows.next()? {
        all.push(read(row)?);
    }
    Ok(all)
}

/// Checks that a query finds this number of rows. The query takes another way to the rows than the
/// read whose result it confirms: the checksum of a row says nothing about a row that is not found,
/// because its key or its index is damaged.
pub(super) fn confirm(
    conn: &Connection,
    table: &'static str,
    read: usize,
    sql: &str,
    params: impl Params,
) -> Result<(), Fault> {
    let mut statement = conn.prepare_cached(sql)?;
    let found: i64 = statement.query_row(params, |row| row.get(0))?;
    if i64::try_from(read).is_ok_and(|read| read == found) {
        return Ok(());
    }
    Err(Fault::Corrupt(format!(
        "table `{table}`: its keys are damaged, because one way to its rows finds {read} of them \
         and another {found}"
    )))
}

/// Checks that the keys of rows ascend. A damaged page can give one sound row in place of another.
pub(super) fn ascend<T: PartialOrd>(
    table: &'static str,
    keys: impl IntoIterator<Item = T>,
) -> Result<(), Fault> {
    if keys.into_iter().is_sorted_by(|a, b| a < b) {
        return Ok(());
    }
    let text = format!("table `{table}` gives a row twice, or in the place of another");
    Err(Fault::Corrupt(text))
}

/// The columns of a row, in order, after its checksum was compared.
pub(super) struct Columns<'a> {
    row: &'a Row<'a>,
    table: &'static str,
    first: usize,
    next: usize,
    /// The columns from `first` on. To ask SQLite once for each of them saves time where many rows
    /// are read.
    values: [ValueRef<'a>; MOST],
}

/// The most columns of a row.
const MOST: usize = 18;

impl<'a> Columns<'a> {
    /// Takes the `count` columns from `first` on. The last of them is their checksum.
    pub(super) fn new(
        row: &'a Row<'a>,
        table: &'static str,
        first: usize,
        count: usize,
    ) -> Result<Self, Fault> {
        let mut columns = Self {
            row,
            table,
            first,
            next: first,
            values: [ValueRef::Null; MOST],
        };
        let last = first + count - 1;
        let mut found = Crc::default();
        for (index, value) in (first..last).zip(&mut columns.values) {
            *value = row.get_ref(index)?;
            found.column(*value);
        }
        let found = found.finish();
        match row.get_ref(last)? {
            ValueRef::Integer(written) if written == found => Ok(columns),
            _ => Err(columns.fault("its checksum does not match")),
        }
    }

    pub(super) fn integer(&mut self) -> Result<i64, Fault> {
        match self.take()? {
            ValueRef::Integer(number) => Ok(number),
            _ => Err(self.wrong("an integer")),
        }
    }

    pub(super) fn optional_integer(&mut self) -> Result<Option<i64>, Fault> {
        match self.take()? {
            ValueRef::Null => Ok(None),
            ValueRef::Integer(number) => Ok(Some(number)),
            _ => Err(self.wrong("an integer or nothing")),
        }
    }

    /// Reads an integer that must be in the range of the type.
    pub(super) fn number<T: TryFrom<i64>>(&mut self) -> Result<T, Fault> {
        T::try_from(self.integer()?).map_err(|_| self.wrong("a number in its range"))
    }

    pub(super) fn flag(&mut self) -> Result<bool, Fault> {
        match self.integer()? {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(self.wrong("0 or 1")),
        }
    }

    pub(super) fn text(&mut self) -> Result<&'a str, Fault> {
        match self.take()? {
            ValueRef::Text(bytes) => std::str::from_utf8(bytes).map_err(|_| self.wrong("UTF-8")),
            _ => Err(self.wrong("a text")),
        }
    }

    /// Reads bytes, which may be absent.
    pub(super) fn optional_blob(&mut self) -> Result<Option<&'a [u8]>, Fault> {
        match self.take()? {
            ValueRef::Null => Ok(None),
            ValueRef::Blob(bytes) => Ok(Some(bytes)),
            _ => Err(self.wrong("bytes or nothing")),
        }
    }

    pub(super) fn optional_digest(&mut self) -> Result<Option<Hash>, Fault> {
        let bytes = self.optional_blob()?.map(<[u8; 32]>::try_from).transpose();
        let bytes = bytes.map_err(|_| self.wrong("32 bytes"))?;
        Ok(bytes.map(Hash::from))
    }

    pub(super) fn digest(&mut self) -> Result<Hash, Fault> {
        self.optional_digest()?
            .ok_or_else(|| self.wrong("32 bytes"))
    }

    pub(super) fn member(&mut self) -> Result<MemberId, Fault> {
        let number: u16 = self.number()?;
        MemberId::new(number).ok_or_else(|| self.wrong("a member, 100 to 899 or 9000 to 9999"))
    }

    pub(super) fn mid(&mut self) -> Result<Mid, Fault> {
        let mid = match self.take()? {
            ValueRef::Integer(bits) => u64::try_from(bits).ok().and_then(Mid::from_bits),
            ValueRef::Text(name) => {
                let name = std::str::from_utf8(name).map_err(|_| self.wrong("UTF-8"))?;
                // An id must have one spelling, or the index would not find it again.
                Some(Mid::parse(name)).filter(|mid| !mid.is_hex())
            }
            _ => None,
        };
        mid.ok_or_else(|| self.wrong("48 bits, or a name that is not 12 hexadecimal digits"))
    }

    /// Makes the fault for the column that was read last, which holds something that it may not
    /// hold.
    pub(super) fn wrong(&self, expected: &str) -> Fault {
        let index = self.next - 1;
        let column = self.row.as_ref().column_name(index).unwrap_or("?");
        let found = self.words(index);
        self.fault(&format!(
            "column `{column}` holds {found}, and may hold {expected}"
        ))
    }

    fn fault(&self, text: &str) -> Fault {
        let (table, first) = (self.table, self.first);
        let key = [self.words(first), self.words(first + 1)].join(", ");
        Fault::Corrupt(format!("table `{table}`, row ({key}): {text}"))
    }

    fn words(&self, index: usize) -> String {
        match self.row.get_ref(index) {
            Ok(ValueRef::Integer(number)) => number.to_string(),
            Ok(ValueRef::Text(text)) => {
                let text = String::from_utf8_lossy(text);
                format!("`{}`", text.chars().take(50).collect::<String>())
            }
            Ok(ValueRef::Blob(bytes)) => format!("{} bytes", bytes.len()),
            _ => "nothing".to_owned(),
        }
    }

    fn take(&mut self) -> Result<ValueRef<'a>, Fault> {
        let value = self.values.get(self.next - self.first).copied();
        self.next += 1;
        value.ok_or_else(|| self.wrong("one of the columns of the table"))
    }
}

/// A message id as a column keeps it: 48 bits, or its name.
pub(super) enum MidColumn {
    Bits(i64),
    Name(String),
}

impl MidColumn {
    pub(super) fn new(mid: &Mid) -> Self {
        match mid.as_bits() {
            Some(bits) => Self::Bits(bits as i64), // 48 bits
            None => Self::Name(mid.to_string()),
        }
    }

    pub(super) fn value(&self) -> ValueRef<'_> {
        match self {
            Self::Bits(bits) => ValueRef::Integer(*bits),
            Self::Name(name) => text(name),
        }
    }

    /// Returns the id as a parameter of a query.
    pub(super) fn to_sql(&self) -> ToSqlOutput<'_> {
        ToSqlOutput::Borrowed(self.value())
    }
}

/// Converts a number to the value of a column.
pub(super) fn integer(number: u64) -> Result<ValueRef<'static>, Fault> {
    match i64::try_from(number) {
        Ok(number) => Ok(ValueRef::Integer(number)),
        Err(_) => Err(Fault::Conflict(format!(
            "the number {number} is over {}, the largest that a store keeps",
            i64::MAX
        ))),
    }
}

pub(super) fn text(text: &str) -> ValueRef<'_> {
    ValueRef::Text(text.as_bytes())
}

pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut hex, byte| {
        let _ = write!(hex, "{byte:02x}"); // writing to a String cannot fail
        hex
    })
}

/// CRC-32 of columns. Each column gives one byte for its type and 8 bytes, the lowest first. The 8
/// bytes hold the number, or the length of the text or the bytes, which then follow.
struct Crc {
    hasher: crc32fast::Hasher,
    /// Short pieces are gathered, because the hasher is faster with long ones.
    short: [u8; 128],
    length: usize,
}

impl Default for Crc {
    fn default() -> Self {
        Self {
            hasher: crc32fast::Hasher::new(),
            short: [0; 128],
            length: 0,
        }
    }
}

impl Crc {
    fn column(&mut self, column: ValueRef<'_>) {
        match column {
            ValueRef::Null => self.head(0, 0),
            ValueRef::Integer(number) => self.head(1, number),
            // No table has a column of this type. A table that has one is not part of the format.
            ValueRef::Real(number) => self.head(4, number.to_bits() as i64),
            ValueRef::Text(bytes) => self.bytes(2, bytes),
            ValueRef::Blob(bytes) => self.bytes(3, bytes),
        }
    }

    fn head(&mut self, tag: u8, number: i64) {
        if self.length + 9 > self.short.len() {
            self.flush();
        }
        self.short[self.length] = tag;
        self.short[self.length + 1..self.length + 9].copy_from_slice(&number.to_le_bytes());
        self.length += 9;
    }

    fn bytes(&mut self, tag: u8, bytes: &[u8]) {
        self.head(tag, bytes.len() as i64);
        self.flush();
        self.hasher.update(bytes);
    }

    fn flush(&mut self) {
        self.hasher.update(&self.short[..self.length]);
        self.length = 0;
    }

    fn finish(mut self) -> i64 {
        self.flush();
        i64::from(self.hasher.finalize())
    }
}

#[cfg(test)]
#[expect(
    clippy::redundant_closure_for_method_calls,
    reason = "the methods are of one lifetime, and the tests need them of any"
)]
mod tests {
    use insta::assert_snapshot;

    use super::*;

    /// Reads a value from a row of a key, the value and their checksum, after running `sql`.
    fn read<T>(
        value: ValueRef<'_>,
        sql: &str,
        read: impl Fn(&mut Columns<'_>) -> Result<T, Fault>,
    ) -> Result<T, String> {
        let conn = Connection::open_in_memory().unwrap();
        conn.execute_batch("CREATE TABLE t (id, value, crc)")
            .unwrap();
        let columns = [ValueRef::Integer(7), value];
        write(&conn, "INSERT INTO t VALUES (?1, ?2, ?3)", &columns).unwrap();
        conn.execute_batch(sql).unwrap();
        let mut statement = conn.prepare("SELECT * FROM t").unwrap();
        let mut rows = statement.query(()).unwrap();
        let row = rows.next().unwrap().unwrap();
        let result = Columns::new(row, "t", 0, 3).and_then(|mut columns| {
            columns.integer()?;
            read(&mut columns)
        });
        result.map_err(|fault| match fault {
            Fault::Corrupt(text) => text,
            fault => format!("{fault:?}"),
        })
    }

    fn refusal<T: std::fmt::Debug>(
        value: ValueRef<'_>,
        by: impl Fn(&mut Columns<'_>) -> Result<T, Fault>,
    ) -> String {
        read(value, "", by).unwrap_err()
    }

    #[test]
    fn what_was_written_is_read() {
        let number = ValueRef::Integer(9999);
        assert_eq!(read(number, "", |c| c.member()), Ok(MemberId::LAST));
        for mid in ["000000000000", "FFFFFFFFFFFF", "", "m1", "00000000000g"] {
            let mid = Mid::parse(mid);
            let column = MidColumn::new(&mid);
            assert_eq!(read(column.value(), "", |c| c.mid()), Ok(mid));
        }
        let digest = Hash::of(b"x");
        let bytes = ValueRef::Blob(digest.as_bytes());
        assert_eq!(read(bytes, "", |c| c.digest()), Ok(digest));
        assert_eq!(read(ValueRef::Null, "", |c| c.optional_integer()), Ok(None));
    }

    #[test]
    fn what_cannot_stand_there_is_refused_with_its_place() {
        let (number, text) = (ValueRef::Integer, |text| ValueRef::Text(text));
        assert_snapshot!(refusal(number(99), |c| c.member()), @"table `t`, row (7, 99): column `value` holds 99, and may hold a member, 100 to 899 or 9000 to 9999");
        assert_snapshot!(refusal(number(2), |c| c.flag()), @"table `t`, row (7, 2): column `value` holds 2, and may hold 0 or 1");
        assert_snapshot!(refusal(number(-1), |c| c.number::<u64>()), @"table `t`, row (7, -1): column `value` holds -1, and may hold a number in its range");
        assert_snapshot!(refusal(number(1 << 32), |c| c.number::<u32>()), @"table `t`, row (7, 4294967296): column `value` holds 4294967296, and may hold a number in its range");
        assert_snapshot!(refusal(number(1 << 48), |c| c.mid()), @"table `t`, row (7, 281474976710656): column `value` holds 281474976710656, and may hold 48 bits, or a name that is not 12 hexadecimal digits");
        assert_snapshot!(refusal(text(b"00000000000a"), |c| c.mid()), @"table `t`, row (7, `00000000000a`): column `value` holds `00000000000a`, and may hold 48 bits, or a name that is not 12 hexadecimal digits");
        assert_snapshot!(refusal(text(b"\xff"), |c| c.mid()), @"table `t`, row (7, `�`): column `value` holds `�`, and may hold UTF-8");
        assert_snapshot!(refusal(text(b"\xff"), |c| c.text().map(drop)), @"table `t`, row (7, `�`): column `value` holds `�`, and may hold UTF-8");
        assert_snapshot!(refusal(number(1), |c| c.text().map(drop)), @"table `t`, row (7, 1): column `value` holds 1, and may hold a text");
        assert_snapshot!(refusal(text(b"1"), |c| c.integer()), @"table `t`, row (7, `1`): column `value` holds `1`, and may hold an integer");
        assert_snapshot!(refusal(text(b"1"), |c| c.optional_integer()), @"table `t`, row (7, `1`): column `value` holds `1`, and may hold an integer or nothing");
        assert_snapshot!(refusal(ValueRef::Blob(&[0; 31]), |c| c.digest()), @"table `t`, row (7, 31 bytes): column `value` holds 31 bytes, and may hold 32 bytes");
        assert_snapshot!(refusal(text(b"1"), |c| c.digest()), @"table `t`, row (7, `1`): column `value` holds `1`, and may hold bytes or nothing");
        assert_snapshot!(refusal(ValueRef::Null, |c| c.digest()), @"table `t`, row (7, nothing): column `value` holds nothing, and may hold 32 bytes");
    }

    #[test]
    fn a_row_that_was_changed_is_refused() {
        for sql in [
            "UPDATE t SET value = 2",
            "UPDATE t SET value = '1'",
            "UPDATE t SET value = x'31'",
            "UPDATE t SET value = NULL",
            "UPDATE t SET value = 1.0",
            "UPDATE t SET id = 8",
            "UPDATE t SET crc = crc + 1",
            "UPDATE t SET crc = NULL",
        ] {
            let result = read(ValueRef::Integer(1), sql, |c| c.integer());
            assert!(result.is_err(), "{sql}");
        }
    }

    #[test]
    fn the_checksum_is_that_of_the_format() {
        let mut crc = Crc::default();
        crc.column(ValueRef::Integer(-2));
        crc.column(ValueRef::Null);
        crc.column(ValueRef::Text(b"ab"));
        crc.column(ValueRef::Blob(b"c"));
        let bytes = [
            &[1, 0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff][..],
            &[0, 0, 0, 0, 0, 0, 0, 0, 0],
            &[2, 2, 0, 0, 0, 0, 0, 0, 0, b'a', b'b'],
            &[3, 1, 0, 0, 0, 0, 0, 0, 0, b'c'],
        ];
        assert_eq!(crc.finish(), i64::from(crc32fast::hash(&bytes.concat())));
    }
}
