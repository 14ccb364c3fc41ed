"""``check_model``: one real call to a model, and in plain words what came back and whether its profile fits it."""

from __future__ import annotations

import asyncio
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils.translation import gettext as _

from chat import upstream
from chat.modeladvice import Checked
from chat.modelcheck import Findings, check
from chat.models import ModelProfile
from chat.providers.base import ProviderError
from chat.providers.openai_client import close_clients
from chat.upstream import ChosenModel


class Command(BaseCommand):
    """See the module."""

    help = "Make one tiny call to a model and say in plain words what was found. Prints no key and nothing it said."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("name", help="a model of the admin by its name, or a model name at the configured endpoint")

    def handle(self, *args: Any, **options: Any) -> None:
        chosen = _named(options["name"])
        host = upstream.host_of(chosen.config)
        self.stdout.write(_("Model: %(model)s at %(host)s") % {"model": chosen.config.model_name, "host": host})
        try:
            found = asyncio.run(_checked(chosen))
        except ProviderError as error:
            raise CommandError(upstream.in_its_words(error, chosen).message) from error
        checked = Checked(chosen, found)
        advice = list(checked.advice())
        for line in checked.told():
            self.stdout.write(line)
        for line in advice:
            self.stdout.write(self.style.WARNING(_("To change: %(advice)s") % {"advice": line}))
        if not advice:
            self.stdout.write(_("Its settings fit."))


def _named(name: str) -> ChosenModel:
    """Return the profile of this name, offered or not; else this model at the environment's endpoint."""
    profile = ModelProfile.objects.filter(name=name).first()
    if profile:
        return upstream.of_profile(profile)
    if upstream.of_environment().config.is_offline:
        known = ", ".join(ModelProfile.objects.values_list("name", flat=True)) or _("none yet")
        words = {"name": name, "known": known}
        raise CommandError(
            _("No model “%(name)s” is in the admin (there: %(known)s), and OPENAI_BASE_URL names no endpoint.") % words
        )
    return upstream.of_environment(model=name)


async def _checked(chosen: ChosenModel) -> Findings:
    try:
        return await check(await upstream.provider(chosen), chosen)
    finally:
        await close_clients()
