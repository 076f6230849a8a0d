"""Generate text in the simulated world: express acts from a seed."""

from __future__ import annotations

from bisect import bisect
from dataclasses import dataclass
from functools import lru_cache
from random import Random
from typing import TYPE_CHECKING, Final

from trubleu.simulate import grammar
from trubleu.simulate.grammar import PHRASES, Choice, Concept, Kind, Sentence

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from trubleu.simulate.reader import Reading


_ZIPF: Final = 0.9  # Zipf exponent of topic and concept frequencies
_SAME: Final = 0.85  # share of responses that name the same thing, if they name one of its kind
_OPENER, _TAIL, _MORE = 0.3, 0.15, 0.28  # share of responses with an opener, a tail, or a second sentence
_DULL_OF_TOPIC: Final = 0.3  # share of dull responses that still name something
_WITHOUT_CONTEXT, _GREETING = 0.25, 0.3
_FITS_WELL: Final = 0.8

_USUAL: Final = (("good", 0.42), ("dull", 0.25), ("general", 0.08), ("telling", 0.05), ("wrong act", 0.1),
                 ("off topic", 0.07), ("near parrot", 0.03))  # fmt: skip
_FAULTS: Final = (("dull", 0.3), ("off topic", 0.3), ("wrong act", 0.25), ("near parrot", 0.15))


@dataclass(slots=True)
class Scene:
    """The state of a conversation: the topic, the act of the message, and the concepts named so far, by kind."""

    topic: str
    act: str
    named: dict[Kind, Concept]
    focus: Kind | None = None


class Speaker:
    """Expresses acts in words, determined by the world's seed and the draws.

    Parameters
    ----------
    world
        The seed of the world, which decides how frequent topics and meanings are.
    draws
        Of everything else; only its ``random`` is used, which is the same in every version of Python.
    """

    def __init__(self, world: int, draws: Random) -> None:
        self._popular = _popularity(world)
        self._draw: Callable[[], float] = draws.random

    def scene(self) -> Scene:
        """Draw a topic and an act for a message."""
        act = _MESSAGE_ACTS[int(self._draw() * len(_MESSAGE_ACTS))]
        return Scene(self._popular.topic(self._draw()), act, {})

    def scene_of(self, message: Reading) -> Scene:
        """Return the scene of a parsed message; missing parts are drawn."""
        scene = self.scene()
        if message.topic is not None:
            scene.topic = message.topic
        acts = sorted(act for act in message.acts if act in PHRASES.messages)
        if acts:
            scene.act = acts[0]
        for concept in reversed(message.concepts):
            if concept.topic in (None, scene.topic):
                scene.named[concept.kind] = concept
        scene.focus = _focus(scene)
        return scene

    def conversation(self, *, good: bool) -> tuple[tuple[str, ...], str, str]:
        """Generate a context, a message and a response: a good one, or a typical one."""
        scene = self.scene()
        context, message = self.context(scene), self.message(scene)
        return context, message, self.good(scene) if good else self.response(scene, self._drawn(_USUAL))

    def context(self, scene: Scene) -> tuple[str, ...]:
        """Generate the turns before the message, if any."""
        draw = self._draw()
        if draw < _WITHOUT_CONTEXT:
            return ()
        if draw < _WITHOUT_CONTEXT + _GREETING:
            return (self._said(self._chosen(grammar.greetings()), scene, same=0.0),)
        focus: Kind = "thing" if self._draw() < 0.5 else "doing"
        return (self._with_fillers(self._said(self._chosen(grammar.details()[focus]), scene, same=0.0), scene),)

    def message(self, scene: Scene) -> str:
        """Generate the message of a scene, and record the concepts it names."""
        sentence = self._chosen(grammar.messages()[scene.act])
        text = self._said(sentence, scene, same=0.0, remember=True)
        scene.focus = _focus(scene)
        if self._draw() < _MORE:
            text = f"{self._detail(scene, same=1.0)} {text}"
        return self._with_fillers(text, scene)

    def faulty(self, scene: Scene) -> str:
        """Generate a bad response: dull, off-topic, with an unfitting act, or repeating the message."""
        return self.response(scene, self._drawn(_FAULTS))

    def good(self, scene: Scene) -> str:
        """Generate a good response: with a fitting act, about the topic of the message."""
        return self._with_fillers(self._fitting(scene, same=1.0), scene)

    def response(self, scene: Scene, sort: str) -> str:
        """Generate a response of a given kind."""
        match sort:
            case "good":
                text = self._fitting(scene, same=_SAME)
            case "general":
                acts = _FITTING[scene.act]
                act = acts[int(self._draw() * len(acts))]
                text = self._said(self._chosen(grammar.responses()[act][None]), scene, same=0.0)
            case "dull":
                focus = scene.focus if self._draw() < _DULL_OF_TOPIC else None
                text = self._said(self._chosen(grammar.responses()["be dull"][focus]), scene, same=_SAME)
            case "telling":
                text = self._detail(scene, same=_SAME)
            case "wrong act":
                text = self._said(self._topical(_UNFITTING[scene.act], scene), scene, same=_SAME)
            case "off topic":
                other = self._elsewhere(scene)
                text = self._said(self._topical(_RESPONSE_ACTS, other), other, same=0.0)
            case _:
                text = self._said(self._chosen(grammar.messages()[scene.act]), scene, same=1.0)
        return self._with_fillers(text, scene)

    def _fitting(self, scene: Scene, *, same: float) -> str:
        text = self._said(self._topical(_FITTING[scene.act], scene), scene, same=same)
        return f"{text} {self._detail(scene, same=same)}" if self._draw() < _MORE else text

    def _elsewhere(self, scene: Scene) -> Scene:
        other = self.scene()
        while other.topic == scene.topic:
            other = self.scene()
        return other

    def _topical(self, acts: Sequence[str], scene: Scene) -> Sentence:
        """Draw a sentence of one of some acts that is about the scene's topic."""
        act = acts[int(self._draw() * len(acts))]
        return self._chosen(grammar.responses()[act][scene.focus or "thing"])

    def _detail(self, scene: Scene, *, same: float) -> str:
        return self._said(self._chosen(grammar.details()[scene.focus or "thing"]), scene, same=same)

    def _with_fillers(self, text: str, scene: Scene) -> str:
        if self._draw() < _OPENER:
            text = f"{self._said(self._chosen(grammar.openers()), scene, same=0.0)} {text}"
        if self._draw() < _TAIL:
            text = f"{text} {self._said(self._chosen(grammar.tails()), scene, same=0.0)}"
        return text

    def _said(self, sentence: Sentence, scene: Scene, *, same: float, remember: bool = False) -> str:
        if not sentence.slots:
            return sentence.text
        draw, popular = self._draw, self._popular
        words = []
        for slot in sentence.slots:
            kind = slot.kind
            concept = scene.named.get(kind) if kind == scene.focus and draw() < same else None
            if concept is None:
                concept = popular.concept(scene.topic, kind, draw())
                if remember:
                    scene.named[kind] = concept
            ways = concept.ways
            # The product of two draws favours small values, so the first expression is the most frequent.
            words.append(ways[int(draw() * draw() * len(ways))][slot.form])
        return sentence.text % tuple(words)

    def _chosen(self, choice: Choice) -> Sentence:
        return choice.sentences[bisect(choice.up_to, self._draw())]

    def _drawn(self, shares: tuple[tuple[str, float], ...]) -> str:
        draw = self._draw()
        for name, share in shares:
            draw -= share
            if draw < 0:
                return name
        return shares[0][0]


class _Popularity:
    """Frequencies of topics and concepts: Zipf's law, in a seeded order."""

    def __init__(self, seed: int) -> None:
        draw = Random(f"popularity/{seed}").random  # noqa: S311 - no secret
        topics = grammar.topics()
        self._topics = sorted(topics, key=lambda _: draw())
        self._topics_up_to = _zipf(len(self._topics))
        self._concepts: dict[tuple[str, Kind], tuple[list[Concept], tuple[float, ...]]] = {}
        shuffled = {kind: sorted(some, key=lambda _: draw()) for kind, some in grammar.general().items()}
        for topic, kinds in topics.items():
            for kind, some in kinds.items():
                self._concepts[topic, kind] = (sorted(some, key=lambda _: draw()), _zipf(len(some)))
            for kind, everything in shuffled.items():
                self._concepts[topic, kind] = (everything, _zipf(len(everything)))

    def topic(self, draw: float) -> str:
        return self._topics[bisect(self._topics_up_to, draw)]

    def concept(self, topic: str, kind: Kind, draw: float) -> Concept:
        some, up_to = self._concepts[topic, kind]
        return some[bisect(up_to, draw)]


@lru_cache(maxsize=8)
def _popularity(seed: int) -> _Popularity:
    return _Popularity(seed)


def _focus(scene: Scene) -> Kind | None:
    kinds: tuple[Kind, ...] = ("thing", "doing")
    return next((kind for kind in kinds if kind in scene.named), None)


def _zipf(count: int) -> tuple[float, ...]:
    return grammar.up_to(rank**-_ZIPF for rank in range(1, count + 1))


_MESSAGE_ACTS: Final = tuple(PHRASES.messages)
_RESPONSE_ACTS: Final = tuple(act for act in PHRASES.responses if act != "be dull")
_FITTING: Final = {
    asked: tuple(act for act in _RESPONSE_ACTS if fits.get(act, 0) >= _FITS_WELL) for asked, fits in PHRASES.fit.items()
}
_UNFITTING: Final = {
    asked: tuple(act for act in _RESPONSE_ACTS if fits.get(act, 0) < 0.5) for asked, fits in PHRASES.fit.items()
}
