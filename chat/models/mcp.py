"""MCP servers whose tools a site offers, and their tools as staff have looked at them."""

from __future__ import annotations

from typing import Any, Literal

from django.contrib.auth.models import Group
from django.core.validators import RegexValidator
from django.db import models
from django.utils.translation import gettext_lazy as _

ToolState = Literal["new", "allowed", "off", "changed", "gone"]


class McpServer(models.Model):
    """One server: an address, or a command that the environment allows by name. Credentials are in the environment."""

    name = models.CharField(
        _("name"),
        max_length=24,
        unique=True,
        validators=[RegexValidator(r"^[a-z][a-z0-9-]*\Z", _("Small letters, digits and hyphens."))],
        help_text=_("Stands before the names of its tools: name__tool."),
    )
    url = models.CharField(_("address"), max_length=300, blank=True, help_text=_("Of its Streamable HTTP endpoint."))
    command = models.CharField(
        _("command"), max_length=40, blank=True, help_text=_("Instead of an address: a command of MCP_COMMANDS.")
    )
    api_key_env = models.CharField(
        _("variable of its token"),
        max_length=100,
        blank=True,
        help_text=_("An environment variable that MODEL_KEYS lists for the host of the address."),
    )
    client_id = models.CharField(
        _("client id"),
        max_length=300,
        blank=True,
        help_text=_("Of OAuth, where this site was registered by hand; the variable then holds the client secret."),
    )
    groups = models.ManyToManyField(
        Group, blank=True, verbose_name=_("groups"), help_text=_("Whose members may use its tools. Empty: everybody.")
    )
    is_enabled = models.BooleanField(_("enabled"), default=True)
    listed_at = models.DateTimeField(_("tools listed at"), null=True, editable=False)
    sealed = models.BinaryField(null=True, editable=False)  # tokens of an authorization, encrypted

    class Meta:
        verbose_name = _("MCP server")
        verbose_name_plural = _("MCP servers")
        ordering = ("name",)

    def __str__(self) -> str:
        return self.name


class McpTool(models.Model):
    """A tool of a server. It is offered while the server describes it as it did when staff allowed it."""

    server = models.ForeignKey(McpServer, on_delete=models.CASCADE, related_name="tools")
    name = models.CharField(_("name"), max_length=128)
    is_allowed = models.BooleanField(_("allowed"), default=False)
    requires_approval = models.BooleanField(_("asks before each call"), default=True)
    # Description and schemas (``chat.mcp.pinning``): as staff allowed them, and as the server lists them now.
    pinned = models.JSONField(null=True, editable=False)
    listed = models.JSONField(null=True, editable=False)
    problem = models.CharField(_("problem"), max_length=200, blank=True, editable=False)  # why it can't be offered

    class Meta:
        verbose_name = _("tool of an MCP server")
        verbose_name_plural = _("tools of MCP servers")
        ordering = ("server", "name")
        constraints = (models.UniqueConstraint(fields=["server", "name"], name="mcp_tool_once"),)

    def __str__(self) -> str:
        return f"{self.server.name}__{self.name}"

    @property
    def state(self) -> ToolState:
        if self.listed is None:
            return "off" if self.problem else "gone"
        if self.pinned is None:
            return "new"
        if self.pinned != self.listed:
            return "changed"
        return "allowed" if self.is_allowed else "off"

    def allow(self) -> None:
        """Allow the tool as its server describes it now."""
        self.pinned, self.is_allowed = self.listed, True

    @property
    def definition(self) -> dict[str, Any]:
        """What staff have allowed; empty before they have."""
        return dict(self.pinned or {})
