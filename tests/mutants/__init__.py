"""Small faults put into the product code, to see whether its tests notice: ``python -m tests.mutants``."""
