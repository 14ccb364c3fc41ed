"""Give passages their full-text column on PostgreSQL. SQLite's index is made after every migrate, by chat.filings.search_index."""

from django.db import migrations

ADD = (
    "ALTER TABLE chat_passage ADD COLUMN search_vector tsvector GENERATED ALWAYS AS ("
    "setweight(to_tsvector('english', context), 'A') || setweight(to_tsvector('english', text), 'D')) STORED",
    "CREATE INDEX chat_passage_search ON chat_passage USING gin (search_vector)",
)
REMOVE = ("ALTER TABLE chat_passage DROP COLUMN search_vector",)


def _run(statements):
    def run(apps, schema_editor):
        if schema_editor.connection.vendor == "postgresql":
            for statement in statements:
                schema_editor.execute(statement)

    return run


class Migration(migrations.Migration):
    dependencies = [("chat", "0001_initial")]

    operations = [migrations.RunPython(_run(ADD), _run(REMOVE))]
