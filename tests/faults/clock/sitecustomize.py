"""A server whose clock is wrong: Python reads this when it starts, where its folder is on ``PYTHONPATH``."""

import os
from datetime import datetime, timedelta

from django.utils import timezone

AHEAD = timedelta(seconds=int(os.environ["CLOCK_AHEAD_S"]))
right = timezone.now


def now() -> datetime:
    return right() + AHEAD


timezone.now = now
