"""Mesh: nodes, elements and named sets, its checks, faces and quality."""
