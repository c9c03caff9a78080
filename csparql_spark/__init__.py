"""Continuous queries over RDF streams: chunks are logged, tagged, closed under rules, matched, and told."""

__version__ = "0.1.0"
