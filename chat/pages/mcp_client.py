"""The site as an OAuth client of MCP servers: the document whose address is its client id."""

from __future__ import annotations

from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.urls import reverse
from django.views.decorators.http import require_safe


@login_not_required
@require_safe
def client_document(request: HttpRequest) -> HttpResponse:
    """Return the client metadata document; anybody may read it."""
    return JsonResponse(
        {
            "client_id": request.build_absolute_uri(),
            "client_name": "Legible",
            "redirect_uris": [request.build_absolute_uri(reverse("admin:chat_mcpserver_signed_in"))],
            "grant_types": ["authorization_code", "refresh_token"],
            "response_types": ["code"],
            "token_endpoint_auth_method": "none",
            "application_type": "web",
        }
    )
