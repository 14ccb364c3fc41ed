"""What is left when the server dies: a campaign of kills at random moments, and what must hold after each.

``python -m tests.faults --kills 50 --seed 7`` runs a long one by hand; ``test_kills`` a short one.
"""
