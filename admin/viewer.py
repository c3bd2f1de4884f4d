"""Who uses the console, and what they may do.

    permission                        read_only   operator   administrator
    view queues and messages              x           x            x
    send, delete, purge, settings                     x            x
    users, keys, log of changes                                    x

Administrators of the server's home account see every account; all others see only their own. In enforced mode a queue's
policy applies here too, except to administrators, who could change it anyway. Until somebody has a password, whoever
uses this machine is a nameless administrator.
"""

from __future__ import annotations

import msgspec

from cqs.errors import AccessDenied, QueueDoesNotExist
from cqs.identity import Caller, Circumstances, Role, User
from cqs.queue import Queue
from cqs.service.access import authorize_queue
from cqs.service.policy_actions import is_in_role

LOOK = "ListQueues"
MANAGE = "ManageUsers"
"""Permission for what no API caller can do: users, keys, and reading the log of changes."""
LOCAL = "local"


class Viewer(msgspec.Struct, frozen=True, kw_only=True):
    """A user of the console. `account` is the user's own; `user` "" = nobody is logged in."""

    account: str
    role: Role
    user: str = ""
    user_id: str = ""
    is_everywhere: bool = False
    """May see all accounts."""

    @property
    def name(self) -> str:
        return self.user or LOCAL

    def caller(self, account: str = "") -> Caller:
        """The corresponding caller for the service."""
        return Caller(account=account or self.account, user=self.user, user_id=self.user_id, role=self.role)

    def may(self, permission: str) -> bool:
        """Whether the role allows it at all."""
        if permission == MANAGE:
            return self.role is Role.ADMINISTRATOR
        return is_in_role(self.role, permission)

    def sees(self, account: str) -> bool:
        return self.is_everywhere or account == self.account

    def check(self, permission: str) -> None:
        """Returns if the role allows it. Raises AccessDenied."""
        if not self.may(permission):
            raise AccessDenied(f"Your role ({self.role.value.replace('_', ' ')}) does not allow {permission}.")

    def check_queue(self, permission: str, queue: Queue, circumstances: Circumstances | None) -> None:
        """Returns if this may be done to the queue, in these circumstances where policies are enforced (None = they are
        not). Raises AccessDenied, or QueueDoesNotExist if the viewer may not know about the queue."""
        if not self.sees(queue.account):
            raise QueueDoesNotExist
        self.check(permission)
        if circumstances is not None and self.role is not Role.ADMINISTRATOR:
            caller = msgspec.structs.replace(self.caller(), circumstances=circumstances)
            authorize_queue(caller, permission, queue)


def local_viewer(account: str) -> Viewer:
    """Whoever uses this machine, while there is no password."""
    return Viewer(account=account, role=Role.ADMINISTRATOR, is_everywhere=True)


def viewer_of(user: User, home: str) -> Viewer:
    """The logged-in user; `home` is the server's own account."""
    return Viewer(
        account=user.account,
        role=user.role,
        user=user.name,
        user_id=user.user_id,
        is_everywhere=user.role is Role.ADMINISTRATOR and user.account == home,
    )
