"""Playback of a motion in three dimensions: data, markup and scripts of a viewer inside a page, without other files."""
