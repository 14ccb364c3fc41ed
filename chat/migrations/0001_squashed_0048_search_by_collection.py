"""The first 48 migrations as one, for new databases: those that hold any of them go through the others.

SQLite's search indexes are made after every migrate, by ``chat.search.fts5``; PostgreSQL's columns are added here.
"""

import chat.models.model_profile
import django.core.validators
import django.db.models.deletion
import django.utils.timezone
import uuid
from django.conf import settings
from django.db import migrations, models

from chat.search.search_text import vector_sql

# A vector holds at most a megabyte, and a message must never fail for being long: its first part is searched.
TEXT = "left(coalesce(public->>'text', ''), 100000)"
PASSAGE = f"setweight({vector_sql('context')}, 'A') || setweight({vector_sql('text')}, 'D')"
VECTORS = {
    "chat_event": f"CASE WHEN type IN ('user_message', 'assistant_message') THEN {vector_sql(TEXT)} END",
    "chat_passage": PASSAGE,
    "chat_documentpassage": PASSAGE,
}


def add_search_vectors(apps, schema_editor):
    if schema_editor.connection.vendor == "postgresql":
        for table, vector in VECTORS.items():
            schema_editor.execute(
                f"ALTER TABLE {table} ADD COLUMN search_vector tsvector GENERATED ALWAYS AS ({vector}) STORED"
            )
            schema_editor.execute(f"CREATE INDEX {table}_search ON {table} USING gin (search_vector)")


class Migration(migrations.Migration):

    initial = True

    replaces = [
        ("chat", "0001_initial"),
        ("chat", "0002_passage_search"),
        ("chat", "0003_model_profiles"),
        ("chat", "0004_leases"),
        ("chat", "0005_chat_features"),
        ("chat", "0006_turn_figures"),
        ("chat", "0007_conversation_search"),
        ("chat", "0008_stored_cards"),
        ("chat", "0009_turn_by_number"),
        ("chat", "0010_live_state"),
        ("chat", "0011_turn_retry"),
        ("chat", "0012_error_detail"),
        ("chat", "0013_share_token_digests"),
        ("chat", "0014_models_without_paths"),
        ("chat", "0015_refused_items"),
        ("chat", "0016_tool_approval"),
        ("chat", "0017_learned_limits"),
        ("chat", "0018_queue_priority"),
        ("chat", "0019_site_settings"),
        ("chat", "0020_attachments"),
        ("chat", "0021_system_prompts"),
        ("chat", "0022_prompts"),
        ("chat", "0023_projects"),
        ("chat", "0024_labels"),
        ("chat", "0025_conversation_import"),
        ("chat", "0026_error_data"),
        ("chat", "0027_wire_formats"),
        ("chat", "0028_shortened_cards"),
        ("chat", "0029_learned_facts"),
        ("chat", "0030_import_worker"),
        ("chat", "0031_turn_resumed"),
        ("chat", "0032_attachment_encoding"),
        ("chat", "0033_share_title"),
        ("chat", "0034_search_without_spaces"),
        ("chat", "0035_deleted_turns"),
        ("chat", "0036_turn_model_label"),
        ("chat", "0037_words_between_punctuation"),
        ("chat", "0038_turn_compared_with"),
        ("chat", "0039_documents"),
        ("chat", "0040_last_backup"),
        ("chat", "0041_bound_approvals"),
        ("chat", "0042_mcp_servers"),
        ("chat", "0043_evaluations"),
        ("chat", "0044_questions_of_tools"),
        ("chat", "0045_mcp_client_id"),
        ("chat", "0046_web_hosts"),
        ("chat", "0047_instructions_hold_no_secret"),
        ("chat", "0048_search_by_collection"),
    ]

    dependencies = [
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='Evaluation',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('created_at', models.DateTimeField(auto_now_add=True, verbose_name='run at')),
                ('folder', models.CharField(max_length=100, verbose_name='folder')),
                ('database', models.CharField(max_length=20, verbose_name='database')),
                ('model', models.CharField(max_length=200, verbose_name='model')),
                ('answerable', models.PositiveIntegerField(verbose_name='questions with an answer')),
                ('found', models.PositiveIntegerField(verbose_name='found in five')),
                ('quoted', models.PositiveIntegerField(verbose_name='quoted')),
                ('cited', models.PositiveIntegerField(verbose_name='cited')),
                ('unanswerable', models.PositiveIntegerField(verbose_name='questions without an answer')),
                ('refused', models.PositiveIntegerField(verbose_name='refused')),
                ('not_verbatim', models.PositiveIntegerField(verbose_name='quotations that are not verbatim')),
                ('p50_ms', models.FloatField(verbose_name='search, p50 in ms')),
                ('p95_ms', models.FloatField(verbose_name='search, p95 in ms')),
            ],
            options={
                'verbose_name': 'evaluation',
                'verbose_name_plural': 'evaluations',
                'ordering': ('-created_at', '-pk'),
            },
        ),
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
                'ordering': ('company', '-period_on'),
            },
        ),
        migrations.CreateModel(
            name='SiteSettings',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(blank=True, max_length=40, verbose_name='product name')),
                ('greeting', models.CharField(blank=True, max_length=100, verbose_name='greeting')),
                ('introduction', models.CharField(blank=True, max_length=300, verbose_name='introduction')),
                ('placeholder', models.CharField(blank=True, max_length=80, verbose_name='placeholder of the composer')),
                ('starters', models.TextField(blank=True, help_text='One question per line, at most 8. Empty: those of the demo filings, if loaded.', verbose_name='starter questions')),
                ('system_prompt', models.TextField(blank=True, help_text='Added to every request of this site, before those of the model and the conversation. A model may repeat it to anybody, so it must hold no secret.', max_length=8000, verbose_name='system prompt')),
                ('last_backup_at', models.DateTimeField(editable=False, null=True)),
                ('web_hosts', models.TextField(blank=True, db_default='', default='', help_text='A host per line, such as example.org; *.example.org for its subdomains. At most 50. Models may then ask to read pages there, with the approval of their users. Empty: they can read none.', max_length=5000, verbose_name='hosts whose web pages may be read')),
            ],
            options={
                'verbose_name': 'site settings',
                'verbose_name_plural': 'site settings',
            },
        ),
        migrations.CreateModel(
            name='Turn',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('number', models.PositiveIntegerField(verbose_name='number')),
                ('client_id', models.CharField(blank=True, max_length=64, verbose_name='client id')),
                ('is_active', models.BooleanField(default=True, verbose_name='on the selected branch')),
                ('status', models.CharField(choices=[('running', 'running'), ('completed', 'completed'), ('errored', 'failed'), ('aborted', 'stopped'), ('iteration_capped', 'stopped at the step limit'), ('interrupted', 'interrupted')], default='running', max_length=20, verbose_name='status')),
                ('error_code', models.CharField(blank=True, max_length=40, verbose_name='error code')),
                ('error_message', models.CharField(blank=True, max_length=500, verbose_name='error message')),
                ('model', models.CharField(blank=True, max_length=200, verbose_name='model')),
                ('provider', models.CharField(blank=True, max_length=300, verbose_name='provider')),
                ('input_tokens', models.PositiveIntegerField(blank=True, null=True, verbose_name='input tokens')),
                ('output_tokens', models.PositiveIntegerField(blank=True, null=True, verbose_name='output tokens')),
                ('reasoning_tokens', models.PositiveIntegerField(blank=True, null=True, verbose_name='reasoning tokens')),
                ('thinking_ms', models.PositiveIntegerField(default=0, verbose_name='thinking time in ms')),
                ('summary_source', models.CharField(blank=True, max_length=10, verbose_name='summary source')),
                ('started_at', models.DateTimeField(default=django.utils.timezone.now, verbose_name='started at')),
                ('ended_at', models.DateTimeField(blank=True, null=True, verbose_name='ended at')),
                ('context_anchor', models.JSONField(blank=True, null=True, verbose_name='context anchor')),
                ('lease_until', models.DateTimeField(blank=True, null=True, verbose_name='leased until')),
                ('worker', models.CharField(blank=True, max_length=120, verbose_name='process')),
                ('cached_tokens', models.PositiveIntegerField(blank=True, null=True, verbose_name='cached input tokens')),
                ('dropped_bullets', models.PositiveIntegerField(default=0, verbose_name='summary points dropped')),
                ('extracted_blocks', models.PositiveIntegerField(default=0, verbose_name='thoughts taken out')),
                ('first_token_ms', models.PositiveIntegerField(blank=True, null=True, verbose_name='time to first token in ms')),
                ('masked', models.PositiveIntegerField(default=0, verbose_name='places masked')),
                ('stripped_delimiters', models.PositiveIntegerField(default=0, verbose_name='delimiters stripped')),
                ('stop_requested', models.BooleanField(default=False, verbose_name='stop requested')),
                ('is_retryable', models.BooleanField(blank=True, null=True, verbose_name='may be tried again')),
                ('retry_after_s', models.PositiveIntegerField(blank=True, null=True, verbose_name='try again after s')),
                ('error_detail', models.CharField(blank=True, max_length=500, verbose_name='error detail')),
                ('call_decision', models.CharField(blank=True, editable=False, max_length=10)),
                ('waiting_call', models.CharField(blank=True, editable=False, max_length=100)),
                ('error_params', models.JSONField(blank=True, default=dict, verbose_name='error parameters')),
                ('error_reason', models.CharField(blank=True, max_length=40, verbose_name='error reason')),
                ('resumed_at', models.DateTimeField(blank=True, null=True, verbose_name='continued at')),
                ('deleted_at', models.DateTimeField(blank=True, null=True, verbose_name='deleted at')),
                ('model_label', models.CharField(blank=True, max_length=120, verbose_name='label of the model')),
                ('waiting_digest', models.CharField(blank=True, db_default='', default='', editable=False, max_length=64)),
                ('waiting_until', models.DateTimeField(blank=True, editable=False, null=True)),
                ('sealed_answers', models.BinaryField(null=True)),
                ('waiting_schema', models.JSONField(blank=True, editable=False, null=True)),
                ('compared_with', models.ForeignKey(blank=True, editable=False, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to='chat.turn')),
            ],
            options={
                'verbose_name': 'turn',
                'verbose_name_plural': 'turns',
                'ordering': ('conversation', 'started_at'),
            },
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
            name='ConversationImport',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('updated_at', models.DateTimeField(auto_now_add=True)),
                ('ended_at', models.DateTimeField(null=True)),
                ('report', models.JSONField(default=dict)),
                ('error', models.TextField()),
                ('worker', models.CharField(default='', max_length=120)),
                ('owner', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, related_name='conversation_import', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'verbose_name': 'import',
                'verbose_name_plural': 'imports',
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
        migrations.CreateModel(
            name='LearnedFacts',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('provider', models.CharField(max_length=300, verbose_name='provider')),
                ('model', models.CharField(max_length=200, verbose_name='model')),
                ('listed', models.PositiveIntegerField(blank=True, null=True, verbose_name='listed')),
                ('refused', models.PositiveIntegerField(blank=True, null=True, verbose_name='stated when it refused a request')),
                ('updated_at', models.DateTimeField(auto_now=True, verbose_name='updated at')),
                ('tools_refused_at', models.DateTimeField(blank=True, null=True, verbose_name='refused tools')),
                ('reasoning_wanted_at', models.DateTimeField(blank=True, null=True, verbose_name='wanted the thinking of its tool calls back')),
            ],
            options={
                'verbose_name': 'learned facts of a model',
                'verbose_name_plural': 'learned facts of models',
                'ordering': ('provider', 'model'),
                'constraints': [models.UniqueConstraint(fields=('provider', 'model'), name='learned_limit_once')],
            },
        ),
        migrations.CreateModel(
            name='McpServer',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(help_text='Stands before the names of its tools: name__tool.', max_length=24, unique=True, validators=[django.core.validators.RegexValidator('^[a-z][a-z0-9-]*\\Z', 'Small letters, digits and hyphens.')], verbose_name='name')),
                ('url', models.CharField(blank=True, help_text='Of its Streamable HTTP endpoint.', max_length=300, verbose_name='address')),
                ('command', models.CharField(blank=True, help_text='Instead of an address: a command of MCP_COMMANDS.', max_length=40, verbose_name='command')),
                ('api_key_env', models.CharField(blank=True, help_text='An environment variable that MODEL_KEYS lists for the host of the address.', max_length=100, verbose_name='variable of its token')),
                ('is_enabled', models.BooleanField(default=True, verbose_name='enabled')),
                ('listed_at', models.DateTimeField(editable=False, null=True, verbose_name='tools listed at')),
                ('sealed', models.BinaryField(null=True)),
                ('client_id', models.CharField(blank=True, help_text='Of OAuth, where this site was registered by hand; the variable then holds the client secret.', max_length=300, verbose_name='client id')),
                ('groups', models.ManyToManyField(blank=True, help_text='Whose members may use its tools. Empty: everybody.', to='auth.group', verbose_name='groups')),
            ],
            options={
                'verbose_name': 'MCP server',
                'verbose_name_plural': 'MCP servers',
                'ordering': ('name',),
            },
        ),
        migrations.CreateModel(
            name='McpTool',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(max_length=128, verbose_name='name')),
                ('is_allowed', models.BooleanField(default=False, verbose_name='allowed')),
                ('requires_approval', models.BooleanField(default=True, verbose_name='asks before each call')),
                ('pinned', models.JSONField(editable=False, null=True)),
                ('listed', models.JSONField(editable=False, null=True)),
                ('problem', models.CharField(blank=True, editable=False, max_length=200, verbose_name='problem')),
                ('server', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='tools', to='chat.mcpserver')),
            ],
            options={
                'verbose_name': 'tool of an MCP server',
                'verbose_name_plural': 'tools of MCP servers',
                'ordering': ('server', 'name'),
            },
        ),
        migrations.CreateModel(
            name='ModelProfile',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(help_text='How people and scripts choose it.', max_length=80, unique=True, validators=[django.core.validators.RegexValidator('^[\\w.:/-]+$', 'Letters, digits and . : / _ - only.')], verbose_name='name')),
                ('label', models.CharField(blank=True, help_text='Shown in the picker; the name if empty.', max_length=120, verbose_name='label')),
                ('base_url', models.CharField(help_text='Such as https://api.example.com/v1', max_length=300, verbose_name='address')),
                ('api', models.CharField(choices=chat.models.model_profile.api_choices, default='chat', max_length=10, verbose_name='API')),
                ('model', models.CharField(help_text='Model ID at the provider.', max_length=200, verbose_name='model')),
                ('dialect', models.CharField(blank=True, help_text='What the service takes back of its own reasoning; empty: found by address and model.', max_length=40, validators=[chat.models.model_profile.known_dialect], verbose_name='dialect')),
                ('api_key_env', models.CharField(blank=True, help_text='Name of the environment variable that holds the key; empty where none is needed.', max_length=80, validators=[django.core.validators.RegexValidator('^[A-Z_][A-Z0-9_]*$', 'The name of an environment variable.')], verbose_name='key variable')),
                ('context_limit', models.PositiveIntegerField(blank=True, help_text='In tokens.', null=True, verbose_name='context limit')),
                ('reasoning', models.JSONField(blank=True, default=dict, verbose_name='reasoning settings')),
                ('starts_in_reasoning', models.BooleanField(default=False, help_text='Output starts in reasoning, without an opening tag.', verbose_name='starts in reasoning')),
                ('is_enabled', models.BooleanField(default=True, verbose_name='offered')),
                ('is_default', models.BooleanField(default=False, verbose_name='default')),
                ('takes_images', models.BooleanField(blank=True, help_text='Whether it sees attached images; automatic: as its service is known to.', null=True, verbose_name='takes images')),
                ('system_prompt', models.TextField(blank=True, help_text='Added to every request to this model, which may repeat it to anybody: it must hold no secret.', max_length=8000, verbose_name='system prompt')),
                ('takes_tools', models.BooleanField(blank=True, help_text='Whether it is offered tools; automatic: as its service is known to accept them.', null=True, verbose_name='takes tools')),
                ('thinking_format', models.CharField(blank=True, choices=chat.models.model_profile.thinking_format_choices, default='', help_text='How its thinking is marked in its text.', max_length=40, verbose_name='thinking format')),
            ],
            options={
                'verbose_name': 'model',
                'verbose_name_plural': 'models',
                'ordering': ('name',),
                'constraints': [models.UniqueConstraint(condition=models.Q(('is_default', True)), fields=('is_default',), name='model_profile_one_default')],
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
                ('filing', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='passages', to='chat.filing')),
            ],
            options={
                'verbose_name': 'passage',
                'verbose_name_plural': 'passages',
                'ordering': ('filing', 'ordinal'),
            },
        ),
        migrations.CreateModel(
            name='Project',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('name', models.CharField(max_length=80, verbose_name='name')),
                ('system_prompt', models.TextField(blank=True, max_length=8000, verbose_name='system prompt')),
                ('created_at', models.DateTimeField(auto_now_add=True, verbose_name='created at')),
                ('collection_ids', models.JSONField(blank=True, default=None, editable=False, null=True)),
                ('owner', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='projects', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'verbose_name': 'project',
                'verbose_name_plural': 'projects',
                'ordering': ('name', 'created_at'),
            },
        ),
        migrations.CreateModel(
            name='Conversation',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('title', models.CharField(blank=True, max_length=120, verbose_name='title')),
                ('created_at', models.DateTimeField(auto_now_add=True, verbose_name='created at')),
                ('updated_at', models.DateTimeField(default=django.utils.timezone.now, verbose_name='updated at')),
                ('reasoning', models.JSONField(blank=True, default=dict, verbose_name='reasoning settings')),
                ('deleted_at', models.DateTimeField(blank=True, null=True, verbose_name='deleted at')),
                ('expires_at', models.DateTimeField(blank=True, null=True, verbose_name='expires at')),
                ('is_pinned', models.BooleanField(default=False, verbose_name='pinned')),
                ('is_renamed', models.BooleanField(default=False, verbose_name='renamed')),
                ('refused_items', models.JSONField(blank=True, default=dict, editable=False)),
                ('allowed_tools', models.JSONField(blank=True, default=list, editable=False)),
                ('system_prompt', models.TextField(blank=True, max_length=8000, verbose_name='system prompt')),
                ('archived_at', models.DateTimeField(blank=True, null=True, verbose_name='archived at')),
                ('import_id', models.CharField(blank=True, default='', editable=False, max_length=100)),
                ('collection_ids', models.JSONField(blank=True, default=None, editable=False, null=True)),
                ('owner', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='conversations', to=settings.AUTH_USER_MODEL)),
                ('profile', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to='chat.modelprofile', verbose_name='model')),
                ('project', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='conversations', to='chat.project', verbose_name='project')),
            ],
            options={
                'verbose_name': 'conversation',
                'verbose_name_plural': 'conversations',
                'ordering': ('-updated_at',),
            },
        ),
        migrations.CreateModel(
            name='Prompt',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(max_length=40, validators=[django.core.validators.RegexValidator('^[\\w.:-]+$', 'Letters, digits and . : _ - only, without spaces.')], verbose_name='name')),
                ('text', models.TextField(max_length=8000, verbose_name='text')),
                ('owner', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='prompts', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'verbose_name': 'prompt',
                'verbose_name_plural': 'prompts',
                'ordering': ('name',),
            },
        ),
        migrations.CreateModel(
            name='QueuedMessage',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('text', models.TextField(verbose_name='text')),
                ('client_id', models.CharField(blank=True, max_length=64, verbose_name='client id')),
                ('created_at', models.DateTimeField(auto_now_add=True, verbose_name='created at')),
                ('priority', models.PositiveSmallIntegerField(choices=[(0, 'send now'), (1, 'normal'), (2, 'held')], default=1, verbose_name='priority')),
                ('attachments', models.JSONField(blank=True, default=list, editable=False)),
                ('conversation', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='queue', to='chat.conversation')),
            ],
            options={
                'verbose_name': 'queued message',
                'verbose_name_plural': 'queued messages',
                'ordering': ('priority', 'id'),
            },
        ),
        migrations.CreateModel(
            name='StoredCard',
            fields=[
                ('turn', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='stored_card', serialize=False, to='chat.turn')),
                ('render_version', models.CharField(blank=True, max_length=40)),
                ('answer_html', models.JSONField(blank=True, default=dict)),
                ('context_key', models.CharField(blank=True, max_length=40)),
                ('context_tokens', models.PositiveIntegerField(default=0)),
                ('unsent_tokens', models.IntegerField(default=0)),
                ('drawn_bytes', models.PositiveIntegerField(default=0)),
                ('is_shortened', models.BooleanField(default=False)),
            ],
            options={
                'verbose_name': 'stored card',
                'verbose_name_plural': 'stored cards',
            },
        ),
        migrations.AddField(
            model_name='turn',
            name='conversation',
            field=models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='turns', to='chat.conversation'),
        ),
        migrations.AddField(
            model_name='turn',
            name='parent',
            field=models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='children', to='chat.turn'),
        ),
        migrations.CreateModel(
            name='Share',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('with_summary', models.BooleanField(default=True, verbose_name='with summary')),
                ('with_trace', models.BooleanField(default=False, verbose_name='with steps')),
                ('with_thinking', models.BooleanField(default=False, verbose_name='with thinking')),
                ('created_at', models.DateTimeField(auto_now_add=True, verbose_name='created at')),
                ('expires_at', models.DateTimeField(blank=True, null=True, verbose_name='expires at')),
                ('revoked_at', models.DateTimeField(blank=True, null=True, verbose_name='revoked at')),
                ('digest', models.CharField(editable=False, max_length=64, unique=True, verbose_name='digest')),
                ('sealed_token', models.BinaryField(null=True, verbose_name='encrypted token')),
                ('title', models.CharField(blank=True, max_length=120, verbose_name='title')),
                ('conversation', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='shares', to='chat.conversation')),
                ('last_turn', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='chat.turn')),
            ],
            options={
                'verbose_name': 'shared link',
                'verbose_name_plural': 'shared links',
                'ordering': ('-created_at',),
            },
        ),
        migrations.CreateModel(
            name='Feedback',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('is_good', models.BooleanField(verbose_name='good')),
                ('reason', models.CharField(blank=True, max_length=40, verbose_name='reason')),
                ('note', models.CharField(blank=True, max_length=1000, verbose_name='note')),
                ('created_at', models.DateTimeField(auto_now=True, verbose_name='created at')),
                ('turn', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, related_name='feedback', to='chat.turn')),
            ],
            options={
                'verbose_name': 'feedback',
                'verbose_name_plural': 'feedback',
                'ordering': ('-created_at',),
            },
        ),
        migrations.CreateModel(
            name='Event',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('seq', models.PositiveIntegerField(verbose_name='seq')),
                ('step', models.PositiveIntegerField(blank=True, null=True, verbose_name='step')),
                ('type', models.CharField(max_length=30, verbose_name='type')),
                ('schema', models.PositiveSmallIntegerField(default=1, verbose_name='schema')),
                ('public', models.JSONField(default=dict, verbose_name='public half')),
                ('sealed', models.BinaryField(blank=True, null=True, verbose_name='sealed half')),
                ('created_at', models.DateTimeField(auto_now_add=True, verbose_name='created at')),
                ('conversation', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='events', to='chat.conversation')),
                ('turn', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='events', to='chat.turn')),
            ],
            options={
                'verbose_name': 'event',
                'verbose_name_plural': 'events',
                'ordering': ('conversation', 'seq'),
            },
        ),
        migrations.CreateModel(
            name='Checkpoint',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('answer', models.TextField(blank=True, verbose_name='answer')),
                ('sealed', models.BinaryField(blank=True, null=True, verbose_name='sealed thinking')),
                ('updated_at', models.DateTimeField(auto_now=True, verbose_name='updated at')),
                ('state', models.JSONField(blank=True, default=dict, verbose_name='state')),
                ('turn', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, related_name='checkpoint', to='chat.turn')),
            ],
            options={
                'verbose_name': 'checkpoint',
                'verbose_name_plural': 'checkpoints',
            },
        ),
        migrations.CreateModel(
            name='Attachment',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('name', models.CharField(max_length=120, verbose_name='name')),
                ('media_type', models.CharField(max_length=40, verbose_name='media type')),
                ('size', models.PositiveIntegerField(verbose_name='size in bytes')),
                ('chars', models.PositiveIntegerField(default=0, verbose_name='characters of text')),
                ('is_cut', models.BooleanField(default=False, verbose_name='only the beginning of its text is used')),
                ('sealed_content', models.BinaryField()),
                ('sealed_text', models.BinaryField(null=True)),
                ('sent_at', models.DateTimeField(blank=True, null=True, verbose_name='sent at')),
                ('created_at', models.DateTimeField(auto_now_add=True, verbose_name='created at')),
                ('encoding', models.CharField(blank=True, max_length=20, verbose_name='encoding of its text')),
                ('conversation', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='attachments', to='chat.conversation')),
            ],
            options={
                'verbose_name': 'attachment',
                'verbose_name_plural': 'attachments',
                'ordering': ('created_at',),
                'indexes': [models.Index(fields=['conversation', 'sent_at'], name='attachment_by_chat')],
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
        migrations.AddConstraint(
            model_name='mcptool',
            constraint=models.UniqueConstraint(fields=('server', 'name'), name='mcp_tool_once'),
        ),
        migrations.AddConstraint(
            model_name='passage',
            constraint=models.UniqueConstraint(fields=('filing', 'anchor'), name='passage_anchor_once'),
        ),
        migrations.AddConstraint(
            model_name='passage',
            constraint=models.UniqueConstraint(fields=('filing', 'ordinal'), name='passage_ordinal_once'),
        ),
        migrations.AddIndex(
            model_name='conversation',
            index=models.Index(fields=['owner', '-updated_at'], name='conversation_by_owner'),
        ),
        migrations.AddConstraint(
            model_name='prompt',
            constraint=models.UniqueConstraint(fields=('owner', 'name'), name='prompt_once_per_owner'),
        ),
        migrations.AddConstraint(
            model_name='queuedmessage',
            constraint=models.UniqueConstraint(condition=models.Q(('client_id', ''), _negated=True), fields=('conversation', 'client_id'), name='queued_once_per_client_id'),
        ),
        migrations.AddIndex(
            model_name='turn',
            index=models.Index(fields=['conversation', 'number'], name='turn_by_number'),
        ),
        migrations.AddConstraint(
            model_name='turn',
            constraint=models.UniqueConstraint(condition=models.Q(('client_id', ''), _negated=True), fields=('conversation', 'client_id'), name='turn_once_per_client_id'),
        ),
        migrations.AddConstraint(
            model_name='turn',
            constraint=models.UniqueConstraint(condition=models.Q(('status', 'running')), fields=('conversation', 'is_active'), name='turn_one_running_per_conversation'),
        ),
        migrations.AddIndex(
            model_name='event',
            index=models.Index(fields=['turn', 'seq'], name='event_by_turn'),
        ),
        migrations.AddConstraint(
            model_name='event',
            constraint=models.UniqueConstraint(fields=('conversation', 'seq'), name='event_seq_once'),
        ),
        migrations.RunPython(add_search_vectors, migrations.RunPython.noop),
    ]
