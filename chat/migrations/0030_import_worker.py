from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("chat", "0029_learned_facts")]

    operations = [
        migrations.AddField("conversationimport", "worker", models.CharField(default="", max_length=120)),
    ]
