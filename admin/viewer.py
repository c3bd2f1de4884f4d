"""Who looks at the console, and what that one may do.

    permission                        read_only   operator   administrator
    look at queues and messages           x           x            x
    send, delete, purge, settings                     x            x
    users, keys, log of changes                                    x

Administrators of the server's home account see every account; everybody else sees their own. In enforced mode a queue's
policy holds here, too; only administrators are above it, since they may change it anyway. Until somebody has a password
whoever sits at the machine is an administrator without a name.
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
"""What no API caller can do: users, keys, and reading who changed what."""
LOCAL = "local"


class Viewer(msgspec.Struct, frozen=True, kw_only=True):
    """A person in front of the console. `account` is where the person is at home; `user` "" = nobody logged in."""

    account: str
    role: Role
    user: str = ""
    user_id: str = ""
    is_everywhere: bool = False
    """May look into all accounts."""

    @property
    def name(self) -> str:
        return self.user or LOCAL

    def caller(self, account: str = "") -> Caller:
        """As the service knows callers."""
        return Caller(account=account or self.account, user=self.user, user_id=self.user_id, role=self.role)

    def may(self, permission: str) -> bool:
        """Whether the role allows it at all."""
        if permission == MANAGE:
            return self.role is Role.ADMINISTRATOR
        return is_in_role(self.role, permission)

    def sees(self, account: str) -> bool:
        return self.is_everywhere or account == self.account

    def check(self, permission: str) -> None:
        """Returns when the role allows it. Raises AccessDenied."""
        if not self.may(permission):
            raise AccessDenied(f"Your role ({self.role.value.replace('_', ' ')}) does not allow {permission}.")

    def check_queue(self, permission: str, queue: Queue, circumstances: Circumstances | None) -> None:
        """Returns when this may be done to the queue, in these circumstances where policies are enforced (None = they
        are not). Raises AccessDenied, or QueueDoesNotExist for a queue that is none of the viewer's business."""
        if not self.sees(queue.account):
            raise QueueDoesNotExist
        self.check(permission)
        if circumstances is not None and self.role is not Role.ADMINISTRATOR:
            caller = msgspec.structs.replace(self.caller(), circumstances=circumstances)
            authorize_queue(caller, permission, queue)


def local_viewer(account: str) -> Viewer:
    """Whoever sits at the machine, while there is no password."""
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
