"""Metrics held against ratings or rankings of outputs, on one set or on many."""
