"""``check_model``: make a few real calls to a model, and print what was found beside what its profile says."""

from __future__ import annotations

import asyncio
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils.translation import gettext as _

from chat.conversations import model_choice
from chat.conversations.learned_facts import learned_facts
from chat.conversations.model_choice import ModelChoice
from chat.model_check import CheckRow, check_model
from chat.models import ModelProfile
from chat.providers.base import ProviderError
from chat.providers.connections import close_clients
from chat.texts.error_texts import failure_text

# A local server may load the model first.
TIMEOUT_S = 300.0


class Command(BaseCommand):
    """Make a few requests and compare the responses with the profile."""

    help = (
        "Make at most six small calls to a model and compare what was found with its profile. "
        "Stores nothing, prints no key and nothing the model said."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "name",
            nargs="?",
            default="",
            help="a model of the admin by its name, or a model name at the configured endpoint; "
            "without a name the model that answers new conversations",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        chosen, profile = model_named(options["name"])
        learned_facts.refresh()

        async def call() -> tuple[str, list[CheckRow]]:
            try:
                return await check_model(chosen, profile, timeout_s=TIMEOUT_S)
            finally:
                await close_clients()

        try:
            model, rows = asyncio.run(call())
        except ProviderError as error:
            raise CommandError(failure_text(error, for_staff=True, place=chosen.place)) from error
        self.stdout.write(_("Model: %(model)s at %(host)s") % {"model": model, "host": chosen.config.host})
        found, configured = _("Found"), _("Profile")
        self.stdout.write(f"  {'':26}  {found:34}  {configured}")
        for row in rows:
            line = f"{'!' if row.differs else ' '} {row.name:26}  {row.found:34}  {row.configured}".rstrip()
            self.stdout.write(self.style.WARNING(line) if row.differs else line)
        differing = sum(row.differs for row in rows)
        said = [
            _("Differences: %(count)s, marked with !.") % {"count": differing} if differing else _("The profile fits.")
        ]
        if differing and any(row.field for row in rows):
            said.append(_("“Test connection” in the admin stores what was found."))
        self.stdout.write(" ".join(said))


def model_named(name: str) -> tuple[ModelChoice, ModelProfile | None]:
    """Return the profile of this name, enabled or not; else this model at the environment's endpoint, without one.

    Without a name it is the model that answers where none was chosen.
    """
    if not name:
        chosen = model_choice.offered_models()[0]
        if chosen.config.is_offline:
            raise CommandError(_("No model is configured: set OPENAI_BASE_URL, or name a model of the admin."))
        return chosen, ModelProfile.objects.filter(name=chosen.name).first() if chosen.is_profile else None
    profile = ModelProfile.objects.filter(name=name).first()
    if profile:
        return model_choice.of_profile(profile), profile
    if model_choice.of_environment().config.is_offline:
        known = ", ".join(ModelProfile.objects.values_list("name", flat=True)) or _("none yet")
        values = {"name": name, "known": known}
        raise CommandError(
            _("No model “%(name)s” is in the admin (there: %(known)s), and OPENAI_BASE_URL names no endpoint.") % values
        )
    return model_choice.of_environment(model=name), None
