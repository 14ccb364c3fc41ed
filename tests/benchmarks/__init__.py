"""The benchmarks of the project: figures taken in one run, printed."""
