"""The settings that tests run under: the product's own, away from this machine's ``.env`` and its environment.

``TEST_DATABASE_URL`` and ``TEST_REDIS_URL`` put the suite on PostgreSQL and Redis; without them it runs on a SQLite
file of its own and the in-memory channel layer.
"""

import os
import re
import tempfile
from pathlib import Path

from cryptography.fernet import Fernet

_EXAMPLE = Path(__file__).resolve().parent.parent / ".env.example"
for _name in re.findall(r"^([A-Z_]+)=", _EXAMPLE.read_text(encoding="utf-8"), re.MULTILINE):
    os.environ.pop(_name, None)

_folder = tempfile.TemporaryDirectory(prefix="legible-tests-")
os.environ |= {
    "ENV_FILE": os.devnull,
    "MODEL_TITLES": "false",  # a request more after each first answer
    "SECRET_KEY": "only-for-tests-" + "x" * 50,
    "CONTENT_KEYS": Fernet.generate_key().decode(),
    "DATABASE_URL": os.environ.get("TEST_DATABASE_URL") or f"sqlite:///{_folder.name}/legible.sqlite3",
    "REDIS_URL": os.environ.get("TEST_REDIS_URL", ""),
    "SSL_CERT_DIR": _folder.name,
}
os.environ.pop("SSL_CERT_FILE", None)  # no test speaks TLS, and each new client would read all authorities: 40 ms

from config.settings import *  # noqa: E402, F403
from config.settings import CHANNEL_LAYERS, DATABASES, REDIS_URL  # noqa: E402

PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
# A thread that outlives its test must not hold a connection: PostgreSQL would not drop the test database.
DATABASES["default"]["CONN_MAX_AGE"] = 0
# Several runs at once must not meet: a database, and a prefix in Redis, for each. Redis is never the cache under test,
# for emptying that cache empties all of it.
if DATABASES["default"]["ENGINE"].endswith("sqlite3"):
    DATABASES["default"]["TEST"] = {"NAME": f"{_folder.name}/tests.sqlite3"}
else:
    DATABASES["default"]["TEST"] = {"NAME": f"legible_tests_{os.getpid()}"}
    DATABASES["default"]["OPTIONS"]["options"] = "-c synchronous_commit=off"  # a test outlives no power cut
if REDIS_URL:
    CHANNEL_LAYERS["default"]["CONFIG"]["prefix"] = f"legible-tests-{os.getpid()}"
CACHES = {"default": {"BACKEND": "django.core.cache.backends.locmem.LocMemCache"}}
