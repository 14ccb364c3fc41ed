"""Give questions and answers their full-text column on PostgreSQL. SQLite's index is made after every migrate, by chat.conversations.search_index."""

from django.db import migrations

# A vector holds at most a megabyte, and a message must never fail for being long: its first part is searched.
ADD = (
    "ALTER TABLE chat_event ADD COLUMN search_vector tsvector GENERATED ALWAYS AS ("
    "CASE WHEN type IN ('user_message', 'assistant_message')"
    " THEN to_tsvector('english', left(coalesce(public->>'text', ''), 100000)) END) STORED",
    "CREATE INDEX chat_event_search ON chat_event USING gin (search_vector)",
)
REMOVE = ("ALTER TABLE chat_event DROP COLUMN search_vector",)


def _run(statements):
    def run(apps, schema_editor):
        if schema_editor.connection.vendor == "postgresql":
            for statement in statements:
                schema_editor.execute(statement)

    return run


class Migration(migrations.Migration):
    dependencies = [("chat", "0006_turn_figures")]

    operations = [migrations.RunPython(_run(ADD), _run(REMOVE))]
