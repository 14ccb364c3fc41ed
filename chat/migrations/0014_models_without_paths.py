"""Shorten stored model names that are paths on a model service's machine, as they are shown since."""

from __future__ import annotations

from typing import Any

from django.db import migrations

from chat.providers.base import shown_model


def shorten(apps: Any, _editor: Any) -> None:
    turns = apps.get_model("chat", "Turn").objects
    for name in turns.order_by().values_list("model", flat=True).distinct():
        if shown_model(name) != name:
            turns.filter(model=name).update(model=shown_model(name))


class Migration(migrations.Migration):
    dependencies = (("chat", "0013_share_token_digests"),)
    operations = (migrations.RunPython(shorten, migrations.RunPython.noop),)
