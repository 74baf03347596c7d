"""TOML files: text, line numbers of keys, and problems reported with them."""
