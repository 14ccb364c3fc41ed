import hashlib
import json

from cryptography.fernet import Fernet, MultiFernet
from django.conf import settings
from django.db import migrations, models


def digest_tokens(apps, schema_editor):
    """Replace tokens by digests, and keep an encrypted copy for the owner of the link: links go on working."""
    shares = apps.get_model("chat", "Share").objects.using(schema_editor.connection.alias)
    keys = [Fernet(key) for key in settings.CONTENT_KEYS]
    for key, token in shares.values_list("pk", "token").iterator():
        sealed = MultiFernet(keys).encrypt(json.dumps(token).encode()) if keys else None
        shares.filter(pk=key).update(digest=hashlib.sha256(token.encode()).hexdigest(), sealed_token=sealed)


class Migration(migrations.Migration):

    dependencies = [
        ('chat', '0012_error_detail'),
    ]

    operations = [
        migrations.AddField(
            model_name='share',
            name='digest',
            field=models.CharField(editable=False, max_length=64, null=True, verbose_name='digest'),
        ),
        migrations.AddField(
            model_name='share',
            name='sealed_token',
            field=models.BinaryField(null=True, verbose_name='encrypted token'),
        ),
        migrations.RunPython(digest_tokens, elidable=True),
        migrations.RemoveField(
            model_name='share',
            name='token',
        ),
        migrations.AlterField(
            model_name='share',
            name='digest',
            field=models.CharField(editable=False, max_length=64, unique=True, verbose_name='digest'),
        ),
    ]
