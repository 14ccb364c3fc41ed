import django.db.models.deletion
from django.db import migrations, models


def name_app(apps, schema_editor):
    """Permissions and the admin's history stay those of the same models."""
    _rename(apps, schema_editor, "chat", "filings")


def name_chat(apps, schema_editor):
    _rename(apps, schema_editor, "filings", "chat")


def _rename(apps, schema_editor, before, after):
    types = apps.get_model("contenttypes", "ContentType").objects.using(schema_editor.connection.alias)
    types.filter(app_label=before, model__in=("filing", "passage")).update(app_label=after)


class Migration(migrations.Migration):
    """Filings were models of chat; their tables stay as they are."""

    dependencies = [
        ("chat", "0049_filings_app"),
        ("contenttypes", "0002_remove_content_type_name"),
    ]

    operations = [
        migrations.SeparateDatabaseAndState(
            state_operations=[
                migrations.CreateModel(
                    name='Filing',
                    fields=[
                        ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                        ('slug', models.SlugField(max_length=120, unique=True, verbose_name='slug')),
                        ('company', models.CharField(max_length=200, verbose_name='company')),
                        ('cik', models.CharField(blank=True, max_length=10, verbose_name='CIK')),
                        ('form', models.CharField(max_length=30, verbose_name='form')),
                        ('filed_on', models.DateField(blank=True, null=True, verbose_name='filed on')),
                        ('period_on', models.DateField(blank=True, null=True, verbose_name='period or event date')),
                        ('signed_on', models.DateField(blank=True, null=True, verbose_name='signed on')),
                        ('accession', models.CharField(blank=True, max_length=30, verbose_name='accession number')),
                        ('source_name', models.CharField(blank=True, max_length=255, verbose_name='source file')),
                        ('digest', models.CharField(max_length=64, verbose_name='content digest')),
                        ('is_demo', models.BooleanField(default=False, verbose_name='demo data (fictional)')),
                        ('loaded_at', models.DateTimeField(auto_now=True, verbose_name='loaded at')),
                    ],
                    options={
                        'verbose_name': 'filing',
                        'verbose_name_plural': 'filings',
                        'db_table': 'chat_filing',
                        'ordering': ('company', '-period_on'),
                    },
                ),
                migrations.CreateModel(
                    name='Passage',
                    fields=[
                        ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                        ('ordinal', models.PositiveIntegerField(verbose_name='ordinal in the filing')),
                        ('section', models.CharField(max_length=80, verbose_name='section')),
                        ('section_title', models.CharField(blank=True, max_length=300, verbose_name='section title')),
                        ('heading', models.CharField(blank=True, max_length=300, verbose_name='heading')),
                        ('anchor', models.CharField(max_length=80, verbose_name='anchor')),
                        ('kind', models.CharField(default='text', max_length=10, verbose_name='kind')),
                        ('text', models.TextField(verbose_name='text')),
                        ('context', models.CharField(max_length=1000, verbose_name='search context')),
                        ('filing', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='passages', to='filings.filing')),
                    ],
                    options={
                        'verbose_name': 'passage',
                        'verbose_name_plural': 'passages',
                        'db_table': 'chat_passage',
                        'ordering': ('filing', 'ordinal'),
                        'constraints': [models.UniqueConstraint(fields=('filing', 'anchor'), name='passage_anchor_once'), models.UniqueConstraint(fields=('filing', 'ordinal'), name='passage_ordinal_once')],
                    },
                ),
            ],
        ),
        migrations.RunPython(name_app, name_chat),
    ]
