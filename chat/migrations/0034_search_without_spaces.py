"""Build the search indexes anew, so that words in Chinese, Japanese, Thai and Korean text are found.

SQLite's tables and triggers are made again after every migrate, by ``chat.conversations.search_index`` and
``chat.filings.search_index``.
"""

from django.db import migrations

from chat.search_text import vector_sql

TRIGGERS = [
    *(f"chat_talk_fts_{event}" for event in ("insert", "delete", "update", "title", "gone")),
    *(f"chat_passage_fts_{event}" for event in ("insert", "delete", "update")),
]
SQLITE = (
    *(f"DROP TRIGGER IF EXISTS {name}" for name in TRIGGERS),
    "DROP TABLE IF EXISTS chat_talk_fts",
    "DROP TABLE IF EXISTS chat_passage_fts",
)
# A vector holds at most a megabyte, and a message must never fail for being long: its first part is searched.
TEXT = "left(coalesce(public->>'text', ''), 100000)"
POSTGRESQL = (
    "ALTER TABLE chat_event DROP COLUMN search_vector",
    "ALTER TABLE chat_event ADD COLUMN search_vector tsvector GENERATED ALWAYS AS ("
    f"CASE WHEN type IN ('user_message', 'assistant_message') THEN {vector_sql(TEXT)} END) STORED",
    "CREATE INDEX chat_event_search ON chat_event USING gin (search_vector)",
    "ALTER TABLE chat_passage DROP COLUMN search_vector",
    "ALTER TABLE chat_passage ADD COLUMN search_vector tsvector GENERATED ALWAYS AS ("
    f"setweight({vector_sql('context')}, 'A') || setweight({vector_sql('text')}, 'D')) STORED",
    "CREATE INDEX chat_passage_search ON chat_passage USING gin (search_vector)",
)


def build(apps, schema_editor):
    for statement in {"sqlite": SQLITE, "postgresql": POSTGRESQL}[schema_editor.connection.vendor]:
        schema_editor.execute(statement)


class Migration(migrations.Migration):
    dependencies = [("chat", "0033_share_title")]

    operations = [migrations.RunPython(build, migrations.RunPython.noop)]
