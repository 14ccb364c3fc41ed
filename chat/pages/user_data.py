"""What a user does with all their data: export it, delete their conversations, delete their account."""

from __future__ import annotations

from asgiref.sync import sync_to_async
from django.contrib import messages
from django.contrib.auth import logout
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_GET, require_POST

from accounts.access.attempts import is_throttled
from accounts.forms import PasswordForm
from accounts.models import User
from accounts.views import request_user
from chat.conversations import actions
from chat.sharing.imports.products import product_names
from chat.turns.manager import turn_manager


@never_cache
@require_GET
def user_data(request: HttpRequest) -> HttpResponse:
    """Show what can be done with all of the user's data."""
    return data_page(request, PasswordForm(request_user(request)))


@require_POST
async def delete_conversations(request: HttpRequest) -> HttpResponse:
    """Delete all conversations of the user, if the form says ``confirm``."""
    if "confirm" not in request.POST:
        return await sync_to_async(data_page)(request, PasswordForm(request_user(request)), 400)
    # before the rows are deleted that its turns still write
    await turn_manager.stop_all(request_user(request))
    count = await sync_to_async(actions.delete_all)(request_user(request))
    text = ngettext("%(count)s conversation was deleted.", "%(count)s conversations were deleted.", count)
    await sync_to_async(messages.success)(request, text % {"count": count})
    return redirect("chat:user_data")


@sensitive_post_parameters()
@never_cache
@require_POST
async def delete_account(request: HttpRequest) -> HttpResponse:
    """Delete the user and everything that they own, if the password is right."""
    person = request_user(request)
    form = PasswordForm(person, request.POST)
    # Before the password is tried, which counts as an attempt.
    if not may_delete(person):
        return await sync_to_async(data_page)(request, PasswordForm(person), 403)
    if not await sync_to_async(form.is_valid)():
        return await sync_to_async(data_page)(request, form, 429 if is_throttled(form) else 400)
    await turn_manager.stop_all(person)
    # after the sign-out, which still writes to the user's rows
    user = await User.objects.aget(pk=person.pk)
    await sync_to_async(logout)(request)
    await sync_to_async(actions.delete_account)(user)
    await sync_to_async(messages.success)(request, _("Your account and all its data were deleted."))
    return redirect("accounts:login")


def may_delete(person: User) -> bool:
    """Return whether a user may delete their own account; a site must not lose its last administrator by accident."""
    return not (person.is_staff or person.is_superuser)


def data_page(request: HttpRequest, form: PasswordForm, status: int = 200) -> HttpResponse:
    person = request_user(request)
    shown = {
        "form": form,
        "count": actions.count_begun(person),
        "may_delete": may_delete(person),
        "products": product_names(),
    }
    return render(request, "chat/user_data.html", shown, status=status)
