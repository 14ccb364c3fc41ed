"""Drop SQLite's search indexes, so that words in Chinese, Japanese, Thai and Korean text are found.

Tables and triggers are made again after every migrate, by ``chat.conversations.search_index`` and
``chat.filings.search_index``. The columns of PostgreSQL follow in 0037.
"""

from django.db import migrations

TRIGGERS = [
    *(f"chat_talk_fts_{event}" for event in ("insert", "delete", "update", "title", "gone")),
    *(f"chat_passage_fts_{event}" for event in ("insert", "delete", "update")),
]
SQLITE = (
    *(f"DROP TRIGGER IF EXISTS {name}" for name in TRIGGERS),
    "DROP TABLE IF EXISTS chat_talk_fts",
    "DROP TABLE IF EXISTS chat_passage_fts",
)


def build(apps, schema_editor):
    if schema_editor.connection.vendor == "sqlite":
        for statement in SQLITE:
            schema_editor.execute(statement)


class Migration(migrations.Migration):
    dependencies = [("chat", "0033_share_title")]

    operations = [migrations.RunPython(build, migrations.RunPython.noop)]
