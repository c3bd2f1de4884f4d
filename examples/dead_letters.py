"""Dead-letter queue: a message that fails twice is moved to it; once the bug is fixed, all of them are moved back.

pip install boto3
python examples/dead_letters.py
"""

import json
import time
from typing import Any

import boto3


def work(body: str, is_mended: bool) -> None:
    if body == "glass" and not is_mended:
        raise ValueError("broke it")


def serve(sqs: Any, queue: str, is_mended: bool) -> None:
    """Until the queue stays empty."""
    while messages := sqs.receive_message(QueueUrl=queue, WaitTimeSeconds=1).get("Messages"):
        receipt = {"QueueUrl": queue, "ReceiptHandle": messages[0]["ReceiptHandle"]}
        try:
            work(messages[0]["Body"], is_mended)
        except ValueError as error:
            print(f"{messages[0]['Body']}: failed, {error}")
            sqs.change_message_visibility(**receipt, VisibilityTimeout=0)
        else:
            print(f"{messages[0]['Body']}: done")
            sqs.delete_message(**receipt)


def main() -> None:
    sqs = boto3.client("sqs")
    dead = sqs.create_queue(QueueName="parcels-dead")["QueueUrl"]
    dead_arn = sqs.get_queue_attributes(QueueUrl=dead, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]
    policy = json.dumps({"deadLetterTargetArn": dead_arn, "maxReceiveCount": 2})
    queue = sqs.create_queue(QueueName="parcels", Attributes={"RedrivePolicy": policy})["QueueUrl"]

    for body in ("books", "glass"):
        sqs.send_message(QueueUrl=queue, MessageBody=body)
    serve(sqs, queue, is_mended=False)
    told = sqs.get_queue_attributes(QueueUrl=dead, AttributeNames=["ApproximateNumberOfMessages"])["Attributes"]
    print("dead letters:", told["ApproximateNumberOfMessages"])

    sqs.start_message_move_task(SourceArn=dead_arn)
    while sqs.list_message_move_tasks(SourceArn=dead_arn)["Results"][0]["Status"] == "RUNNING":
        time.sleep(0.1)
    serve(sqs, queue, is_mended=True)


if __name__ == "__main__":
    main()
