"""Files for running Legible: nginx, systemd, containers, and a local cluster to try."""
