"""Synthetic data from a seed, for rehearsals and benchmarks of any size."""

from trubleu.simulate.triples import simulated_triples
from trubleu.simulate.world import Responder, World, WrittenWorld, read_world, responder, write_world

__all__ = [
    "Responder",
    "World",
    "WrittenWorld",
    "read_world",
    "responder",
    "simulated_triples",
    "write_world",
]
