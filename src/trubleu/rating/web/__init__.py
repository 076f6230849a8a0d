"""The pages that raters and the lead of a study see."""

from trubleu.rating.web.app import create_app

__all__ = ["create_app"]
