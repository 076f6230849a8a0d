"""Raters: joining, progress, gold items and exclusion, and recognition after their data was erased.

The store keeps keyed checksums of external ids, so a returning rater is recognised even after erasure. With the key,
which is also in the store, a known id can be tested against the checksums, but ids cannot be recovered from them.

Only the SHA-256 of a link's token is stored, so reading the store gives no access. The log refers to raters by number
alone, so personal data can be erased while the ratings stay.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from collections import Counter
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, NamedTuple

from sqlalchemy import Connection, Row, bindparam, func, select

from trubleu.errors import UsageError, shown
from trubleu.rating.answers import lock_items, settle
from trubleu.rating.items import Item, unstorable
from trubleu.rating.secret import derived_token
from trubleu.rating.store.database import add_row, get_meta, lock_study, put_meta, secret_of
from trubleu.rating.store.schema import MODEL, assignments, items, known, meta, raters, ratings
from trubleu.rating.store.updates import RATER, TIP, add_entry, row_mac

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from trubleu.rating.config import GoldRule
    from trubleu.rating.study import Study


KEY = "identity"
CARRIED = "carried"  # entry of raters carried over from another study, identified by their pseudonyms there
_OTHERS = "identity of "
_MARK = 8
_PSEUDONYM = re.compile(r"(?:rater|model) ([1-9][0-9]{0,17}) of ([0-9a-f]{8})")


def pseudonym(number: int, study: str, entry: str = "") -> str:
    """Return a rater's name in exports: their number, and a mark of the study, as other studies have the same numbers.

    Examples
    --------
    >>> pseudonym(3, "1f2e9a0c77d1b2a4"), pseudonym(4, "1f2e9a0c77d1b2a4", MODEL)
    ('rater 3 of 1f2e9a0c', 'model 4 of 1f2e9a0c')
    """
    return f"{MODEL if entry == MODEL else 'rater'} {number} of {study[:_MARK]}"


def parse_pseudonym(name: str) -> tuple[int, str] | None:
    """Parse a pseudonym into number and mark, None if it is another name.

    Examples
    --------
    >>> parse_pseudonym("rater 3 of 1f2e9a0c"), parse_pseudonym("rater 3")
    ((3, '1f2e9a0c'), None)
    """
    found = _PSEUDONYM.fullmatch(name)
    return None if found is None else (int(found[1]), found[2])


def is_of(mark: str, study: str) -> bool:
    """Return whether a mark belongs to a study."""
    return study[:_MARK] == mark


def remember(connection: Connection, rater: int, entry: str, external: str) -> None:
    """Store the checksum of an external id, unless it belongs to another rater."""
    hashed = _hash(get_meta(connection, KEY) or "", entry, external)
    _add(connection, hashed, rater)


def recall(connection: Connection, entry: str, external: str) -> int | None:
    """Return the number of the rater with an external id, erased or not; None if unknown."""
    hashes = [_hash(key, entry, external) for key in keys(connection).values()]
    return connection.execute(select(known.c.rater).where(known.c.hash.in_(hashes)).order_by(known.c.rater)).scalar()


def keys(connection: Connection) -> dict[str, str]:
    """Return the checksum keys by the study they come from, this one first."""
    own = get_meta(connection, "study") or ""
    found = {own: get_meta(connection, KEY) or ""}
    rows = connection.execute(select(meta).where(meta.c.key.startswith(_OTHERS)).order_by(meta.c.key))
    return found | {row.key.removeprefix(_OTHERS): row.value for row in rows}


def adopt(connection: Connection, theirs: Connection, numbers: Mapping[int, int]) -> None:
    """Adopt the checksums of another study; ``numbers`` maps the raters' numbers there to those here."""
    there = keys(connection)
    for study, key in keys(theirs).items():
        if study not in there:
            put_meta(connection, f"{_OTHERS}{study}", key)
    for row in theirs.execute(select(known).order_by(known.c.hash)).all():
        _add(connection, row.hash, numbers[row.rater])


def _add(connection: Connection, hashed: str, rater: int) -> None:
    if connection.execute(select(known.c.rater).where(known.c.hash == hashed)).first() is None:
        connection.execute(known.insert().values(hash=hashed, rater=rater))


def _hash(key: str, entry: str, external: str) -> str:
    return hmac.digest(key.encode(), f"{entry}:{external}".encode(), "sha256").hex()


_LONGEST = 200
ENTRIES = ("link", "open", "prolific", "mturk", "import")


class RatersChangedError(UsageError):
    """Raters were added since the caller looked."""


@dataclass(frozen=True, slots=True)
class Rater:
    """A person or model who rates.

    Attributes
    ----------
    id
        The rater's number, the same in every table.
    label
        What the lead calls them, None after erasure.
    entry
        How they came in: ``link``, ``open``, ``prolific``, ``mturk`` or ``import``; ``model`` for a model.
    external
        Their id elsewhere, None if there is none and after erasure.
    consented_at, instructed_at
        When they agreed and when they had read the instructions, in milliseconds since 1970; None if not yet.
    practice_done
        Whether practice is behind them.
    excluded, reason
        Whether their ratings are left out, and why.
    created_at, erased_at
        When they were added, and when their identity was erased.
    answered
        How many tasks they have answered, gold items included, practice not.
    last
        The task whose answer can be taken back, None if there is none.
    break_at
        Since when they take a break, None if they do not.
    """

    id: int
    label: str | None
    entry: str
    external: str | None
    consented_at: int | None
    instructed_at: int | None
    practice_done: bool
    excluded: bool
    reason: str | None
    created_at: int
    erased_at: int | None
    answered: int
    last: int | None
    break_at: int | None

    @property
    def name(self) -> str:
        """Name for tables: the label, or ``rater NUMBER``."""
        return self.label or f"rater {self.id}"

    @property
    def is_model(self) -> bool:
        """Whether this is a model."""
        return self.entry == MODEL


@dataclass(frozen=True, slots=True)
class NewRater:
    """A rater and the token of their link, which is only known at creation."""

    rater: Rater
    token: str


_BY_HASH = select(raters).where(raters.c.token_hash == bindparam("token_hash"))
_ALL = select(raters).order_by(raters.c.id)
_BY_NUMBER = select(raters).where(raters.c.id == bindparam("rater"))
_LOCKED = _BY_NUMBER.with_for_update(key_share=True)


def token_hash(token: str) -> str:
    """Return the hash of a token, as stored.

    Examples
    --------
    >>> token_hash("secret")[:8]
    '2bb80d53'
    """
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()


def new_token() -> str:
    """Return a new unguessable token."""
    return secrets.token_urlsafe(24)


def rater_of(row: Row[Any]) -> Rater:
    """Create a rater from a table row."""
    return Rater(**{each.name: getattr(row, each.name) for each in fields(Rater)})


def find_rater(connection: Connection, token: str) -> Rater | None:
    """Return the rater with a token (see `Study.find_rater`)."""
    row = connection.execute(_BY_HASH, {"token_hash": token_hash(token)}).first()
    return None if row is None else rater_of(row)


def all_raters(connection: Connection) -> list[Rater]:
    """Return all raters in order of creation."""
    return [rater_of(row) for row in connection.execute(_ALL)]


def get_rater(connection: Connection, rater: int, *, lock: bool = False) -> Row[Any]:
    """Return the row of a rater, optionally locking it.

    Raises
    ------
    UsageError
        If there is no such rater.
    """
    row = connection.execute(_LOCKED if lock else _BY_NUMBER, {"rater": rater}).first()
    if row is None:
        raise UsageError(f"there is no rater {rater} in this study; trubleu rate status lists them")
    return row


def add_rater(connection: Connection, entry: str, now: int, *, token: str | None, **values: object) -> Rater:
    """Add a rater, with or without a link, and with other columns of the row."""
    row = {"entry": entry, "created_at": now, "token_hash": None if token is None else token_hash(token), **values}
    number = add_row(connection, raters, row)
    note(connection, "joined", number, now, entry)
    return rater_of(get_rater(connection, number))


def check_links(connection: Connection, links: int) -> None:
    """Raise an error if the number of raters with links has changed; lock it until the transaction ends."""
    lock_study(connection)
    number = select(func.count()).select_from(raters).where(raters.c.entry == "link")
    if connection.execute(number).scalar() != links:
        raise RatersChangedError("raters were added meanwhile; look who is there")


def check_labels(connection: Connection, labels: Sequence[str]) -> None:
    """Raise an error for repeated labels or labels already in use: raters could not be told apart."""
    if not labels:
        return
    lock_study(connection)
    there = set(connection.execute(select(raters.c.label).where(raters.c.label.is_not(None))).scalars())
    for label in labels:
        if label in there:
            raise UsageError(f"two raters would have the label {shown(label)}; give each another one")
        there.add(label)


def enter(connection: Connection, *, entry: str, external: str | None, label: str | None, now: int) -> NewRater:
    """Admit a new or returning rater (see `Study.enter`)."""
    if external is None:
        token = new_token()
        return NewRater(add_rater(connection, entry, now, token=token, label=label), token)
    # Of two concurrent requests of one person, the second waits here and finds the rater that the first added.
    lock_study(connection)
    token = derived_token(secret_of(connection), entry, external)
    known = connection.execute(select(raters).where(raters.c.entry == entry, raters.c.external == external)).first()
    if known is None and (number := recall(connection, entry, external)) is not None:
        known = get_rater(connection, number)
        if known.erased_at is not None:
            # A new rater would get items again that they have rated.
            raise UsageError("the rater with this id was erased, and cannot rate again")
    if known is None:
        new = add_rater(connection, entry, now, token=token, label=label, external=external)
        remember(connection, new.id, entry, external)
        return NewRater(new, token)
    if known.token_hash != token_hash(token):
        seal(connection, get_rater(connection, known.id, lock=True), token_hash=token_hash(token))
    return NewRater(rater_of(known), token)


def enter_model(connection: Connection, settings: str, *, label: str, now: int) -> Rater:
    """Find the model that rates with these settings, or add it as a rater without a link."""
    lock_study(connection)
    there = connection.execute(select(raters).where(raters.c.entry == MODEL, raters.c.external == settings)).first()
    if there is not None:
        return rater_of(there)
    taken = set(connection.execute(select(raters.c.label)).scalars())
    names = (label, *(f"{label} ({number})" for number in range(2, len(taken) + 3)))
    free = next(name for name in names if name not in taken)
    return add_rater(connection, MODEL, now, token=None, label=free, external=settings, practice_done=True)


def check_name(text: str | None, what: str) -> None:
    """Raise an error for a name or external id that cannot be stored."""
    if text is None:
        return
    if not text.strip() or len(text) > _LONGEST:
        raise UsageError(f"{what} must have 1 to {_LONGEST} characters, not {len(text)}")
    if problem := unstorable(text):
        raise UsageError(f"{what} {problem}; leave it out")


def new_link(connection: Connection, rater: int, *, now: int) -> str:
    """Replace a rater's token (see `Study.new_link`)."""
    person = get_rater(connection, rater, lock=True)
    if person.entry == MODEL:
        raise UsageError(f"rater {rater} is a model, which has no link; trubleu rate model continues it")
    if person.erased_at is not None:
        raise UsageError(f"the identity of rater {rater} was erased, so there can be no new link; add a rater instead")
    token = new_token()
    connection.execute(raters.update().where(raters.c.id == rater).values(token_hash=token_hash(token)))
    note(connection, "new link", rater, now)
    return token


def mark(connection: Connection, rater: int, step: str, *, now: int) -> Rater:
    """Record that a rater has consented or read the instructions, the first time."""
    person, column = get_rater(connection, rater, lock=True), f"{step}_at"
    if getattr(person, column) is None:
        connection.execute(raters.update().where(raters.c.id == rater).values({column: now}))
        note(connection, step, rater, now)
    return rater_of(get_rater(connection, rater))


def set_excluded(connection: Connection, rater: int, excluded: bool, *, reason: str, now: int) -> Rater:
    """Exclude or readmit a rater (see `Study.exclude`)."""
    check_name(reason, "the reason")
    lock_study(connection)
    person = get_rater(connection, rater, lock=True)
    # A readmitted rater has a reason and is not excluded: the rules ignore them from then on.
    if person.excluded != excluded or (not excluded and person.reason is None):
        connection.execute(raters.update().where(raters.c.id == rater).values(excluded=excluded, reason=reason))
        note(connection, "excluded" if excluded else "readmitted", rater, now, reason)
        _give_back_and_settle(connection, rater, give_back=excluded, now=now)
    return rater_of(get_rater(connection, rater))


def erase(connection: Connection, rater: int, *, now: int) -> Rater:
    """Erase a rater's identity (see `Study.erase`)."""
    lock_study(connection)
    person = get_rater(connection, rater, lock=True)
    if person.erased_at is None:
        nobody = {"token_hash": None, "label": None, "external": None, "erased_at": now, "last": None}
        connection.execute(raters.update().where(raters.c.id == rater).values(nobody))
        note(connection, "erased", rater, now)
        _give_back_and_settle(connection, rater, give_back=True, now=now)
    return rater_of(get_rater(connection, rater))


def _give_back_and_settle(connection: Connection, rater: int, *, give_back: bool, now: int) -> None:
    touched = connection.execute(select(assignments.c.item).where(assignments.c.rater == rater)).scalars().all()
    if give_back:
        lock_items(connection, touched)
        mine = (assignments.c.rater == rater, assignments.c.state == "leased")
        connection.execute(assignments.update().where(*mine).values(state="expired"))
    settle(connection, touched, now=now)


def set_state(connection: Connection, state: str, *, now: int) -> None:
    """Pause or resume a study."""
    lock_study(connection)
    if get_meta(connection, "state") != state:
        put_meta(connection, "state", state)
        note(connection, "paused" if state == "paused" else "resumed", None, now)


def note(connection: Connection, kind: str, rater: int | None, now: int, text: str | None = None) -> None:
    """Add a log entry that is not an answer. The text must not identify anyone: the log is permanent.

    Also updates the hash of the rater's row, which was just added or changed.
    """
    entry = {"at": now, "kind": kind, "rater": rater, "note": text}
    if rater is None:
        put_meta(connection, TIP, add_entry(connection, entry, get_meta(connection, TIP) or None))
    else:
        person = get_rater(connection, rater, lock=True)
        seal(connection, person, tip=add_entry(connection, entry, person.tip))


def seal(connection: Connection, person: Row[Any], **changes: str) -> None:
    """Change a rater whose row is locked, and update the row's hash."""
    made = row_mac(secret_of(connection), "rater", {**person._asdict(), **changes}, RATER)
    connection.execute(raters.update().where(raters.c.id == person.id).values(**changes, mac=made))


class GoldScore(NamedTuple):
    """Number of gold items, and how many of them the rater got right."""

    right: int
    total: int


def gold_scores(connection: Connection, rater: int | None = None) -> dict[int, GoldScore]:
    """Return the gold scores of one rater, or of all raters who have any; skipped questions do not count."""
    query = (
        select(ratings, items.c.key, items.c.payload)
        .join(items, items.c.id == ratings.c.item)
        .where(items.c.role == "gold")
    )
    known: dict[int, Item] = {}
    right: dict[tuple[int, int], bool] = {}
    for row in connection.execute(query if rater is None else query.where(ratings.c.rater == rater)):
        if row.item not in known:
            known[row.item] = Item.from_json(row.key, row.payload)
        span = known[row.item].accepted_at(row.part, row.question)
        if span is not None and row.score is not None:
            pair = (row.rater, row.item)
            right[pair] = right.get(pair, True) and span[0] <= row.score <= span[1]
    total = Counter(who for who, _ in right)
    fine = Counter(who for (who, _), is_right in right.items() if is_right)
    return {who: GoldScore(fine[who], total[who]) for who in total}


def broken_rule(rule: GoldRule | None, rater: Rater, score: GoldScore | None) -> str | None:
    """Return how a rater breaks the rule; None if they do not, or if the lead has readmitted them since."""
    readmitted = rater.reason is not None and not rater.excluded
    if rule is None or score is None or readmitted or not rule.is_broken(*score):
        return None
    return rule.reason(*score)


def has_ended(study: Study, rater: Rater) -> bool:
    """Return whether a rater's participation has ended, excluding them if the gold rule says so."""
    rule = study.config.gold.rule
    # One more than they had answered when the caller looked.
    if rater.excluded or rule is None or rule.then == "flag" or rater.answered + 1 < rule.at_least:
        return rater.excluded
    score = study.store.read(lambda connection: gold_scores(connection, rater.id)).get(rater.id)
    reason = broken_rule(rule, rater, score)
    if reason is not None and rule.then == "exclude":
        study.exclude(rater.id, reason=reason)
    return reason is not None


def exclude_by_rule(connection: Connection, rule: GoldRule | None, numbers: Collection[int], *, now: int) -> int:
    """Exclude those of the given raters who break the rule, and return their number."""
    if rule is None or rule.then != "exclude":
        return 0
    scores = gold_scores(connection)
    asked = [rater for rater in all_raters(connection) if rater.id in numbers and not rater.excluded]
    reasons = {rater.id: broken_rule(rule, rater, scores.get(rater.id)) for rater in asked}
    broken = {rater: reason for rater, reason in reasons.items() if reason is not None}
    for rater, reason in broken.items():
        set_excluded(connection, rater, True, reason=reason, now=now)
    return len(broken)
