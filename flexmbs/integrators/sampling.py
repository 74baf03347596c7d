"""What is kept of a run for its audit: states at ends of steps, and the work within some steps at points no method uses.

The work of a step is integrated again with two points of Gauss, t + h (½ ± √3/6), on the method's own dense output: forces that
change within the step, which the method does not see, differ there.
"""

from flexmbs._jit import called, part
from flexmbs._jit.address import call
from flexmbs.algebra.small import largest
from flexmbs.integrators.course import (
    AT,
    BEGUN,
    BETWEEN,
    COURSE,
    DONE,
    END,
    FORCES,
    HOLDS,
    LOSS,
    MEMORY,
    OPEN,
    TIME,
    copy,
    normalize,
    residual,
)

GAUSS = (0.21132486540518713, 0.7886751345948129)
SPREAD = 0.6180339887498949  # the golden ratio's part: steps at irregular times
BY_METHOD, BY_GAUSS, SAMPLED_T, SAMPLED_H, WORKS = 0, 2, 4, 5, 6  # places in a row of `Samples.work`


@part
def closed(contact):
    """Number of rigid contacts that carry forces."""
    count = 0
    for c in range(contact.mode.shape[0]):
        if contact.rigid[c] == 1 and contact.mode[c] != OPEN:
            count += 1
    return count


@part
def keep_sample(course, k):
    """The end of the last step as sample k; the state within it where the equations hold there and not at its end."""
    samples, clock = course.samples, course.clock
    if clock[HOLDS] < 0.0:
        return
    inside = clock[HOLDS] > 0.0
    point = course.at if inside else course.now
    samples.t[k] = clock[BEGUN] + clock[HOLDS] * (clock[TIME] - clock[BEGUN]) if inside else clock[TIME]
    copy(point.q, samples.q[k])
    copy(point.s, samples.s[k])
    copy(point.sd, samples.sd[k])
    copy(point.lam, samples.lam[k])
    copy(point.z, samples.z[k])
    for a in range(samples.beta.shape[1]):
        samples.beta[k, a] = course.exchange.beta[a]
    samples.closed[k] = closed(course.contact)


@called
def work_within(course, k):
    """Works of the forces and of the losses in the last step, by the method and by Gauss's rule. ``at`` is scratch."""
    clock, now, start, at = course.clock, course.now, course.start, course.at
    row = course.samples.work[k]
    begun, h = clock[BEGUN], clock[TIME] - clock[BEGUN]
    for x in GAUSS:
        t = begun + x * h
        if call(course.calls[BETWEEN], course.place[MEMORY], course.place[COURSE], course.place[COURSE], t, 0.0, 0.0) != DONE:
            return 0
        normalize(course, AT)
        residual(course, AT, t, False)
        row[BY_GAUSS] += 0.5 * h * at.power[FORCES]
        row[BY_GAUSS + 1] += 0.5 * h * at.power[LOSS]
    row[BY_METHOD] = now.w[FORCES] - start.w[FORCES]
    row[BY_METHOD + 1] = now.w[LOSS] - start.w[LOSS]
    row[SAMPLED_T], row[SAMPLED_H] = clock[TIME], h
    return 0


@part
def sample(course):
    """Keep the end of the step where it is the first of its part of the run, or has the largest accelerations so far."""
    samples, passed = course.samples, course.clock[TIME] / course.clock[END]
    last = samples.t.shape[0] - 1
    k = min(int(last * passed), last - 1)
    if samples.t[k] < 0.0:
        keep_sample(course, k)
    size = largest(course.now.sd)
    if size > samples.largest[0]:
        samples.largest[0] = size
        keep_sample(course, last)
    count = samples.work.shape[0]
    place, next_place = count * passed, count * (2.0 * course.clock[TIME] - course.clock[BEGUN]) / course.clock[END]
    k = min(int(place), count - 1)
    irregular = 0.8 * ((SPREAD * k) % 1.0)
    chosen = place >= k + irregular or next_place >= k + 1.0
    if chosen and samples.work[k, SAMPLED_H] == 0.0 and closed(course.contact) == 0:
        work_within(course, k)
