"""Three-dimensional player of a page: scripts, and data of surfaces, modes and fields.

No mechanics.
"""
