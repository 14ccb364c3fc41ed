"""``legible-chat``: serve, check, back up, restore and manage one data folder.

The wheel carries the apps under their own names inside ``legible_chat/app``; that folder is put on the path here. In a
checkout they lie beside this package, and ``make run`` starts the same command with the checkout as data folder.
"""

from __future__ import annotations

import os
import sys
from argparse import REMAINDER, ArgumentParser, Namespace
from collections.abc import Sequence
from pathlib import Path

import platformdirs

from legible_chat import __version__

BUNDLED_APPS = Path(__file__).resolve().parent / "app"
EXIT_USAGE = 2


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; return the exit code."""
    options = build_parser().parse_args(arguments)
    if BUNDLED_APPS.is_dir() and str(BUNDLED_APPS) not in sys.path:
        sys.path.insert(0, str(BUNDLED_APPS))
    folder = Path(
        options.data or os.environ.get("LEGIBLE_DATA") or platformdirs.user_data_path("legible-chat", appauthor=False)
    ).absolute()
    os.environ["LEGIBLE_DATA"] = str(folder)
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    os.umask(0o077)  # the database and the secrets are for their owner only
    if options.command == "serve":
        return serve(folder, options)
    if options.command != "restore" and not folder.is_dir():
        sys.stderr.write(
            f"There is no data in {folder}: `legible-chat serve` creates it, --data names another folder\n"
        )
        return EXIT_USAGE
    if options.command == "manage":
        return manage(options.arguments)
    if options.command == "check":
        return manage(["check", "--deploy", "--database", "default"]) or manage(["migrate", "--check"])
    folder.mkdir(parents=True, exist_ok=True)
    without_keys = ["--without-keys"] if options.command == "restore" and options.without_keys else []
    return manage([options.command, str(options.file), *without_keys])


def build_parser() -> ArgumentParser:
    parser = ArgumentParser(prog="legible-chat", description="A self-hosted chat server whose answers show their work.")
    parser.add_argument("--version", action="version", version=__version__)
    common = ArgumentParser(add_help=False)
    common.add_argument(
        "--data",
        metavar="DIR",
        help="folder of the settings, secrets and SQLite database; otherwise LEGIBLE_DATA, otherwise the platform's "
        "folder for data of a user",
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    serve_parser = commands.add_parser("serve", parents=[common], help="create what is missing, migrate and serve")
    serve_parser.add_argument("--host", help="address to listen on; otherwise HOST, otherwise 127.0.0.1")
    serve_parser.add_argument("--port", help="port to listen on; otherwise PORT, otherwise 8000")
    serve_parser.add_argument(
        "--demo", action="store_true", help="create the demo people and one answered question, and print their sign-in"
    )
    commands.add_parser("check", parents=[common], help="check settings, database and migrations")
    backup_parser = commands.add_parser("backup", parents=[common], help="write a backup, also while the server runs")
    backup_parser.add_argument("file", type=Path, metavar="FILE", help="the archive to create")
    restore_parser = commands.add_parser("restore", parents=[common], help="restore a backup into an empty data folder")
    restore_parser.add_argument("file", type=Path, metavar="FILE", help="the archive to read")
    restore_parser.add_argument(
        "--without-keys",
        action="store_true",
        help="restore although keys are missing; what they encrypted stays closed",
    )
    manage_parser = commands.add_parser("manage", parents=[common], help="run a management command of Django")
    manage_parser.add_argument("arguments", nargs=REMAINDER, metavar="ARGUMENT", help="the command and its arguments")
    return parser


def serve(folder: Path, options: Namespace) -> int:
    """Prepare the data folder and serve until a signal comes."""
    for name, value in (("HOST", options.host), ("PORT", options.port)):
        if value is not None:
            os.environ[name] = value
    from config import env_file  # noqa: PLC0415 - the path was set above

    own_file = os.environ.get("ENV_FILE")
    place, hint = folder, "--data names another folder"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if own_file:
            place, hint = Path(own_file), "ENV_FILE names another file"
        env_file.write(Path(own_file or folder / ".env"), with_demo=options.demo)
    except OSError as error:
        sys.stderr.write(f"Cannot write to {place}: {error.strerror}. {hint}\n")
        return EXIT_USAGE
    from config import serve as server  # noqa: PLC0415 - reads the file that was written above

    return server.start(
        [sys.executable, "-m", "legible_chat", "manage", "prepare", *(["--demo"] if options.demo else [])]
    )


def manage(arguments: Sequence[str]) -> int:
    """Run a management command; a database that can't be used is one line."""
    from config.manage import main as run_command  # noqa: PLC0415 - the path was set by main()

    return run_command(["legible-chat manage", *arguments])
