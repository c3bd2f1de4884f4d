"""The table of all pages and actions: what is not here does not exist."""

from __future__ import annotations

from admin.actions import log_in, log_out
from admin.route import Action, Page
from admin.viewer import LOOK
from admin.views import login, overview

ROUTES: tuple[Page | Action, ...] = (
    Page("/login", login.show, permission=None),
    Action("/login", log_in.act, "LogIn", permission=None, is_logged=False),
    Action("/log-out", log_out.here, "LogOut", permission=LOOK, is_logged=False),
    Action("/log-out-everywhere", log_out.everywhere, "LogOutEverywhere", permission=LOOK, is_logged=False),
    Page("/", overview.show),
)
