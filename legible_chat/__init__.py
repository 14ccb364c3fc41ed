"""The command ``legible-chat``. In the wheel the folder ``app`` beside this file holds the apps."""

__version__ = "0.3.0"
