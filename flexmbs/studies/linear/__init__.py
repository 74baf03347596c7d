"""Linearized models: small motions, modes and frequency responses."""
