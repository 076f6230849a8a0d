"""Encoders: models that give a text a vector, and perhaps each of its words."""
