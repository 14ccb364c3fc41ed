"""Sign the demo people in beforehand: ``python -m tests.browser.sessions`` prints fresh session keys by name, as JSON.

Checking a password takes a good part of a second by design. Tests that are about signing in fill in the form instead.
"""

import json
import os
import sys

import django

SESSIONS_EACH = 400


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    django.setup()
    from django.contrib import auth  # noqa: PLC0415 - needs the set-up above
    from django.contrib.sessions.backends.db import SessionStore  # noqa: PLC0415

    def signed_in(person: object) -> str:
        session = SessionStore()
        session[auth.SESSION_KEY] = str(person.pk)
        session[auth.BACKEND_SESSION_KEY] = "django.contrib.auth.backends.ModelBackend"
        session[auth.HASH_SESSION_KEY] = person.get_session_auth_hash()
        session.create()
        return str(session.session_key)

    people = auth.get_user_model().objects.all()
    json.dump({one.username: [signed_in(one) for _ in range(SESSIONS_EACH)] for one in people}, sys.stdout)


if __name__ == "__main__":
    main()
