"""Taking this node out, and in again: a load balancer sees it by /ready, the other nodes hear of it with the next beat,
and receives that wait are answered.

Nothing that was accepted is broken off, and what still comes is served; the node only asks for no more. So it may be
drained before it is stopped, with nobody noticing. Forgotten when the process ends.
"""

from __future__ import annotations

from admin.forms import Form
from admin.visit import Done, Visit


async def drain(visit: Visit, form: Form) -> Done:
    """Raises AccessDenied."""
    visit.check_home()
    waiters = visit.console.engine.waiters
    waiting = len(waiters)
    waiters.drain()
    visit.console.engine.cluster.membership.drain(True)
    text = f"Draining: /ready says 503, and {waiting} waiting receives were answered. “Take it in again” undoes it."
    return Done(text, visit.links.to("/nodes"), target=visit.console.about.node)


async def resume(visit: Visit, form: Form) -> Done:
    """Raises AccessDenied."""
    visit.check_home()
    visit.console.engine.waiters.resume()
    visit.console.engine.cluster.membership.drain(False)
    return Done("The node is in again.", visit.links.to("/nodes"), target=visit.console.about.node)
