"""Build hook of the wheel: collect the static files, hashed and compressed, into ``legible_chat/app/collected``."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Any

import django
from django import conf  # hatchling looks at every name here, which the settings themselves would not survive
from django.core.management import call_command
from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class StaticFilesHook(BuildHookInterface):  # type: ignore[type-arg]
    """Needs no settings of a site: the same apps as there, and their files."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if version == "editable":
            return
        self._folder = tempfile.TemporaryDirectory(prefix="legible-static-")
        sys.path.insert(0, self.root)  # for config.static_files
        conf.settings.configure(
            # The admin, what it needs, and the others that have static files.
            INSTALLED_APPS=[
                "django.contrib.admin",
                "django.contrib.auth",
                "django.contrib.contenttypes",
                "config.static_files.StaticFilesConfig",
                "django_htmx",
            ],
            STATIC_URL="/static/",
            STATIC_ROOT=self._folder.name,
            STATICFILES_DIRS=[Path(self.root) / "static"],
            STORAGES={"staticfiles": {"BACKEND": "config.static_files.HashedStaticFilesStorage"}},
        )
        django.setup()
        call_command("collectstatic", interactive=False, verbosity=0, skip_checks=True)
        build_data["force_include"][self._folder.name] = "legible_chat/app/collected"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        if version != "editable":
            self._folder.cleanup()
