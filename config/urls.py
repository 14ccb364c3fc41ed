"""URLs of the site, below ``URL_PREFIX``: ``accounts/``, ``admin/``, and the chat."""

from django.conf import settings
from django.contrib import admin
from django.urls import URLPattern, URLResolver, include, path
from django.views.generic import RedirectView

from accounts.views import admin_sign_in

admin.site.site_header = admin.site.site_title = "Legible"
admin.site.site_url = None  # the template links to the chat itself

handler403 = "chat.pages.errors.permission_denied"
handler404 = "chat.pages.errors.page_not_found"
handler500 = "chat.pages.errors.server_error"
site_patterns: list[URLPattern | URLResolver] = [
    path("accounts/", include("accounts.urls")),
    path("admin/login/", admin_sign_in),
    # the admin's own page has no limit on wrong passwords
    path("admin/password_change/", RedirectView.as_view(pattern_name="accounts:password")),
    path("admin/", admin.site.urls),
    path("", include("chat.urls")),
]
# Not by Django's script prefix, which tasks and threads outside requests don't have.
urlpatterns = [path(f"{settings.URL_PREFIX}/".removeprefix("/"), include(site_patterns))]
