//! Rows with a checksum: how they are written, and how they are checked when they are read.

use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{Connection, Params, Row, params_from_iter};

use super::fault::Fault;
use crate::table::{Cell, Columns, Names, checksum, same_count};

/// Runs a statement whose parameters are the columns of a row, followed by its checksum.
pub(super) fn write(conn: &Connection, sql: &str, columns: &[Cell<'_>]) -> Result<(), Fault> {
    let crc = Cell::Integer(checksum(columns));
    let all = columns.iter().copied().chain([crc]).map(to_sql);
    conn.prepare_cached(sql)?.execute(params_from_iter(all))?;
    Ok(())
}

/// Returns the value of a column as a parameter of a statement.
pub(super) fn to_sql(cell: Cell<'_>) -> ToSqlOutput<'_> {
    ToSqlOutput::Borrowed(match cell {
        Cell::Null => ValueRef::Null,
        Cell::Integer(number) => ValueRef::Integer(number),
        Cell::Real(number) => ValueRef::Real(number),
        Cell::Text(bytes) => ValueRef::Text(bytes),
        Cell::Bytes(bytes) => ValueRef::Blob(bytes),
    })
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

/// Checks that a query counts `read` rows. The query uses another index than the read before, so the counts differ if
/// an index is damaged.
pub(super) fn confirm(
    conn: &Connection,
    table: &'static str,
    read: usize,
    sql: &str,
    params: impl Params,
) -> Result<(), Fault> {
    let mut statement = conn.prepare_cached(sql)?;
    let found: i64 = statement.query_row(params, |row| row.get(0))?;
    Ok(same_count(table, read, found)?)
}

/// Takes the `count` columns of a row from `first` on. The last of these columns is the checksum of the others.
pub(super) fn columns<'a>(
    row: &'a Row<'a>,
    table: &'static str,
    first: usize,
    count: usize,
) -> Result<Columns<'a>, Fault> {
    Columns::new(row, (table, 2), first, count, |index| cell(row, index))
}

/// Returns the value of a column, without any check.
pub(super) fn cell<'a>(row: &'a Row<'_>, index: usize) -> Result<Cell<'a>, Fault> {
    Ok(match row.get_ref(index)? {
        ValueRef::Null => Cell::Null,
        ValueRef::Integer(number) => Cell::Integer(number),
        ValueRef::Real(number) => Cell::Real(number),
        ValueRef::Text(bytes) => Cell::Text(bytes),
        ValueRef::Blob(bytes) => Cell::Bytes(bytes),
    })
}

impl Names for Row<'_> {
    fn name(&self, index: usize) -> Option<&str> {
        self.as_ref().column_name(index).ok()
    }
}

#[cfg(test)]
#[expect(
    clippy::redundant_closure_for_method_calls,
    reason = "the methods are of one lifetime, and the tests need them of any"
)]
mod tests {
    use accp_registry::Hash;
    use accp_session::{MemberId, Mid};
    use insta::assert_snapshot;

    use super::*;
    use crate::table::{Damage, MidCell};

    /// Reads a value from a row of a key, the value and their checksum, after running `sql`.
    fn read<T>(
        value: Cell<'_>,
        sql: &str,
        read: impl Fn(&mut Columns<'_>) -> Result<T, Damage>,
    ) -> Result<T, String> {
        let conn = Connection::open_in_memory().unwrap();
        conn.execute_batch("CREATE TABLE t (id, value, crc)")
            .unwrap();
        let cells = [Cell::Integer(7), value];
        write(&conn, "INSERT INTO t VALUES (?1, ?2, ?3)", &cells).unwrap();
        conn.execute_batch(sql).unwrap();
        let mut statement = conn.prepare("SELECT * FROM t").unwrap();
        let mut rows = statement.query(()).unwrap();
        let row = rows.next().unwrap().unwrap();
        let result = columns(row, "t", 0, 3).and_then(|mut columns| {
            columns.integer()?;
            Ok(read(&mut columns)?)
        });
        result.map_err(|fault| match fault {
            Fault::Corrupt(text) => text,
            fault => format!("{fault:?}"),
        })
    }

    fn refusal<T: std::fmt::Debug>(
        value: Cell<'_>,
        by: impl Fn(&mut Columns<'_>) -> Result<T, Damage>,
    ) -> String {
        read(value, "", by).unwrap_err()
    }

    #[test]
    fn what_was_written_is_read() {
        let number = Cell::Integer(9999);
        assert_eq!(read(number, "", |c| c.member()), Ok(MemberId::LAST));
        for mid in ["000000000000", "FFFFFFFFFFFF", "", "m1", "00000000000g"] {
            let mid = Mid::parse(mid);
            let column = MidCell::new(&mid);
            assert_eq!(read(column.cell(), "", |c| c.mid()), Ok(mid));
        }
        let digest = Hash::of(b"x");
        let bytes = Cell::Bytes(digest.as_bytes());
        assert_eq!(read(bytes, "", |c| c.digest()), Ok(digest));
        assert_eq!(read(Cell::Null, "", |c| c.optional_integer()), Ok(None));
    }

    #[test]
    fn what_cannot_stand_there_is_refused_with_its_place() {
        let (number, text) = (Cell::Integer, |text| Cell::Text(text));
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
        assert_snapshot!(refusal(Cell::Bytes(&[0; 31]), |c| c.digest()), @"table `t`, row (7, 31 bytes): column `value` holds 31 bytes, and may hold 32 bytes");
        assert_snapshot!(refusal(text(b"1"), |c| c.digest()), @"table `t`, row (7, `1`): column `value` holds `1`, and may hold bytes or nothing");
        assert_snapshot!(refusal(Cell::Null, |c| c.digest()), @"table `t`, row (7, nothing): column `value` holds nothing, and may hold 32 bytes");
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
            let result = read(Cell::Integer(1), sql, |c| c.integer());
            assert!(result.is_err(), "{sql}");
        }
    }
}
