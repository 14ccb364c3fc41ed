"""``check_model``: one real call to a model, and a table of what came back beside what its profile says."""

from __future__ import annotations

import asyncio
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils.translation import gettext as _

from chat.conversations import model_choice
from chat.conversations.model_choice import ModelChoice
from chat.management.model_check import Findings, check, report
from chat.models import ModelProfile
from chat.providers.base import ProviderError
from chat.providers.openai_http import close_clients


class Command(BaseCommand):
    """See the module."""

    help = (
        "Make one tiny call to a model and compare what was found with its profile. Prints no key and nothing it said."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("name", help="a model of the admin by its name, or a model name at the configured endpoint")

    def handle(self, *args: Any, **options: Any) -> None:
        chosen = _named(options["name"])
        host = model_choice.host_of(chosen.config)
        try:
            found = asyncio.run(_checked(chosen))
        except ProviderError as error:
            raise CommandError(model_choice.in_its_words(error, chosen).message) from error
        rows = list(report(chosen, found))
        self.stdout.write(f"Model: {chosen.config.model_name} at {host}")
        self.stdout.write(f"  {'':26}  {'found':34}  profile")
        for row in rows:
            line = f"{'!' if row.differs else ' '} {row.name:26}  {row.found:34}  {row.configured}".rstrip()
            self.stdout.write(self.style.WARNING(line) if row.differs else line)
        differing = sum(row.differs for row in rows)
        self.stdout.write(f"Differences: {differing}, marked with !." if differing else "The profile fits.")


def _named(name: str) -> ModelChoice:
    """Return the profile of this name, enabled or not; else this model at the environment's endpoint."""
    profile = ModelProfile.objects.filter(name=name).first()
    if profile:
        return model_choice.of_profile(profile)
    if model_choice.of_environment().config.is_offline:
        known = ", ".join(ModelProfile.objects.values_list("name", flat=True)) or _("none yet")
        values = {"name": name, "known": known}
        raise CommandError(
            _("No model “%(name)s” is in the admin (there: %(known)s), and OPENAI_BASE_URL names no endpoint.") % values
        )
    return model_choice.of_environment(model=name)


async def _checked(chosen: ModelChoice) -> Findings:
    try:
        return await check(await model_choice.provider(chosen), chosen)
    finally:
        await close_clients()
