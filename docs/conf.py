"""Sphinx configuration: `sphinx-build -W --keep-going -b html docs docs/_build/html`.

Pages of the API, of the kinds in model files and of the studies are written from the code before
each build (`docs/_ext`).
"""

import importlib.util
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE / "_ext"))

from machine_pages import SCENES, gallery_order, scenes  # noqa: E402

import flexmbs  # noqa: E402

(SCENES / "scenes").mkdir(parents=True, exist_ok=True)

project = "flexmbs"
author = "The flexmbs developers"
copyright = "the flexmbs developers"
version = release = flexmbs.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.mathjax",
    "sphinx.ext.viewcode",
    "numpydoc",
    "sphinx_gallery.gen_gallery",
    "docstrings",
    "code_pages",
    "written_pages",
]
exclude_patterns = ["_build", "_ext", "gallery", "*/README.txt"]
default_role = "py:obj"
source_suffix = {".rst": "restructuredtext", ".md": "markdown"}
suppress_warnings = ["config.cache"]

myst_enable_extensions = ["dollarmath", "attrs_inline", "colon_fence", "deflist"]
myst_heading_anchors = 3
myst_dmath_double_inline = True

numpydoc_show_class_members = False
numpydoc_xref_param_type = False
autodoc_member_order = "bysource"
autodoc_typehints = "none"
autodoc_class_signature = "mixed"
python_display_short_literal_types = True

# formulas without network: one file of MathJax, from a package
_mathjax = Path(
    str(importlib.util.find_spec("sphinx-mathjax-offline").submodule_search_locations[0])
)  # type: ignore[union-attr,index]
html_static_path = ["_static", str(_mathjax / "static" / "mathjax" / "tex-svg.js")]
mathjax_path = "tex-svg.js"
mathjax3_config = {"svg": {"fontCache": "global"}, "options": {"enableMenu": False}}

html_extra_path = [str(SCENES)]
html_theme = "pydata_sphinx_theme"
html_title = f"flexmbs {version}"
html_css_files = ["flexmbs.css"]
html_show_sourcelink = False
html_copy_source = False
html_sidebars = {"theory": [], "start": [], "studies": [], "equations": [], "changelog": []}
html_theme_options = {
    "navigation_with_keys": False,
    "show_toc_level": 2,
    "header_links_before_dropdown": 8,
    "navbar_align": "left",
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
}

sphinx_gallery_conf = {
    "examples_dirs": ["gallery"],
    "gallery_dirs": ["machines"],
    "filename_pattern": r"\.py$",
    "within_subsection_order": gallery_order,
    "image_scrapers": (scenes,),
    "capture_repr": (),
    "download_all_examples": False,
    "show_memory": False,
    "show_signature": False,
    "write_computation_times": False,
    "plot_gallery": "True",
    "abort_on_example_error": True,
    "remove_config_comments": True,
    "min_reported_time": 1e9,
}
