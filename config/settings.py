"""Django settings. First the environment variables of a site: name, default, allowed values, and what each does.

They are read from the environment and from ``.env`` in the data folder; ``ENV_FILE`` names another file. The data
folder is ``LEGIBLE_DATA``, or that of ``manage.py``.
``.env.example`` and ``docs/settings.md`` are generated from them: ``make docs``.
"""

from __future__ import annotations

import os
from pathlib import Path
from urllib.parse import urlsplit

from django.core.management.utils import get_random_secret_key

from chat.providers import DEFAULT_OPENAI_MODEL, OPENAI_URL
from chat.tools import registry
from config.environment import (
    BEARER_TOKEN,
    BOOLEAN,
    COMMANDS,
    DATABASE_URL,
    ENDPOINT,
    FERNET_KEYS,
    FRACTION,
    HOSTS,
    KEY_BINDINGS,
    LINK_HOSTS,
    PATH_PREFIX,
    REDIS_ADDRESS,
    TEXT,
    TIME_ZONE_NAME,
    ApiKeys,
    Environment,
    integer,
    one_of,
    optional,
    refuse_start,
    words_of,
)
from legible_chat import __version__
from reasoning.errors import SettingError
from reasoning.replay.dialects import PRESETS
from reasoning.replay.wire import DEFAULT_API, FORMATS
from reasoning.settings import parse_layer
from reasoning.visibility import ThinkingForUsers

VERSION: str = __version__
BASE_DIR = Path(__file__).resolve().parent.parent
DATA_DIR = Path(os.environ.get("LEGIBLE_DATA") or BASE_DIR)
ENV_FILE = Path(os.environ.get("ENV_FILE") or DATA_DIR / ".env")
BUNDLED_STATIC = BASE_DIR / "collected"  # only in the wheel, which has no source files

env = Environment(ENV_FILE)
# The key of each preset is sent to its own service, over HTTPS.
PRESET_KEYS = ",".join(
    f"{preset.api_key_env}@{urlsplit(preset.base_url).hostname}:443"
    for preset in PRESETS.values()
    if preset.api_key_env not in ("", "OPENAI_API_KEY")
)

env.section("Model service")
_base_url = env(
    "OPENAI_BASE_URL",
    "",
    optional(ENDPOINT),
    "Any endpoint for chat completions or Responses, such as http://127.0.0.1:11434/v1. "
    "Alone it is enough: the first model that it lists is used. "
    "With no model variable set, the offline analyst answers.",
    is_secret=True,
)
_key = env(
    "OPENAI_API_KEY",
    "",
    optional(TEXT),
    "API key of the endpoint. Alone it means OpenAI's own endpoint and the model gpt-5-mini.",
    is_secret=True,
)
_model = env("OPENAI_MODEL", "", optional(TEXT), "Model to request.")
OPENAI_API: str = env(
    "OPENAI_API",
    DEFAULT_API,
    one_of(*FORMATS),
    "API to use: " + " or ".join(f"{wire.name} ({wire.about})" for wire in FORMATS.values()) + ".",
)
OPENAI_TAKES_IMAGES = env(
    "OPENAI_TAKES_IMAGES",
    "",
    optional(BOOLEAN),
    "Whether the model of OPENAI_BASE_URL sees attached images. Empty: as its service is known to.",
)
_key_bindings = env(
    "MODEL_KEYS",
    PRESET_KEYS,
    KEY_BINDINGS,
    "Environment variables whose API keys model profiles of the admin may use, each with the host that its key "
    "may be sent to, such as MISTRAL_API_KEY@api.mistral.ai,TEAM_KEY@10.0.0.7:8000. A variable may be listed "
    "with several hosts. No other variable is read. OPENAI_API_KEY belongs to the host of OPENAI_BASE_URL by "
    "itself.",
    is_secret=True,
)

# With all three empty the offline analyst answers. An address or a key alone is enough.
_is_connected = bool(_key or _base_url)
OPENAI_API_KEY = (_key or "none") if _is_connected else None
OPENAI_BASE_URL = (_base_url or OPENAI_URL) if _is_connected else None
OPENAI_MODEL = (_model or (None if _base_url else DEFAULT_OPENAI_MODEL)) if _is_connected else None

env.section("Reasoning")
REASONING_ENABLED = env(
    "REASONING_ENABLED",
    "true",
    BOOLEAN,
    "Ask the model for reasoning and show it: summary, steps, thinking and their switches.",
)
_reasoning_defaults = env(
    "REASONING_DEFAULTS",
    "",
    TEXT,
    "Site-wide defaults of the reasoning.* settings, such as effort=low,stripFromContext=allButLast.",
)
REASONING_SHOW_SUMMARY_DEFAULT = env(
    "REASONING_SHOW_SUMMARY_DEFAULT", "true", BOOLEAN, "Initial state of Show reasoning."
)
REASONING_TOOL_TRACE_DEFAULT = env(
    "REASONING_TOOL_TRACE_DEFAULT",
    "true",
    BOOLEAN,
    "Show the tool trace; false leaves it out until a user asks for it.",
)
REASONING_SCRATCHPAD_ENABLED = env(
    "REASONING_SCRATCHPAD_ENABLED",
    "false",
    BOOLEAN,
    "Let administrators switch on the live scratchpad, which is never stored.",
)
SCRATCHPAD_ADMIN_ONLY = env(
    "SCRATCHPAD_ADMIN_ONLY",
    "true",
    BOOLEAN,
    "Must be true for anybody to see a scratchpad; false is an error of check --deploy.",
)
SCRATCHPAD_TOGGLE_MINUTES = env(
    "SCRATCHPAD_TOGGLE_MINUTES",
    "60",
    integer(1, 1440),
    "Minutes after which an administrator's scratchpad switch turns itself off.",
)
REASONING_THINKING_FOR_USERS: ThinkingForUsers = env(
    "REASONING_THINKING_FOR_USERS",
    "excerpt",
    one_of("excerpt", "full", "hidden"),
    "How much of a model's thinking users see: excerpt, full or hidden. Administrators see all of it.",
)
THINKING_RETENTION_DAYS = env(
    "THINKING_RETENTION_DAYS",
    "",
    optional(integer(1, 36500)),
    "Days after which purge_thinking deletes stored thinking; empty keeps it.",
)
SAFE_LINK_HOSTS = env(
    "SAFE_LINK_HOSTS",
    "sec.gov,www.sec.gov",
    LINK_HOSTS,
    "Hosts that links in answers may open without a confirmation page.",
)

try:
    REASONING_DEFAULTS = parse_layer(_reasoning_defaults)
except SettingError as error:
    refuse_start(f"REASONING_DEFAULTS: {error}")

env.section("People")
MODEL_TITLES = env(
    "MODEL_TITLES",
    "true",
    BOOLEAN,
    "After the first answer of a conversation, ask its model for a title of 3 to 6 words, in one more request.",
)
SIGNUP_ENABLED = env("SIGNUP_ENABLED", "false", BOOLEAN, "Let anyone create an account.")
DEMO_PASSWORD = env("DEMO_PASSWORD", "", TEXT, "Password of the demo people demo, sam and admin.", is_secret=True)

env.section("Server")
SECRET_KEY = env("SECRET_KEY", "", TEXT, "Django's secret key: signs sessions and forms.", is_secret=True)
CONTENT_KEYS = env(
    "CONTENT_KEYS",
    "",
    FERNET_KEYS,
    "Comma-separated Fernet keys that encrypt stored thinking, newest first. Remove an old key only after "
    "rotate_keys has run.",
    is_secret=True,
)
HOST = env("HOST", "127.0.0.1", TEXT, "Address to listen on.")
PORT = env("PORT", "8000", integer(0, 65535), "Port to listen on; 0 takes a free one.")
TIME_ZONE = env(
    "TIME_ZONE",
    "UTC",
    TIME_ZONE_NAME,
    "Time zone of the admin, of dates in lists and exports, and of pages without JavaScript. "
    "Conversations show the times of the reader's browser.",
)
ALLOWED_HOSTS = env(
    "ALLOWED_HOSTS",
    "localhost,127.0.0.1,[::1]",
    HOSTS,
    "Host names of this site. With any name beyond this machine, cookies need HTTPS.",
)
URL_PREFIX = env(
    "URL_PREFIX",
    "",
    PATH_PREFIX,
    "Path below which the whole site is, such as /chat, where a host has other sites too. The proxy passes paths on "
    "unchanged. Choose it before the first use: stored answers hold addresses of sources.",
)
BEHIND_HTTPS_PROXY = env(
    "BEHIND_HTTPS_PROXY",
    "false",
    BOOLEAN,
    "True behind a proxy that ends TLS and sets X-Forwarded-Proto, as deploy/nginx.conf does: addresses are "
    "https:// then, and HSTS is sent. Without such a proxy anybody could send that header.",
)
_database = env(
    "DATABASE_URL",
    "sqlite:///legible.sqlite3",
    DATABASE_URL,
    "SQLite in the data folder, or PostgreSQL such as postgres://legible@127.0.0.1/legible.",
    is_secret=True,
)
REDIS_URL = env(
    "REDIS_URL",
    "",
    optional(REDIS_ADDRESS),
    "Redis, such as redis://127.0.0.1:6379/0; needed only with several server processes.",
    is_secret=True,
)
STATIC_ROOT = env(
    "STATIC_ROOT",
    "",
    optional(TEXT),
    "Folder that manage.py collectstatic has filled; its files are served compressed, and browsers keep them. "
    "Empty: the source files; in the wheel those that it carries.",
) or (str(BUNDLED_STATIC) if BUNDLED_STATIC.is_dir() else None)
LOG_FORMAT: str = env(
    "LOG_FORMAT", "json", one_of("json", "text"), "Form of the log on stderr: one JSON object per line, or plain text."
)
METRICS_TOKEN = env(
    "METRICS_TOKEN",
    "",
    optional(BEARER_TOKEN),
    "Token with which Prometheus reads GET /metrics. Empty: the address answers 404.",
    is_secret=True,
)
DEBUG = env("DEBUG", "false", BOOLEAN, "Error pages with source code. Never in production.")

env.section("Limits")
MESSAGE_MAX_CHARS = env("MESSAGE_MAX_CHARS", "32000", integer(1, 1_000_000), "Longest accepted message, in characters.")
ATTACHMENT_MAX_BYTES = env(
    "ATTACHMENT_MAX_BYTES",
    "10000000",
    integer(1000, 100_000_000),
    "Largest file that can be attached to a message, in bytes. A proxy in front must accept as much.",
)
ATTACHMENTS_PER_MESSAGE = env(
    "ATTACHMENTS_PER_MESSAGE", "5", integer(0, 20), "Files that one message may have; 0 switches attachments off."
)
ATTACHMENT_TEXT_MAX_CHARS = env(
    "ATTACHMENT_TEXT_MAX_CHARS",
    "50000",
    integer(100, 1_000_000),
    "Characters of a file's text that are used; of a longer one the beginning, with a note.",
)
ATTACHMENT_QUOTA_BYTES = env(
    "ATTACHMENT_QUOTA_BYTES",
    "500000000",
    integer(1000, 1_000_000_000_000),
    "Bytes that all attached files of one user may have.",
)
DOCUMENT_MAX_BYTES = env(
    "DOCUMENT_MAX_BYTES",
    "50000000",
    integer(1000, 500_000_000),
    "Largest document that a collection takes, in bytes. A proxy in front must accept as much.",
)
DOCUMENT_QUOTA_BYTES = env(
    "DOCUMENT_QUOTA_BYTES",
    "2000000000",
    integer(1000, 1_000_000_000_000),
    "Bytes that the documents of one user's collections may have together, with their texts.",
)
DOCUMENTS_PER_COLLECTION = env(
    "DOCUMENTS_PER_COLLECTION", "1000", integer(1, 100_000), "Documents that one collection may have."
)
CONNECT_TIMEOUT_S = env("CONNECT_TIMEOUT_S", "10", integer(1, 600), "Seconds to wait for a connection.")
FIRST_WORD_TIMEOUT_S = env(
    "FIRST_WORD_TIMEOUT_S",
    "180",
    integer(1, 3600),
    "Seconds to wait for the first word of a response: a busy model server queues requests and reads long "
    "prompts first.",
)
UPSTREAM_IDLE_TIMEOUT_S = env(
    "UPSTREAM_IDLE_TIMEOUT_S",
    "60",
    integer(1, 3600),
    "Seconds without another word, after the first one, after which a model call fails. Keep-alive comments "
    "and empty pieces don't count.",
)
TOOL_TIMEOUT_S = env("TOOL_TIMEOUT_S", "30", integer(1, 600), "Seconds that one tool call may take.")
TOOLS_REQUIRING_APPROVAL = env(
    "TOOLS_REQUIRING_APPROVAL",
    "",
    words_of(*registry(), documented="names of tools, with commas between"),
    "Tools whose calls wait until the user allows them.",
)
APPROVAL_TIMEOUT_S = env(
    "APPROVAL_TIMEOUT_S",
    "600",
    integer(1, 86_400),
    "Seconds that a tool call waits for the user's decision; then it is denied. MAX_TURN_S counts as well.",
)
MCP_COMMANDS = env(
    "MCP_COMMANDS",
    "",
    COMMANDS,
    "Programs that staff may set up as MCP servers over stdio, by name: files=/usr/local/bin/files-mcp --root /srv, "
    "with semicolons between. No other program is started.",
)
MAX_APPROVALS_PER_TURN = env(
    "MAX_APPROVALS_PER_TURN",
    "16",
    integer(1, 100),
    "How often an answer may ask its user about tool calls; then they are denied.",
)
MAX_STEPS = env("MAX_STEPS", "8", integer(1, 100), "Model responses per turn, including those that call tools.")
MAX_TURN_S = env(
    "MAX_TURN_S", "1800", integer(1, 86_400), "Seconds that a whole turn may take, with all its tool calls."
)
MAX_ANSWER_BYTES = env(
    "MAX_ANSWER_BYTES",
    "1000000",
    integer(1000, 100_000_000),
    "Longest answer of a turn, in bytes of UTF-8. A longer one is cut off there, with a notice.",
)
MAX_THINKING_BYTES = env(
    "MAX_THINKING_BYTES",
    "2000000",
    integer(1000, 100_000_000),
    "Longest thinking of a turn, in bytes of UTF-8. Where it is reached the turn ends with what came.",
)
MAX_ARGUMENTS_BYTES = env(
    "MAX_ARGUMENTS_BYTES",
    "256000",
    integer(100, 8_000_000),
    "Longest arguments of one tool call, in bytes of UTF-8. Where they are longer the turn ends.",
)
MAX_CALLS_PER_RESPONSE = env(
    "MAX_CALLS_PER_RESPONSE",
    "32",
    integer(1, 1000),
    "Tool calls of one model response that are run. As many more are refused in words that the model can "
    "read; at more than that the turn ends.",
)
MAX_CALLS_PER_TURN = env(
    "MAX_CALLS_PER_TURN",
    "64",
    integer(1, 10_000),
    "Tool calls of a turn that are run; the others are refused in words that the model can read.",
)
MAX_CONCURRENT_TURNS = env(
    "MAX_CONCURRENT_TURNS", "4", integer(1, 1000), "Turns that one user may have running at once."
)
MAX_OPEN_PAGES = env(
    "MAX_OPEN_PAGES",
    "50",
    integer(1, 10_000),
    "Conversation pages that one user may have open at once in one server process.",
)
LEASE_HEARTBEAT_S = env("LEASE_HEARTBEAT_S", "5", integer(1, 600), "Seconds between two heartbeats of a running turn.")
LEASE_EXPIRY_S = env(
    "LEASE_EXPIRY_S",
    "20",
    integer(2, 3600),
    "Seconds without a heartbeat after which another process ends the turn as interrupted.",
)
MAX_OUTPUT_TOKENS = env(
    "MAX_OUTPUT_TOKENS",
    "",
    optional(integer(16, 10_000_000)),
    "Tokens that a model is told to write at most per response, its reasoning included; empty: its own limit.",
)
COMPACTION_THRESHOLD = env(
    "COMPACTION_THRESHOLD", "0.8", FRACTION, "Share of the context limit at which old turns are replaced by a summary."
)
CONTEXT_LIMIT = env(
    "CONTEXT_LIMIT",
    "",
    optional(integer(1000, 100_000_000)),
    "Most tokens that a request may have. Empty: what the model service states, or 32000 where it states "
    "nothing. A lower limit that a service states counts in any case.",
)
if LEASE_EXPIRY_S <= LEASE_HEARTBEAT_S:
    refuse_start(
        f"LEASE_EXPIRY_S: '{LEASE_EXPIRY_S}' is not allowed; allowed: more than LEASE_HEARTBEAT_S, "
        f"which is {LEASE_HEARTBEAT_S}"
    )
# Variables that model profiles may name: none of those above.
MODEL_KEYS = ApiKeys(env, _key_bindings, OPENAI_BASE_URL or OPENAI_URL)

# A generated key lasts as long as this process; `check --deploy` reports it (accounts.checks).
SECRET_KEY_IS_SET = bool(SECRET_KEY)
SECRET_KEY = SECRET_KEY or get_random_secret_key()
IS_LOOPBACK_ONLY = all(
    name in {"localhost", "[::1]", "::1"} or name.startswith("127.") or name.endswith(".localhost")
    for name in ALLOWED_HOSTS
)

# OpenTelemetry reads its own variables, from the environment alone; these say whether there is anything to send to.
OTEL_IS_CONFIGURED = any(os.environ.get(f"OTEL_EXPORTER_OTLP_{name}") for name in ("ENDPOINT", "TRACES_ENDPOINT"))

INSTALLED_APPS = [
    "daphne",
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "config.static_files.StaticFilesConfig",
    "csp",
    "django_htmx",
    "channels",
    "reasoning.apps.ReasoningConfig",
    "accounts",
    "chat",
    "chat.filings",
]
MIDDLEWARE = [
    "config.headers.headers_middleware",
    "django.middleware.security.SecurityMiddleware",
    "config.headers.PageGzipMiddleware",
    "csp.middleware.CSPMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "accounts.middleware.LanguageMiddleware",
    "accounts.middleware.SignInMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
]
IMPORT_MAX_BYTES = 50 * 1024**2  # of an export with conversations; config.connections lets no more in
# The longest allowed message must fit, even with each character written as two JSON escapes.
DATA_UPLOAD_MAX_MEMORY_SIZE = max(2_621_440, 12 * MESSAGE_MAX_CHARS + 65_536)
ROOT_URLCONF = "config.urls"
ASGI_APPLICATION = "config.asgi.application"
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.template.context_processors.i18n",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "chat.pages.context.frame",
            ]
        },
    }
]

DATABASES = {"default": {"CONN_MAX_AGE": 60, "CONN_HEALTH_CHECKS": True, **_database}}
if DATABASES["default"]["ENGINE"].endswith("sqlite3"):
    if DATABASES["default"]["NAME"] != ":memory:":
        DATABASES["default"]["NAME"] = DATA_DIR / DATABASES["default"]["NAME"]
    DATABASES["default"]["OPTIONS"] = {
        "timeout": 20,
        "transaction_mode": "IMMEDIATE",
        "init_command": "PRAGMA journal_mode=WAL;PRAGMA synchronous=NORMAL;",
    }
else:
    # A server that has vanished closes no connection: without these a statement waits for it for hours, and every turn
    # of the process with it. DATABASE_URL may have others.
    DATABASES["default"]["OPTIONS"] = {
        "connect_timeout": CONNECT_TIMEOUT_S,
        "keepalives_idle": 5,
        "keepalives_interval": 5,
        "keepalives_count": 2,
        "tcp_user_timeout": 15_000,  # milliseconds
        **DATABASES["default"].get("OPTIONS", {}),
    }

CHANNEL_LAYERS: dict[str, dict[str, object]] = {
    "default": {
        "BACKEND": "chat.live.local_layer.LocalChannelLayer",
        "CONFIG": {"capacity": 1000},
    }
}
CACHES: dict[str, dict[str, object]] = {
    "default": {
        "BACKEND": "django.core.cache.backends.locmem.LocMemCache",
        # By default 300: attempts with other names would push out the counts of one.
        "OPTIONS": {"MAX_ENTRIES": 100_000},
    }
}
if REDIS_URL:
    CHANNEL_LAYERS["default"] = {
        "BACKEND": "channels_redis.pubsub.RedisPubSubChannelLayer",
        "CONFIG": {"hosts": [REDIS_URL], "prefix": "legible", "symmetric_encryption_keys": [SECRET_KEY]},
    }
    CACHES["default"] = {
        "BACKEND": "django.core.cache.backends.redis.RedisCache",
        "LOCATION": REDIS_URL,
        "KEY_PREFIX": "legible",
        "OPTIONS": {
            "serializer": "config.cache.JsonSerializer",
            "socket_connect_timeout": 2,  # seconds
            "socket_timeout": 2,
        },
    }

AUTH_USER_MODEL = "accounts.User"
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": f"django.contrib.auth.password_validation.{name}"}
    for name in (
        "UserAttributeSimilarityValidator",
        "MinimumLengthValidator",
        "CommonPasswordValidator",
        "NumericPasswordValidator",
    )
]
AUTH_PASSWORD_VALIDATORS.append({"NAME": "accounts.access.tokens.TokensEndWithPassword"})
LOGIN_URL = "accounts:login"
LOGIN_REDIRECT_URL = "chat:home"
LOGOUT_REDIRECT_URL = "accounts:login"

if BEHIND_HTTPS_PROXY:
    SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
    SECURE_HSTS_SECONDS = 365 * 24 * 3600
# Plain HTTP works on this machine only; any other host name is behind TLS.
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = BEHIND_HTTPS_PROXY or (not DEBUG and not IS_LOOPBACK_ONLY)
SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = "Lax"
CSRF_TRUSTED_ORIGINS = [f"https://{'*' if name.startswith('.') else ''}{name}" for name in ALLOWED_HOSTS if name != "*"]
# With "no-referrer" browsers would post our own forms with "Origin: null", which the CSRF check refuses.
SECURE_REFERRER_POLICY = "same-origin"
SECURE_CROSS_ORIGIN_OPENER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"
# The proxy that ends TLS redirects to HTTPS, and sends HSTS where BEHIND_HTTPS_PROXY doesn't.
SILENCED_SYSTEM_CHECKS = ["security.W004", "security.W008"]
_CSP_SELF = ("default-src", "script-src", "style-src", "img-src", "connect-src", "form-action")
_CSP_NONE = ("object-src", "base-uri", "frame-src", "frame-ancestors")
CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {name: ["'self'"] for name in _CSP_SELF} | {name: ["'none'"] for name in _CSP_NONE},
}

LANGUAGE_CODE = "en"
LANGUAGES = [("en", "English"), ("de", "Deutsch")]  # each in its own words, as the settings page offers them
LANGUAGE_COOKIE_AGE = 365 * 24 * 3600
LANGUAGE_COOKIE_SECURE = SESSION_COOKIE_SECURE
if URL_PREFIX:
    SESSION_COOKIE_PATH = CSRF_COOKIE_PATH = LANGUAGE_COOKIE_PATH = f"{URL_PREFIX}/"
    # Another site of this host may use Django too; browsers send its cookies along.
    SESSION_COOKIE_NAME, CSRF_COOKIE_NAME = "legible-sessionid", "legible-csrftoken"
LOCALE_PATHS = [BASE_DIR / "locale"]
FORMAT_MODULE_PATH = ["config.formats"]  # ISO dates in English, as on the chat pages
USE_TZ = True
USE_THOUSAND_SEPARATOR = False
STATIC_URL = f"{URL_PREFIX}/static/"
STATICFILES_DIRS = [] if BUNDLED_STATIC.is_dir() else [BASE_DIR / "static"]
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {
        "BACKEND": "config.static_files.HashedStaticFilesStorage"
        if STATIC_ROOT
        else "django.contrib.staticfiles.storage.StaticFilesStorage"
    },
}

LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {
        "json": {"()": "config.logs.RedactingJsonFormatter"},
        "text": {"()": "config.logs.RedactingTextFormatter"},
    },
    "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": LOG_FORMAT}},
    "root": {"handlers": ["stderr"], "level": "INFO"},
    "loggers": {
        "django": {"handlers": [], "level": "INFO", "propagate": True},
        "django.server": {"handlers": [], "level": "INFO", "propagate": True},
        **{name: {"level": "WARNING"} for name in ("asyncio", "daphne", "httpx", "httpx2", "mcp", "openai")},
        # It logs a traceback each second during a Redis outage; chat.live.publish logs the outage once.
        "channels_redis": {"level": "CRITICAL"},
    },
}
