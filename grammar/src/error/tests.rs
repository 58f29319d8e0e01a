use crate::{parse, parse_bytes};

/// Returns each text with its error, as a person sees it.
fn errors(texts: &[&str]) -> String {
    let lines = texts.iter().map(|text| match parse(text) {
        Ok(_) => format!("{text}\n    is a frame\n"),
        Err(error) => format!("{text}\n    {error}\n"),
    });
    lines.collect()
}

#[test]
fn faults_of_the_header() {
    insta::assert_snapshot!(errors(&[
        "hello", "", "@", "@>req:plan{}", "@dev.1>req:plan{}", "@planner:plan{}", "@a>", "@a>r2d2:plan{}", "@a>:plan{}",
        "@a>req{}", "@a>req:", "@a>req:sub-task{}", "@a>req:{}", "@a>req:plan", "@a>req:plan[mid:1]", "@a b>req:plan{}",
    ]), @r#"
    hello
        byte 0: expected '@' at the start of the frame, found 'h'; a frame begins with its sender: @agent>intent:operation{}

        byte 0: expected '@' at the start of the frame, found the end; the frame is cut short
    @
        byte 1: expected an agent id after '@', found the end; the frame is cut short
    @>req:plan{}
        byte 1: expected an agent id after '@', found '>'; the header and the body are written @agent>intent:operation{}
    @dev.1>req:plan{}
        byte 4: expected '>' after the agent id, found '.'; an agent id holds letters, digits, '-' and '_'
    @planner:plan{}
        byte 8: expected '>' after the agent id, found ':'; the header and the body are written @agent>intent:operation{}
    @a>
        byte 3: expected an intent after '>', found the end; the frame is cut short
    @a>r2d2:plan{}
        byte 4: expected ':' after the intent, found '2'; an intent holds letters only
    @a>:plan{}
        byte 3: expected an intent after '>', found ':'; the header and the body are written @agent>intent:operation{}
    @a>req{}
        byte 6: expected ':' after the intent, found '{'; the header and the body are written @agent>intent:operation{}
    @a>req:
        byte 7: expected an operation name after ':', found the end; the frame is cut short
    @a>req:sub-task{}
        byte 10: expected '{' after the operation, found '-'; an operation holds letters, digits and '_'
    @a>req:{}
        byte 7: expected an operation name after ':', found '{'; the header and the body are written @agent>intent:operation{}
    @a>req:plan
        byte 11: expected '{' after the operation, found the end; the frame is cut short
    @a>req:plan[mid:1]
        byte 11: expected '{' after the operation, found '['; an empty body is written '{}'
    @a b>req:plan{}
        byte 2: expected '>' after the agent id, found ' '; a space cannot stand in a frame
    "#);
}

#[test]
fn faults_of_params_and_metadata() {
    insta::assert_snapshot!(errors(&[
        "@a>req:plan{", "@a>req:plan{|}", "@a>req:plan{pri}", "@a>req:plan{first-name:x}", "@a>req:plan{pri:1|}",
        "@a>req:plan{pri:high,why:x}", "@a>req:plan{pri:high]", "@a>req:plan{}x", "@a>req:plan{}[]",
        "@a>req:plan{}[mid:1|seq:2]", "@a>req:plan{}[mid:1", "@a>req:plan{}[mid:1]x", "@a>req:plan{}[mid:1]@b>",
        "@a>req:plan{a_key_of_more_than_thirty_two_letters:}",
    ]), @r#"
    @a>req:plan{
        byte 12: expected a key or '}' after '{', found the end; the frame is cut short
    @a>req:plan{|}
        byte 12: expected a key or '}' after '{', found '|'; a separator stands only between two entries
    @a>req:plan{pri}
        byte 15: expected ':' after the key `pri`, found '}'; an entry is written key:value
    @a>req:plan{first-name:x}
        byte 17: expected ':' after the key `first`, found '-'; a key holds letters, digits and '_'
    @a>req:plan{pri:1|}
        byte 18: expected a key after '|', found '}'; a separator stands only between two entries
    @a>req:plan{pri:high,why:x}
        byte 20: expected '|' or '}' after the value of `pri`, found ','; the params of a payload are separated by '|'; inside a value ',' is written '\,'
    @a>req:plan{pri:high]
        byte 20: expected '|' or '}' after the value of `pri`, found ']'; inside a value ']' is written '\]'
    @a>req:plan{}x
        byte 13: expected '[' or the end of the frame after the body, found 'x'; only the metadata may follow the body
    @a>req:plan{}[]
        byte 14: expected a key after '[', found ']'; empty metadata is left out, with its brackets
    @a>req:plan{}[mid:1|seq:2]
        byte 19: expected ',' or ']' after the value of `mid`, found '|'; only the params of a payload are separated by '|'; inside a value it is written '\|'
    @a>req:plan{}[mid:1
        byte 19: expected ',' or ']' after the value of `mid`, found the end; the frame is cut short
    @a>req:plan{}[mid:1]x
        byte 20: expected the end of the frame after the metadata, found 'x'; nothing may follow the metadata
    @a>req:plan{}[mid:1]@b>
        byte 20: expected the end of the frame after the metadata, found '@'; nothing may follow the metadata
    @a>req:plan{a_key_of_more_than_thirty_two_letters:}
        byte 50: expected a value after `a_key_of_more_than_thirty_two_le...:`, found '}'; a value has at least one character; null is '~', empty text '"', or '%' in a text field
    "#);
}

#[test]
fn faults_of_values() {
    insta::assert_snapshot!(errors(&[
        "@a>req:plan{pri:}", "@a>req:plan{pri:|why:x}", "@a>req:plan{pri:", "@a>req:plan{pri:a>b}", "@a>req:plan{pri:>1}",
        "@a>req:plan{at:12:30}", "@a>req:plan{mail:me@example.org}", r"@a>req:plan{path:C\dir}", r"@a>req:plan{path:\",
        "@a>req:plan{cost:$}", "@a>req:plan{cost:$4-2}", "@a>req:plan{cost:$a:b}", "@a>req:plan{v:~1}",
        "@a>req:plan{l:[1,]}", "@a>req:plan{l:[1;2|3]}", "@a>req:plan{l:[1,2}", "@a>req:plan{m:{a:x]}", "@a>req:plan{l:[]x}", "@a>req:plan{m:{1}}",
        "@a>req:plan{m:{a:1|b:2}}", "@a>req:plan{m:{a:1,}}", "@a>req:plan{m:{a:{b:{c:}}}}", r"@a>req:plan{e:\}}}",
        r"@a>req:plan{e:x\}>}",
    ]), @r#"
    @a>req:plan{pri:}
        byte 16: expected a value after `pri:`, found '}'; a value has at least one character; null is '~', empty text '"', or '%' in a text field
    @a>req:plan{pri:|why:x}
        byte 16: expected a value after `pri:`, found '|'; a value has at least one character; null is '~', empty text '"', or '%' in a text field
    @a>req:plan{pri:
        byte 16: expected a value after `pri:`, found the end; the frame is cut short
    @a>req:plan{pri:a>b}
        byte 17: expected '|' or '}' after the value of `pri`, found '>'; inside a value '>' is written '\>'
    @a>req:plan{pri:>1}
        byte 16: expected a value after `pri:`, found '>'; inside a value '>' is written '\>'
    @a>req:plan{at:12:30}
        byte 17: expected '|' or '}' after the value of `at`, found ':'; inside a value ':' is written '\:'
    @a>req:plan{mail:me@example.org}
        byte 19: expected '|' or '}' after the value of `mail`, found '@'; inside a value '@' is written '\@'
    @a>req:plan{path:C\dir}
        byte 19: expected one of the 12 delimiters after '\', found 'd'; the delimiters are @ > : { } [ ] | $ , ~ \, so a backslash is written '\\'
    @a>req:plan{path:\
        byte 18: expected one of the 12 delimiters after '\', found the end; the frame is cut short
    @a>req:plan{cost:$}
        byte 18: expected the key of a reference after '$', found '}'; a reference is '$' and letters, digits, '_' or '.'; a '$' in a value is written '\$'
    @a>req:plan{cost:$4-2}
        byte 19: expected '|' or '}' after the value of `cost`, found '-'; a reference is '$' and letters, digits, '_' or '.'; a '$' in a value is written '\$'
    @a>req:plan{cost:$a:b}
        byte 19: expected '|' or '}' after the value of `cost`, found ':'; a reference is '$' and letters, digits, '_' or '.'; a '$' in a value is written '\$'
    @a>req:plan{v:~1}
        byte 15: expected '|' or '}' after the value of `v`, found '1'; '~' is null and stands alone; inside a value it is written '\~'
    @a>req:plan{l:[1,]}
        byte 17: expected a value after ',', found ']'; a value has at least one character; null is '~', empty text '"', or '%' in a text field
    @a>req:plan{l:[1;2|3]}
        byte 18: expected ',' or ']' after an element of `l`, found '|'; only the params of a payload are separated by '|'; inside a value it is written '\|'
    @a>req:plan{l:[1,2}
        byte 18: expected ',' or ']' after an element of `l`, found '}'; an array ends with ']'; inside a value '}' is written '\}'
    @a>req:plan{m:{a:x]}
        byte 18: expected ',' or '}' after the value of `a`, found ']'; a map ends with '}'; inside a value ']' is written '\]'
    @a>req:plan{l:[]x}
        byte 16: expected '|' or '}' after the value of `l`, found 'x'
    @a>req:plan{m:{1}}
        byte 16: expected ':' after the key `1`, found '}'; an entry is written key:value
    @a>req:plan{m:{a:1|b:2}}
        byte 18: expected ',' or '}' after the value of `a`, found '|'; only the params of a payload are separated by '|'; inside a value it is written '\|'
    @a>req:plan{m:{a:1,}}
        byte 19: expected a key after ',', found '}'; a separator stands only between two entries
    @a>req:plan{m:{a:{b:{c:}}}}
        byte 23: expected a value after `c:`, found '}'; a value has at least one character; null is '~', empty text '"', or '%' in a text field
    @a>req:plan{e:\}}}
        byte 17: expected '[' or the end of the frame after the body, found '}'; only the metadata may follow the body
    @a>req:plan{e:x\}>}
        byte 17: expected '|' or '}' after the value of `e`, found '>'; inside a value '>' is written '\>'
    "#);
}

#[test]
fn faults_of_characters() {
    insta::assert_snapshot!(errors(&[
        "@a>req:plan{task:two words}", "@a>req:plan{task:x| pri:1}", "@a>req:plan{task:x\ty}", "@a>req:plan{task:caf\u{e9}}",
        "@a>req:plan{}\n", "@a>req:plan{task:x\ny}", "@a>req:plan{task:'x'>}", "\u{feff}@a>req:plan{}", " @a>req:plan{}",
    ]), @r#"
    @a>req:plan{task:two words}
        byte 20: expected '|' or '}' after the value of `task`, found ' '; a space cannot stand in a frame; in a text value it is written '_'
    @a>req:plan{task:x| pri:1}
        byte 19: expected a key after '|', found ' '; a space cannot stand in a frame; `accp fix` removes one after a separator
    @a>req:plan{task:x	y}
        byte 18: expected '|' or '}' after the value of `task`, found '\t'; only printable ASCII can stand in a frame; in a text value this is written '%09'
    @a>req:plan{task:café}
        byte 20: expected '|' or '}' after the value of `task`, found 'é'; only printable ASCII can stand in a frame; in a text value this is written '%C3%A9'
    @a>req:plan{}

        byte 13: expected '[' or the end of the frame after the body, found '\n'; a frame is one line; leave out the line end
    @a>req:plan{task:x
    y}
        byte 18: expected '|' or '}' after the value of `task`, found '\n'; only printable ASCII can stand in a frame; in a text value this is written '%0A'
    @a>req:plan{task:'x'>}
        byte 20: expected '|' or '}' after the value of `task`, found '>'; inside a value '>' is written '\>'
    ﻿@a>req:plan{}
        byte 0: expected '@' at the start of the frame, found '\u{feff}'; a frame begins with its sender: @agent>intent:operation{}
     @a>req:plan{}
        byte 0: expected '@' at the start of the frame, found ' '; a frame begins at the start of its line; remove the blanks before it
    "#);
    insta::assert_snapshot!(parse_bytes(b"@a>req:plan{task:\xff}").unwrap_err(), @r#"byte 17: expected a value after `task:`, found '�'; this byte is not UTF-8; a frame is printable ASCII"#);
}

#[test]
fn limits() {
    let errors = [
        format!("@a>b:c{{k:{}", "x".repeat(70_000)),
        "@a>b:c{k:[[[[[[".to_owned(),
        format!("@a>b:c{{k:1{}}}", "|k:1".repeat(256)),
        format!("@a>b:c{{k:[1{}]}}", ",1".repeat(4096)),
    ]
    .map(|text| parse(&text).unwrap_err().to_string());
    insta::assert_snapshot!(errors.join("\n"), @r#"
    byte 65536: a frame has at most 65536 bytes; split it into parts, or send values by reference
    byte 14: arrays and maps nest at most 5 deep; send the inner value by reference
    byte 1031: a payload and a metadata block have at most 256 params; split it, or send a list by reference
    byte 8200: a frame has at most 4096 params, elements and entries; split it, or send a list by reference
    "#);
}

/// Some of the draft's own examples (sections 3.2, 3.6, 5.4, 6.3, 6.4) break its grammar.
#[test]
fn examples_of_the_draft() {
    insta::assert_snapshot!(errors(&[
        "@research>done:analyze{d:q3_sales|f:[rev:-12%QoQ,ent_seg:decline,churn:+3.2%]|nx:@strategy:plan}",
        "@planner>req:schedule{who:@dev_team|when:sprint_14|task:impl_auth_module|pri:high}",
        "@analyst>qry:lookup{src:$ctx.sales_db|q:revenue_by_region|fmt:summary}",
        "@orchestrator>sync:state{v:7|delta:{task_3:done,task_4:wip,budget:$42.30}}",
        "@data_agent>fail:fetch{src:api.crm|err:timeout_30s|retry:3|esc:@supervisor}",
        "@agent>fail:error{code:E3001|msg:connection_timed_out|retry:true|schema:ER}[mid:abc,seq:4,ts:1714000001]",
        "@agent>sync:state{v:N+1|delta:{changed_key:new_val,removed_key:null}}",
        "@planner>req:execute{schema:TA|assignee:@dev|task:auth_module|deadline:sprint_14}",
        "@orchestrator>sync:registry{v:3|hash:a7f2c1}",
    ]), @r#"
    @research>done:analyze{d:q3_sales|f:[rev:-12%QoQ,ent_seg:decline,churn:+3.2%]|nx:@strategy:plan}
        byte 40: expected ',' or ']' after an element of `f`, found ':'; an array holds values without keys, pairs stand in a map {k:v}; `accp fix` repairs it
    @planner>req:schedule{who:@dev_team|when:sprint_14|task:impl_auth_module|pri:high}
        byte 26: expected a value after `who:`, found '@'; '@' starts an agent id and must be escaped as '\@' inside a value; `accp fix` repairs it
    @analyst>qry:lookup{src:$ctx.sales_db|q:revenue_by_region|fmt:summary}
        is a frame
    @orchestrator>sync:state{v:7|delta:{task_3:done,task_4:wip,budget:$42.30}}
        is a frame
    @data_agent>fail:fetch{src:api.crm|err:timeout_30s|retry:3|esc:@supervisor}
        byte 63: expected a value after `esc:`, found '@'; '@' starts an agent id and must be escaped as '\@' inside a value; `accp fix` repairs it
    @agent>fail:error{code:E3001|msg:connection_timed_out|retry:true|schema:ER}[mid:abc,seq:4,ts:1714000001]
        is a frame
    @agent>sync:state{v:N+1|delta:{changed_key:new_val,removed_key:null}}
        is a frame
    @planner>req:execute{schema:TA|assignee:@dev|task:auth_module|deadline:sprint_14}
        byte 40: expected a value after `assignee:`, found '@'; '@' starts an agent id and must be escaped as '\@' inside a value; `accp fix` repairs it
    @orchestrator>sync:registry{v:3|hash:a7f2c1}
        is a frame
    "#);
}

#[test]
fn an_error_for_a_peer_holds_nothing_of_the_frame() {
    let texts = [
        "@secret.agent>req:plan{}",
        "@a>req:plan{secret:a>b}",
        "@a>req:plan{secret:[1|2]}",
        "@a>req:plan{secret",
        "@a>req:plan{secret:caf\u{e9}}",
        "@a>req:plan{secret:[[[[[[1]]]]]]}",
    ]
    .map(|text| parse(text).unwrap_err().for_peer().to_string());
    insta::assert_snapshot!(texts.join("\n"), @r#"
    E1001 at byte 7: expected '>'
    E1001 at byte 20: expected '|' or '}'
    E1001 at byte 21: expected ',' or ']'
    E1001 at byte 18: expected ':'
    E1001 at byte 22: expected '|' or '}'
    E1001 at byte 24: arrays and maps nest at most 5 deep
    "#);
}
