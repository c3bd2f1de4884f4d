// The conversation of test_conversations.py, by the AWS SDK for JavaScript: what it was told, as one JSON object.
//
//     node converse.mjs PREFIX LATE      of the names of its queues; the endpoint of a server whose clock is ahead

import { setTimeout as pause } from "node:timers/promises";
import { paginateListQueues, SQS, SQSServiceException } from "@aws-sdk/client-sqs";

const ONE_MIB = 1_048_576;
const BODY = 'h\u00e9llo <&> "\r\n\t\u{1D11E}';
const [prefix, late] = process.argv.slice(2);
const sqs = new SQS();
const errors = {};

async function queue(url) {
  await fails("other attributes", created("main", { VisibilityTimeout: "61" }));
  await sqs.tagQueue({ QueueUrl: url, Tags: { team: "shop", empty: "" } });
  return {
    url: (await sqs.getQueueUrl({ QueueName: `${prefix}-main` })).QueueUrl,
    hide: await attribute(url, "VisibilityTimeout"),
    tags: (await sqs.listQueueTags({ QueueUrl: url })).Tags,
  };
}

async function message(url) {
  const sent = await sqs.sendMessage({
    QueueUrl: url,
    MessageBody: BODY,
    MessageAttributes: {
      text: { DataType: "String.label", StringValue: "\u00fc" },
      number: { DataType: "Number", StringValue: "-1.5" },
      bytes: { DataType: "Binary", BinaryValue: Uint8Array.from({ length: 256 }, (_, number) => number) },
    },
    MessageSystemAttributes: { AWSTraceHeader: { DataType: "String", StringValue: "Root=1-2-3" } },
  });
  const [received] = await receive(url, 10);
  const attributes = Object.entries(received.MessageAttributes).map(([name, value]) => [
    name,
    [value.DataType, value.StringValue ?? "", Buffer.from(value.BinaryValue ?? "").toString("hex")],
  ]);
  await show(url, received);
  const [again] = await receive(url, 10);
  await remove(url, again);
  return {
    "is the same": sent.MessageId === received.MessageId && sent.MessageId === again.MessageId,
    digests: [sent.MD5OfMessageBody, sent.MD5OfMessageAttributes, sent.MD5OfMessageSystemAttributes],
    body: received.Body,
    attributes: Object.fromEntries(attributes),
    trace: received.Attributes.AWSTraceHeader,
    counts: [received.Attributes.ApproximateReceiveCount, again.Attributes.ApproximateReceiveCount],
    left: await left(url),
  };
}

async function batches(url) {
  const sent = await sendAll(url, entries("a", "b", "\u0001"));
  const receipts = [];
  while (receipts.length < 2) receipts.push(...(await receive(url, 10)).map((each) => each.ReceiptHandle));
  const handles = [...receipts, "none"].map((ReceiptHandle, number) => ({ Id: String(number), ReceiptHandle }));
  const Entries = handles.map((each) => ({ ...each, VisibilityTimeout: 50 }));
  const changed = await sqs.changeMessageVisibilityBatch({ QueueUrl: url, Entries });
  const deleted = await sqs.deleteMessageBatch({ QueueUrl: url, Entries: handles });
  const { Failed } = await sendAll(url, entries("c"));
  const told = { sent: counted(sent), changed: counted(changed), deleted: counted(deleted) };
  return { ...told, "is all well": Failed === undefined };
}

async function poll() {
  const url = await created("poll");
  const heard = receive(url, 1);
  await pause(300);
  const sent = performance.now();
  await send(url, "ring");
  const [{ Body }] = await heard;
  return { body: Body, "is at once": performance.now() - sent < 15_000 };
}

async function large() {
  const url = await created("large", { VisibilityTimeout: "1" });
  await send(url, "x".repeat(ONE_MIB));
  return { length: (await receive(url, 1))[0].Body.length };
}

async function fifo() {
  const url = await created("line.fifo", { FifoQueue: "true" });
  const sent = [];
  for (const text of ["1", "2", "3", "3"])
    sent.push(
      await sqs.sendMessage({ QueueUrl: url, MessageBody: text, MessageGroupId: "g", MessageDeduplicationId: text }),
    );
  await fails("no group", send(url, "x"));
  const numbers = sent.map((each) => each.SequenceNumber);
  const [first] = await receive(url, 1);
  const isLocked = (await left(url)) === 0;
  await remove(url, first);
  return {
    order: [first, ...(await receive(url, 10))].map((each) => each.Body),
    "is locked": isLocked,
    "is a duplicate": sent[2].MessageId === sent[3].MessageId && numbers[2] === numbers[3],
    "is ascending": JSON.stringify(numbers) === JSON.stringify([...numbers].sort()),
    group: first.Attributes.MessageGroupId,
  };
}

async function deadLetters() {
  const dead = await created("dead");
  const arn = await attribute(dead, "QueueArn");
  const policy = JSON.stringify({ deadLetterTargetArn: arn, maxReceiveCount: 1 });
  const source = await created("source", { RedrivePolicy: policy });
  await send(source, "bad");
  await show(source, (await receive(source, 1))[0]);
  const remaining = await left(source);
  const [letter] = await receive(dead, 1);
  await show(dead, letter);
  const { queueUrls } = await sqs.listDeadLetterSourceQueues({ QueueUrl: dead });
  await sqs.startMessageMoveTask({ SourceArn: arn });
  const [back] = await receive(source, 1);
  let task = { Status: "RUNNING" };
  for (let look = 0; look < 1_000 && task.Status === "RUNNING"; look += 1) {
    await pause(50);
    [task] = (await sqs.listMessageMoveTasks({ SourceArn: arn })).Results;
  }
  await fails("no such queue to move", sqs.startMessageMoveTask({ SourceArn: `${arn}-not` }));
  return {
    left: remaining,
    from: letter.Attributes.DeadLetterQueueSourceArn,
    sources: queueUrls,
    back: back.Body,
    task: task.Status,
    moved: task.ApproximateNumberOfMessagesMoved,
  };
}

async function pages() {
  for (let number = 0; number < 5; number += 1) await created(`page-${number}`);
  const found = [];
  const pager = paginateListQueues({ client: sqs, pageSize: 2 }, { QueueNamePrefix: `${prefix}-page` });
  for await (const { QueueUrls } of pager)
    found.push(QueueUrls.map((url) => url.slice(url.lastIndexOf("-") + 1)));
  return found;
}

async function refusals(url) {
  const half = "x".repeat(ONE_MIB / 2);
  const [entry] = entries("a");
  await fails("missing queue", sqs.getQueueUrl({ QueueName: `${prefix}-not` }));
  await fails("attribute", sqs.setQueueAttributes({ QueueUrl: url, Attributes: { Nonsense: "1" } }));
  await fails("value", sqs.setQueueAttributes({ QueueUrl: url, Attributes: { VisibilityTimeout: "50000" } }));
  await fails("receipt", sqs.deleteMessage({ QueueUrl: url, ReceiptHandle: "none" }));
  await fails("eleven", sqs.receiveMessage({ QueueUrl: url, MaxNumberOfMessages: 11 }));
  await fails("character", send(url, "\u0001"));
  await fails("too long", send(url, "x".repeat(ONE_MIB + 1)));
  await fails("batch too long", sendAll(url, entries(half, half, "x")));
  await fails("empty batch", sendAll(url, []));
  await fails("eleven in a batch", sendAll(url, entries(..."abcdefghijk")));
  await fails("one id", sendAll(url, [entry, entry]));
  await fails("id", sendAll(url, [{ ...entry, Id: "a.b" }]));
  await sqs.purgeQueue({ QueueUrl: url });
  await fails("purge", sqs.purgeQueue({ QueueUrl: url }));
}

async function strangers() {
  for (const [what, accessKeyId] of [["wrong secret", process.env.AWS_ACCESS_KEY_ID], ["unknown key", "AKIANOBODY"]])
    await fails(what, new SQS({ credentials: { accessKeyId, secretAccessKey: "wrong" } }).listQueues({}));
  const deny = { Effect: "Deny", Principal: "*", Action: "sqs:SendMessage", Resource: "*" };
  await fails("denied", send(await created("shut", { Policy: JSON.stringify({ Statement: deny }) }), "x"));
}

const clock = async () => (await new SQS({ endpoint: late }).createQueue({ QueueName: `${prefix}-late` })).QueueUrl;

const created = async (name, Attributes = {}) =>
  (await sqs.createQueue({ QueueName: `${prefix}-${name}`, Attributes })).QueueUrl;

const attribute = async (QueueUrl, name) =>
  (await sqs.getQueueAttributes({ QueueUrl, AttributeNames: [name] })).Attributes[name];

const send = (QueueUrl, MessageBody) => sqs.sendMessage({ QueueUrl, MessageBody });

const sendAll = (QueueUrl, Entries) => sqs.sendMessageBatch({ QueueUrl, Entries });

const entries = (...bodies) => bodies.map((MessageBody, number) => ({ Id: String(number), MessageBody }));

const receive = async (QueueUrl, MaxNumberOfMessages) => {
  const all = { MessageAttributeNames: ["All"], MessageSystemAttributeNames: ["All"] };
  return (await sqs.receiveMessage({ QueueUrl, MaxNumberOfMessages, WaitTimeSeconds: 20, ...all })).Messages ?? [];
};

const left = async (QueueUrl) => ((await sqs.receiveMessage({ QueueUrl })).Messages ?? []).length;

const show = (QueueUrl, { ReceiptHandle }) =>
  sqs.changeMessageVisibility({ QueueUrl, ReceiptHandle, VisibilityTimeout: 0 });

const remove = (QueueUrl, { ReceiptHandle }) => sqs.deleteMessage({ QueueUrl, ReceiptHandle });

const counted = ({ Successful = [], Failed = [] }) => [
  Successful.length,
  Failed.map(({ Id, Code, SenderFault }) => [Id, Code, SenderFault]),
];

async function fails(what, call) {
  try {
    await call;
  } catch (error) {
    if (!(error instanceof SQSServiceException)) throw error;
    errors[what] = [error.constructor.name, error.name, error.message, error.$metadata.httpStatusCode];
    return;
  }
  throw new Error(`${what}: it did not fail`);
}

const url = await created("main", { VisibilityTimeout: "60" });
const told = {
  queue: await queue(url),
  message: await message(url),
  batches: await batches(url),
  poll: await poll(),
  large: await large(),
  fifo: await fifo(),
  "dead letters": await deadLetters(),
  pages: await pages(),
  clock: await clock(),
};
await refusals(url);
await strangers();
console.log(JSON.stringify({ ...told, errors }));
