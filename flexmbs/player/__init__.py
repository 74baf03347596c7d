"""Playback in three dimensions inside a page: its scripts, and the data of surfaces, modes and
fields; no mechanics.
"""
