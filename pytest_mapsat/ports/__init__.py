"""Benchmarks of others, a folder each: what is known of one benchmark stands in its folder and nowhere else.

A port reaches the core as any package could: by the public faces of the rooms, and by entry points (pyproject.toml names ours).
"""
