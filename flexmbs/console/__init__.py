"""Shared by all command lines: messages, progress, exit codes."""
