"""What every report shares: the page, the look of figures, pictures of solids, files written whole."""
