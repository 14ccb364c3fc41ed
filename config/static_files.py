"""How static files are collected: named by their content, so that browsers may keep them for good, and compressed."""

from __future__ import annotations

from django.contrib.staticfiles import apps
from whitenoise.storage import CompressedManifestStaticFilesStorage

HASHED_NAME = r"^.+\.[0-9a-f]{12}\..+$"


class HashedStaticFilesStorage(CompressedManifestStaticFilesStorage):
    """Also rewrites what scripts import from each other."""

    support_js_module_import_aggregation = True


class StaticFilesConfig(apps.StaticFilesConfig):
    """Leaves out the readable form of htmx's extensions, which import names that only an import map resolves."""

    ignore_patterns = (*apps.StaticFilesConfig.ignore_patterns, "django_htmx/ext/*-2.js")
