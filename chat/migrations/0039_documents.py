"""Add collections of documents. SQLite's search index is made after every migrate, by chat.search.fts5."""

import django.db.models.deletion
import uuid
from django.conf import settings
from django.db import migrations, models

from chat.search.search_text import vector_sql

POSTGRESQL = (
    "ALTER TABLE chat_documentpassage ADD COLUMN search_vector tsvector GENERATED ALWAYS AS ("
    f"setweight({vector_sql('context')}, 'A') || setweight({vector_sql('text')}, 'D')) STORED",
    "CREATE INDEX chat_documentpassage_search ON chat_documentpassage USING gin (search_vector)",
)


def build(apps, schema_editor):
    if schema_editor.connection.vendor == "postgresql":
        for statement in POSTGRESQL:
            schema_editor.execute(statement)


class Migration(migrations.Migration):

    dependencies = [
        ('chat', '0038_turn_compared_with'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.AddField(
            model_name='conversation',
            name='collection_ids',
            field=models.JSONField(blank=True, default=None, editable=False, null=True),
        ),
        migrations.AddField(
            model_name='project',
            name='collection_ids',
            field=models.JSONField(blank=True, default=None, editable=False, null=True),
        ),
        migrations.CreateModel(
            name='Collection',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('name', models.CharField(max_length=80, verbose_name='name')),
                ('created_at', models.DateTimeField(auto_now_add=True, verbose_name='created at')),
                ('owner', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='collections', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'verbose_name': 'collection',
                'verbose_name_plural': 'collections',
                'ordering': ('name', 'created_at'),
            },
        ),
        migrations.CreateModel(
            name='Document',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('name', models.CharField(max_length=120, verbose_name='name')),
                ('title', models.CharField(blank=True, max_length=300, verbose_name='title')),
                ('media_type', models.CharField(max_length=100, verbose_name='media type')),
                ('size', models.PositiveIntegerField(verbose_name='size in bytes')),
                ('digest', models.CharField(max_length=64, verbose_name='content digest')),
                ('pages', models.PositiveIntegerField(default=0, verbose_name='pages')),
                ('is_cut', models.BooleanField(default=False, verbose_name='only its beginning can be searched')),
                ('status', models.CharField(choices=[('waiting', 'waiting to be read'), ('reading', 'being read'), ('ready', 'ready'), ('failed', 'can’t be read')], default='waiting', max_length=10, verbose_name='status')),
                ('problem', models.CharField(blank=True, max_length=20, verbose_name='problem')),
                ('worker', models.CharField(default='', editable=False, max_length=120)),
                ('changed_at', models.DateTimeField(auto_now=True, verbose_name='changed at')),
                ('created_at', models.DateTimeField(auto_now_add=True, verbose_name='created at')),
                ('sealed_content', models.BinaryField()),
                ('collection', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='documents', to='chat.collection')),
            ],
            options={
                'verbose_name': 'document',
                'verbose_name_plural': 'documents',
                'ordering': ('name',),
            },
        ),
        migrations.CreateModel(
            name='DocumentPassage',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('ordinal', models.PositiveIntegerField(verbose_name='ordinal in the document')),
                ('section', models.CharField(blank=True, max_length=300, verbose_name='section')),
                ('page', models.PositiveIntegerField(default=0, verbose_name='page')),
                ('anchor', models.CharField(max_length=80, verbose_name='anchor')),
                ('text', models.TextField(verbose_name='text')),
                ('context', models.CharField(max_length=1000, verbose_name='search context')),
                ('document', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='passages', to='chat.document')),
            ],
            options={
                'verbose_name': 'passage of a document',
                'verbose_name_plural': 'passages of documents',
                'ordering': ('document', 'ordinal'),
            },
        ),
        migrations.AddIndex(
            model_name='document',
            index=models.Index(fields=['status', 'changed_at'], name='document_by_status'),
        ),
        migrations.AddConstraint(
            model_name='document',
            constraint=models.UniqueConstraint(fields=('collection', 'name'), name='document_name_once'),
        ),
        migrations.AddConstraint(
            model_name='documentpassage',
            constraint=models.UniqueConstraint(fields=('document', 'anchor'), name='document_anchor_once'),
        ),
        migrations.AddConstraint(
            model_name='documentpassage',
            constraint=models.UniqueConstraint(fields=('document', 'ordinal'), name='document_ordinal_once'),
        ),
        migrations.RunPython(build, migrations.RunPython.noop),
    ]
