"""``python -m legible_chat``: the command, also from a checkout."""

import sys

from legible_chat.command import main

if __name__ == "__main__":
    sys.exit(main())
