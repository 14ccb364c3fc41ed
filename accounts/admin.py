"""Admin pages for users, access tokens (names only) and the read-only audit trail."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import admin
from django.contrib.admin.options import IncorrectLookupParameters
from django.contrib.auth import admin as auth_admin
from django.contrib.auth.forms import AdminPasswordChangeForm, UserChangeForm
from django.db import DataError
from django.db.models import CASCADE, Model, QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from accounts.access import tokens
from accounts.models import AccessToken, AuditEntry, ReasoningProfile, User
from accounts.preferences import error_text
from accounts.views import request_user
from reasoning.errors import SettingError
from reasoning.settings import parse_setting

PRIVILEGE_FIELDS = ("is_staff", "is_superuser", "groups", "user_permissions")
# What Django's own filters and its date hierarchy put after the name of their field.
FILTER_LOOKUPS = ("", "__exact", "__id__exact", "__isnull", "__isempty", "__gte", "__lt", "__year", "__month", "__day")


class DeclaredLookupsMixin(admin.ModelAdmin):
    """Lets a list be filtered only as ``list_filter`` and ``date_hierarchy`` say; 400 for any other lookup.

    Django admits every lookup on a field of the model itself: ``?token__regex=^a`` would read a hidden column letter by
    letter.
    """

    def lookup_allowed(self, lookup: str, value: Any, request: HttpRequest | None = None) -> bool:
        declared: set[Any] = {self.date_hierarchy}
        for each in self.get_list_filter(request) if request else self.list_filter:
            if isinstance(each, type) and issubclass(each, admin.SimpleListFilter):
                declared.add(each.parameter_name)
            else:
                declared.add(each[0] if isinstance(each, (list, tuple)) else each)
        return lookup in {f"{name}{kind}" for name in declared if name for kind in FILTER_LOOKUPS}

    def get_changelist_instance(self, request: HttpRequest) -> Any:
        try:
            return super().get_changelist_instance(request)
        except (ValueError, OverflowError, DataError) as error:
            # such as NUL on PostgreSQL, a number above 64 bits on SQLite, the year 9999: Django answers these with 500
            raise IncorrectLookupParameters from error


class ReadOnlyMixin(admin.options.BaseModelAdmin):
    """Neither adds nor changes rows, and deletes them only where they are ``deletable``."""

    deletable = False

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return self.deletable and super().has_delete_permission(request, obj)


class ReadOnlyAdmin(ReadOnlyMixin, DeclaredLookupsMixin):
    """A page of rows that staff only look at."""

    list_per_page = 50


class UserForm(UserChangeForm):
    """Validate ``reasoning.*`` values; the error names the allowed ones. Spec 001 ERR-001."""

    def clean_reasoning(self) -> dict[str, Any]:
        layer = self.cleaned_data["reasoning"] or {}
        if not isinstance(layer, dict):
            raise forms.ValidationError(_('Enter a JSON object, such as {"reasoning.effort": "low"}.'))
        try:
            return {key: parse_setting(key, value) for key, value in layer.items()}
        except SettingError as error:
            raise forms.ValidationError(error_text(error)) from error


class UserPasswordForm(AdminPasswordChangeForm):
    """Sets a password or removes it. Django calls the validators, which end tokens, for a new password only."""

    def save(self, commit: bool = True) -> User:
        user: User = super().save(commit)
        if not user.has_usable_password():
            tokens.revoke_all(user)
        return user


@admin.register(User)
class UserAdmin(DeclaredLookupsMixin, auth_admin.UserAdmin):
    """Django's user admin with the reasoning settings and without privilege escalation.

    Only superusers grant privileges. Staff change only users who have none: setting somebody's password is as good as
    having their privileges.
    """

    form = UserForm
    change_password_form = UserPasswordForm
    fieldsets = (
        *(auth_admin.UserAdmin.fieldsets or ()),
        (_("Reasoning"), {"fields": ("show_reasoning", "reasoning")}),
        (_("Appearance"), {"fields": ("theme", "language")}),
    )

    def has_change_permission(self, request: HttpRequest, obj: User | None = None) -> bool:
        return super().has_change_permission(request, obj) and may_manage(request, obj)

    def has_delete_permission(self, request: HttpRequest, obj: User | None = None) -> bool:
        return super().has_delete_permission(request, obj) and may_manage(request, obj)

    def get_deleted_objects(self, objs: Any, request: HttpRequest) -> Any:
        """Return what the confirmation page shows: counts only, since titles and texts of users are private.

        Only superusers delete users who own something.
        """
        # Not by super(): it loads every row, with its texts, to name it.
        users = User.objects.filter(pk__in=[user.pk for user in objs])
        owned = count_owned(users)
        missing: set[Any] = set()
        if not request.user.is_superuser:
            missing = {model._meta.verbose_name_plural for model in owned}
            if not all(self.has_delete_permission(request, user) for user in users):
                missing.add(User._meta.verbose_name)
        counts = {model._meta.verbose_name_plural: count for model, count in owned.items()}
        return [str(user) for user in users], {User._meta.verbose_name_plural: len(users)} | counts, missing, []

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        fields = super().get_readonly_fields(request, obj)
        # also where the form is posted by hand: read-only fields are not read from it
        return fields if request.user.is_superuser else (*fields, *PRIVILEGE_FIELDS)


def count_owned(users: QuerySet[User]) -> dict[type[Model], int]:
    """Return how many rows of each model are deleted with these users."""
    counts: dict[type[Model], int] = {}
    pending: list[QuerySet[Any]] = [users]
    for rows in pending:  # which grows meanwhile
        for relation in rows.model._meta.related_objects:
            model = relation.related_model
            if relation.on_delete is CASCADE and model not in counts:
                owned = model._base_manager.filter(**{f"{relation.field.name}__in": rows.values("pk")})
                counts[model] = owned.count()
                pending.append(owned)
    return {model: count for model, count in counts.items() if count}


def may_manage(request: HttpRequest, user: User | None) -> bool:
    """Return whether the requesting administrator may change or delete this user."""
    if user is None or request.user.is_superuser:
        return True
    return not (user.is_staff or user.is_superuser or user.user_permissions.exists() or user.groups.exists())


@admin.register(AccessToken)
class AccessTokenAdmin(ReadOnlyAdmin):
    """Lists access tokens without their digests; deleting one revokes it."""

    deletable = True
    list_display = ("user", "name", "created_at", "last_used_at")
    fields = ("user", "name", "created_at", "last_used_at")
    list_select_related = ("user",)
    search_fields = ("user__username", "name")

    def delete_model(self, request: HttpRequest, obj: AccessToken) -> None:
        tokens.revoke(obj, by=request_user(request))

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[AccessToken]) -> None:
        # one by one: each revocation is audited
        for token in queryset:
            self.delete_model(request, token)


@admin.register(ReasoningProfile)
class ReasoningProfileAdmin(ReadOnlyAdmin):
    """Lists the profiles that users saved with ``/profile save``."""

    deletable = True
    list_display = ("owner", "name", "values")
    fields = ("owner", "name", "values")
    list_select_related = ("owner",)
    search_fields = ("owner__username", "name")


class ActionFilter(admin.SimpleListFilter):
    """Filters the audit trail by action, with readable labels."""

    title = _("action")
    parameter_name = "action"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, Any]]:
        return list(AuditEntry.Action.choices)

    def queryset(self, request: HttpRequest, queryset: QuerySet[AuditEntry]) -> QuerySet[AuditEntry]:
        return queryset.filter(action=self.value()) if self.value() else queryset


@admin.register(AuditEntry)
class AuditEntryAdmin(ReadOnlyAdmin):
    """The audit trail: read-only."""

    list_display = ("created_at", "username", "action_label", "conversation")
    list_filter = (ActionFilter, "created_at")
    search_fields = ("username",)
    date_hierarchy = "created_at"
    fields = list_display

    @admin.display(description=_("action"), ordering="action")
    def action_label(self, entry: AuditEntry) -> str:
        return str(dict(AuditEntry.Action.choices).get(entry.action, entry.action))
