"""The demo users and their password."""

import pytest

from accounts import demo


def test_users_have_their_privileges_and_share_the_password(db, settings):
    settings.DEMO_PASSWORD = "from the environment"

    users = demo.ensure_users()

    privileges = {name: (user.is_staff, user.is_superuser) for name, user in users.items()}
    assert privileges == {"demo": (False, False), "sam": (True, False), "admin": (True, True)}
    assert all(user.check_password("from the environment") for user in users.values())


@pytest.mark.parametrize("new_password", ["the first", "the second"])
def test_second_run_changes_nothing_but_a_new_password(db, settings, new_password):
    settings.DEMO_PASSWORD = "the first"
    before = demo.ensure_users()
    settings.DEMO_PASSWORD = new_password

    after = demo.ensure_users()

    assert {user.pk for user in after.values()} == {user.pk for user in before.values()}
    assert all(user.check_password(new_password) for user in after.values())
    assert (after["demo"].password == before["demo"].password) is (new_password == "the first")


@pytest.mark.parametrize("before", [None, "SIGNUP_ENABLED=true", "SIGNUP_ENABLED=true\n"])
def test_missing_password_is_generated_once_and_stored(tmp_path, settings, before):
    settings.ENV_FILE = tmp_path / ".env"
    settings.DEMO_PASSWORD = ""
    if before is not None:
        settings.ENV_FILE.write_text(before)

    password = demo.demo_password()

    assert len(password) >= 12
    assert demo.demo_password() == password
    assert settings.ENV_FILE.read_text().splitlines() == [*(before or "").splitlines(), f"DEMO_PASSWORD={password}"]
    assert before is not None or settings.ENV_FILE.stat().st_mode & 0o077 == 0
