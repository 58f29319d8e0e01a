//! Tests of `accp demo`.

use crate::cli::{Folder, accp};

/// The first command of the README always prints the same text, in at most 80 columns and two pages.
#[test]
fn the_demo_is_this() {
    let run = accp("demo", "");
    assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""));
    let lines = run.stdout.lines();
    let widest = lines.clone().map(|line| line.chars().count()).max();
    assert!(widest <= Some(80) && lines.count() <= 100, "{widest:?}");
    insta::assert_snapshot!(run.stdout, @r#"
    Five agents share a session: planner, its host, and research, analyst, dev and
    reviewer. Frames are shown without their envelopes, each with its twin in plain
    words. A checkpoint (*) is shown with its reason, the frames that moved from hot
    to cold state, and the size of the context, of at most 500 hot and 2000 warm
    tokens.

      7  @planner>sync:state{delta:{goal:q3_review,sales_db:crm_prod}|v:1}
         planner synchronizes state: delta {goal: q3_review, sales_db: crm_prod},
         version 1
      8  @planner>req:schedule{asgn:research|task:q3_findings|schema:TA}
         planner requests schedule: assignee research, task q3_findings
      9  @research>req:tool{tool:web_search|args:{max:5,q:Q3}|schema:TC}
         research requests tool: tool_name web_search, arguments {max: 5, q: Q3}
     10  planner puts values into cold state: keys [[k100_1, c1399a27f872.., 73],
         [k100_2, 9dd3a99bf261.., 65]]
     11  @planner>done:tool{tool:web_search|res:{hits:[$cold.k100_1,$cold.k100_2]}|
         schema:TC}
         planner completes tool: tool_name web_search, result {hits: [$cold.k100_1,
         $cold.k100_2]}
       * checkpoint 1 (done): 7 left; hot 80 + warm 20 = 100 tokens
     13  @analyst>qry:lookup{q:by_region|src:$ctx.sales_db}
         analyst queries lookup: query by_region, source $ctx.sales_db
     14  @planner>done:lookup{d:{north:412.5,south:388.0,web:97.25}}
         planner completes lookup: data {north: 412.5, south: 388.0, web: 97.25}
       * checkpoint 2 (done): 9-11 left; hot 68 + warm 79 = 147 tokens
     16  @research>done:analyze{d:q3_sales|f:{churn:+3.2%,rev:-12%QoQ}}
         research completes analyze: data q3_sales, findings {churn: +3.2%, rev:
         -12%QoQ}
       * checkpoint 3 (done): 13-14 left; hot 51 + warm 148 = 199 tokens
     18  @reviewer>req:chat{content:What_are_Q3_findings?|turn:1|schema:CH}
         reviewer requests chat: content "What are Q3 findings?", turn 1
     19  @analyst>done:chat{content:Revenue_declined_12%.|turn:2|schema:CH}
         analyst completes chat: content "Revenue declined 12%.", turn 2
       * checkpoint 4 (done): 8-16 left; hot 50 + warm 214 = 264 tokens
     21  @planner>req:schedule{asgn:dev|task:churn_alert|pri:high|schema:TA}
         planner requests schedule: assignee dev, task churn_alert, priority high
     22  @dev>req:transaction{txn:txn_001|amt:142.5|schema:TX}
         dev requests transaction: transaction_id txn_001, amount 142.5
     23  @planner>done:transaction{txn:txn_001|stat:settled|schema:TX}
         planner completes transaction: transaction_id txn_001, status settled
       * checkpoint 5 (done): 18-19 left; hot 71 + warm 281 = 352 tokens
     25  @dev>stream:infer{idx:0|tot:2|
         d:The_alert_watches_churn_by_segment_and_by_region._It_compar.. (559 bytes)
         dev streams infer: chunk_index 0, total_chunks 2, data "The alert watches
         churn by segment and by region. It compares each week with th.. (567 bytes)
     26  @dev>stream:infer{idx:1|tot:2|
         d:Two_of_the_seven_were_false\:_a_customer_that_merged_with_a.. (535 bytes)
         dev streams infer: chunk_index 1, total_chunks 2, data "Two of the seven
         were false: a customer that merged with another and one that .. (548 bytes)
     27  @dev>end:infer{}
         dev ends the stream infer
     28  @dev>fail:error{code:E4002|msg:Table_is_locked|retry:true|schema:ER}
         dev reports a failure, error: code E4002, msg "Table is locked", retry true
       * checkpoint 6 (hot): 22-27 left; hot 50 + warm 340 = 390 tokens
     30  @planner>req:execute{asgn:dev|task:move_reports|schema:TA}
         planner requests execute: assignee dev, task move_reports
     31  @dev>esc:review{pri:high|q:drop_old_reports}
         dev escalates review: priority high, query drop_old_reports
       * checkpoint 7 (esc): 28 left; hot 64 + warm 380 = 444 tokens
     33  @planner>cancel:execute{}
         planner cancels execute
     34  @planner>sync:state{delta:{task_1:done,task_2:wip}|v:2}
         planner synchronizes state: delta {task_1: done, task_2: wip}, version 2
     35  @dev>done:schedule{task:churn_alert|stat:complete|schema:TA}
         dev completes schedule: task churn_alert, status complete
       * checkpoint 8 (done): 30-34 left; hot 47 + warm 443 = 490 tokens
       ! After this commit and before anything left, the host was killed. It is back
         from its file: 36 entries, 5 agents, the same context. dev heard nothing
         and sent its frame again; the log has it once.
       * checkpoint 9 (phase): 21-35 left; hot 0 + warm 490 = 490 tokens
     38  @reviewer>qry:explain{d:$warm.ckpt_3.web|src:$cold.k100_1}
         reviewer queries explain: data $warm.ckpt_3.web, source $cold.k100_1
     39  @analyst>done:explain{d:$cold.k100_1|stat:confirmed}
         analyst completes explain: data $cold.k100_1, stat confirmed
       * checkpoint 10 (done): nothing left; hot 47 + warm 490 = 537 tokens
     41  @reviewer>comp:state{}
         reviewer asks to compress state
       * checkpoint 11 (comp): 38-39 left; hot 8 + warm 565 = 573 tokens
     43  @planner>sync:state{delta:{goal:~,task_2:done}|v:3}
         planner synchronizes state: delta {goal: nothing, task_2: done}, version 3

      tokens (o200k_base)             as frames  as compact JSON
      25 frames with their envelopes       1335             1640
      the same without envelopes            806             1009
      what a model reads at the end         512             1009
      what it has read at all frames       8276            13544
      (JSON under full names; a model reads the context, or all of the JSON so far)

    Every agent can read by reference what left the context. reviewer reads:

      $cold.k100_1
         Revenue fell 12 % on the quarter, most of it in the enterprise segment.
      $warm.ckpt_3.web
         97.25
      $cold.p9
         @research>req:tool{tool:web_search|args:{max:5,q:Q3}|
         schema:TC}[mid:101000001001,seq:3,ts:1714000003]

    Keep it all with `accp demo --store team.db`, then `accp session show team.db`.
    "#);
}

#[test]
fn what_the_demo_keeps_can_be_looked_into() {
    let folder = Folder::with(&[]);
    let run = folder.run("demo --store team.db", "");
    assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""));
    assert_eq!(run.stdout, accp("demo", "").stdout);
    assert_eq!(folder.names(), ["team.db"]);

    // The second run finds the file of the first.
    let run = folder.run("demo --store team.db", "");
    assert_eq!((run.code, run.stdout.as_str()), (Some(2), ""));
    insta::assert_snapshot!(run.stderr, @"error: team.db is there already: name a new file, or remove it");

    // This file already exists and is empty. A run that was killed may leave such a file.
    std::fs::write(folder.path("begun.db"), "").unwrap();
    let run = folder.run("demo --store begun.db", "");
    assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""));
    let [begun, team] = ["begun.db", "team.db"].map(|file| {
        let run = folder.run(["session", "list", file], "");
        run.code_is(0);
        run.stdout
    });
    assert_eq!(begun, team);

    let run = folder.run("session list team.db", "");
    run.code_is(0);
    insta::assert_snapshot!(run.stdout, @"
    session            side             entries  bytes  due  members  last
    pipeline           host             43       7395   0    5        2024-04-24 23:07:06 UTC
    pipeline@analyst   member analyst   39       7005   0    5        2024-04-24 23:07:06 UTC
    pipeline@dev       member dev       38       6929   0    5        2024-04-24 23:07:06 UTC
    pipeline@research  member research  40       7085   0    5        2024-04-24 23:07:06 UTC
    pipeline@reviewer  member reviewer  37       6848   0    5        2024-04-24 23:07:06 UTC
    ");
    let host = folder.run("session show team.db", "");
    host.code_is(0);
    insta::assert_snapshot!(host.stdout, @"
    Session    pipeline, as the host keeps it
    Log        43 entries up to position 43, 25 of them frames; 7395 bytes
    Last       2024-04-24 23:07:06 UTC
    Numbering  shared
    Level      3
    Registry   a32838af3ff6a9ed0a9614b88164be36798497e40a478e0cca3f7952aa6fa492
    Budget     hot 30/500, warm 565/2000, total 595/2500 tokens, counted in o200k_base
    Waiting    0 to be handled, 0 to be acknowledged
    Values     2 in cold state, 138 bytes; 2 here

      member  agents    since
      100     planner   1      host
      101     research  3
      102     analyst   4
      103     dev       5
      104     reviewer  6

      checkpoint  at  why    covers  left hot state  tokens
      ckpt_1      12  done   10      7               20
      ckpt_2      15  done   13      9-11            59
      ckpt_3      17  done   15      13-14           69
      ckpt_4      20  done   18      8-16            66
      ckpt_5      24  done   22      18-19           67
      ckpt_6      29  hot    27      22-27           59
      ckpt_7      32  esc    30      28              40
      ckpt_8      36  done   34      30-34           63
      ckpt_9      37  phase  35      21-35           47
      ckpt_10     40  done   38                      0
      ckpt_11     42  comp   40      38-39           75

      shared, version 3  value
      sales_db           crm_prod
      task_1             done
      task_2             done
    ");
    let run = folder.run("session show team.db pipeline@dev", "");
    run.code_is(0);
    let (head, rest) = run.stdout.split_once("Numbering").unwrap();
    insta::assert_snapshot!(head, @"
    Session    pipeline@dev, as the member dev keeps it
    Log        38 entries up to position 43, 25 of them frames; 6929 bytes
    Last       2024-04-24 23:07:06 UTC
    ");
    // The rest is that of the host, but the member has not fetched the values.
    let (_, of_host) = host.stdout.split_once("Numbering").unwrap();
    assert_eq!(rest, of_host.replace("bytes; 2 here", "bytes; 0 here"));
    let run = folder.run("session verify team.db", "");
    assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""));
    insta::assert_snapshot!(run.stdout, @"
    pipeline: fine: 43 entries, folded from its first entry;
      6 references can be read, 11 checkpoints (1 by the size of hot state alone) list 23 frames that moved
    pipeline@analyst: fine: 39 entries, folded from its snapshot;
      2 references can be read (4 more: with another side, expired or superseded), 11 checkpoints (1 by the size of hot state alone) list 22 frames that moved
    pipeline@dev: fine: 38 entries, folded from its snapshot;
      2 references can be read (4 more: with another side, expired or superseded), 11 checkpoints (1 by the size of hot state alone) list 22 frames that moved
    pipeline@research: fine: 40 entries, folded from its snapshot;
      2 references can be read (4 more: with another side, expired or superseded), 11 checkpoints (1 by the size of hot state alone) list 22 frames that moved
    pipeline@reviewer: fine: 37 entries, folded from its snapshot;
      5 references can be read (1 more: with another side, expired or superseded), 11 checkpoints (1 by the size of hot state alone) list 22 frames that moved
    ");
}

#[test]
fn the_file_goes_unless_it_is_kept() {
    let folder = Folder::with(&[]);
    let temporary = folder.path("");
    let mut command = crate::cli::command();
    command.args(["demo", "--keep"]).env("TMPDIR", &temporary);
    let run = crate::cli::finish(&mut command, b"");
    run.code_is(0);
    let place = run.stderr.trim().strip_prefix("kept in ").unwrap();
    assert!(place.starts_with(temporary.to_str().unwrap()), "{place}");
    assert_eq!(folder.names().len(), 1);
    accp(["session", "verify", place], "").code_is(0);

    let folder = Folder::with(&[]);
    let mut command = crate::cli::command();
    command.arg("demo").env("TMPDIR", folder.path(""));
    crate::cli::finish(&mut command, b"").code_is(0);
    assert!(folder.names().is_empty());
}

/// With --debug, the twin of every frame of the demo is on stderr, and stdout does not change.
#[test]
fn debug_tells_every_frame() {
    let run = accp("demo --debug", "");
    assert_eq!(run.stdout, accp("demo", "").stdout);
    let lines: Vec<_> = run.stderr.lines().collect();
    assert!(
        lines
            .iter()
            .all(|line| line.starts_with("debug: pipeline: "))
    );
    let about = |words: &str| -> Vec<_> {
        lines
            .iter()
            .filter(|line| line.contains(words))
            .copied()
            .collect()
    };
    // The sender sends the request once. The host keeps it and relays it to four members, who keep it. The sender is
    // one of the four.
    let asked = about("research requests tool: tool_name web_search");
    // The host's voucher for its log differs each time, because the host's secret differs.
    let asked = asked.iter().map(|line| match line.split_once(",sum:") {
        Some((before, rest)) if rest.len() == 56 => format!("{before},sum:..,proof:..]"),
        _ => (*line).to_owned(),
    });
    let asked: Vec<_> = asked.collect();
    insta::assert_snapshot!(asked.join("\n"), @r"
    debug: pipeline: research sends: research requests tool: tool_name web_search, arguments {max: 5, q: Q3} [mid:101000001001,seq:3,ts:1714000003]
    debug: pipeline: planner receives: research requests tool: tool_name web_search, arguments {max: 5, q: Q3} [mid:101000001001,seq:3,ts:1714000003]
    debug: pipeline: planner keeps: research requests tool: tool_name web_search, arguments {max: 5, q: Q3} [mid:101000001001,seq:3,ts:1714000003]
    debug: pipeline: planner sends: research requests tool: tool_name web_search, arguments {max: 5, q: Q3} [mid:101000001001,seq:3,ts:1714000003,pos:9,by:101,tok:25,sum:..,proof:..]
    debug: pipeline: planner sends: research requests tool: tool_name web_search, arguments {max: 5, q: Q3} [mid:101000001001,seq:3,ts:1714000003,pos:9,by:101,tok:25,sum:..,proof:..]
    debug: pipeline: planner sends: research requests tool: tool_name web_search, arguments {max: 5, q: Q3} [mid:101000001001,seq:3,ts:1714000003,pos:9,by:101,tok:25,sum:..,proof:..]
    debug: pipeline: planner sends: research requests tool: tool_name web_search, arguments {max: 5, q: Q3} [mid:101000001001,seq:3,ts:1714000003,pos:9,by:101,tok:25,sum:..,proof:..]
    debug: pipeline: research receives: research requests tool: tool_name web_search, arguments {max: 5, q: Q3} [mid:101000001001,seq:3,ts:1714000003,pos:9,by:101,tok:25,sum:..,proof:..]
    debug: pipeline: analyst receives: research requests tool: tool_name web_search, arguments {max: 5, q: Q3} [mid:101000001001,seq:3,ts:1714000003,pos:9,by:101,tok:25,sum:..,proof:..]
    debug: pipeline: dev receives: research requests tool: tool_name web_search, arguments {max: 5, q: Q3} [mid:101000001001,seq:3,ts:1714000003,pos:9,by:101,tok:25,sum:..,proof:..]
    debug: pipeline: reviewer receives: research requests tool: tool_name web_search, arguments {max: 5, q: Q3} [mid:101000001001,seq:3,ts:1714000003,pos:9,by:101,tok:25,sum:..,proof:..]
    debug: pipeline: research keeps: research requests tool: tool_name web_search, arguments {max: 5, q: Q3} [mid:101000001001,seq:3,ts:1714000003]
    debug: pipeline: analyst keeps: research requests tool: tool_name web_search, arguments {max: 5, q: Q3} [mid:101000001001,seq:3,ts:1714000003]
    debug: pipeline: dev keeps: research requests tool: tool_name web_search, arguments {max: 5, q: Q3} [mid:101000001001,seq:3,ts:1714000003]
    debug: pipeline: reviewer keeps: research requests tool: tool_name web_search, arguments {max: 5, q: Q3} [mid:101000001001,seq:3,ts:1714000003]
    ");
    assert!(!about(" acknowledges ").is_empty());
    assert!(!about("takes a checkpoint: ").is_empty());
}

/// The blocks and numbers on the page about sessions must be those of the demo.
#[test]
fn the_page_about_sessions_shows_the_demo() {
    let page = std::fs::read_to_string("../../docs/sessions.md").unwrap();
    let block = page
        .split("```text\n")
        .find(|block| block.starts_with(" 38"));
    let block = block.unwrap().split("```").next().unwrap();
    let printed = accp("demo", "").stdout;
    for line in block.lines() {
        assert!(printed.lines().any(|own| own == line), "{line}");
    }
}

#[test]
fn debug_says_nothing_unless_it_is_asked() {
    assert_eq!(accp("demo", "").stderr, "");
}

#[cfg(unix)]
#[test]
fn a_place_for_files_that_is_not_there_is_named_with_the_cure() {
    let mut demo = crate::cli::command();
    let run = crate::cli::finish(demo.arg("demo").env("TMPDIR", "/no/such/place"), b"");
    run.code_is(2);
    assert_eq!(
        run.stderr,
        "error: no folder can be made in /no/such/place: entity not found; name another place with TMPDIR\n"
    );
}
