"""Who else may use a queue: its policy as text and as a list, a builder, and a tester that answers "can X do Y?"."""

from __future__ import annotations

import json

import msgspec
from aiohttp import web

from admin.forms import Form
from admin.snippets import ELLIPSIS, of_each, url_of
from admin.visit import Visit
from cqs.errors import AccessDenied, CqsError, InvalidAttributeValue, QueueDoesNotExist
from cqs.identity import ACCOUNT_ID, USER_NAME, Caller, Circumstances, Role
from cqs.queue import Queue
from cqs.service import policy_reader
from cqs.service.access import authorize_queue
from cqs.service.permissions import GRANTABLE
from cqs.service.policy_actions import ALL

USED_MOST = ("SendMessage", "ReceiveMessage", "DeleteMessage", "ChangeMessageVisibility", "GetQueueAttributes", "*")

_SOMEBODY = {"AWSAccountIds": ["111122223333"], "Actions": ["SendMessage"]}


class Statement(msgspec.Struct, frozen=True):
    """A statement of the policy, as listed."""

    sid: str
    effect: str
    text: str


class Verdict(msgspec.Struct, frozen=True):
    """The tester's result."""

    is_allowed: bool
    text: str


async def show(visit: Visit) -> web.StreamResponse:
    queue = visit.queue("GetQueueAttributes")
    return _page(visit, queue, _pretty(queue.settings.policy))


async def retry(visit: Visit, form: Form, error: CqsError) -> web.StreamResponse:
    """The page again, with the policy as it was entered, and the version that it was entered for."""
    queue = visit.queue("GetQueueAttributes")
    text = form.text("policy") if form.has("policy") else _pretty(queue.settings.policy)
    return _page(visit, queue, text, error=str(error), status=422, built=form)


async def check(visit: Visit, form: Form) -> web.StreamResponse:
    """Checks whether the text is a valid policy, while it is being typed."""
    visit.queue("GetQueueAttributes")
    text = form.text("policy").strip()
    try:
        count = len(policy_reader.read(text).statements) if text else 0
    except InvalidAttributeValue as error:
        return visit.page("policy_check.html", problem=str(error), count=0)
    return visit.page("policy_check.html", problem="", count=count)


async def try_out(visit: Visit) -> web.StreamResponse:
    """The tester's answer."""
    queue = visit.queue("GetQueueAttributes")
    return visit.page("policy_verdict.html", verdict=_verdict(visit, queue))


def _page(
    visit: Visit, queue: Queue, text: str, *, error: str = "", status: int = 200, built: Form | None = None
) -> web.StreamResponse:
    url = url_of(visit, queue)
    policy = queue.settings.policy
    return visit.page(
        "policy.html",
        status=status,
        queue=queue,
        tab="policy",
        text=text,
        version=queue.version if built is None else built.word("version", str(queue.version)),
        error=error,
        statements=_statements(policy),
        built=built or Form([]),
        grantable=[*USED_MOST, *sorted(GRANTABLE - set(USED_MOST))],
        actions=sorted(ALL),
        asked=_asked(visit),
        verdict=_verdict(visit, queue) if visit.query("caller") else None,
        snippets=of_each(
            visit,
            ("Save", "SetQueueAttributes", {"QueueUrl": url, "Attributes": {"Policy": policy}}),
            ("Allow an account", "AddPermission", {"QueueUrl": url, "Label": ELLIPSIS, **_SOMEBODY}),
            ("Remove a statement", "RemovePermission", {"QueueUrl": url, "Label": ELLIPSIS}),
        ),
    )


def _asked(visit: Visit) -> dict[str, str]:
    return {name: visit.query(name).strip() for name in ("caller", "action", "ip", "tls")}


def _verdict(visit: Visit, queue: Queue) -> Verdict:
    asked = _asked(visit)
    account, _, user = asked["caller"].partition("/")
    action = asked["action"] if asked["action"] in ALL else "SendMessage"
    if not ACCOUNT_ID.fullmatch(account) or (user and not USER_NAME.fullmatch(user)):
        return Verdict(False, "Enter an account of twelve digits, or an account and a user such as 111122223333/alice.")
    circumstances = Circumstances(now_ms=visit.now_ms, source_ip=asked["ip"] or None, is_secure=asked["tls"] == "1")
    caller = Caller(account=account, user=user, role=Role.ADMINISTRATOR, circumstances=circumstances)
    try:
        authorize_queue(caller, action, queue)
    except QueueDoesNotExist:
        return Verdict(False, f"No: for {caller.arn} this queue does not exist: no statement names that caller.")
    except AccessDenied as error:
        return Verdict(False, f"No. {error}")
    why = "it is the owning account" if account == queue.account else "a statement allows it, and none denies it"
    return Verdict(True, f"Yes, {caller.arn} may {action}: {why}.")


def _statements(policy: str) -> list[Statement]:
    try:
        raw = json.loads(policy).get("Statement", []) if policy else []
    except (ValueError, AttributeError, RecursionError):
        return []
    found = [one for one in (raw if isinstance(raw, list) else [raw]) if isinstance(one, dict)]
    return [Statement(str(one.get("Sid", "")), str(one.get("Effect", "")), _told(one)) for one in found]


def _told(statement: dict[str, object]) -> str:
    parts = []
    for name in ("Principal", "NotPrincipal", "Action", "NotAction", "Condition"):
        if name in statement:
            value = statement[name]
            parts.append(f"{name}: {value if isinstance(value, str) else json.dumps(value)}")
    return " \u00b7 ".join(parts)


def _pretty(policy: str) -> str:
    try:
        return json.dumps(json.loads(policy), indent=2, ensure_ascii=False) if policy else ""
    except (ValueError, RecursionError):
        return policy
