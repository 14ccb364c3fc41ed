"""Django settings. Environment variables are declared in ``config/schema.py`` and listed in ``docs/settings.md``.

They are read from the environment and from ``.env`` beside ``manage.py``; ``ENV_FILE`` names another file.
"""

from __future__ import annotations

import os
from pathlib import Path

from django.core.management.utils import get_random_secret_key

from chat.providers import DEFAULT_OPENAI_MODEL, OPENAI_URL
from config import environment as env
from config.schema import VARIABLES
from reasoning.errors import SettingError
from reasoning.settings import parse_layer
from reasoning.visibility import ThinkingForUsers

BASE_DIR = Path(__file__).resolve().parent.parent
ENV_FILE = Path(os.environ.get("ENV_FILE") or BASE_DIR / ".env")

ENV = env.load(VARIABLES, ENV_FILE)
if ENV["LEASE_EXPIRY_S"] <= ENV["LEASE_HEARTBEAT_S"]:
    env.refuse_start(
        f"LEASE_EXPIRY_S: '{ENV['LEASE_EXPIRY_S']}' is not allowed; allowed: more than LEASE_HEARTBEAT_S, "
        f"which is {ENV['LEASE_HEARTBEAT_S']}"
    )
try:
    REASONING_DEFAULTS = parse_layer(ENV["REASONING_DEFAULTS"])
except SettingError as error:
    env.refuse_start(f"REASONING_DEFAULTS: {error}")

# A generated key lasts as long as this process; `check --deploy` reports it (accounts.checks).
SECRET_KEY = ENV["SECRET_KEY"] or get_random_secret_key()
SECRET_KEY_IS_SET = bool(ENV["SECRET_KEY"])
CONTENT_KEYS: list[str] = ENV["CONTENT_KEYS"]
DEMO_PASSWORD: str = ENV["DEMO_PASSWORD"]
SIGNUP_ENABLED: bool = ENV["SIGNUP_ENABLED"]
MODEL_TITLES: bool = ENV["MODEL_TITLES"]

REASONING_ENABLED: bool = ENV["REASONING_ENABLED"]
REASONING_SHOW_SUMMARY_DEFAULT: bool = ENV["REASONING_SHOW_SUMMARY_DEFAULT"]
REASONING_TOOL_TRACE_DEFAULT: bool = ENV["REASONING_TOOL_TRACE_DEFAULT"]
REASONING_SCRATCHPAD_ENABLED: bool = ENV["REASONING_SCRATCHPAD_ENABLED"]
SCRATCHPAD_ADMIN_ONLY: bool = ENV["SCRATCHPAD_ADMIN_ONLY"]
SCRATCHPAD_TOGGLE_MINUTES: int = ENV["SCRATCHPAD_TOGGLE_MINUTES"]
REASONING_THINKING_FOR_USERS: ThinkingForUsers = ENV["REASONING_THINKING_FOR_USERS"]
THINKING_RETENTION_DAYS: int | None = ENV["THINKING_RETENTION_DAYS"]

# With all three None the offline analyst answers. An address or a key alone is enough.
_key, _base_url, _model = ENV["OPENAI_API_KEY"], ENV["OPENAI_BASE_URL"], ENV["OPENAI_MODEL"]
_is_connected = bool(_key or _base_url)
OPENAI_API: str = ENV["OPENAI_API"]
OPENAI_API_KEY: str | None = (_key or "none") if _is_connected else None
OPENAI_BASE_URL: str | None = (_base_url or OPENAI_URL) if _is_connected else None
OPENAI_MODEL: str | None = (_model or (None if _base_url else DEFAULT_OPENAI_MODEL)) if _is_connected else None
# Variables that model profiles may name.
MODEL_KEYS = env.ApiKeys(VARIABLES, ENV_FILE, ENV["MODEL_KEYS"], OPENAI_BASE_URL or OPENAI_URL)

OPENAI_TAKES_IMAGES: bool | None = ENV["OPENAI_TAKES_IMAGES"]
MESSAGE_MAX_CHARS: int = ENV["MESSAGE_MAX_CHARS"]
ATTACHMENT_MAX_BYTES: int = ENV["ATTACHMENT_MAX_BYTES"]
ATTACHMENTS_PER_MESSAGE: int = ENV["ATTACHMENTS_PER_MESSAGE"]
ATTACHMENT_TEXT_MAX_CHARS: int = ENV["ATTACHMENT_TEXT_MAX_CHARS"]
ATTACHMENT_QUOTA_BYTES: int = ENV["ATTACHMENT_QUOTA_BYTES"]
CONNECT_TIMEOUT_S: int = ENV["CONNECT_TIMEOUT_S"]
FIRST_WORD_TIMEOUT_S: int = ENV["FIRST_WORD_TIMEOUT_S"]
UPSTREAM_IDLE_TIMEOUT_S: int = ENV["UPSTREAM_IDLE_TIMEOUT_S"]
TOOL_TIMEOUT_S: int = ENV["TOOL_TIMEOUT_S"]
TOOLS_REQUIRING_APPROVAL: list[str] = ENV["TOOLS_REQUIRING_APPROVAL"]
APPROVAL_TIMEOUT_S: int = ENV["APPROVAL_TIMEOUT_S"]
MAX_STEPS: int = ENV["MAX_STEPS"]
MAX_TURN_S: int = ENV["MAX_TURN_S"]
MAX_ANSWER_BYTES: int = ENV["MAX_ANSWER_BYTES"]
MAX_THINKING_BYTES: int = ENV["MAX_THINKING_BYTES"]
MAX_ARGUMENTS_BYTES: int = ENV["MAX_ARGUMENTS_BYTES"]
MAX_CALLS_PER_RESPONSE: int = ENV["MAX_CALLS_PER_RESPONSE"]
MAX_CALLS_PER_TURN: int = ENV["MAX_CALLS_PER_TURN"]
MAX_CONCURRENT_TURNS: int = ENV["MAX_CONCURRENT_TURNS"]
MAX_OPEN_PAGES: int = ENV["MAX_OPEN_PAGES"]
LEASE_HEARTBEAT_S: int = ENV["LEASE_HEARTBEAT_S"]
LEASE_EXPIRY_S: int = ENV["LEASE_EXPIRY_S"]
MAX_OUTPUT_TOKENS: int | None = ENV["MAX_OUTPUT_TOKENS"]
COMPACTION_THRESHOLD: float = ENV["COMPACTION_THRESHOLD"]
CONTEXT_LIMIT: int | None = ENV["CONTEXT_LIMIT"]
SAFE_LINK_HOSTS: list[str] = ENV["SAFE_LINK_HOSTS"]

DEBUG: bool = ENV["DEBUG"]
ALLOWED_HOSTS: list[str] = ENV["ALLOWED_HOSTS"]
HOST: str = ENV["HOST"]
PORT: int = ENV["PORT"]
IS_LOOPBACK_ONLY = all(
    name in {"localhost", "[::1]", "::1"} or name.startswith("127.") or name.endswith(".localhost")
    for name in ALLOWED_HOSTS
)

INSTALLED_APPS = [
    "daphne",
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "csp",
    "django_htmx",
    "channels",
    "reasoning.apps.ReasoningConfig",
    "accounts",
    "chat",
]
MIDDLEWARE = [
    "config.headers.request_id_middleware",
    "django.middleware.security.SecurityMiddleware",
    "config.headers.headers_middleware",
    "config.headers.PageGzipMiddleware",
    "csp.middleware.CSPMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "accounts.middleware.LanguageMiddleware",
    "django.contrib.auth.middleware.LoginRequiredMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
]
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
                "chat.pages.context.site_settings",
            ]
        },
    }
]

DATABASES = {"default": {"CONN_MAX_AGE": 60, "CONN_HEALTH_CHECKS": True, **ENV["DATABASE_URL"]}}
if DATABASES["default"]["ENGINE"].endswith("sqlite3"):
    if DATABASES["default"]["NAME"] != ":memory:":
        DATABASES["default"]["NAME"] = BASE_DIR / DATABASES["default"]["NAME"]
    DATABASES["default"]["OPTIONS"] = {
        "timeout": 20,
        "transaction_mode": "IMMEDIATE",
        "init_command": "PRAGMA journal_mode=WAL;PRAGMA synchronous=NORMAL;",
    }
else:
    DATABASES["default"].setdefault("OPTIONS", {}).setdefault("connect_timeout", CONNECT_TIMEOUT_S)

REDIS_URL: str | None = ENV["REDIS_URL"]
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
        "OPTIONS": {"socket_connect_timeout": 2, "socket_timeout": 2},  # seconds
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
LOGIN_URL = "accounts:login"
LOGIN_REDIRECT_URL = "/"
LOGOUT_REDIRECT_URL = "accounts:login"

BEHIND_HTTPS_PROXY: bool = ENV["BEHIND_HTTPS_PROXY"]
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
LOCALE_PATHS = [BASE_DIR / "locale"]
FORMAT_MODULE_PATH = ["config.formats"]  # ISO dates in English, as on the chat pages
TIME_ZONE = ENV["TIME_ZONE"]
USE_TZ = True
USE_THOUSAND_SEPARATOR = False
STATIC_URL = "/static/"
STATICFILES_DIRS = [BASE_DIR / "static"]
STATIC_ROOT: str | None = ENV["STATIC_ROOT"] or None
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": "whitenoise.storage.CompressedStaticFilesStorage"},
}

LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"json": {"()": "config.logs.RedactingJsonFormatter"}},
    "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "json"}},
    "root": {"handlers": ["stderr"], "level": "INFO"},
    "loggers": {
        "django": {"handlers": [], "level": "INFO", "propagate": True},
        "django.server": {"handlers": [], "level": "INFO", "propagate": True},
        **{name: {"level": "WARNING"} for name in ("asyncio", "daphne", "httpx", "httpx2", "openai")},
        # It logs a traceback each second during a Redis outage; chat.live.publish logs the outage once.
        "channels_redis": {"level": "CRITICAL"},
    },
}
