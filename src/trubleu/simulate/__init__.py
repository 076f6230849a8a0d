"""Made-up data that follows from a seed, for rehearsals and for measuring at any size."""

from trubleu.simulate.language import Language
from trubleu.simulate.triples import TripleSimulation, simulated_triples

__all__ = ["Language", "TripleSimulation", "simulated_triples"]
