//! Tests of `accp collab link`: what it says of lines that the session does not take.

use super::Round;
use crate::cli::hub::Running;

const LINK: &str = "collab link --folder round";

#[test]
fn a_line_that_is_not_sent_is_told_and_the_exit_code_says_so() {
    let round = Round::new();
    let ada = (LINK, "--participant ada --store ada.accp");
    // The owner of the proposal is the host.
    let _ada = Running::start_with(ada, &round.0.path(""), &[]);
    let bob = (LINK, "--participant bob --store bob.accp --until-sent");
    let run = round.0.run(bob, "@bob>qry:first{}\n");
    assert_eq!((run.code, &run.stderr[..]), (Some(0), ""));

    let refused = "@bob>req:schedule{asgn:zed|task:x|schema:TA}";
    let lines = [
        refused.as_bytes(),
        b"not a frame",
        b"\xff",
        b"@bob>qry:last{}\n",
    ];
    let run = round.0.run(bob, lines.join(&b'\n'));
    run.code_is(2);
    run.stderr_has("found 'n' (not a frame)\n");
    run.stderr_has(format!(
        "not sent: E2001: the host refuses the frame: expected an agent that has joined the session: zed has not, \
         and ada, bob have ({refused})\n"
    ));
    assert_eq!(
        run.stderr.matches("not sent: ").count(),
        3,
        "{}",
        run.stderr
    );
    // The frames behind these lines are sent all the same.
    assert!(round.read("accp/bob.frames").contains("@bob>qry:last{}"));
}
