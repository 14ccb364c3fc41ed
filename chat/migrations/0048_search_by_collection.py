"""Drop SQLite's indexes of passages, which are made again after the migration, by collection.

PostgreSQL reads the passages of a few documents by the index of ``document_ordinal_once``.
"""

from django.db import migrations

SQLITE = [
    statement
    for table in ("chat_passage_fts", "chat_documentpassage_fts")
    for statement in (
        *(f"DROP TRIGGER IF EXISTS {table}_{event}" for event in ("insert", "delete", "update")),
        f"DROP TABLE IF EXISTS {table}",
    )
]


def build(apps, schema_editor):
    if schema_editor.connection.vendor == "sqlite":
        for statement in SQLITE:
            schema_editor.execute(statement)


class Migration(migrations.Migration):
    dependencies = [("chat", "0047_instructions_hold_no_secret")]

    operations = [migrations.RunPython(build, migrations.RunPython.noop)]
