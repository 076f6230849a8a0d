"""A made world: conversations whose meaning can be read back, so that the quality of any response is known."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import TYPE_CHECKING, Final

from trubleu.data import Triple
from trubleu.errors import UsageError
from trubleu.simulate import reading
from trubleu.simulate.paraphrases import paraphrased
from trubleu.simulate.speech import Speaker

if TYPE_CHECKING:
    from collections.abc import Iterator

MOST_TRIPLES: Final = 10**9
_LARGEST_SEED: Final = 2**63 - 1


@dataclass(frozen=True, slots=True)
class World:
    """A made world, all of which follows from a seed.

    People write each other simple English about topics such as music or gardening: they ask where a thing is from, tell
    good news, complain, invite. A text is an act that is put into words with synonyms and fillers, so its meaning can
    be read back, and the quality of any response to any message is a function of the two texts.

    The seed decides what people say, and which topics and things they like most.

    Parameters
    ----------
    seed
        Not negative.

    Raises
    ------
    UsageError
        If the seed is out of bounds.

    Examples
    --------
    >>> world = World(seed=1)
    >>> world.quality("where did you get the guitar ?", "well , i got it in the vinyl shop .") > 4
    True
    >>> world.quality("where did you get the guitar ?", "i don't know .")
    1.8
    """

    seed: int = 1

    def __post_init__(self) -> None:
        if type(self.seed) is not int or not 0 <= self.seed <= _LARGEST_SEED:
            raise UsageError(f"the seed of a world must be a whole number from 0 to 2**63 - 1, not {self.seed!r}")

    def triples(self, n: int) -> Iterator[Triple]:
        """Make up conversations with responses of mixed quality, as a corpus has them.

        The first thousand are the same however many are asked for.

        Parameters
        ----------
        n
            How many.

        Raises
        ------
        UsageError
            If ``n`` is negative or more than a thousand million.
        """
        return self._conversations(n, "w", "corpus", good=False)

    def seeds(self, n: int) -> Iterator[Triple]:
        """Make up other conversations, to test on; each has a good response.

        Parameters
        ----------
        n
            How many; the first are the same however many are asked for.

        Raises
        ------
        UsageError
            If ``n`` is negative or more than a thousand million.

        Examples
        --------
        >>> world = World(seed=7)
        >>> all(world.quality(seed.message, seed.response) > 4 for seed in world.seeds(50))
        True
        """
        return self._conversations(n, "t", "seeds", good=True)

    def memories(self, n: int) -> Iterator[Triple]:
        """Make up conversations like those of `triples`, but others: what systems that repeat have read.

        A system that answers with responses of the corpus that references are mined from looks better to a metric than
        it is, so responders have read something else.

        Parameters
        ----------
        n
            How many; the first are the same however many are asked for.

        Raises
        ------
        UsageError
            If ``n`` is negative or more than a thousand million.
        """
        return self._conversations(n, "m", "memories", good=False)

    def quality(self, message: str, response: str) -> float:
        """Return how good a response is to a message, from 1 (worst) to 5 (best).

        A response is read for what it does and what it speaks of, whoever wrote it. One that does what fits and speaks
        of the same thing is worth nearly 5; the right topic with an act that does not fit, about 3; a dull one about 2;
        the message said back 1.5; another topic 1.2 to 1.7; words that mean nothing hardly more than 1. Words in an
        order that the language does not have, rubbish at the end, repetitions, answer upon answer and more words than
        anybody uses cost some of it; with the whole message in it, it is at best half as good as the rest. Of the words
        themselves nothing is compared, except with the message, to tell who says it back.

        Parameters
        ----------
        message
            Any text.
        response
            Any text.

        Examples
        --------
        >>> world = World()
        >>> message = "bad news , the guitar is out of tune ."
        >>> texts = ("i am sorry to hear about the guitar .", "ok .", message, "")
        >>> [round(world.quality(message, text), 2) for text in texts]
        [4.87, 2.2, 1.5, 1.0]
        """
        return reading.quality(message, response)

    def paraphrase(self, text: str, *, seed: int = 0) -> str:
        """Say the same in other words, as far as the text can be read.

        Parameters
        ----------
        text
            Any text; words that mean nothing in this world stay as they are.
        seed
            Another one may give other words.

        Examples
        --------
        >>> World().paraphrase("i got it at the jazz club .", seed=3)
        'i got it in the blues bar .'
        """
        return paraphrased(text, Random(f"paraphrase/{self.seed}/{seed}/{text}"))  # noqa: S311 - no secret

    def _conversations(self, n: int, letter: str, purpose: str, *, good: bool) -> Iterator[Triple]:
        if type(n) is not int or not 0 <= n <= MOST_TRIPLES:
            raise UsageError(f"the number of conversations must be from 0 to {MOST_TRIPLES:,}, not {n}")
        return self._made(n, f"{letter}{self.seed}-", purpose, good=good)

    def _made(self, n: int, prefix: str, purpose: str, *, good: bool) -> Iterator[Triple]:
        speaker = Speaker(self.seed, Random(f"{purpose}/{self.seed}"))  # noqa: S311 - no secret
        for number in range(n):
            scene = speaker.scene()
            context = speaker.context(scene)
            message = speaker.message(scene)
            response = speaker.good(scene) if good else speaker.usual(scene)
            yield Triple(f"{prefix}{number}", context, message, response)
