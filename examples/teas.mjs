// JavaScript: sends three messages in one call, receives them with long polling, deletes them.
//
//     npm install --no-save @aws-sdk/client-sqs
//     node examples/teas.mjs

import {
  CreateQueueCommand,
  DeleteMessageCommand,
  GetQueueUrlCommand,
  QueueDoesNotExist,
  ReceiveMessageCommand,
  SendMessageBatchCommand,
  SQSClient,
} from "@aws-sdk/client-sqs";

const sqs = new SQSClient();
const { QueueUrl } = await sqs.send(new CreateQueueCommand({ QueueName: "teas-javascript" }));

const Entries = ["Assam", "Ceylon", "Darjeeling"].map((tea, number) => ({
  Id: String(number),
  MessageBody: tea,
  MessageAttributes: { cups: { DataType: "Number", StringValue: String(number + 1) } },
}));
const { Failed = [] } = await sqs.send(new SendMessageBatchCommand({ QueueUrl, Entries }));
if (Failed.length) throw new Error(Failed[0].Message);

for (let served = 0; served < Entries.length; ) {
  const poll = { QueueUrl, MaxNumberOfMessages: 10, WaitTimeSeconds: 20, MessageAttributeNames: ["All"] };
  const { Messages = [] } = await sqs.send(new ReceiveMessageCommand(poll));
  for (const { Body, MessageAttributes, ReceiptHandle } of Messages) {
    console.log(`${Body}: ${MessageAttributes.cups.StringValue}`);
    await sqs.send(new DeleteMessageCommand({ QueueUrl, ReceiptHandle }));
    served += 1;
  }
}

try {
  await sqs.send(new GetQueueUrlCommand({ QueueName: "coffees-javascript" }));
} catch (error) {
  if (!(error instanceof QueueDoesNotExist)) throw error;
  console.log(`coffees: ${error.message}`);
}
