import os
import resource
import socket
import sqlite3
import time
from contextlib import closing
from pathlib import Path

import pytest
from django.db import OperationalError, connection
from django.test.utils import CaptureQueriesContext

from chat.pages import health
from chat.turns import heartbeat
from chat.turns.heartbeat import HeartbeatMonitor


@pytest.fixture
def no_redis(settings):
    settings.REDIS_URL = None


@pytest.mark.usefixtures("no_redis")
def test_database_that_answers_is_well_and_needs_no_session(client, db):
    response = client.get("/healthz")

    assert response.status_code == 200
    assert response.json() == {"status": "ok", "checks": {"database": "ok", "turns": "ok"}}


@pytest.mark.usefixtures("no_redis")
def test_database_that_fails_is_named_without_saying_why(client, db, monkeypatch):
    def fail():
        raise OperationalError("password authentication failed for hunter2")

    with monkeypatch.context() as patch:
        patch.setattr(connection, "cursor", fail)
        response = client.get("/healthz")

    assert response.status_code == 503
    assert response.json() == {"status": "error", "checks": {"database": "error", "turns": "ok"}}


@pytest.mark.engine
@pytest.mark.usefixtures("no_redis")
def test_database_that_takes_no_writes_is_named(client, transactional_db, monkeypatch):
    read_only = {"sqlite": "PRAGMA query_only = {}", "postgresql": "SET default_transaction_read_only = {}"}
    monkeypatch.setattr(health, "WRITE_EVERY_S", float("-inf"))  # so that each request writes

    statuses = []
    for value in ("ON", "OFF"):
        with connection.cursor() as cursor:
            cursor.execute(read_only[connection.vendor].format(value))
        statuses.append(client.get("/healthz").status_code)

    assert statuses == [503, 200]


@pytest.mark.sqlite
@pytest.mark.usefixtures("no_redis")
def test_lock_of_another_program_is_named_without_waiting_for_it(client, transactional_db, monkeypatch):
    monkeypatch.setattr(health, "WRITE_EVERY_S", float("-inf"))
    hour_ms = 3_600_000
    with connection.cursor() as cursor:
        cursor.execute("PRAGMA busy_timeout")
        (usual_ms,) = cursor.fetchone()
        cursor.execute(f"PRAGMA busy_timeout = {hour_ms}")

    with closing(sqlite3.connect(connection.settings_dict["NAME"], isolation_level=None, uri=True)) as other:
        other.execute("BEGIN IMMEDIATE")
        locked = client.get("/healthz")
        other.execute("ROLLBACK")
    free = client.get("/healthz")

    assert (locked.status_code, locked.json()["checks"]["database"]) == (503, "error")
    assert free.status_code == 200
    with connection.cursor() as cursor:
        cursor.execute("PRAGMA busy_timeout")
        assert cursor.fetchone() == (hour_ms,)  # others wait as before
        cursor.execute(f"PRAGMA busy_timeout = {usual_ms}")


@pytest.mark.sqlite
@pytest.mark.usefixtures("no_redis")
def test_disk_without_room_is_named_though_a_row_can_be_rewritten(client, transactional_db, monkeypatch):
    monkeypatch.setattr(health, "WRITE_EVERY_S", float("-inf"))
    folder = Path(connection.settings_dict["NAME"]).parent
    client.get("/healthz")
    names = {file.name for file in folder.iterdir()}
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)

    resource.setrlimit(resource.RLIMIT_FSIZE, (health.ROOM_BYTES // 2, hard))  # no file may grow beyond
    try:
        full = client.get("/healthz")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    free = client.get("/healthz")

    assert (full.status_code, full.json()["checks"]["database"]) == (503, "error")
    assert free.status_code == 200
    assert {file.name for file in folder.iterdir()} == names


@pytest.mark.postgres
@pytest.mark.usefixtures("no_redis")
def test_postgresql_without_room_is_named(client, transactional_db, monkeypatch):
    monkeypatch.setattr(health, "WRITE_EVERY_S", float("-inf"))

    statuses = []
    for most in ("512kB", "-1"):
        with connection.cursor() as cursor:
            cursor.execute("SET temp_file_limit = %s", [most])
        statuses.append(client.get("/healthz").status_code)

    assert statuses == [503, 200]


@pytest.mark.usefixtures("no_redis")
def test_strangers_cause_one_write_a_second(client, db, monkeypatch):
    now = time.monotonic() + 100
    monkeypatch.setattr(health.time, "monotonic", lambda: now)
    heartbeat.monitor.record()

    with CaptureQueriesContext(connection) as queries:
        for _each in range(50):
            assert client.get("/healthz").status_code == 200

    assert sum("UPDATE" in query["sql"] for query in queries) == 1


@pytest.mark.usefixtures("no_redis")
def test_missing_heartbeat_is_named(client, db, settings, monkeypatch):
    past = time.monotonic() - settings.LEASE_EXPIRY_S - 1
    monkeypatch.setattr(heartbeat, "monitor", HeartbeatMonitor(past))
    monkeypatch.setattr(health, "monitor", heartbeat.monitor)

    ill = client.get("/healthz")
    heartbeat.monitor.record()
    well = client.get("/healthz")

    assert (ill.status_code, ill.json()["checks"]["turns"]) == (503, "error")
    assert (well.status_code, well.json()["checks"]["turns"]) == (200, "ok")


def test_unreachable_redis_is_named(client, db, settings):
    settings.REDIS_URL = "redis://127.0.0.1:1/0"

    response = client.get("/healthz")

    assert response.status_code == 503
    assert response.json()["checks"] == {"database": "ok", "turns": "ok", "redis": "error"}


@pytest.mark.redis
def test_redis_that_answers_is_well(client, db, settings):
    settings.REDIS_URL = os.environ["TEST_REDIS_URL"]

    assert client.get("/healthz").json() == {"status": "ok", "checks": {"database": "ok", "turns": "ok", "redis": "ok"}}


@pytest.mark.postgres
def test_database_that_vanishes_is_noticed_before_leases_expire(transactional_db, settings):
    """Its machine is off, so that nothing closes the connection: the kernel asks, or counts what is not confirmed."""
    connection.ensure_connection()
    with socket.socket(fileno=os.dup(connection.connection.fileno())) as one:

        def option(number: int) -> int:
            return one.getsockopt(socket.IPPROTO_TCP, number)

        unanswered_s = option(socket.TCP_KEEPIDLE) + option(socket.TCP_KEEPINTVL) * option(socket.TCP_KEEPCNT)
        unconfirmed_s = option(socket.TCP_USER_TIMEOUT) / 1000

    assert unanswered_s < settings.LEASE_EXPIRY_S
    assert 0 < unconfirmed_s < settings.LEASE_EXPIRY_S
