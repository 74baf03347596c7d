"""Components shared by all reports: page, style of figures, pictures of solids."""
