"""What the status page shows staff: whether this server works now, what it does, and how its model services do."""

from __future__ import annotations

import datetime as dt
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db import connection
from django.http import HttpRequest
from django.utils import timezone
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from chat.eventlog import leases
from chat.models import SiteSettings
from chat.observability import metrics
from chat.pages.health import run_checks
from chat.socket.consumer import open_pages
from chat.texts.stored_text import translate_stored
from chat.turns import statistics

CHECK_LABELS: Mapping[str, str | Promise] = {
    "database": gettext_lazy("Database"),
    "redis": gettext_lazy("Redis, which connects the processes"),
    "turns": gettext_lazy("Heartbeat of running answers"),
}


def status_values(_request: HttpRequest) -> dict[str, Any]:
    """Return the values of the template. Figures of the database are of all processes, others of this one."""
    work = statistics.workload()
    disk = shutil.disk_usage(disk_folder())
    return {
        "version": settings.VERSION,
        "started_at": dt.datetime.fromtimestamp(metrics.STARTED_AT, tz=dt.UTC),
        "checks": [(CHECK_LABELS[name], state == "ok") for name, state in run_checks().items()],
        "work": work,
        "processes": [(process_name(name), turns) for name, turns in work.processes.items()],
        "sockets": len(open_pages),
        "last_backup_at": SiteSettings.current().last_backup_at,
        "disk_free": disk.free,
        "disk_percent": round(100 * disk.free / disk.total) if disk.total else 0,
        "services": [
            (one, translate_stored(one.provider.partition("#")[0]) or _("not stated"))
            for one in statistics.services(timezone.now())
        ],
    }


def disk_folder() -> Path:
    """Return the folder whose disk counts: of the SQLite file, else of temporary files such as uploads."""
    if connection.vendor == "sqlite":
        return Path(connection.settings_dict["NAME"]).parent
    return Path(tempfile.gettempdir())


def process_name(worker: str) -> str:
    """Name a process by its machine and its number."""
    host, _colon, number = worker.rpartition(":")[0].rpartition(":")
    words = _("this process, %(number)s on %(host)s") if worker == leases.worker() else _("%(number)s on %(host)s")
    return words % {"number": number, "host": host}
