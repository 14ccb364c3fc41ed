"""The personas, the services that tests may need, and what happens when one is missing.

Alice owns, Bob is a stranger, Sam is staff, Ada holds ``accounts.view_scratchpad``. With ``REQUIRE_ALL=1``
a skipped test is a failed run; only the samples of ``SHARED_DIR`` may be absent, where there is no such folder.
"""

import asyncio
import gc
import inspect
import os
import socket
from functools import cache
from pathlib import Path
from urllib.parse import urlsplit

import hypothesis
import pytest
import pytest_asyncio
from channels.db import database_sync_to_async
from channels.layers import channel_layers
from django.core.cache import cache as django_cache
from django.db import connection, transaction
from django.test import TransactionTestCase, override_settings
from django.utils import translation

from chat.conversations.learned_facts import learned_facts
from tests import factories

# Derandomized: a failure comes from the change, not from new examples; nor from a busy machine, so nothing is timed.
for profile, examples in {"quick": 25, "full": 100}.items():
    hypothesis.settings.register_profile(
        profile,
        derandomize=True,
        deadline=None,
        suppress_health_check=[hypothesis.HealthCheck.too_slow],
        max_examples=examples,
    )
hypothesis.settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "quick"))

ROOT = Path(__file__).resolve().parent.parent
SHARED = Path(os.environ.get("SHARED_DIR") or ROOT.parent / "shared")
_DATABASE_FIXTURES = {"db", "transactional_db"}
_NEEDS = {"postgres": "TEST_DATABASE_URL", "redis": "TEST_REDIS_URL"}


@pytest.fixture
def alice(db):
    return factories.make_user("alice")


@pytest.fixture
def bob(db):
    return factories.make_user("bob")


@pytest.fixture
def sam(db):
    return factories.make_user("sam", is_staff=True)


@pytest.fixture
def ada(db):
    return factories.make_administrator("ada")


@pytest.fixture
def shared_dir():
    if not SHARED.is_dir():
        pytest.skip("SHARED_DIR: no such folder")
    return SHARED


@pytest.fixture(autouse=True)
def _fresh_surroundings():
    """Start each test with an empty cache and in English."""
    django_cache.clear()
    learned_facts.forget()
    translation.activate("en")


@pytest.fixture(scope="session", autouse=True)
def _outside_hosts():
    """Refuse connections to other machines and look-ups of their names, except the services under test; list them.

    Child processes and C libraries (libpq) are out of reach.
    """
    refused = []
    services = {urlsplit(os.environ.get(variable, "")).hostname for variable in _NEEDS.values()} - {None, ""}
    allowed = {
        "",
        "localhost",
        *services,
        *(info[4][0] for host in services for info in socket.getaddrinfo(host, None)),
    }

    def check(host):
        name = host.decode() if isinstance(host, bytes) else str(host or "")
        if name not in allowed and not name.startswith("127.") and name != "::1":
            refused.append(name)
            raise socket.gaierror(socket.EAI_NONAME, f"tests may not connect to {name}")

    def guarded(call, host_of):
        def checked(*args, **more):
            check(host_of(*args))
            return call(*args, **more)

        return checked

    def host_of_address(connecting, address):
        return address[0] if connecting.family in (socket.AF_INET, socket.AF_INET6) else ""

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(socket, "getaddrinfo", guarded(socket.getaddrinfo, lambda host, *_: host))
        for name in ("connect", "connect_ex"):
            patch.setattr(socket.socket, name, guarded(getattr(socket.socket, name), host_of_address))
        yield refused


@pytest.fixture(autouse=True)
def _no_network(_outside_hosts):
    """Fail a test that wanted to connect to another machine, whatever it did with the error."""
    _outside_hosts.clear()
    yield
    assert _outside_hosts == []


@pytest.fixture(scope="session", autouse=True)
def _truncate_only_filled_tables():
    """Django flushes every table and recreates content types after a test that commits, which is most of its cost."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(TransactionTestCase, "_fixture_teardown", lambda _case: truncate_tables())
        yield


@transaction.atomic
def truncate_tables() -> None:
    """Delete all rows but those that ``migrate`` creates. Foreign keys are checked at the end of the transaction."""
    with connection.cursor() as cursor:
        cursor.execute(query_for_filled_tables())
        for (table,) in cursor.fetchall():
            cursor.execute(f"DELETE FROM {connection.ops.quote_name(table)}")  # noqa: S608 - a table of ours


@cache
def query_for_filled_tables() -> str:
    created_by_migrate = {"django_migrations", "django_content_type", "auth_permission"}
    tables = set(connection.introspection.django_table_names(only_existing=True)) - created_by_migrate
    each = (f"SELECT '{table}' WHERE EXISTS (SELECT 1 FROM {connection.ops.quote_name(table)})" for table in tables)  # noqa: S608
    return " UNION ALL ".join(each)


@pytest.fixture(scope="session")
def django_db_setup(django_db_setup, django_db_blocker):
    """Drop the test database at the end even where an idle thread still has a connection."""
    yield
    if connection.vendor == "postgresql":
        with django_db_blocker.unblock(), connection.cursor() as cursor:
            cursor.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                " WHERE datname = current_database() AND pid <> pg_backend_pid()"
            )


@pytest.fixture(autouse=True)
def _layer_of_one_process(request):
    """Give each test an empty channel layer in memory; only tests that are marked use Redis."""
    channel_layers.backends.clear()
    if request.node.get_closest_marker("redis"):
        yield
        return
    with override_settings(CHANNEL_LAYERS={"default": {"BACKEND": "chat.live.local_layer.LocalChannelLayer"}}):
        yield


@pytest.fixture(autouse=True)
def _nothing_left_running(request):
    """Have the tables emptied only when no task writes to them any more."""
    if inspect.iscoroutinefunction(getattr(request, "function", None)):
        request.getfixturevalue("_no_task_left")


@pytest_asyncio.fixture
async def _no_task_left():
    yield
    tasks = asyncio.all_tasks() - {asyncio.current_task()}
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    await database_sync_to_async(bool)()  # after what their thread is still doing


def pytest_configure(config: pytest.Config) -> None:
    for service in _NEEDS:
        config.addinivalue_line("markers", f"{service}: needs this service; {_NEEDS[service]} names it")
    config.addinivalue_line("markers", "engine: depends on the database engine; `make test` runs it on PostgreSQL too")
    config.addinivalue_line("markers", "stored: uses the database; set on each such test by conftest.py")
    config.addinivalue_line("markers", "sqlite: about SQLite alone; not collected where TEST_DATABASE_URL is set")


@pytest.hookimpl(tryfirst=True)  # before -m looks at the marks
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if os.environ.get("TEST_DATABASE_URL"):
        elsewhere = [item for item in items if item.get_closest_marker("sqlite")]
        items[:] = [item for item in items if item not in elsewhere]
        config.hook.pytest_deselected(items=elsewhere)
    for item in items:
        if item.get_closest_marker("django_db") or _DATABASE_FIXTURES & set(getattr(item, "fixturenames", ())):
            item.add_marker("stored")
        for service, variable in _NEEDS.items():
            if item.get_closest_marker(service) and not os.environ.get(variable):
                item.add_marker(pytest.mark.skip(reason=f"{variable} names no {service}"))


@pytest.hookimpl(trylast=True)
def pytest_collection_finish() -> None:
    """Spare the garbage collector the modules and items that live to the end: 10 % of the CPU."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 20)


def pytest_sessionfinish(session: pytest.Session) -> None:
    if skips_that_fail(session.config):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    for reason in skips_that_fail(terminalreporter.config):
        terminalreporter.write_line(f"REQUIRE_ALL: skipped, so this run fails: {reason}", red=True)


def skips_that_fail(config: pytest.Config) -> list[str]:
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    if os.environ.get("REQUIRE_ALL") != "1" or reporter is None:
        return []
    reasons = [
        f"{report.nodeid} ({report.longrepr[2] if isinstance(report.longrepr, tuple) else 'skipped'})"
        for report in reporter.stats.get("skipped", [])
    ]
    # The samples may be absent as a whole.
    return [reason for reason in reasons if "SHARED_DIR" not in reason or SHARED.is_dir()]
