"""The table of all pages and actions: what is not here does not exist."""

from __future__ import annotations

from admin.actions import create_queue, log_in, log_out, remove_queues
from admin.route import Action, Page
from admin.viewer import LOOK
from admin.views import chart, login, new_queue, overview, queue, queues, sure

_QUEUE = "/q/{account}/{queue}"

ROUTES: tuple[Page | Action, ...] = (
    Page("/login", login.show, permission=None),
    Action("/login", log_in.act, "LogIn", permission=None, is_logged=False),
    Action("/log-out", log_out.here, "LogOut", permission=LOOK, is_logged=False),
    Action("/log-out-everywhere", log_out.everywhere, "LogOutEverywhere", permission=LOOK, is_logged=False),
    Page("/", overview.show),
    Page("/find", queues.find_few),
    Page("/queues", queues.show),
    Page("/queues.csv", queues.as_table),
    Page("/queues.toml", queues.as_declarations),
    Page("/queues/new", new_queue.show),
    Page("/queues/sure", sure.show),
    Action("/queues/create", create_queue.act, "CreateQueue", new_queue.retry),
    Action("/queues/purge", remove_queues.purge, "PurgeQueue"),
    Action("/queues/delete", remove_queues.delete, "DeleteQueue"),
    Page(_QUEUE, queue.show),
    Page(_QUEUE + "/chart", chart.of_queue),
    Page("/chart", chart.of_node),
)
