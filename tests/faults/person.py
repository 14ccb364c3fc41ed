"""Prepare a database: ``python -m tests.faults.person N`` migrates it and makes a person with N conversations.

Prints a session of theirs and the conversations, as JSON. One process, for starting one takes longer than its work.
"""

import json
import os
import sys

import django


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    django.setup()
    from django.contrib import auth  # noqa: PLC0415 - needs the set-up above
    from django.core.management import call_command  # noqa: PLC0415
    from django.test import Client  # noqa: PLC0415

    call_command("migrate", "--no-input", "--verbosity", "0")
    person = auth.get_user_model().objects.create_user("alice")
    client = Client()
    client.force_login(person)
    made = [str(person.conversations.create().pk) for _ in range(int(sys.argv[1]))]
    json.dump({"session": client.session.session_key, "conversations": made}, sys.stdout)


if __name__ == "__main__":
    main()
