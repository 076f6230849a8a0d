"""The ΔBLEU protocol: units of segments, pairs of systems, rated outputs."""
