"""The app of filings."""

from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class FilingsConfig(AppConfig):
    """EDGAR documents, the store behind ``searchFilings``. The rest of chat knows it by its models and its store."""

    name = "chat.filings"
    label = "filings"
    verbose_name = _("Filings")
    default_auto_field = "django.db.models.BigAutoField"
