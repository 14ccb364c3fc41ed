"""Settings: one schema of environment variables at the top, then plain Django settings.

Each variable is explained in ``.env.example``, which carries the same defaults. A value that is not allowed stops the
start with one line. The file read is ``.env`` beside ``manage.py``; ``ENV_FILE`` in the environment names another.
"""

from __future__ import annotations

import os
from pathlib import Path

from django.core.management.utils import get_random_secret_key
from django.utils.translation import gettext_lazy as _

from config import environment as env
from config.environment import Variable
from reasoning.errors import SettingError
from reasoning.policy import ThinkingForUsers, parse_layer

BASE_DIR = Path(__file__).resolve().parent.parent
ENV_FILE = Path(os.environ.get("ENV_FILE") or BASE_DIR / ".env")

SCHEMA = (
    Variable("SECRET_KEY", "", env.TEXT, is_secret=True),
    Variable("DEBUG", "false", env.BOOLEAN),
    Variable("ALLOWED_HOSTS", "localhost,127.0.0.1,[::1]", env.WORDS),
    Variable("HOST", "127.0.0.1", env.TEXT),
    Variable("PORT", "8000", env.whole(0, 65535)),
    Variable("DATABASE_URL", "sqlite:///legible.sqlite3", env.DATABASE, is_secret=True),
    Variable("REDIS_URL", "", env.optional(env.REDIS), is_secret=True),
    Variable("CONTENT_KEYS", "", env.FERNET_KEYS, is_secret=True),
    Variable("OPENAI_API_KEY", "", env.optional(env.TEXT), is_secret=True),
    Variable("OPENAI_BASE_URL", "", env.optional(env.ENDPOINT), is_secret=True),
    Variable("OPENAI_MODEL", "", env.optional(env.TEXT)),
    Variable("OPENAI_API", "chat", env.one_of("chat", "responses")),
    Variable("REASONING_ENABLED", "true", env.BOOLEAN),
    Variable("REASONING_DEFAULTS", "", env.TEXT),
    Variable("REASONING_SHOW_SUMMARY_DEFAULT", "true", env.BOOLEAN),
    Variable("REASONING_TOOL_TRACE_DEFAULT", "true", env.BOOLEAN),
    Variable("REASONING_SCRATCHPAD_ENABLED", "false", env.BOOLEAN),
    Variable("SCRATCHPAD_ADMIN_ONLY", "true", env.BOOLEAN),
    Variable("REASONING_THINKING_FOR_USERS", "excerpt", env.one_of("excerpt", "full", "hidden")),
    Variable("THINKING_RETENTION_DAYS", "", env.optional(env.whole(1, 36500))),
    Variable("SIGNUP_ENABLED", "false", env.BOOLEAN),
    Variable("MESSAGE_MAX_CHARS", "32000", env.whole(1, 1_000_000)),
    Variable("DEMO_PASSWORD", "", env.TEXT, is_secret=True),
    Variable("CONNECT_TIMEOUT_S", "10", env.whole(1, 600)),
    Variable("UPSTREAM_IDLE_TIMEOUT_S", "60", env.whole(1, 3600)),
    Variable("TOOL_TIMEOUT_S", "30", env.whole(1, 600)),
    Variable("MAX_STEPS", "8", env.whole(1, 100)),
    Variable("MAX_CONCURRENT_TURNS", "4", env.whole(1, 1000)),
    Variable("LEASE_HEARTBEAT_S", "5", env.whole(1, 600)),
    Variable("LEASE_EXPIRY_S", "20", env.whole(2, 3600)),
    Variable("SCRATCHPAD_TOGGLE_MINUTES", "60", env.whole(1, 1440)),
    Variable("COMPACTION_THRESHOLD", "0.8", env.SHARE),
    Variable("CONTEXT_LIMIT", "32000", env.whole(1000, 100_000_000)),
    Variable("SAFE_LINK_HOSTS", "sec.gov,www.sec.gov", env.WORDS),
)
ENV = env.load(SCHEMA, ENV_FILE)
if ENV["LEASE_EXPIRY_S"] <= ENV["LEASE_HEARTBEAT_S"]:
    env.refuse(
        f"LEASE_EXPIRY_S: '{ENV['LEASE_EXPIRY_S']}' is not allowed; allowed: more than LEASE_HEARTBEAT_S, "
        f"which is {ENV['LEASE_HEARTBEAT_S']}"
    )
try:
    REASONING_DEFAULTS = parse_layer(ENV["REASONING_DEFAULTS"])
except SettingError as refused:
    env.refuse(f"REASONING_DEFAULTS: {refused}")

# A key made here signs nothing that outlives this process; `check --deploy` says so (accounts.checks).
SECRET_KEY = ENV["SECRET_KEY"] or get_random_secret_key()
SECRET_KEY_IS_SET = bool(ENV["SECRET_KEY"])
CONTENT_KEYS: list[str] = ENV["CONTENT_KEYS"]
DEMO_PASSWORD: str = ENV["DEMO_PASSWORD"]
SIGNUP_ENABLED: bool = ENV["SIGNUP_ENABLED"]

REASONING_ENABLED: bool = ENV["REASONING_ENABLED"]
REASONING_SHOW_SUMMARY_DEFAULT: bool = ENV["REASONING_SHOW_SUMMARY_DEFAULT"]
REASONING_TOOL_TRACE_DEFAULT: bool = ENV["REASONING_TOOL_TRACE_DEFAULT"]
REASONING_SCRATCHPAD_ENABLED: bool = ENV["REASONING_SCRATCHPAD_ENABLED"]
SCRATCHPAD_ADMIN_ONLY: bool = ENV["SCRATCHPAD_ADMIN_ONLY"]
SCRATCHPAD_TOGGLE_MINUTES: int = ENV["SCRATCHPAD_TOGGLE_MINUTES"]
REASONING_THINKING_FOR_USERS: ThinkingForUsers = ENV["REASONING_THINKING_FOR_USERS"]
THINKING_RETENTION_DAYS: int | None = ENV["THINKING_RETENTION_DAYS"]

# All three None: the offline analyst. The endpoint alone is enough, and so is the key alone (contracts, Environment).
DEFAULT_OPENAI_BASE_URL = "https://api.openai.com/v1"
DEFAULT_OPENAI_MODEL = "gpt-5-mini"
_key, _endpoint, _model = ENV["OPENAI_API_KEY"], ENV["OPENAI_BASE_URL"], ENV["OPENAI_MODEL"]
_is_connected = bool(_key or _endpoint)
OPENAI_API: str = ENV["OPENAI_API"]
OPENAI_API_KEY: str | None = (_key or "none") if _is_connected else None
OPENAI_BASE_URL: str | None = (_endpoint or DEFAULT_OPENAI_BASE_URL) if _is_connected else None
OPENAI_MODEL: str | None = (_model or (None if _endpoint else DEFAULT_OPENAI_MODEL)) if _is_connected else None
MODEL_KEYS = env.Keys(SCHEMA, ENV_FILE)  # the variables that model profiles name

MESSAGE_MAX_CHARS: int = ENV["MESSAGE_MAX_CHARS"]
CONNECT_TIMEOUT_S: int = ENV["CONNECT_TIMEOUT_S"]
UPSTREAM_IDLE_TIMEOUT_S: int = ENV["UPSTREAM_IDLE_TIMEOUT_S"]
TOOL_TIMEOUT_S: int = ENV["TOOL_TIMEOUT_S"]
MAX_STEPS: int = ENV["MAX_STEPS"]
MAX_CONCURRENT_TURNS: int = ENV["MAX_CONCURRENT_TURNS"]
LEASE_HEARTBEAT_S: int = ENV["LEASE_HEARTBEAT_S"]
LEASE_EXPIRY_S: int = ENV["LEASE_EXPIRY_S"]
COMPACTION_THRESHOLD: float = ENV["COMPACTION_THRESHOLD"]
CONTEXT_LIMIT: int = ENV["CONTEXT_LIMIT"]
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
    "django.middleware.security.SecurityMiddleware",
    "config.headers.headers_middleware",
    "csp.middleware.CSPMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.locale.LocaleMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.auth.middleware.LoginRequiredMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
]
# A message as long as allowed must fit, even with each of its characters written as two JSON escapes.
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
CHANNEL_LAYERS: dict[str, dict[str, object]] = {"default": {"BACKEND": "channels.layers.InMemoryChannelLayer"}}
CACHES: dict[str, dict[str, object]] = {"default": {"BACKEND": "django.core.cache.backends.locmem.LocMemCache"}}
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

# A plain-http run on this machine must work; anything that answers to other names stands behind TLS.
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = not DEBUG and not IS_LOOPBACK_ONLY
SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = "Lax"
CSRF_TRUSTED_ORIGINS = [f"https://{'*' if name.startswith('.') else ''}{name}" for name in ALLOWED_HOSTS if name != "*"]
# Other sites learn nothing from it. With "no-referrer" browsers post our own forms with "Origin: null": CSRF refuses.
SECURE_REFERRER_POLICY = "same-origin"
SECURE_CROSS_ORIGIN_OPENER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"
# Redirecting to TLS and HSTS belong to the proxy that ends TLS.
SILENCED_SYSTEM_CHECKS = ["security.W004", "security.W008"]
_OURS = ("default-src", "script-src", "style-src", "img-src", "connect-src", "form-action")
_NOBODY = ("object-src", "base-uri", "frame-src", "frame-ancestors")
CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {name: ["'self'"] for name in _OURS} | {name: ["'none'"] for name in _NOBODY},
}

LANGUAGE_CODE = "en"
LANGUAGES = [("en", _("English")), ("de", _("German"))]
LOCALE_PATHS = [BASE_DIR / "locale"]
FORMAT_MODULE_PATH = ["config.formats"]  # dates in English as on the chat's own pages
TIME_ZONE = "UTC"
USE_TZ = True
USE_THOUSAND_SEPARATOR = False
STATIC_URL = "/static/"
STATICFILES_DIRS = [BASE_DIR / "static"]

LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"json": {"()": "config.logs.JsonFormatter"}},
    "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "json"}},
    "root": {"handlers": ["stderr"], "level": "INFO"},
    "loggers": {
        "django": {"handlers": [], "level": "INFO", "propagate": True},
        "django.server": {"handlers": [], "level": "INFO", "propagate": True},
        **{name: {"level": "WARNING"} for name in ("asyncio", "daphne", "httpx", "httpx2", "openai")},
        "channels_redis": {"level": "CRITICAL"},  # a trace each second while Redis is away; chat.relaylink says it once
    },
}
