//! Checks of the result of a command. A check that fails shows the command line and all that the command printed.

use super::Run;

macro_rules! checks {
    ($($name:ident, $stream:ident, $check:ident;)*) => {
        $(
            #[track_caller]
            pub(crate) fn $name(&self, part: impl AsRef<str>) -> &Self {
                let part = part.as_ref();
                assert!(self.$stream.$check(part), "{} `{part}`: {}", stringify!($name), self.shown());
                self
            }
        )*
    };
}

impl Run {
    checks! {
        stdout_has, stdout, contains;
        stderr_has, stderr, contains;
        stdout_starts, stdout, starts_with;
        stderr_starts, stderr, starts_with;
        stdout_ends, stdout, ends_with;
        stderr_ends, stderr, ends_with;
    }

    /// Checks the exit code.
    #[track_caller]
    pub(crate) fn code_is(&self, code: i32) -> &Self {
        assert_eq!(self.code, Some(code), "{}", self.shown());
        self
    }

    fn shown(&self) -> String {
        let Self {
            line,
            code,
            stdout,
            stderr,
        } = self;
        format!("{line}\n{code:?}\n{stdout}\n{stderr}")
    }
}
