from django.db import migrations


class Migration(migrations.Migration):
    """Filings become models of an app of their own; their tables stay as they are."""

    dependencies = [
        ("chat", "0048_search_by_collection"),
    ]

    operations = [
        migrations.SeparateDatabaseAndState(
            state_operations=[
                migrations.DeleteModel(name="Passage"),
                migrations.DeleteModel(name="Filing"),
            ],
        ),
    ]
