"""Pictures of the page, of two states of the source in one run: ``make snapshots``. Ui bar V1."""
