"""Real human judgements: do metrics agree with people? Run ``python -m benchmarks.real``."""
