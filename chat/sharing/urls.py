"""URLs of exports and shared links."""

from django.urls import path

from chat.sharing import views

urlpatterns = [
    path("chats/<id:conversation_id>/export/", views.export, name="export"),
    path("chats/<id:conversation_id>/share/", views.share, name="share"),
    path("chats/<id:conversation_id>/share/preview/", views.preview, name="share_preview"),
    path("data/export/", views.export_all, name="export_all"),
    path("data/import/", views.import_file, name="import"),
    path("shares/", views.share_list, name="shares"),
    path("shares/<id:link_id>/revoke/", views.revoke, name="share_revoke"),
    path("s/<slug:token>/", views.show_shared, name="shared"),
    path("s/<slug:token>/<id:turn_id>/thinking/", views.shared_thinking, name="shared_thinking"),
    path("s/<slug:token>/<id:turn_id>/answer/", views.shared_answer, name="shared_answer"),
]
