//! The stdout of the process. All outputs of a command share one buffer, so that a command which waits for input can
//! first write out what it has to say.

use std::io::{self, BufWriter, Write};
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};

static STDOUT: LazyLock<Mutex<Buffer>> = LazyLock::new(|| {
    Mutex::new(Buffer {
        writer: BufWriter::new(io::stdout()),
        failed: None,
    })
});

struct Buffer {
    writer: BufWriter<io::Stdout>,
    /// The failure of a write that no caller has heard of yet.
    failed: Option<io::Error>,
}

impl Buffer {
    fn sound(&mut self) -> io::Result<&mut BufWriter<io::Stdout>> {
        match self.failed.take() {
            Some(error) => Err(error),
            None => Ok(&mut self.writer),
        }
    }
}

fn buffer() -> MutexGuard<'static, Buffer> {
    STDOUT.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Writes out what the buffer holds, because the command is about to wait for input. The next write reports a failure.
pub(crate) fn before_a_wait() {
    let mut buffer = buffer();
    if buffer.failed.is_none() {
        buffer.failed = buffer.writer.flush().err();
    }
}

/// A handle to stdout. When it is dropped, the buffer is written out.
#[derive(Debug)]
pub(super) struct Stdout(());

impl Stdout {
    pub(super) fn new() -> Self {
        Self(())
    }
}

impl Write for Stdout {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        buffer().sound()?.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        buffer().sound()?.flush()
    }
}

impl Drop for Stdout {
    fn drop(&mut self) {
        // A command that wants to hear of a failure flushes before. The others have failed already.
        let _ = self.flush();
    }
}
