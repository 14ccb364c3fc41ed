from __future__ import annotations

from pathlib import Path

import pytest
from pytest_django import Settings

from accounts import demo
from accounts.models import User


@pytest.fixture
def env_file(tmp_path: Path, settings: Settings) -> Path:
    settings.ENV_FILE = tmp_path / ".env"
    settings.DEMO_PASSWORD = ""
    return settings.ENV_FILE


def test_three_people_with_their_rights_and_one_password(db: None, settings: Settings) -> None:
    settings.DEMO_PASSWORD = "from the environment"

    people = demo.ensure_people()

    rights = {name: (user.is_staff, user.is_superuser) for name, user in people.items()}
    assert rights == {"demo": (False, False), "sam": (True, False), "admin": (True, True)}
    assert all(user.check_password("from the environment") for user in people.values())


def test_second_run_keeps_people_and_follows_a_new_password(db: None, settings: Settings) -> None:
    settings.DEMO_PASSWORD = "the first"
    before = demo.ensure_people()
    settings.DEMO_PASSWORD = "the second"

    after = demo.ensure_people()

    assert {user.pk for user in after.values()} == {user.pk for user in before.values()}
    assert User.objects.get(username="demo").check_password("the second")


def test_second_run_leaves_a_matching_password_alone(db: None, settings: Settings) -> None:
    settings.DEMO_PASSWORD = "the same"
    demo.ensure_people()
    before = User.objects.get(username="demo").password

    demo.ensure_people()

    assert User.objects.get(username="demo").password == before


@pytest.mark.parametrize("before", ["", "SIGNUP_ENABLED=true", "SIGNUP_ENABLED=true\n"])
def test_missing_password_is_made_once_and_kept(env_file: Path, before: str) -> None:
    env_file.write_text(before)

    password = demo.demo_password()

    lines = env_file.read_text().splitlines()
    assert len(password) >= 12
    assert lines == [*before.splitlines(), f"DEMO_PASSWORD={password}"]
    assert demo.demo_password() == password
    assert env_file.read_text().splitlines() == lines


def test_file_made_for_it_is_for_its_owner_alone(env_file: Path) -> None:
    demo.demo_password()

    assert env_file.stat().st_mode & 0o077 == 0
