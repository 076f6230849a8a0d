"""People whom Prolific vouches for with a signed token, and those who make one up.

The keys are made here: Prolific itself was never asked.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import time
from typing import TYPE_CHECKING, Any

import httpx
import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from tests.rating.web.conftest import state
from trubleu.cli import main, rate_serve
from trubleu.errors import DataError
from trubleu.rating import config_text
from trubleu.rating.config import PROLIFIC_KEYS, Entry, Prolific
from trubleu.rating.web import create_app
from trubleu.rating.web.prolific import Keys, Tokens
from trubleu.rating.web.security import Refusal

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.rating.web.conftest import Visitor
    from trubleu.rating import Study

    Make = Callable[..., Study]
    Visit = Callable[..., Visitor]

PRIVATE = rsa.generate_private_key(65537, 2048)
OTHER = rsa.generate_private_key(65537, 2048)
PID, STUDY_ID = "5f0c1a2b3c4d5e6f70819203", "60aa00000000000000000001"


def key_set(*names: str, **more: object) -> str:
    public = json.loads(jwt.algorithms.RSAAlgorithm.to_jwk(PRIVATE.public_key()))
    keys = [{**public, "kid": name, "alg": "RS256", "use": "sig", **more} for name in names]
    return json.dumps({"keys": keys})


def token(
    key: Any = PRIVATE, *, kid: str | None = "k1", algorithm: str = "RS256", drop: str = "", **claims: object
) -> str:
    said: dict[str, object] = {
        "iss": "https://www.prolific.com",
        "aud": "https://rate.example.org/join",
        "exp": time.time() + 600,
        "prolific": {"PROLIFIC_PID": PID, "STUDY_ID": STUDY_ID, "SESSION_ID": "s", "workspace_id": "w"},
    }
    said |= claims
    said.pop(drop, None)
    return jwt.encode(said, key, algorithm=algorithm, headers=None if kid is None else {"kid": kid})


@pytest.fixture
def study(make: Make) -> Study:
    made = make(2, entry=Entry(prolific=Prolific("keys.json", STUDY_ID)))
    (made.folder / "keys.json").write_text(key_set("k0", "k1"))
    return made


def visitor_of(study: Study, visit: Visit) -> Visitor:
    return visit(study, url="https://rate.example.org")


def join(token: str, more: str = "") -> str:
    return f"/join?prolific_token={token}{more}"


def test_a_signed_token_lets_its_participant_in(study: Study, visit: Visit) -> None:
    visitor = visitor_of(study, visit)
    page = visitor.get(join(token(), f"&PROLIFIC_PID={PID}&STUDY_ID={STUDY_ID}"))
    assert (page.status_code, state(page)) == (200, "instructions")
    page = visitor.answer(visitor.send(page, "/instructed"), 4)
    # Another token, or the same in another browser, is the same person.
    for again in (token(exp=time.time() + 60), token(kid="k0"), token(aud=["x", "rate.example.org"])):
        assert "Task 2 of" in visitor_of(study, visit).get(join(again)).text
    assert [(rater.entry, rater.external) for rater in study.raters()] == [("prolific", PID)]


def unsigned() -> str:
    part = base64.urlsafe_b64encode(json.dumps({"alg": "none", "kid": "k1"}).encode()).decode().rstrip("=")
    return f"{part}.{token().split('.')[1]}."


def confused() -> str:
    """Signed with the public key as if it were a shared secret."""
    public = PRIVATE.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    head = base64.urlsafe_b64encode(json.dumps({"alg": "HS256", "kid": "k1", "typ": "JWT"}).encode()).rstrip(b"=")
    body = token().split(".")[1].encode()
    mark = hmac.digest(public, head + b"." + body, hashlib.sha256)
    return b".".join([head, body, base64.urlsafe_b64encode(mark).rstrip(b"=")]).decode()


def somebody_else() -> str:
    head, _, signature = token().split(".")
    body = jwt.decode(token(), options={"verify_signature": False})
    body["prolific"]["PROLIFIC_PID"] = "somebody"
    return f"{head}.{base64.urlsafe_b64encode(json.dumps(body).encode()).decode().rstrip('=')}.{signature}"


BAD: dict[str, Callable[[], str]] = {
    "none": lambda: "",
    "nonsense": lambda: "a.b.c",
    "nested": lambda: base64.urlsafe_b64encode(b"[" * 4000).decode() + ".e30.x",
    "another key": lambda: token(OTHER),
    "no key id": lambda: token(kid=None),
    "unknown key id": lambda: token(kid="k9"),
    "unsigned": unsigned,
    "signed with the public key": confused,
    "another signature algorithm": lambda: token(algorithm="RS512"),
    "changed": somebody_else,
    "expired": lambda: token(exp=time.time() - 60),
    "never expires": lambda: token(drop="exp"),
    "not yet valid": lambda: token(nbf=time.time() + 600),
    "for another host": lambda: token(aud="https://evil.example/rate.example.org"),
    "for nobody": lambda: token(drop="aud"),
    "of another study": lambda: token(prolific={"PROLIFIC_PID": PID, "STUDY_ID": "60bb"}),
    "without a participant": lambda: token(prolific={"STUDY_ID": STUDY_ID}),
    "with a number for a participant": lambda: token(prolific={"PROLIFIC_PID": 7, "STUDY_ID": STUDY_ID}),
    "without claims": lambda: token(prolific="x"),
}


@pytest.mark.parametrize("bad", BAD)
def test_tokens_that_let_nobody_in(bad: str, study: Study, visit: Visit) -> None:
    page = visitor_of(study, visit).get(join(BAD[bad]()))
    assert page.status_code == 403
    assert "Prolific does not say who you are" in page.text
    assert study.raters() == []


def test_an_id_without_a_token_lets_nobody_in(study: Study, visit: Visit) -> None:
    visitor = visitor_of(study, visit)
    assert visitor.get(f"/join?PROLIFIC_PID={PID}").status_code == 403
    assert visitor.get(join(token(), "&PROLIFIC_PID=somebody")).status_code == 403  # nobody joins as somebody else
    assert study.raters() == []


def test_wrong_tokens_are_slowed_down(study: Study, visit: Visit, monkeypatch: pytest.MonkeyPatch) -> None:
    app = create_app(study)
    monkeypatch.setattr(app.state.site.guesses, "_clock", lambda: 0.0)
    visitor = visit(study, app)
    assert [visitor.get(join("a.b.c")).status_code for _ in range(40)] == [403] * 30 + [429] * 10
    assert visitor.get(join(token())).status_code == 429


def test_without_an_address_any_audience_will_do(study: Study, visit: Visit) -> None:
    assert visit(study).get(join(token(aud="https://elsewhere.example"))).status_code == 200


def test_keys_are_fetched_when_needed_and_no_more_often(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clock, fetched, there = 0.0, 0, ["k1"]

    def get(url: str, **_: object) -> httpx.Response:
        nonlocal fetched
        fetched += 1
        assert url == PROLIFIC_KEYS
        if not there:
            raise httpx.ConnectError("away")
        return httpx.Response(200, text=key_set(*there), request=httpx.Request("GET", url))

    monkeypatch.setattr(httpx, "get", get)
    tokens = Tokens(Prolific(PROLIFIC_KEYS), tmp_path, None, clock=lambda: clock)
    assert fetched == 0  # a study is served also while Prolific is away
    assert tokens.participant(token()) == PID
    for _ in range(20):
        assert tokens.participant(token(kid="made up")) is None
    assert fetched == 1
    clock, there[:] = 61.0, ["k2"]
    assert tokens.participant(token(kid="k2")) == PID  # keys may change
    assert tokens.participant(token(kid="k1")) is None
    assert fetched == 2
    clock, there[:] = 7 * 3600.0, []
    assert tokens.participant(token(kid="k2")) == PID  # while Prolific is away, what is known goes on
    assert fetched == 3


def test_prolific_is_away_from_the_start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def get(*_: object, **__: object) -> httpx.Response:
        raise httpx.ConnectError("away")

    monkeypatch.setattr(httpx, "get", get)
    with pytest.raises(Refusal, match="Prolific cannot be asked") as refused:
        Keys(PROLIFIC_KEYS, tmp_path).find("k1")
    assert (refused.value.status, refused.value.retry_after) == (503, 60)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (None, "keys.json: there is no such file"),
        ("{", "keys.json is not a set of public keys"),
        ('{"keys": 5}', "is not a set of public keys"),
        ('{"keys": [{"kty": "RSA", "kid": "k"}]}', "is not a set of public keys"),
        ('{"keys": [{"kty": "oct", "kid": "k", "k": "c2VjcmV0"}]}', "has no RSA keys"),
        (key_set("k1", use="enc"), "has no RSA keys"),
    ],
    ids=["no file", "no JSON", "no keys", "no RSA number", "another kind", "not for signatures"],
)
def test_files_without_keys(text: str | None, message: str, tmp_path: Path) -> None:
    if text is not None:
        (tmp_path / "keys.json").write_text(text)
    with pytest.raises(DataError, match=message):
        Keys("keys.json", tmp_path)


def test_a_study_must_say_that_ids_are_not_verified(
    make: Make, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    study = make(1, entry=Entry(prolific="unverified"))
    monkeypatch.setattr(rate_serve, "_run", lambda *_: None)
    assert main(["rate", "serve", str(study.folder), "--port", "0"]) == 0
    assert "warning: ids from Prolific are not verified" in capsys.readouterr().err
    assert main(["rate", "status", str(study.folder)]) == 0
    assert "ids from Prolific are not verified" in capsys.readouterr().out
    source, settings = tmp_path / "seeds.jsonl", study.folder / "study.yaml"
    source.write_text('{"id": "1", "context": [], "message": "hi", "response": "ho"}\n')
    settings.write_text(settings.read_text().replace("prolific: unverified", "prolific: true"))
    (line,) = (at for at, text in enumerate(settings.read_text().splitlines(), 1) if "prolific: true" in text)
    wanted = (
        f"trubleu: {settings}:{line}: entry.prolific would take every made-up id for somebody from Prolific; "
        f"write {{verify: {PROLIFIC_KEYS}}}, or unverified\n"
    )
    assert main(["rate", "new", str(tmp_path / "new"), "--from", str(source), "--config", str(settings)]) == 2
    assert capsys.readouterr().err == wanted
    assert not (tmp_path / "new").exists()
    assert main(["rate", "serve", str(study.folder), "--port", "0"]) == 2
    assert capsys.readouterr().err == wanted


def test_the_lead_is_told_whether_ids_are_verified(make: Make, study: Study, visit: Visit) -> None:
    page = visit(study).lead(study)
    assert "the study&#39;s URL (secure external study URL)" in page.text
    assert "not verified" not in page.text
    old = make(1, entry=Entry(prolific="unverified"))
    assert "Ids from Prolific are not verified" in visit(old).lead(old).text
    assert "prolific:\n    verify: keys.json\n    study: " in config_text(study.config)
