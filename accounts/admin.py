"""What staff see of people: their rights, the names of their tokens, and the audit, which nobody edits here."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import admin
from django.contrib.auth.admin import UserAdmin
from django.contrib.auth.forms import UserChangeForm
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from accounts import audit
from accounts.models import AccessToken, AuditEntry, User
from accounts.settingwords import refusal
from reasoning.errors import SettingError
from reasoning.policy import ReasoningSettings

RIGHTS = ("is_staff", "is_superuser", "groups", "user_permissions")


class PersonForm(UserChangeForm):  # type: ignore[type-arg]  # generic in the stubs alone
    """Refuses ``reasoning.*`` values that are not allowed, naming what is. Spec 001 ERR-001."""

    def clean_reasoning(self) -> dict[str, Any]:
        layer = self.cleaned_data["reasoning"] or {}
        if not isinstance(layer, dict):
            raise forms.ValidationError(_("An object of settings by name."))
        try:
            ReasoningSettings.from_layers(layer)
        except SettingError as refused:
            raise forms.ValidationError(refusal(refused)) from refused
        return layer


@admin.register(User)
class PersonAdmin(UserAdmin):  # type: ignore[type-arg]  # generic in the stubs alone
    """Django's own, with the two preferences, and without a way up: only superusers hand out rights.

    Whoever may set a person's password may be that person. So staff change only people who have no rights themselves.
    """

    form = PersonForm
    fieldsets = (*(UserAdmin.fieldsets or ()), (_("Reasoning"), {"fields": ("show_reasoning", "reasoning")}))

    def has_change_permission(self, request: HttpRequest, obj: User | None = None) -> bool:
        return super().has_change_permission(request, obj) and _may_govern(request, obj)

    def has_delete_permission(self, request: HttpRequest, obj: User | None = None) -> bool:
        return super().has_delete_permission(request, obj) and _may_govern(request, obj)

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        fields = super().get_readonly_fields(request, obj)
        return fields if request.user.is_superuser else (*fields, *RIGHTS)

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[User]) -> None:
        """Leave out those whom this person may not delete one by one."""
        super().delete_queryset(
            request, queryset.filter(pk__in=[one.pk for one in queryset if _may_govern(request, one)])
        )


def _may_govern(request: HttpRequest, person: User | None) -> bool:
    """Say whether this person's account may be changed by who asks."""
    if person is None or request.user.is_superuser:
        return True
    has_rights = person.is_staff or person.is_superuser or person.user_permissions.exists() or person.groups.exists()
    return not has_rights


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

    def delete_model(self, request: HttpRequest, obj: AccessToken) -> None:
        """End a token, with an entry in the audit."""
        super().delete_model(request, obj)
        if isinstance(request.user, User):
            audit.record(request.user, audit.TOKEN_REVOKED)

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[AccessToken]) -> None:
        for token in queryset:
            self.delete_model(request, token)


class ActionFilter(admin.SimpleListFilter):
    """The audit by what was done, in words."""

    title = _("action")
    parameter_name = "action"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, Any]]:
        return list(audit.WORDS.items())

    def queryset(self, request: HttpRequest, queryset: QuerySet[AuditEntry]) -> QuerySet[AuditEntry]:
        return queryset.filter(action=self.value()) if self.value() else queryset


@admin.register(AuditEntry)
class AuditEntryAdmin(ReadOnlyAdmin):
    """Who switched what, and when."""

    list_display = ("created_at", "user", "what", "conversation")
    list_select_related = ("user",)
    list_filter = (ActionFilter, "created_at")
    search_fields = ("user__username",)
    date_hierarchy = "created_at"
    fields = list_display

    @admin.display(description=_("action"), ordering="action")
    def what(self, entry: AuditEntry) -> str:
        return str(audit.WORDS.get(entry.action, entry.action))

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False
