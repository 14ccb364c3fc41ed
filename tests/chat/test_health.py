from __future__ import annotations

import os

import pytest
from django.db import OperationalError, connection
from django.test import Client
from pytest_django import Settings


@pytest.fixture
def no_redis(settings: Settings) -> None:
    settings.REDIS_URL = None


@pytest.mark.usefixtures("no_redis")
def test_database_that_answers_is_well_and_needs_no_session(client: Client, db: None) -> None:
    response = client.get("/healthz")

    assert response.status_code == 200
    assert response.json() == {"status": "ok", "checks": {"database": "ok"}}


@pytest.mark.usefixtures("no_redis")
def test_database_that_fails_is_named_without_saying_why(
    client: Client, db: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail() -> None:
        raise OperationalError("password authentication failed for hunter2")

    with monkeypatch.context() as patch:
        patch.setattr(connection, "cursor", fail)
        response = client.get("/healthz")

    assert response.status_code == 503
    assert response.json() == {"status": "error", "checks": {"database": "error"}}


def test_redis_that_is_configured_and_gone_is_named(client: Client, db: None, settings: Settings) -> None:
    settings.REDIS_URL = "redis://127.0.0.1:1/0"

    response = client.get("/healthz")

    assert response.status_code == 503
    assert response.json()["checks"] == {"database": "ok", "redis": "error"}


@pytest.mark.redis
def test_redis_that_answers_is_well(client: Client, db: None, settings: Settings) -> None:
    settings.REDIS_URL = os.environ["TEST_REDIS_URL"]

    assert client.get("/healthz").json() == {"status": "ok", "checks": {"database": "ok", "redis": "ok"}}
