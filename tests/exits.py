"""The addresses of the site: which ones show something of a turn, with the Visibility that it goes through."""

# Addresses that show something of a turn, with the Visibility that it goes through.
SHOWN_BY = {
    "chat:conversation": "reasoning_settings.visibility_for, of the person and this session",
    "chat:messages": "reasoning_settings.visibility_for",
    "chat:thinking": "reasoning_settings.visibility_for, then eventlog.thinking_for",
    "chat:trace": "reasoning_settings.visibility_for; 404 without the trace",
    "chat:copy": "the answer and its sources alone, which everybody sees who sees the conversation",
    "chat:export": "reasoning_settings.visibility_for, narrowed by the choice",
    "chat:export_all": "reasoning_settings.visibility_for of each conversation",
    "chat:share": "reasoning_settings.visibility_for, for what can be chosen; no text but the title",
    "chat:share_preview": "sharing.link_visibility, as anybody",
    "chat:shared": "sharing.link_visibility, as anybody",
    "chat:shared_thinking": "sharing.link_visibility, then eventlog.thinking_for",
    "chat:shared_answer": "the answer and its sources alone, of a link that anybody may open",
    "chat:edit": "one's own question, as it was typed",
    "chat:preview": "administrators; reasoning_settings.visibility_for, all of it redacted",
    "chat:next_request": "reasoning_settings.visibility_for; tokens and reasons alone, no text",
    "chat:conversations": "search, over public halves: titles and snippets of what its person sees anyhow",
    "chat:projects": "one's own names, as they were typed, without secrets",
    "chat:project": "one's own texts, as they were typed; titles, redacted",
    "chat:home": "only where it leads",
    "chat:api_messages": "reasoning_settings.visibility_for; of a token without a session",
    "chat:api_message": "reasoning_settings.visibility_for; of a token without a session",
    "chat:mcp": "the API's envelope, of a token without a session; answer, summary and citations alone",
}
# Addresses that show nothing of a turn.
SILENT = {
    *("chat:stop", "chat:retry", "chat:continue", "chat:select", "chat:feedback", "chat:model", "chat:manage"),
    *("chat:delete", "chat:restore", "chat:keep", "chat:api_keep"),
    *("chat:decide", "chat:api_decide", "chat:api_approve"),
    *("chat:attachments", "chat:attachment_remove"),  # files of a message that is not sent yet
    "chat:attachment_encoding",  # leads back to the file
    "chat:effort",  # a setting
    "chat:mcp_client",  # of this site
    *("chat:archived", "chat:selected"),  # titles, redacted
    "chat:completions",  # commands, and the names and beginnings of prompts that a person saved
    *("chat:shares", "chat:share_revoke", "chat:import"),  # titles, redacted
    *("chat:filings", "chat:filing", "chat:external_link"),  # filings, and what an address says itself
    *("chat:api_chats", "chat:api_chat", "chat:api_settings", "chat:api_models", "chat:api_stop", "chat:api_nowhere"),
    # the user's own texts and files, as they were sent
    *("chat:queued", "chat:system_prompt", "chat:prompts", "chat:attachment", "chat:attachment_file"),
    # the user's own files and their texts, and the site's
    *("chat:documents", "chat:collection", "chat:collection_delete"),
    *("chat:document", "chat:document_file", "chat:document_page", "chat:document_delete"),
    "chat:conversation_collections",  # a setting
    *("chat:api_collections", "chat:api_collection", "chat:api_collection_documents", "chat:api_document"),
    *("chat:healthz", "chat:metrics", "chat:manifest"),
    *("chat:user_data", "chat:delete_conversations", "chat:delete_account"),  # how many conversations
}
