"""Celery with CQS as its broker.

    pip install 'celery[sqs]'
    celery --workdir examples -A celery_app worker --loglevel info
    python examples/celery_app.py             # in another shell: one task for now, and one for later

A task is deleted after it has run (`task_acks_late`), so that a task whose worker dies is redelivered after
`visibility_timeout`. Remote control and events need fan-out, which SQS does not have.
"""

from celery import Celery
from celery.utils.log import get_task_logger

log = get_task_logger(__name__)
app = Celery("celery_app", broker="sqs://")
app.conf.update(
    broker_transport_options={"wait_time_seconds": 20, "visibility_timeout": 600},
    task_acks_late=True,
    task_default_queue="greetings",
    task_ignore_result=True,
    worker_enable_remote_control=False,
)


@app.task
def greet(name: str) -> None:
    log.info("hello, %s", name)


if __name__ == "__main__":
    greet.delay("Ann")
    greet.apply_async(["Bob"], countdown=2)
