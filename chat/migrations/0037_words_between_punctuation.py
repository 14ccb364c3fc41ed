"""Build PostgreSQL's search indexes anew, as ``chat.search.search_text`` divides text into words."""

from django.db import migrations

from chat.search.search_text import vector_sql

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
    if schema_editor.connection.vendor == "postgresql":
        for statement in POSTGRESQL:
            schema_editor.execute(statement)


class Migration(migrations.Migration):
    dependencies = [("chat", "0036_turn_model_label")]

    operations = [migrations.RunPython(build, migrations.RunPython.noop)]
