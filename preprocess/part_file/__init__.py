"""Part files: inputs of a flexible body in TOML."""

from preprocess.part_file.part import FORMAT, Part
from preprocess.part_file.read import read_part

__all__ = ["FORMAT", "Part", "read_part"]
