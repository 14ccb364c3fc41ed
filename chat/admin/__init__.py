"""The staff's pages: conversations by public payloads, models, filings, feedback, links and statistics.

Each module registers its own. Nothing encrypted is shown: no thinking, raw arguments or results (product 14).
"""

from chat.admin import conversations, documents, evaluations, filings, mcp, model_profiles, sharing, site_settings

__all__ = ["conversations", "documents", "evaluations", "filings", "mcp", "model_profiles", "sharing", "site_settings"]
