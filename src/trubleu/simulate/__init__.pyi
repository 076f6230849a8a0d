from trubleu.simulate.world import Responder as Responder
from trubleu.simulate.world import World as World
from trubleu.simulate.world import WrittenWorld as WrittenWorld
from trubleu.simulate.world import read_world as read_world
from trubleu.simulate.world import responder as responder
from trubleu.simulate.world import write_world as write_world
