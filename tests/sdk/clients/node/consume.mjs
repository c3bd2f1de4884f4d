// Sends COUNT messages in batches, lets sqs-consumer handle them, and prints what it saw as one JSON line.
// The AWS SDK checks every MD5 itself. Each body that ends in 7 fails once, so it must come a second time.
import { DeleteQueueCommand, CreateQueueCommand, SendMessageBatchCommand, SQSClient } from "@aws-sdk/client-sqs";
import { Consumer } from "sqs-consumer";

const [endpoint, name, countText] = process.argv.slice(2);
const count = Number(countText);
const sqs = new SQSClient({
  endpoint,
  region: "us-east-1",
  credentials: { accessKeyId: "test", secretAccessKey: "test" },
  maxAttempts: 1,
});

const { QueueUrl } = await sqs.send(
  new CreateQueueCommand({ QueueName: name, Attributes: { VisibilityTimeout: "30" } }),
);
for (let start = 0; start < count; start += 10) {
  const Entries = [...Array(Math.min(10, count - start)).keys()].map((place) => ({
    Id: `e${place}`,
    MessageBody: `message ${start + place}`,
    MessageAttributes: { place: { DataType: "Number", StringValue: String(start + place) } },
  }));
  const answer = await sqs.send(new SendMessageBatchCommand({ QueueUrl, Entries }));
  if (answer.Failed?.length) throw new Error(JSON.stringify(answer.Failed));
}

const seen = { handled: [], failed: [], errors: [], counts: {} };
const consumer = Consumer.create({
  queueUrl: QueueUrl,
  sqs,
  batchSize: 10,
  waitTimeSeconds: 1,
  terminateVisibilityTimeout: true,
  messageAttributeNames: ["All"],
  messageSystemAttributeNames: ["ApproximateReceiveCount"],
  handleMessage: async (message) => {
    const body = message.Body;
    if (message.MessageAttributes.place.StringValue !== body.split(" ")[1]) throw new Error(`attribute of ${body}`);
    seen.counts[body] = Number(message.Attributes.ApproximateReceiveCount);
    if (body.endsWith("7") && !seen.failed.includes(body)) {
      seen.failed.push(body);
      throw new Error("planned");
    }
    seen.handled.push(body);
    return message;
  },
});
consumer.on("error", (error) => seen.errors.push(String(error)));
consumer.on("timeout_error", (error) => seen.errors.push(String(error)));
consumer.on("processing_error", (error) => {
  if (!String(error).includes("planned")) seen.errors.push(String(error));
});

// A receive starts after the deletes of the one before it: one that finds nothing is the end of all calls.
const giveUp = Date.now() + 90_000;
consumer.on("empty", () => {
  if (seen.handled.length >= count || Date.now() > giveUp) consumer.stop();
});
const stopped = new Promise((resolve) => consumer.on("stopped", resolve));
consumer.start();
await stopped;
await sqs.send(new DeleteQueueCommand({ QueueUrl }));
console.log(JSON.stringify(seen));
