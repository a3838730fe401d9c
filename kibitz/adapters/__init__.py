"""Doors to other libraries; each needs the extra `adapters` and is imported by its own name."""
