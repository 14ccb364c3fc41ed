import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


def copy_usernames(apps, schema_editor):
    user = apps.get_model('accounts', 'User').objects.filter(pk=models.OuterRef('user'))
    apps.get_model('accounts', 'AuditEntry').objects.update(username=models.Subquery(user.values('username')))


class Migration(migrations.Migration):
    dependencies = [
        ('accounts', '0002_reasoning_profiles'),
    ]

    operations = [
        migrations.AddField(
            model_name='auditentry',
            name='username',
            field=models.CharField(default='', max_length=150, verbose_name='user name'),
            preserve_default=False,
        ),
        migrations.AlterField(
            model_name='auditentry',
            name='user',
            field=models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL),
        ),
        migrations.RunPython(copy_usernames, migrations.RunPython.noop),
    ]
