"""What staff change of the site: its name, the words of an empty chat, its instructions, hosts to read."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import admin, messages
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext as _

from accounts.admin import DeclaredLookupsMixin
from chat.models import SiteSettings
from chat.web.addresses import MAX_HOSTS, invalid_hosts


class SiteSettingsForm(forms.ModelForm):
    """The settings, with hosts that are ones."""

    def clean_web_hosts(self) -> str:
        text: str = self.cleaned_data["web_hosts"]
        if invalid := invalid_hosts(text):
            raise ValidationError(_("This is no host: %(line)s") % {"line": invalid[0][:100]})
        if len(text.split()) > MAX_HOSTS:
            raise ValidationError(_("At most %(most)s hosts.") % {"most": MAX_HOSTS})
        return text


@admin.register(SiteSettings)
class SiteSettingsAdmin(DeclaredLookupsMixin):
    """One row, created with the first change; its list leads to its form."""

    form = SiteSettingsForm

    def changelist_view(self, request: HttpRequest, extra_context: Any = None) -> HttpResponse:
        if row := SiteSettings.objects.first():
            return redirect("admin:chat_sitesettings_change", row.pk)
        if self.has_add_permission(request):
            return redirect("admin:chat_sitesettings_add")
        messages.info(request, _("Nobody has changed the site settings yet: the defaults apply."))
        return redirect("admin:index")

    def changeform_view(
        self, request: HttpRequest, object_id: str | None = None, form_url: str = "", extra_context: Any = None
    ) -> HttpResponse:
        shown = {**(extra_context or {}), "show_save_and_add_another": False}  # there is one row
        return super().changeform_view(request, object_id, form_url, shown)

    def has_add_permission(self, request: HttpRequest) -> bool:
        return super().has_add_permission(request) and not SiteSettings.objects.exists()

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        # without its row the site would have the defaults: emptying the fields does the same
        return False
