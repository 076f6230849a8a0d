"""The web pages for raters and the lead of a study."""

from trubleu.rating.web.app import create_app

__all__ = ["create_app"]
