"""Servers that are killed or asked to end, and services that are restarted: nothing acknowledged may be lost.

``python -m tests.faults --kills 50 --seed 7`` runs a long campaign by hand, ``test_kills`` short ones.
"""
