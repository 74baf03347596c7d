"""Files in TOML: their text, the lines of their keys, and problems told with both."""
