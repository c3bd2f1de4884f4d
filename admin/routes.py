"""The table of all pages and actions: what is not here does not exist."""

from __future__ import annotations

from admin.actions import (
    change_policy,
    change_settings,
    chosen_messages,
    create_queue,
    log_in,
    log_out,
    remove_queues,
    resend_message,
    send_messages,
)
from admin.message_form import FORM_BYTES_MAX
from admin.route import Action, Page
from admin.viewer import LOOK
from admin.views import (
    chart,
    login,
    message,
    messages,
    new_queue,
    overview,
    policy,
    queue,
    queues,
    send,
    settings,
    sure,
)

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
    Page(_QUEUE + "/settings", settings.show),
    Action(_QUEUE + "/settings", change_settings.act, "SetQueueAttributes", settings.retry),
    Page(_QUEUE + "/policy", policy.show),
    Page(_QUEUE + "/policy/try", policy.try_out),
    Action(_QUEUE + "/policy/check", policy.check, "CheckPolicy", permission=LOOK, is_logged=False),
    Action(_QUEUE + "/policy", change_policy.save, "SetQueuePolicy", policy.retry, "SetQueueAttributes"),
    Action(_QUEUE + "/policy/add", change_policy.add, "AddPermission", policy.retry),
    Action(_QUEUE + "/policy/remove", change_policy.remove, "RemovePermission", policy.retry),
    Page(_QUEUE + "/messages", messages.show),
    Action(_QUEUE + "/messages/chosen", chosen_messages.act, "ChangeMessages", permission="DeleteMessage"),
    Page(_QUEUE + "/messages/{message}", message.show),
    Page(_QUEUE + "/messages/{message}/body", message.as_file),
    Page(_QUEUE + "/messages/{message}/edit", send.edit, "ResendMessage"),
    Action(
        _QUEUE + "/messages/{message}/edit",
        resend_message.act,
        "ResendMessage",
        send.retry,
        bytes_max=FORM_BYTES_MAX,
    ),
    Page(_QUEUE + "/send", send.show, "SendMessage"),
    Action(_QUEUE + "/send", send_messages.act, "SendMessage", send.retry, bytes_max=FORM_BYTES_MAX),
)
