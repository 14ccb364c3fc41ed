"""Every environment variable of a site: its default, its type and what it does.

``.env.example`` and ``docs/settings.md`` are generated from this table: ``python -m config.settings_reference``.
"""

from __future__ import annotations

from urllib.parse import urlsplit

from chat.tools import registry
from config import environment as env
from config.environment import Variable
from reasoning.replay.dialects import PRESETS

# The key of each preset is sent to its own service, over HTTPS.
PRESET_KEYS = ",".join(
    f"{preset.api_key_env}@{urlsplit(preset.base_url).hostname}:443"
    for preset in PRESETS.values()
    if preset.api_key_env not in ("", "OPENAI_API_KEY")
)
SCHEMA: dict[str, tuple[Variable, ...]] = {
    "Model service": (
        Variable(
            "OPENAI_BASE_URL",
            "",
            env.optional(env.ENDPOINT),
            "Any endpoint for chat completions or Responses, such as http://127.0.0.1:11434/v1. "
            "Alone it is enough: the first model that it lists is used. "
            "With no model variable set, the offline analyst answers.",
            is_secret=True,
        ),
        Variable(
            "OPENAI_API_KEY",
            "",
            env.optional(env.TEXT),
            "API key of the endpoint. Alone it means OpenAI's own endpoint and the model gpt-5-mini.",
            is_secret=True,
        ),
        Variable("OPENAI_MODEL", "", env.optional(env.TEXT), "Model to request."),
        Variable(
            "OPENAI_API",
            "chat",
            env.one_of("chat", "responses"),
            "API to use: chat (chat completions) or responses (OpenAI Responses, with store=false).",
        ),
        Variable(
            "OPENAI_TAKES_IMAGES",
            "",
            env.optional(env.BOOLEAN),
            "Whether the model of OPENAI_BASE_URL sees attached images. Empty: as its service is known to.",
        ),
        Variable(
            "MODEL_KEYS",
            PRESET_KEYS,
            env.KEY_BINDINGS,
            "Environment variables whose API keys model profiles of the admin may use, each with the host that its key "
            "may be sent to, such as MISTRAL_API_KEY@api.mistral.ai,TEAM_KEY@10.0.0.7:8000. A variable may be listed "
            "with several hosts. No other variable is read. OPENAI_API_KEY belongs to the host of OPENAI_BASE_URL by "
            "itself.",
            is_secret=True,
        ),
    ),
    "Reasoning": (
        Variable(
            "REASONING_ENABLED",
            "true",
            env.BOOLEAN,
            "Ask the model for reasoning and show it: summary, steps, thinking and their switches.",
        ),
        Variable(
            "REASONING_DEFAULTS",
            "",
            env.TEXT,
            "Site-wide defaults of the reasoning.* settings, such as effort=low,stripFromContext=allButLast.",
        ),
        Variable("REASONING_SHOW_SUMMARY_DEFAULT", "true", env.BOOLEAN, "Initial state of Show reasoning."),
        Variable(
            "REASONING_TOOL_TRACE_DEFAULT",
            "true",
            env.BOOLEAN,
            "Show the tool trace; false leaves it out until a user asks for it.",
        ),
        Variable(
            "REASONING_SCRATCHPAD_ENABLED",
            "false",
            env.BOOLEAN,
            "Let administrators switch on the live scratchpad, which is never stored.",
        ),
        Variable(
            "SCRATCHPAD_ADMIN_ONLY",
            "true",
            env.BOOLEAN,
            "Must be true for anybody to see a scratchpad; false is an error of check --deploy.",
        ),
        Variable(
            "SCRATCHPAD_TOGGLE_MINUTES",
            "60",
            env.integer(1, 1440),
            "Minutes after which an administrator's scratchpad switch turns itself off.",
        ),
        Variable(
            "REASONING_THINKING_FOR_USERS",
            "excerpt",
            env.one_of("excerpt", "full", "hidden"),
            "How much of a model's thinking users see: excerpt, full or hidden. Administrators see all of it.",
        ),
        Variable(
            "THINKING_RETENTION_DAYS",
            "",
            env.optional(env.integer(1, 36500)),
            "Days after which purge_thinking deletes stored thinking; empty keeps it.",
        ),
        Variable(
            "SAFE_LINK_HOSTS",
            "sec.gov,www.sec.gov",
            env.LIST,
            "Hosts that links in answers may open without a confirmation page.",
        ),
    ),
    "People": (
        Variable(
            "MODEL_TITLES",
            "false",
            env.BOOLEAN,
            "After the first answer of a conversation, ask its model for a title of a few words, in one more request.",
        ),
        Variable("SIGNUP_ENABLED", "false", env.BOOLEAN, "Let anyone create an account."),
        Variable("DEMO_PASSWORD", "", env.TEXT, "Password of the demo people demo, sam and admin.", is_secret=True),
    ),
    "Server": (
        Variable("SECRET_KEY", "", env.TEXT, "Django's secret key: signs sessions and forms.", is_secret=True),
        Variable(
            "CONTENT_KEYS",
            "",
            env.FERNET_KEYS,
            "Comma-separated Fernet keys that encrypt stored thinking, newest first. Remove an old key only after "
            "rotate_keys has run.",
            is_secret=True,
        ),
        Variable("HOST", "127.0.0.1", env.TEXT, "Address to listen on."),
        Variable("PORT", "8000", env.integer(0, 65535), "Port to listen on; 0 takes a free one."),
        Variable(
            "TIME_ZONE",
            "UTC",
            env.TIME_ZONE,
            "Time zone of the admin, of dates in lists and exports, and of pages without JavaScript. "
            "Conversations show the times of the reader's browser.",
        ),
        Variable(
            "ALLOWED_HOSTS",
            "localhost,127.0.0.1,[::1]",
            env.LIST,
            "Host names of this site. With any name beyond this machine, cookies need HTTPS.",
        ),
        Variable(
            "BEHIND_HTTPS_PROXY",
            "false",
            env.BOOLEAN,
            "True behind a proxy that ends TLS and sets X-Forwarded-Proto, as deploy/nginx.conf does: addresses are "
            "https:// then, and HSTS is sent. Without such a proxy anybody could send that header.",
        ),
        Variable(
            "DATABASE_URL",
            "sqlite:///legible.sqlite3",
            env.DATABASE_URL,
            "SQLite, or PostgreSQL such as postgres://legible@127.0.0.1/legible.",
            is_secret=True,
        ),
        Variable(
            "REDIS_URL",
            "",
            env.optional(env.REDIS_URL),
            "Redis, such as redis://127.0.0.1:6379/0; needed only with several server processes.",
            is_secret=True,
        ),
        Variable(
            "STATIC_ROOT",
            "",
            env.TEXT,
            "Folder that manage.py collectstatic has filled; its files are served compressed. Empty: the source files.",
        ),
        Variable("DEBUG", "false", env.BOOLEAN, "Error pages with source code. Never in production."),
    ),
    "Limits": (
        Variable("MESSAGE_MAX_CHARS", "32000", env.integer(1, 1_000_000), "Longest accepted message, in characters."),
        Variable(
            "ATTACHMENT_MAX_BYTES",
            "10000000",
            env.integer(1000, 100_000_000),
            "Largest file that can be attached to a message, in bytes. A proxy in front must accept as much.",
        ),
        Variable(
            "ATTACHMENTS_PER_MESSAGE",
            "5",
            env.integer(0, 20),
            "Files that one message may have; 0 switches attachments off.",
        ),
        Variable(
            "ATTACHMENT_TEXT_MAX_CHARS",
            "50000",
            env.integer(100, 1_000_000),
            "Characters of a file's text that are used; of a longer one the beginning, with a note.",
        ),
        Variable(
            "ATTACHMENT_QUOTA_BYTES",
            "500000000",
            env.integer(1000, 1_000_000_000_000),
            "Bytes that all attached files of one user may have.",
        ),
        Variable("CONNECT_TIMEOUT_S", "10", env.integer(1, 600), "Seconds to wait for a connection."),
        Variable(
            "FIRST_WORD_TIMEOUT_S",
            "180",
            env.integer(1, 3600),
            "Seconds to wait for the first word of a response: a busy model server queues requests and reads long "
            "prompts first.",
        ),
        Variable(
            "UPSTREAM_IDLE_TIMEOUT_S",
            "60",
            env.integer(1, 3600),
            "Seconds without another word, after the first one, after which a model call fails. Keep-alive comments "
            "and empty pieces don't count.",
        ),
        Variable("TOOL_TIMEOUT_S", "30", env.integer(1, 600), "Seconds that one tool call may take."),
        Variable(
            "TOOLS_REQUIRING_APPROVAL",
            "",
            env.words_of(*registry()),
            "Tools whose calls wait until the user allows them.",
        ),
        Variable(
            "APPROVAL_TIMEOUT_S",
            "600",
            env.integer(1, 86_400),
            "Seconds that a tool call waits for the user's decision; then it is denied. MAX_TURN_S counts as well.",
        ),
        Variable("MAX_STEPS", "8", env.integer(1, 100), "Model responses per turn, including those that call tools."),
        Variable(
            "MAX_TURN_S", "1800", env.integer(1, 86_400), "Seconds that a whole turn may take, with all its tool calls."
        ),
        Variable(
            "MAX_ANSWER_BYTES",
            "1000000",
            env.integer(1000, 100_000_000),
            "Longest answer of a turn, in bytes of UTF-8. A longer one is cut off there, with a notice.",
        ),
        Variable(
            "MAX_THINKING_BYTES",
            "2000000",
            env.integer(1000, 100_000_000),
            "Longest thinking of a turn, in bytes of UTF-8. Where it is reached the turn ends with what came.",
        ),
        Variable(
            "MAX_ARGUMENTS_BYTES",
            "256000",
            env.integer(100, 8_000_000),
            "Longest arguments of one tool call, in bytes of UTF-8. Where they are longer the turn ends.",
        ),
        Variable(
            "MAX_CALLS_PER_RESPONSE",
            "32",
            env.integer(1, 1000),
            "Tool calls of one model response that are run. As many more are refused in words that the model can "
            "read; at more than that the turn ends.",
        ),
        Variable(
            "MAX_CALLS_PER_TURN",
            "64",
            env.integer(1, 10_000),
            "Tool calls of a turn that are run; the others are refused in words that the model can read.",
        ),
        Variable("MAX_CONCURRENT_TURNS", "4", env.integer(1, 1000), "Turns that one user may have running at once."),
        Variable(
            "MAX_OPEN_PAGES",
            "50",
            env.integer(1, 10_000),
            "Conversation pages that one user may have open at once in one server process.",
        ),
        Variable("LEASE_HEARTBEAT_S", "5", env.integer(1, 600), "Seconds between two heartbeats of a running turn."),
        Variable(
            "LEASE_EXPIRY_S",
            "20",
            env.integer(2, 3600),
            "Seconds without a heartbeat after which another process ends the turn as interrupted.",
        ),
        Variable(
            "MAX_OUTPUT_TOKENS",
            "",
            env.optional(env.integer(16, 10_000_000)),
            "Tokens that a model is told to write at most per response, its reasoning included; empty: its own limit.",
        ),
        Variable(
            "COMPACTION_THRESHOLD",
            "0.8",
            env.FRACTION,
            "Share of the context limit at which old turns are replaced by a summary.",
        ),
        Variable(
            "CONTEXT_LIMIT",
            "",
            env.optional(env.integer(1000, 100_000_000)),
            "Most tokens that a request may have. Empty: what the model service states, or 32000 where it states "
            "nothing. A lower limit that a service states counts in any case.",
        ),
    ),
}
VARIABLES = tuple(variable for section in SCHEMA.values() for variable in section)
