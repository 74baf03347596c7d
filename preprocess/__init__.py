"""Flexible bodies from finite-element meshes: mesh, material, interfaces, reduction, file.

mesh = read_mesh("link.msh", unit="mm")
link = reduce(mesh, Isotropic(E=70e9, nu=0.33, rho=2700.0), interfaces={"hub": Rigid("hub_face"), "tip": Rigid("tip_face")},
              method=CraigBampton(modes=12), reference="hub", damping=0.01)
link.save("link.h5")
"""

import lazy_loader

# the public names and their modules: __init__.pyi
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
