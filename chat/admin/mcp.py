"""MCP servers and their tools: staff allow each tool as its server describes it, and look at what has changed since."""

from __future__ import annotations

import hashlib
import json
from typing import Any

from asgiref.sync import async_to_sync
from django import forms
from django.conf import settings
from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import get_object_or_404, redirect
from django.urls import path, reverse
from django.utils.crypto import constant_time_compare
from django.utils.decorators import method_decorator
from django.utils.html import format_html
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_POST

from accounts.admin import DeclaredLookupsMixin, ReadOnlyMixin
from chat.admin.base import key_refusal
from chat.mcp.errors import McpError
from chat.mcp.pinning import difference, shown
from chat.mcp.servers import offered, record_listing
from chat.models import McpServer, McpTool
from chat.providers.address import InvalidAddressError, check_address
from chat.texts.error_texts import address_text

SIGN_IN = "mcp_sign_in"  # in the session: the state of the flow, and the server
STATES = {
    "new": gettext_lazy("new: not allowed yet"),
    "allowed": gettext_lazy("allowed"),
    "off": gettext_lazy("off"),
    "changed": gettext_lazy("changed since it was allowed: off"),
    "gone": gettext_lazy("not listed any more: off"),
}


class McpServerForm(forms.ModelForm):
    """An address or a command, and a token that the operator has bound to the host."""

    command = forms.ChoiceField(label=gettext_lazy("Command"), required=False)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if "command" in self.fields:  # a form that may only be looked at has no fields
            field: Any = self.fields["command"]
            field.choices = [("", "-"), *((name, name) for name in settings.MCP_COMMANDS)]
            field.help_text = McpServer._meta.get_field("command").help_text

    def clean_url(self) -> str:
        url = str(self.cleaned_data["url"])
        try:
            return check_address(url) if url else ""
        except InvalidAddressError as error:
            raise forms.ValidationError(address_text(error.problem)) from error

    def clean(self) -> dict[str, Any]:
        found = super().clean() or self.cleaned_data
        if "url" in found and bool(found["url"]) == bool(found.get("command")):
            self.add_error("url", _("An address or a command is needed, and not both."))
        if found.get("url") and (refusal := key_refusal(found.get("api_key_env", ""), found["url"])):
            self.add_error("api_key_env", refusal)
        return found


class McpToolInline(ReadOnlyMixin, admin.TabularInline):
    """The tools of a server, each with its own page."""

    model = McpTool
    fields = ("page", "state_in_words", "requires_approval", "problem")
    readonly_fields = fields
    verbose_name_plural = gettext_lazy("tools")

    @admin.display(description=gettext_lazy("name"))
    def page(self, tool: McpTool) -> str:
        return format_html('<a href="{}">{}</a>', reverse("admin:chat_mcptool_change", args=[tool.pk]), tool.name)

    @admin.display(description=gettext_lazy("state"))
    def state_in_words(self, tool: McpTool) -> str:
        return str(STATES[tool.state])


@admin.register(McpServer)
class McpServerAdmin(DeclaredLookupsMixin):
    """Servers, with a button that lists their tools."""

    form = McpServerForm
    change_form_template = "admin/chat/mcpserver/change_form.html"
    list_display = ("name", "url", "command", "is_enabled", "listed_at")
    fields = ("name", "url", "command", "api_key_env", "client_id", "groups", "is_enabled", "listed_at")
    readonly_fields = ("listed_at",)
    filter_horizontal = ("groups",)
    inlines = (McpToolInline,)

    def get_urls(self) -> list[Any]:
        own = self.admin_site.admin_view
        return [
            path("<int:pk>/list/", own(self.list_view), name="chat_mcpserver_list"),
            path("<int:pk>/sign-in/", own(self.sign_in_view), name="chat_mcpserver_sign_in"),
            path("signed-in/", own(self.signed_in_view), name="chat_mcpserver_signed_in"),
            *super().get_urls(),
        ]

    def changeable(self, request: HttpRequest, pk: int) -> McpServer:
        """Return the server if this person may change it. Raises Http404 and PermissionDenied."""
        server = get_object_or_404(McpServer, pk=pk)
        if not self.has_change_permission(request, server):
            raise PermissionDenied
        return server

    @method_decorator(require_POST)
    def sign_in_view(self, request: HttpRequest, pk: int) -> HttpResponse:
        """Begin OAuth with the server: go to the page where the person signs in."""
        from chat.mcp import sign_in  # noqa: PLC0415 - 18 MB that servers without MCP save

        server = self.changeable(request, pk)
        back = request.build_absolute_uri(reverse("admin:chat_mcpserver_signed_in"))
        document = request.build_absolute_uri(reverse("chat:mcp_client")) if request.is_secure() else ""
        try:
            address = async_to_sync(sign_in.begin)(server, redirect_url=back, metadata_url=document)
        except McpError as error:
            messages.error(request, _("The server could not be used: %(reason)s") % {"reason": error})
            address = ""
        if not address:
            return redirect("admin:chat_mcpserver_change", server.pk)
        # Only the session that started the sign-in may finish it.
        request.session[SIGN_IN] = [sign_in.state_of(address), server.pk]
        return HttpResponseRedirect(address)

    def signed_in_view(self, request: HttpRequest) -> HttpResponse:
        """Come back from the authorization server."""
        from chat.mcp import sign_in  # noqa: PLC0415 - as above

        state, pk = request.session.pop(SIGN_IN, ("", 0))
        server = self.changeable(request, pk)
        code = request.GET.get("code", "")
        if not state or not constant_time_compare(state, request.GET.get("state", "")) or not code:
            reason = request.GET.get("error", "")[:100] or _("the answer is not to what was asked")
            messages.error(request, _("Not signed in: %(reason)s") % {"reason": reason})
        else:
            sign_in.answer(state, code, request.GET.get("iss"))
            messages.success(request, _("Signed in. The tools are listed as soon as the server answers."))
        return redirect("admin:chat_mcpserver_change", server.pk)

    @method_decorator(require_POST)
    def list_view(self, request: HttpRequest, pk: int) -> HttpResponse:
        """Ask the server for its tools. What is new or has changed waits to be looked at."""
        from chat.mcp import session  # noqa: PLC0415 - 18 MB that servers without MCP save

        server = self.changeable(request, pk)
        try:
            record_listing(server, async_to_sync(session.list_tools)(server))
        except McpError as error:
            messages.error(request, _("The server could not be used: %(reason)s") % {"reason": error})
        else:
            waiting = sum(tool.state in ("new", "changed") for tool in server.tools.all())
            words = _("Listed: %(tools)s tools, %(waiting)s of them to be looked at.")
            messages.success(request, words % {"tools": server.tools.count(), "waiting": waiting})
        return redirect("admin:chat_mcpserver_change", server.pk)

    def save_model(self, request: HttpRequest, obj: McpServer, form: Any, change: bool) -> None:
        if "url" in form.changed_data:
            obj.sealed = None  # tokens of the address before, which the new one would be sent
        super().save_model(request, obj, form, change)

    def save_related(self, request: HttpRequest, form: Any, formsets: Any, change: bool) -> None:
        super().save_related(request, form, formsets, change)
        offered.refresh()

    def delete_model(self, request: HttpRequest, obj: McpServer) -> None:
        super().delete_model(request, obj)
        offered.refresh()

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[McpServer]) -> None:
        super().delete_queryset(request, queryset)
        offered.refresh()


class McpToolForm(forms.ModelForm):
    """Allows a tool as it was shown: ``seen`` is the digest of what the page has shown."""

    seen = forms.CharField(widget=forms.HiddenInput, required=False)

    class Meta:
        model = McpTool
        fields = ("is_allowed", "requires_approval")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if self.instance.pk and "seen" in self.fields:
            self.initial["seen"] = digest_of(self.instance.listed)
            # What has changed is allowed by somebody who says so, not by whoever saves the page.
            self.initial["is_allowed"] = self.instance.state == "allowed"

    def clean(self) -> dict[str, Any]:
        found = super().clean() or self.cleaned_data
        if found.get("is_allowed"):
            if self.instance.listed is None:
                self.add_error("is_allowed", _("The server doesn’t list this tool, or it can’t be offered."))
            elif found.get("seen") != digest_of(self.instance.listed):
                self.add_error("is_allowed", _("The server has changed this tool meanwhile. Look at it again."))
        return found

    def save(self, commit: bool = True) -> Any:
        tool: McpTool = super().save(commit=False)
        if tool.is_allowed:
            tool.allow()
        return super().save(commit)


@admin.register(McpTool)
class McpToolAdmin(DeclaredLookupsMixin):
    """One tool: what its server says of it, what has changed, and whether it is allowed."""

    form = McpToolForm
    list_display = ("__str__", "state_in_words", "requires_approval", "problem")
    list_select_related = ("server",)
    fields = (
        *("server", "name", "state_in_words", "problem", "changes", "description", "schemas"),
        *("is_allowed", "requires_approval", "seen"),
    )
    readonly_fields = ("server", "name", "state_in_words", "problem", "changes", "description", "schemas")

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    @admin.display(description=gettext_lazy("state"))
    def state_in_words(self, tool: McpTool) -> str:
        return str(STATES[tool.state])

    @admin.display(description=gettext_lazy("what has changed"))
    def changes(self, tool: McpTool) -> str:
        if tool.state != "changed":
            return "-"
        return format_html("<pre>{}</pre>", difference(tool.pinned or {}, tool.listed or {}))

    @admin.display(description=gettext_lazy("description"))
    def description(self, tool: McpTool) -> str:
        return shown((tool.listed or tool.pinned or {}).get("description", ""))

    @admin.display(description=gettext_lazy("schemas"))
    def schemas(self, tool: McpTool) -> str:
        listed = tool.listed or tool.pinned or {}
        schemas = {name: listed.get(name) for name in ("inputSchema", "outputSchema")}
        return format_html("<pre>{}</pre>", shown(schemas))

    def save_model(self, request: HttpRequest, obj: McpTool, form: Any, change: bool) -> None:
        super().save_model(request, obj, form, change)
        offered.refresh()

    def response_post_save_change(self, request: HttpRequest, obj: McpTool) -> HttpResponseRedirect:
        return HttpResponseRedirect(reverse("admin:chat_mcpserver_change", args=[obj.server_id]))


def digest_of(definition: Any) -> str:
    return hashlib.sha256(json.dumps(definition, sort_keys=True).encode()).hexdigest()
