"""What people of the made world do with words, and the sentences they do it with.

In a sentence ``(a|b)`` is one or the other, ``[...]`` are the words that show the act, and ``{T}`` stands for a thing,
``{V}``, ``{D}`` and ``{G}`` for a doing (*sing*, *sang*, *singing*), ``{P}`` for a place, ``{+}`` and ``{-}`` for
describing words of the topic, ``{g}`` and ``{b}`` for those of any topic, ``{N}`` for a name and ``{W}`` for a time. A
sentence of a response without a thing, a doing, a place or a describing word of the topic fits any topic.
"""

from __future__ import annotations

from typing import Final

MESSAGES: Final = {
    "ask opinion": (
        "[what do you think (of|about)] (the|my|the new) {T} ?",
        "[do you like] (the|my|that) {T} ?",
        "[do you like] {G} (|{P}) ?",
        "[how do you find] the {T} {P} ?",
        "[what do you think (of|about)] {G} {P} ?",
        "[is it fun] to {V} (|{P}) ?",
        "[how was] the {T} (|{P}) ?",
        "is the {T} {P} [any good] ?",
        "{N} says the {T} is {+} , [what do you say] ?",
        "(everybody|everyone|{N}) likes {G} , [what about you] ?",
    ),
    "ask where": (
        "[where did you (get|find|see)] (the|your|that) {T} ?",
        "[where can i (get|find|see)] a (good|new) {T} ?",
        "[where do you (usually|like to)] {V} ?",
        "[where can i] {V} (in this town|around here) ?",
        "[do you know where] (the|your|my) {T} is ?",
        "i want to {V} , [do you know a good place] ?",
        "i need a (new|good) {T} , [where should i go] ?",
        "[where is a good place] to {V} ?",
    ),
    "ask when": (
        "[when do you need] the {T} ?",
        "[when are you going to] {V} (again|) ?",
        "[when will you] {V} {P} ?",
        "[when can i see] (the|your) {T} ?",
        "[when do you want to] {V} ?",
        "[when will] the {T} [be ready] ?",
        "[what time] will you {V} {P} ?",
        "[when are you getting] the new {T} ?",
    ),
    "invite": (
        "[do you want to] {V} (with me|with us) {W} ?",
        "[shall we] {V} (|{P}) {W} ?",
        "[would you like to] {V} {P} {W} ?",
        "we will {V} {P} {W} , [do you want to come] ?",
        "[come and see] (my|the new) {T} {W} !",
        "[are you free] {W} ? i want to show you (my|the new) {T} .",
        "[would you like to see] the {T} (with me|) {W} ?",
        "{N} and i want to {V} {W} , [will you come] ?",
    ),
    "good news": (
        "[i finally have] (the|my own) {T} , it is {g} !",
        "[guess what] , i can {V} {P} {W} !",
        "[i am so happy] with my {T} , it is {+} !",
        "[great news] , the {T} is {+} now !",
        "[it worked] , i can {V} {P} now !",
        "[i am so proud] , i {D} {P} (today|last night) !",
        "{N} gave me a new {T} , [i am so happy] !",
        "[i did it] , i {D} {P} (today|yesterday) !",
    ),
    "bad news": (
        "[bad news] , the {T} is {-} .",
        "[i have a problem with] my {T} {P} .",
        "[i am so sad] , the {T} is {-} now .",
        "[i have lost] (the|my) {T} (|{P}) .",
        "[it did not work] , i can not {V} any more .",
        "[i am so sad] , i can not {V} {P} (today|this year) .",
        "[what a bad day] , the {T} was {b} .",
        "[what a bad day] , i {D} {P} and it was {b} .",
    ),
    "complain": (
        "[i am tired of] the {T} , it is always {-} .",
        "[i do not want to] {V} {P} any more .",
        "[why is the] {T} always {-} ?",
        "[i hate] {G} {P} , it is {b} .",
        "[i hate it when] the {T} is {-} .",
        "[i am tired of] {G} {P} all day .",
        "the {T} is {-} again , [i hate that] .",
        "[i can not stand] the {T} {P} , it is {b} .",
    ),
    "ask advice": (
        "[how do i learn to] {V} (|{P}) ?",
        "[what should i do] ? the {T} is {-} .",
        "[how do i find] a good {T} ?",
        "[can you help me] with (my|the) {T} ?",
        "i have to {V} {P} {W} , [what should i do] ?",
        "[can you help me] ? i want to {V} {P} .",
        "[do you have any advice] ? i need a new {T} .",
        "[do you have any advice] for {G} ?",
    ),
    "tell a plan": (
        "[i am going to] {V} {P} {W} .",
        "[i want to start] {G} (|{P}) {W} .",
        "[i am getting] a new {T} {W} .",
        "{N} and i [are going to] {V} {P} .",
        "[i am going to get] the {T} {W} .",
        "[i am going to show] the {T} to {N} {W} .",
        "[my plan is to] {V} {P} {W} .",
        "[i am about to] {V} for the first time .",
    ),
    "ask if ever": (
        "[did you ever] {V} (|{P}) ?",
        "[have you ever tried] {G} (|{P}) ?",
        "[do you ever] {V} {P} ?",
        "[have you seen] the {T} (|{P}) yet ?",
        "[have you ever seen] (the|my) {T} ?",
        "[have you ever had] a good {T} ?",
        "did you {V} (a lot|much) [as a child] ?",
    ),
}
"""What messages do."""

DETAILS: Final = (
    "i {D} {P} (last week|yesterday|last year) .",
    "i got (the|my) {T} {P} .",
    "we often {V} {P} .",
    "(my sister|my brother|my friend|{N}) has the same {T} .",
    "{N} was {G} {P} (all day|last night) .",
    "the {T} (of my sister|of {N}|at home) is {+} too .",
    "(my mother|my father|{N}) likes {G} .",
    "{N} says the {T} {P} is {-} .",
    "it is not easy to {V} (|{P}) .",
    "there is a new {T} {P} .",
    "last year {N} and i {D} (|{P}) .",
    "the last {T} was {-} .",
)
"""Sentences that just tell something."""

GREETINGS: Final = (
    "hi {N} !",
    "hey , how are you ?",
    "good morning {N} !",
    "hello , good to see you !",
    "hey {N} , (what is new|how is it going) ?",
    "did you have a good (day|week|weekend) ?",
)
"""First turns that say nothing about a topic."""

OPENERS: Final = (
    "well ,", "haha ,", "oh ,", "to be honest ,", "hey ,", "you know ,", "honestly ,", "anyway ,", "by the way ,",
    "um ,", "hey {N} ,", "listen ,", "wow ,", "lol ,",
)  # fmt: skip
"""What may stand before a sentence and means nothing."""

TAILS: Final = ("haha", "lol", ":)", "you know ?", "right ?", "mate .", "{N} .", "though .", "xd", "honestly .")
"""What may stand after a sentence and means nothing."""

CONTRACTIONS: Final = {
    "i am": "i'm",
    "it is": "it's",
    "that is": "that's",
    "you are": "you're",
    "do not": "don't",
    "can not": "can't",
    "did not": "didn't",
    "could not": "couldn't",
    "i would": "i'd",
    "i will": "i'll",
    "i have": "i've",
    "let us": "let's",
    "have not": "haven't",
    "what is": "what's",
    "is not": "isn't",
    "we are": "we're",
    "was not": "wasn't",
    "they are": "they're",
    "there is": "there's",
    "she is": "she's",
    "he is": "he's",
    "does not": "doesn't",
    "will not": "won't",
    "would not": "wouldn't",
    "are not": "aren't",
    "you will": "you'll",
    "you would": "you'd",
}  # fmt: skip
"""Words that may be written together."""

REFERRING: Final = frozenset({"it", "one", "that", "this", "mine", "there"})
"""Words that may stand for what the message is about."""
