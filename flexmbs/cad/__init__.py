"""Models from assemblies of CAD files: bodies, proposed joints, flexible parts.

The geometry is read by `preprocess.cad`.
"""
