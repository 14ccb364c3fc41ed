"""What staff see and run: conversations by their public halves, models, filings, feedback, links, and figures.

Each module registers its own pages. Nobody sees here what is sealed: thinking, raw arguments and results (product 14).
"""

from chat.admin import conversations, filings, profiles, sharing

__all__ = ["conversations", "filings", "profiles", "sharing"]
