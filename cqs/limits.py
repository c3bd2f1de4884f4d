"""SQS's limits, each defined once (sqs.md A2, A3). Times in ms or s as their names say, sizes in bytes."""

from __future__ import annotations

import re

MESSAGE_SIZE_MAX = 1_048_576
MESSAGE_SIZE_SETTING_MIN = 1_024
BATCH_SIZE_MAX = 1_048_576
BATCH_ENTRIES_MAX = 10
RECEIVE_COUNT_MAX = 10
WAIT_S_MAX = 20
VISIBILITY_S_MAX = 43_200
DELAY_S_MAX = 900
RETENTION_S_MIN, RETENTION_S_MAX = 60, 1_209_600
KMS_REUSE_S_MIN, KMS_REUSE_S_MAX = 60, 86_400
REDRIVE_COUNT_MIN, REDRIVE_COUNT_MAX = 1, 1_000
REDRIVE_COUNT_DEFAULT = 10
REDRIVE_SOURCES_MAX = 10
POLICY_SIZE_MAX = 8_192
POLICY_STATEMENTS_MAX = 20
IN_FLIGHT_MAX = 120_000
TRACE_HEADER_MAX = 4_096
"""Not an SQS limit: SQS only requires an X-Ray header, which has a few hundred characters and counts towards no other
limit."""
TAGS_MAX, TAG_KEY_MAX, TAG_VALUE_MAX = 50, 128, 256
ATTRIBUTES_MAX = 10
ATTRIBUTE_NAME_MAX = ATTRIBUTE_TYPE_MAX = 256
NUMBER_DIGITS_MAX = 38
NUMBER_EXPONENT_MAX, NUMBER_EXPONENT_MIN = 126, -128
LIST_RESULTS_MAX = 1_000
PERMISSION_ACTIONS_MAX = 7
MOVE_RATE_MAX = 500
MOVE_TASKS_ACTIVE_MAX = 100
MOVE_TASKS_LISTED_MAX = 10
MOVE_TASK_MS_MAX = 129_600_000
DEDUP_WINDOW_MS = 300_000
ATTEMPT_WINDOW_MS = 300_000
RECREATE_WAIT_MS = 60_000
PURGE_WAIT_MS = 60_000

QUEUE_NAME = re.compile(r"[A-Za-z0-9_-]{1,80}|(?=.{6,80}\Z)[A-Za-z0-9_-]+\.fifo")
BATCH_ENTRY_ID = re.compile(r"[A-Za-z0-9_-]{1,80}")
PERMISSION_LABEL = re.compile(r"[A-Za-z0-9_-]{1,80}")
GROUP_OR_DEDUP_ID = re.compile(r"[!-~]{1,128}")
"""MessageGroupId, MessageDeduplicationId, ReceiveRequestAttemptId: printable ASCII without space."""
ATTRIBUTE_NAME = re.compile(r"(?!(?i:aws\.|amazon\.))(?!\.)(?!.*\.\.)[A-Za-z0-9_.-]{1,256}(?<!\.)")
ATTRIBUTE_TYPE = re.compile("(String|Number|Binary)(\\.[\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]+)?")
BAD_CHARACTER = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters not allowed in bodies and attribute text (XML 1.0)."""
