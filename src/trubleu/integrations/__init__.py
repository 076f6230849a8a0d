"""Integrations: ``trubleu.integrations.torch`` has a metric for torchmetrics.

Notebooks need no integration: results have an HTML representation.
"""
