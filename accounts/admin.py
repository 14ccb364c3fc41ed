"""What staff see of people: their rights, the names of their tokens, and the audit, which nobody edits here."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import admin
from django.contrib.auth.admin import UserAdmin
from django.contrib.auth.forms import UserChangeForm
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from accounts.models import AccessToken, AuditEntry, User
from reasoning.errors import SettingError
from reasoning.policy import ReasoningSettings


class PersonForm(UserChangeForm):  # type: ignore[type-arg]  # generic in the stubs alone
    """Refuses ``reasoning.*`` values that are not allowed, naming what is. Spec 001 ERR-001."""

    def clean_reasoning(self) -> dict[str, Any]:
        layer = self.cleaned_data["reasoning"] or {}
        if not isinstance(layer, dict):
            raise forms.ValidationError(_("An object of settings by name."))
        try:
            ReasoningSettings.from_layers(layer)
        except SettingError as refused:
            raise forms.ValidationError(str(refused)) from refused
        return layer


@admin.register(User)
class PersonAdmin(UserAdmin):  # type: ignore[type-arg]  # generic in the stubs alone
    """Django's own, with the two preferences."""

    form = PersonForm
    fieldsets = (*(UserAdmin.fieldsets or ()), (_("Reasoning"), {"fields": ("show_reasoning", "reasoning")}))


class ReadOnlyAdmin(admin.ModelAdmin):  # type: ignore[type-arg]  # generic in the stubs alone
    """Nothing is added or changed here."""

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


@admin.register(AccessToken)
class AccessTokenAdmin(ReadOnlyAdmin):
    """Whose tokens there are; they can be revoked, and never seen."""

    list_display = ("user", "name", "created_at", "last_used_at")
    fields = ("user", "name", "created_at", "last_used_at")
    list_select_related = ("user",)
    search_fields = ("user__username", "name")


@admin.register(AuditEntry)
class AuditEntryAdmin(ReadOnlyAdmin):
    """Who switched what, and when."""

    list_display = ("created_at", "user", "action", "conversation")
    list_select_related = ("user",)
    list_filter = ("action",)
    date_hierarchy = "created_at"

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False
