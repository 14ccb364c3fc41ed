"""Imports of conversations from exports of chat products: their questions, answers, models and times.

``products`` lists what is read, with one reader for each form. A process with limits reads the files (``reader``);
``run`` stores what it finds.
"""
