"""Blocks of the bordered matrix from forces between frames, contacts and divided bodies.

They have a kernel of their own. Theory: docs/theory.md, sections 26 and 39.
"""

from flexmbs._jit import part
from flexmbs._jit.address import entry
from flexmbs.dynamics.blocks import coupling_blocks
from flexmbs.dynamics.contacts import function_blocks
from flexmbs.dynamics.piece_damping import pieces_blocks
from flexmbs.dynamics.shared_calls import call_shared


@entry
def force_blocks_at(model, here, /, c_damping):
    """Kernel that adds Jᵀ (K + c_damping D) J of forces to work.values.

    For couplings, contacts by user functions and damped divided bodies.
    """
    system, work = model.system, model.work
    coupling_blocks(system, work, here.q, c_damping)
    if system.pieces_damping.size.shape[0] > 0:
        pieces_blocks(system, work, c_damping)
    function_blocks(system, work, here.q, c_damping)
    return 0


@part
def force_blocks(system, work, here, c_damping):
    """Call `force_blocks_at` if there are forces with stiffness."""
    if work.calls.force_blocks >= 0:
        call_shared(system, work, work.calls.force_blocks, here, c_damping, 0.0, 0.0)
