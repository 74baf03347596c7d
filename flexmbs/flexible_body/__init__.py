"""Reduced flexible body: record, file, checks and stress modes."""
