"""The same over PostgreSQL: what a killed server leaves is found by the next one, or by another that still runs."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import psycopg
import pytest
from psycopg import sql

from tests.contract_server.fixture import running_contract_server
from tests.faults.campaign import CONVERSATIONS, Campaign
from tests.faults.pair import FAST, PairCampaign
from tests.faults.site import DoomedSite
from tests.faults.talk import PAD, THOUGHT

pytestmark = pytest.mark.slow

SEED = 20262
KILLS = 2
PAIR_SEED, PAIR_KILLS = 20263, 3


@pytest.fixture
def database_url() -> Iterator[str]:
    """Make an empty database, and drop it afterwards."""
    server = os.environ["TEST_DATABASE_URL"]
    name = f"legible_faults_{os.getpid()}"
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
        try:
            yield urlsplit(server)._replace(path=f"/{name}").geturl()
        finally:
            connection.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))


@pytest.mark.timeout(300)
@pytest.mark.postgres
def test_nothing_acknowledged_is_lost_to_a_kill_over_postgres(tmp_path: Path, database_url: str) -> None:
    with running_contract_server() as model:
        site = DoomedSite(
            tmp_path, conversations=CONVERSATIONS, database_url=database_url, OPENAI_BASE_URL=model.base_url
        )
        try:
            tally = Campaign(site, model, SEED).run(KILLS)
        finally:
            site.stop()

    assert tally.kills == KILLS
    assert tally.interrupted > 0


@pytest.mark.timeout(300)
@pytest.mark.postgres
@pytest.mark.redis
def test_nothing_acknowledged_is_lost_where_one_of_two_processes_is_killed(tmp_path: Path, database_url: str) -> None:
    with running_contract_server() as model:
        own = {"OPENAI_BASE_URL": model.base_url, "REDIS_URL": os.environ["TEST_REDIS_URL"], **FAST}
        site = DoomedSite(tmp_path, conversations=CONVERSATIONS, database_url=database_url, **own)
        (tmp_path / "beside").mkdir()
        pair = (site, site.beside(tmp_path / "beside", clock_ahead_s=600))  # no matter to leases
        try:
            tally = PairCampaign(pair, model, PAIR_SEED).run(PAIR_KILLS)
            for one in pair:
                one.audit(PAD, THOUGHT)
        finally:
            for one in pair:
                one.stop()

    assert tally.kills == PAIR_KILLS
    assert tally.interrupted > 0
