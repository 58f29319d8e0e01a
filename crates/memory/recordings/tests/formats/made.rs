//! Logs that the programs themselves wrote, with a model that gives fixed answers. Long texts are cut. The snapshot is
//! what the model got.

use accp_recordings::Format;

use super::samples;

/// The samples have the version of the program in their names.
pub(super) const MADE: [(&str, Format, &str); 9] = samples![
    "codex_0_20.jsonl" Codex,
    "codex_0_58.jsonl" Codex,
    "codex_0_171.jsonl" Codex,
    "gemini_cli_0_61.jsonl" GeminiCli,
    "claude_code_2_1.jsonl" ClaudeCode,
    "openhands_sdk_1_58.json" OpenHands,
    "ai_sdk_v6_ui.json" AiSdk,
    "ai_sdk_v7_ui.json" AiSdk,
    "ai_sdk_v7_model.json" AiSdk,
];

#[test]
fn what_programs_of_today_write_is_read() {
    insta::assert_snapshot!(super::shown(&MADE), @r#"
    codex_0_20.jsonl
      user: "[image image/png, 132 characters of base64]"
      assistant: "Erst der Bestand." "Ich schaue in den Bestand." call_0_0=shell({"command":["bash","-lc","cat bestand.txt"]})
      tool: answers call_0_0 "{\"output\":\"Roggen 4\\nDinkel 0\\n\",\"metadata\":{\"exit_code\":0,\"duration_seconds\":0.0}}"
      assistant: call_1_0=shell({"command":["echo","Roggen ☕"]})
      tool: answers call_1_0 "{\"output\":\"Roggen ☕\\n\",\"metadata\":{\"exit_code\":0,\"duration_seconds\":0.0}}"
      assistant: call_1_1=shell({"command":["cat","fehlt.txt"]})
      tool: answers call_1_1 "{\"output\":\"cat: fehlt.txt: No such file or directory\\n\",\"metadata\":{\"exit_code\":1,\"duration_seconds\":0.0}}"
      assistant: "Fertig." "Vier Kilo Roggen, sieben Kilo Dinkel ☕."
      user: "Gibt es Roggenmehl? Für das Brot ☕"
      assistant: call_4_0=no_such_tool({"flour":"rye"})
      tool: answers call_4_0 "unsupported call: no_such_tool"
      assistant: call_5_0=update_plan({"plan":[{"step":"Mehl wiegen","status":"in_progress"}]})
      tool: answers call_5_0 "Plan updated"
      assistant: "Gern geschehen."
    codex_0_58.jsonl
      user: "<environment_context>\n  <cwd>/bakery</cwd>\n  <approval_policy>never</approval_policy>\n  <sandbox_mode>danger-full-access</sandbox_mode>\n  <network_access>enabled</network_access>\n  <shell>bash</shell>\n</environment_context>"
      user: "[image image/png, 132 characters of base64]" "Gibt es Roggenmehl? Für das Brot ☕"
      assistant: "Erst der Bestand." "Ich schaue in den Bestand." call_0_0=shell({"command":["bash","-lc","cat bestand.txt"]})
      tool: answers call_0_0 "{\"output\":\"Roggen 4\\nDinkel 0\\n\",\"metadata\":{\"exit_code\":0,\"duration_seconds\":0.0}}"
      assistant: call_1_0=shell({"command":["echo","Roggen ☕"]})
      tool: answers call_1_0 "{\"output\":\"Roggen ☕\\n\",\"metadata\":{\"exit_code\":0,\"duration_seconds\":0.0}}"
      assistant: call_1_1=shell({"command":["cat","fehlt.txt"]})
      tool: answers call_1_1 "{\"output\":\"cat: fehlt.txt: No such file or directory\\n\",\"metadata\":{\"exit_code\":1,\"duration_seconds\":0.0}}"
      assistant: "Fertig." "Vier Kilo Roggen, sieben Kilo Dinkel ☕."
    codex_0_171.jsonl
      system: "You are Codex, a coding agent based on GPT-5. You and the user share one workspace, and your job is to collaborate with  …"
      developer: "<skills_instructions>\n## Skills\nA skill is a set of local instructions to follow that is stored in a `SKILL.md` file. Be …" "<permissions instructions>\nFilesystem sandboxing defines which files can be read or written. `sandbox_mode` is `danger-f …" "<tools>\nDeferred tool namespaces:\n- multi_agent_v1: Tools for spawning and managing sub-agents.\n</tools>"
      user: "<environment_context>\n  <cwd>/bakery</cwd>\n  <shell>bash</shell>\n  <current_date>2026-11-28</current_date>\n  <timezone>E …"
      user: "<image name=[Image #1] path=\"/bakery/bread.png\">" "[image image/png, 132 characters of base64]" "</image>" "Gibt es Roggenmehl? Für das Brot ☕"
      assistant: "Erst der Bestand." "Ich schaue in den Bestand." call_0_0=exec_command({"cmd":"cat bestand.txt"})
      tool: answers call_0_0 "Chunk ID: f5859f\nWall time: 0.0000 seconds\nProcess exited with code 0\nOriginal token count: 5\nOutput:\nRoggen 4\nDinkel 0\n"
      assistant: call_1_0=exec_command({"cmd":"echo Roggen; echo ☕"}) call_1_1=exec_command({"cmd":"cat fehlt.txt"})
      tool: answers call_1_0 "Chunk ID: f60bb5\nWall time: 0.0000 seconds\nProcess exited with code 0\nOriginal token count: 3\nOutput:\nRoggen\n☕\n"
      tool: answers call_1_1 "Chunk ID: 94cfd2\nWall time: 0.0000 seconds\nProcess exited with code 1\nOriginal token count: 11\nOutput:\ncat: fehlt.txt: No such file or directory\n"
      assistant: "Ich ändere die Datei." call_2_0=apply_patch(Some(String("*** Begin Patch\n*** Update File: bestand.txt\n@@\n-Dinkel 0\n+Dinkel 7\n*** End Patch\n")))
      tool: answers call_2_0 "Exit code: 0\nWall time: 0 seconds\nOutput:\nSuccess. Updated the following files:\nM bestand.txt\n"
      assistant: "Fertig." "Vier Kilo Roggen, sieben Kilo Dinkel ☕."
      user: "Danke. Noch Dinkel?"
      assistant: call_4_0=no_such_tool({"flour":"rye"})
      tool: answers call_4_0 "unsupported call: no_such_tool"
      assistant: call_5_0=update_plan({"plan":[{"step":"Mehl wiegen","status":"in_progress"}]})
      tool: answers call_5_0 "unsupported call: update_plan"
      assistant: "Gern geschehen."
    gemini_cli_0_61.jsonl
      user: "<session_context>\nThis is the Gemini CLI. We are setting up the context for our chat.\nToday's date is Saturday, November …"
      user: "Gibt es Roggenmehl? @bread.png Für das Brot ☕" "\n--- Content from referenced files ---" "[image image/png, 132 characters of base64]" "\n--- End of content ---"
      assistant: "**Bestand** Erst der Bestand." "Ich schaue in den Bestand." run_shell_command__fc_0_0=run_shell_command({"command":"cat bestand.txt","description":"Bestand lesen"})
      tool: answers run_shell_command__fc_0_0 "<untrusted_context>\nOutput: Roggen 4\nDinkel 0\nProcess Group PGID: 31562\n</untrusted_context>"
      assistant: run_shell_command__fc_1_0=run_shell_command({"command":"echo Roggen ☕"}) read_file__fc_1_1=read_file({"file_path":"fehlt.txt"})
      tool: answers run_shell_command__fc_1_0 "<untrusted_context>\nOutput: Roggen ☕\nProcess Group PGID: 31576\n</untrusted_context>"
      tool: answers read_file__fc_1_1 "File not found: /bakery/fehlt.txt"
      assistant: "Ich ändere die Datei." replace__fc_2_0=replace({"file_path":"bestand.txt","instruction":"Dinkel","old_string":"Dinkel 0","new_string":"Dinkel 7"})
      tool: answers replace__fc_2_0 "Successfully modified file: /bakery/bestand.txt (1 replacements). Here is the updated code:\nRoggen 4\nDinkel 7\n"
      assistant: "Vier Kilo Roggen, sieben Kilo Dinkel ☕."
      user: "Danke. Noch Dinkel?"
      assistant: no_such_tool__fc_4_0=no_such_tool({"flour":"rye"})
      tool: answers no_such_tool__fc_4_0 "Tool \"no_such_tool\" not found. Did you mean one of: \"write_todos\", \"update_topic\", \"list_directory\"?"
      assistant: "Gern geschehen."
    claude_code_2_1.jsonl
      user: "Gibt es Roggenmehl? Für das Brot ☕"
      user: "{\"type\":\"agent_listing_delta\",\"addedTypes\":[\"claude\",\"Explore\",\"general-purpose\"],\"addedLines\":[\"- claude: Catch-all for any task that doesn't fit a more specific agent. FleetView's default when no agent name is typed. (Tools: *)\",\"- Explore: Read-only search agent for broad fan-out searches — when answering means sweeping many files, directories, or …\",\"- general-purpose: General-purpose agent for researching complex questions, searching for code, and executing multi-step …\"],\"removedTypes\":[],\"isInitial\":true,\"showConcurrencyNote\":true}"
      user: "{\"type\":\"skill_listing\",\"content\":\"- deep-research: Deep research harness — fan-out web searches, fetch sources, adversarially verify claims, synthesize a  …\",\"skillCount\":13,\"isInitial\":true,\"names\":[\"deep-research\",\"update-config\",\"keybindings-help\"]}"
      assistant: "Erst der Bestand." "Ich schaue in den Bestand." toolu_0_0=Bash({"command":"cat bestand.txt","description":"Bestand lesen"})
      tool: answers toolu_0_0 "Roggen 4\nDinkel 0"
      assistant: toolu_1_0=Read({"file_path":"/bakery/bestand.txt"}) toolu_1_1=Bash({"command":"cat fehlt.txt","description":"x"}) toolu_1_2=Read({"file_path":"/bakery/bread.png"})
      tool: answers toolu_1_0 "1\tRoggen 4\n2\tDinkel 0\n3\t"
      tool: answers toolu_1_2 "[image image/png, 132 characters of base64]"
      tool: answers toolu_1_1 "Exit code 1\ncat: fehlt.txt: No such file or directory"
      assistant: "Ich ändere die Datei." toolu_2_0=Edit({"replace_all":false,"file_path":"/bakery/bestand.txt","old_string":"Dinkel 0","new_string":"Dinkel 7"})
      tool: answers toolu_2_0 "The file /bakery/bestand.txt has been updated successfully. (file state is current in your context — no need to Read it back)"
      assistant: "Vier Kilo Roggen, sieben Kilo Dinkel ☕."
      user: "Danke. Noch Dinkel?"
      assistant: toolu_4_0=NoSuchTool({"flour":"rye"})
      tool: answers toolu_4_0 "<tool_use_error>Error: No such tool available: NoSuchTool</tool_use_error>"
      assistant: "Gern geschehen."
    openhands_sdk_1_58.json
      system: "<SOUL>\nYou are OpenHands agent, a helpful AI assistant that can interact with a computer to solve tasks.\n</SOUL>\n\n<ROLE> …"
      user: "Gibt es Roggenmehl? Für das Brot ☕" "[image image/png, 132 characters of base64]"
      assistant: "Erst der Bestand." "Ich schaue in den Bestand." call_0_0=terminal({"command":"cat bestand.txt","security_risk":"LOW","summary":"Bestand lesen"})
      tool: answers call_0_0 "Roggen 4\nDinkel 0"
      assistant: "" call_1_0=terminal({"command":"echo Roggen ☕","security_risk":"LOW","summary":"x"}) call_1_1=file_editor({"command":"view","path":"/bakery/fehlt.txt","security_risk":"LOW","summary":"y"})
      tool: answers call_1_0 "Roggen ☕"
      tool: answers call_1_1 "Invalid `path` parameter: /bakery/fehlt.txt. The path /bakery/fehlt.txt does not exist. Please provide a valid path."
      assistant: "Ich ändere die Datei." call_2_0=file_editor({"command":"str_replace","path":"/bakery/bestand.txt","old_str":"Dinkel 0","new_str":"Dinkel 7","security_risk":"LOW","summary":"z"})
      tool: answers call_2_0 "The file /bakery/bestand.txt has been edited. Here's the result of running `cat -n` on a snippet of /bakery/bestand.txt:\n     1\tRoggen 4\n     2\tDinkel 7\nReview the changes and make sure they are as expected. Edit the file again if necessary."
      assistant: "Vier Kilo Roggen, sieben Kilo Dinkel ☕."
      user: "Danke. Noch Dinkel?"
      assistant: "" call_4_0=no_such_tool({"flour":"rye"})
      tool: answers call_4_0 "Tool 'no_such_tool' not found. Available: ['terminal', 'file_editor', 'finish', 'think']"
      assistant: "" call_5_0=file_editor({"command":"no_such_command"})
      tool: answers call_5_0 "Error validating tool 'file_editor': 2 validation errors for FileEditorAction\ncommand\n  Input should be 'view', 'create' …"
      assistant: "Gern geschehen."
    ai_sdk_v6_ui.json
      user: "Gibt es Roggenmehl? Für das Brot ☕" "[image image/png, 132 characters of base64]"
      assistant: "Erst der Bestand." "Ich schaue in den Bestand." call_0_0=stock({"flour":"Roggen"}) call_0_1=stock({"flour":"Dinkel"})
      tool: answers call_0_0 "{\"kilo\":4}"
      tool: answers call_0_1 "An error occurred."
      assistant: call_1_0=picture({}) call_1_1=dyn({"x":1})
      tool: answers call_1_0 "{\"ok\":true}"
      tool: answers call_1_1 "dyn {\"x\":1}"
      assistant: call_2_0=stock({"flour":5})
      tool: answers call_2_0 "An error occurred."
      assistant: "Vier Kilo Roggen ☕."
      user: "Danke. Ofen?"
      assistant: call_4_0=oven({"degrees":220})
    ai_sdk_v7_ui.json
      user: "Gibt es Roggenmehl? Für das Brot ☕" "[image image/png, 132 characters of base64]"
      assistant: "Erst der Bestand." "Ich schaue in den Bestand." call_0_0=stock({"flour":"Roggen"}) call_0_1=stock({"flour":"Dinkel"})
      tool: answers call_0_0 "{\"kilo\":4}"
      tool: answers call_0_1 "Error: kein Dinkel"
      assistant: call_1_0=picture({}) call_1_1=dyn({"x":1})
      tool: answers call_1_0 "{\"ok\":true}"
      tool: answers call_1_1 "dyn {\"x\":1}"
      assistant: call_2_0=stock({"flour":5})
      tool: answers call_2_0 "AI_InvalidToolInputError: Invalid input for tool stock: AI_TypeValidationError: Type validation failed: Value: {\"flour\": …"
      assistant: "Vier Kilo Roggen ☕."
      user: "Danke. Ofen?"
      assistant: call_4_0=oven({"degrees":220})
    ai_sdk_v7_model.json
      user: "Gibt es Roggenmehl? Für das Brot ☕" "[image image/png, 132 characters of base64]"
      assistant: "Erst der Bestand." "Ich schaue in den Bestand." call_0_0=stock({"flour":"Roggen"}) call_0_1=stock({"flour":"Dinkel"})
      tool: answers call_0_0 "{\"kilo\":4}"
      tool: answers call_0_1 "Error: kein Dinkel"
      assistant: call_1_0=picture({}) call_1_1=dyn({"x":1})
      tool: answers call_1_0 "Ein Brot" "[image image/png, 132 characters of base64]"
      tool: answers call_1_1 "dyn {\"x\":1}"
      assistant: call_2_0=stock({"flour":5})
      tool: answers call_2_0 "AI_InvalidToolInputError: Invalid input for tool stock: AI_TypeValidationError: Type validation failed: Value: {\"flour\": …"
      assistant: "Vier Kilo Roggen ☕."
      user: "Danke. Ofen?"
    "#);
}
