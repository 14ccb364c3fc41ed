"""URLs of the site: ``accounts/``, ``admin/``, and the chat."""

from django.contrib import admin
from django.urls import include, path
from django.views.generic import RedirectView

from accounts.views import admin_sign_in

admin.site.site_header = admin.site.site_title = "Legible"
admin.site.site_url = None  # the template links to the chat itself

handler403 = "chat.pages.errors.permission_denied"
handler404 = "chat.pages.errors.page_not_found"
handler500 = "chat.pages.errors.server_error"
urlpatterns = [
    path("accounts/", include("accounts.urls")),
    path("admin/login/", admin_sign_in),
    # the admin's own page has no limit on wrong passwords
    path("admin/password_change/", RedirectView.as_view(pattern_name="accounts:password")),
    path("admin/", admin.site.urls),
    path("", include("chat.urls")),
]
