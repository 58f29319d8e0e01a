//! The sources of the rules: where providers say what they refuse.

pub(super) const ANTHROPIC_TYPES: &str = "types of the package anthropic 2.14.0";
pub(super) const OPENAI_TYPES: &str = "types of the package openai 3.57.0";
pub(super) const TOOL_USE: &str = "platform.claude.com/docs/en/agents-and-tools/tool-use";
pub(super) const CACHING: &str = "platform.claude.com/docs/en/build-with-claude/prompt-caching";
pub(super) const THINKING: &str = "platform.claude.com/docs/en/build-with-claude/thinking";
pub(super) const VISION: &str = "platform.claude.com/docs/en/build-with-claude/vision";
pub(super) const CITATIONS: &str = "platform.claude.com/docs/en/build-with-claude/citations";
pub(super) const MESSAGES: &str = "platform.claude.com/docs/en/api/messages";
pub(super) const FUNCTIONS: &str = "developers.openai.com/api/docs/guides/function-calling";
pub(super) const IMAGES: &str = "developers.openai.com/api/docs/guides/images-vision";
pub(super) const MCP: &str = "developers.openai.com/api/docs/guides/tools-connectors-mcp";
pub(super) const ANSWER: &str = "answer 400 of the API";
