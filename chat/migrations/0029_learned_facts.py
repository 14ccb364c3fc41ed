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
            "learnedfacts", "refuses_tools", models.BooleanField(default=False, verbose_name="refuses tools")
        ),
        migrations.AddField(
            "learnedfacts",
            "insists_on_reasoning",
            models.BooleanField(default=False, verbose_name="wants the thinking of its tool calls back"),
        ),
    ]
