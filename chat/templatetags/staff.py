"""The figures on the admin's first page."""

from __future__ import annotations

from django import template
from django.utils import timezone

from chat.turns.statistics import Overview, overview

register = template.Library()


@register.simple_tag
def staff_overview() -> Overview:
    """Return the last seven days at a glance."""
    return overview(timezone.now())
