"""Projects: groups of a user's conversations, with instructions that they share."""

from __future__ import annotations

import uuid

from django import forms
from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from accounts.views import request_user
from chat.conversations import sidebar
from chat.conversations.access import get_project
from chat.conversations.titles import masked_name
from chat.documents.choice import clean_choice, collection_choice, read_choice
from chat.models import Project
from chat.url_converters import parse_id
from chat.validation import InvalidInputError

MAX_PROJECTS = 100


class ProjectForm(forms.ModelForm):
    """A new project, or other words for one."""

    class Meta:
        model = Project
        fields = ("name", "system_prompt")

    def clean_name(self) -> str:
        name = masked_name(self.cleaned_data["name"], 80)
        if not name:  # of characters that nobody sees nothing is left
            raise forms.ValidationError(self.fields["name"].error_messages["required"])
        return name


@never_cache
@require_http_methods(["GET", "POST"])
def projects(request: HttpRequest) -> HttpResponse:
    """GET: the user's projects, and the form for a new one. POST: create it."""
    own = request_user(request).projects
    form = ProjectForm(request.POST or None, instance=Project(owner=request_user(request)))
    if request.method == "POST" and form.is_valid():
        if own.count() < MAX_PROJECTS:
            return redirect(form.save())
        form.add_error(None, _("You have %(most)s projects already; delete one first.") % {"most": MAX_PROJECTS})
    status = 400 if form.errors else 200
    return render(request, "chat/projects.html", {"projects": own.all(), "form": form}, status=status)


@never_cache
@require_http_methods(["GET", "POST"])
def project(request: HttpRequest, project_id: uuid.UUID) -> HttpResponse:
    """GET: a project and its conversations; ``?after=<id>`` continues them. POST: save it, or ``delete`` it.

    With ``reads`` the collections of its conversations are chosen.
    """
    found = get_project(request, project_id)
    if "delete" in request.POST:
        found.delete()  # its conversations stay
        messages.success(request, _("Project deleted: %(name)s") % {"name": found.name})
        return redirect("chat:projects")
    if "reads" in request.POST:
        try:
            found.collection_ids = clean_choice(found.owner_id, read_choice(request.POST))
        except InvalidInputError as error:
            raise Http404(error.message) from error
        found.save(update_fields=["collection_ids"])
        messages.success(request, _("Saved."))
        return redirect(found)
    form = ProjectForm(request.POST or None, instance=found)
    if request.method == "POST" and form.is_valid():
        messages.success(request, _("Saved."))
        return redirect(form.save())
    listed = sidebar.of_project(found, parse_id(request.GET.get("after")))
    # not the name of the form, which may have been refused
    shown = {
        "project": get_project(request, project_id),
        "form": form,
        "list": listed,
        "choice": collection_choice(found),
    }
    return render(request, "chat/project.html", shown, status=400 if form.errors else 200)
