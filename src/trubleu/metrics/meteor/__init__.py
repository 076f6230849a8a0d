"""METEOR (Banerjee & Lavie 2005)."""
