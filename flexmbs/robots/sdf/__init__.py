"""Import of SDF files (SDFormat)."""
