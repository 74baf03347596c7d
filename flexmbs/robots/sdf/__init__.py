"""SDF files (SDFormat) as models."""
