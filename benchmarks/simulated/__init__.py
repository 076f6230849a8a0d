"""Checks of TruBLEU in simulated worlds, whose truth is known: ``python -m benchmarks.simulated NAME``."""
