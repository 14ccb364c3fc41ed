from django.db import migrations, models
from django.db.models import OuterRef, Subquery


def copy_titles(apps, schema_editor):
    # Earlier links show what they have shown last.
    titles = apps.get_model("chat", "Conversation").objects.filter(pk=OuterRef("conversation"))
    apps.get_model("chat", "Share").objects.update(title=Subquery(titles.values("title")[:1]))


class Migration(migrations.Migration):
    dependencies = [("chat", "0032_attachment_encoding")]

    operations = [
        migrations.AddField(
            "share", "title", models.CharField(blank=True, default="", max_length=120, verbose_name="title"), preserve_default=False
        ),
        migrations.RunPython(copy_titles, migrations.RunPython.noop),
    ]
