"""Signals in time and frequency: arrays with names and units, and their figures; no mechanics."""
