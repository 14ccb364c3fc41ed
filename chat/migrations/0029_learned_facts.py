from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("chat", "0028_shortened_cards")]

    operations = [
        migrations.RenameModel("LearnedLimit", "LearnedFacts"),
        migrations.AlterModelOptions(
            "learnedfacts",
            {
                "ordering": ("provider", "model"),
                "verbose_name": "learned facts of a model",
                "verbose_name_plural": "learned facts of models",
            },
        ),
        migrations.AddField(
            "learnedfacts",
            "tools_refused_at",
            models.DateTimeField(blank=True, null=True, verbose_name="refused tools"),
        ),
        migrations.AddField(
            "learnedfacts",
            "reasoning_wanted_at",
            models.DateTimeField(
                blank=True, null=True, verbose_name="wanted the thinking of its tool calls back"
            ),
        ),
    ]
