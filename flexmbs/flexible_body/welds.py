"""Welds of a divided body: two pieces that share a frame name are welded there."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from flexmbs.errors import raise_problems

FrameNames = tuple[tuple[str, ...], ...]  # frame names of each piece


def welds(frames: Sequence[Sequence[str]]) -> Iterator[tuple[int, int, str]]:
    """Tuples (piece, later piece, frame) of each weld, from the frames of the pieces."""
    for j, names in enumerate(frames):
        for i in range(j):
            yield from ((i, j, name) for name in frames[i] if name in names)


def own_frames(frames: Sequence[Sequence[str]]) -> tuple[str, ...]:
    """Names of the frames that only one piece has."""
    cuts = {name for _, _, name in welds(frames)}
    return tuple(name for names in frames for name in names if name not in cuts)


def check_welds(name: str, frames: Sequence[Sequence[str]]) -> None:
    """Raise InputError unless each weld connects two pieces, and the welds connect all pieces."""
    found = list(welds(frames))
    cuts = [cut for _, _, cut in found]
    problems = [
        f"{name}: frame '{cut}' belongs to more than two pieces"
        for cut in dict.fromkeys(cuts)
        if cuts.count(cut) > 1
    ]
    reached = {0}
    for _ in frames:
        reached |= {j for pair in found for i, j in (pair[:2], pair[1::-1]) if i in reached}
    problems += [
        f"{name}: piece {k + 1} is not welded to the first"
        for k in range(len(frames))
        if k not in reached
    ]
    if not frames:
        problems.append(f"{name}: has no pieces; a divided body has one or more")
    raise_problems(problems)
