"""Drop SQLite's triggers of document passages; those that are made after the migration read collections by an index."""

from django.db import migrations


def drop(apps, schema_editor):
    if schema_editor.connection.vendor == "sqlite":
        for event in ("insert", "delete", "update"):
            schema_editor.execute(f"DROP TRIGGER IF EXISTS chat_documentpassage_fts_{event}")


class Migration(migrations.Migration):
    dependencies = [("chat", "0050_page_pictures")]

    operations = [migrations.RunPython(drop, migrations.RunPython.noop)]
