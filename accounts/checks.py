"""Findings of ``manage.py check --deploy``: flags that are unsafe in production. Product 9, spec 004 flags."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.apps.config import AppConfig
from django.conf import settings
from django.core.checks import CheckMessage, Error, Tags, Warning, register
from django.utils.translation import gettext as _


@register(Tags.security, deploy=True)
def unsafe_flags(app_configs: Sequence[AppConfig] | None, **kwargs: Any) -> list[CheckMessage]:
    """Return an error for each unsafe flag, and a warning for what a public site should not have."""
    errors: list[tuple[bool, str, str]] = [
        (
            not settings.SCRATCHPAD_ADMIN_ONLY,
            "accounts.E001",
            _("SCRATCHPAD_ADMIN_ONLY is false: nobody sees a scratchpad. Set it to true."),
        ),
        (settings.DEBUG, "accounts.E002", _("DEBUG is true: error pages show source code. Set it to false.")),
        (
            not settings.SECRET_KEY_IS_SET,
            "accounts.E003",
            _("SECRET_KEY is not set: every restart ends all sessions. `python -m config.env_file` makes one."),
        ),
        (
            not settings.CONTENT_KEYS,
            "accounts.E004",
            _("CONTENT_KEYS is not set: nothing private can be stored. `python -m config.env_file` makes one."),
        ),
    ]
    messages: list[CheckMessage] = [Error(text, id=code) for is_unsafe, code, text in errors if is_unsafe]
    warnings: list[tuple[bool, str, str]] = [
        (
            bool(settings.DEMO_PASSWORD) and not settings.IS_LOOPBACK_ONLY,
            "accounts.W001",
            _("DEMO_PASSWORD is set and ALLOWED_HOSTS goes beyond this machine: delete the demo people."),
        ),
        (
            settings.REASONING_SCRATCHPAD_ENABLED,
            "accounts.W002",
            _("REASONING_SCRATCHPAD_ENABLED is true: every answer pays for a scratchpad. Production needs false."),
        ),
        (
            not settings.BEHIND_HTTPS_PROXY and not settings.IS_LOOPBACK_ONLY,
            "accounts.W003",
            _("BEHIND_HTTPS_PROXY is false: share links begin with http://. Set it to true behind a proxy with TLS."),
        ),
    ]
    messages += [Warning(text, id=code) for is_unsafe, code, text in warnings if is_unsafe]
    return messages
