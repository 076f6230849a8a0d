"""Made-up data that follows from a seed, for rehearsals and for measuring at any size."""

from trubleu.simulate.language import Language
from trubleu.simulate.responders import Responder, responder
from trubleu.simulate.triples import TripleSimulation, simulated_triples
from trubleu.simulate.world import World
from trubleu.simulate.world_files import WrittenWorld, read_world, write_world

__all__ = [
    "Language",
    "Responder",
    "TripleSimulation",
    "World",
    "WrittenWorld",
    "read_world",
    "responder",
    "simulated_triples",
    "write_world",
]
