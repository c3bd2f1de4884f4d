// The conversation of test_conversations.py, by the AWS SDK for Java: what it was told, as one JSON object.
//
//     java -cp JARS:CLASSES Conversation PREFIX LATE      of the names of its queues; a server whose clock is ahead

import static software.amazon.awssdk.services.sqs.model.MessageSystemAttributeName.*;
import static software.amazon.awssdk.services.sqs.model.QueueAttributeName.*;

import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.IntStream;
import software.amazon.awssdk.core.SdkBytes;
import software.amazon.awssdk.services.sqs.SqsAsyncClient;
import software.amazon.awssdk.services.sqs.model.*;

class Conversation extends Talk {
    static final String BODY = "h\u00e9llo <&> \"\r\n\t\uD834\uDD1E";

    Conversation(String prefix) {
        super(prefix);
    }

    public static void main(String[] arguments) throws Exception {
        System.out.println(json(new Conversation(arguments[0]).told(arguments[1])));
    }

    Map<String, Object> told(String late) throws Exception {
        var url = created("main", Map.of(VISIBILITY_TIMEOUT, "60"));
        var told = new TreeMap<String, Object>();
        told.put("queue", queue(url));
        told.put("message", message(url));
        told.put("batches", batches(url));
        told.put("poll", poll());
        told.put("large", large());
        told.put("fifo", fifo());
        told.put("dead letters", deadLetters());
        told.put("pages", pages());
        told.put("clock", clock(late));
        refusals(url);
        strangers();
        told.put("errors", errors);
        return told;
    }

    Object queue(String url) {
        fails("other attributes", () -> created("main", Map.of(VISIBILITY_TIMEOUT, "61")));
        sqs.tagQueue(call -> call.queueUrl(url).tags(Map.of("team", "shop", "empty", "")));
        return Map.of(
                "url", sqs.getQueueUrl(call -> call.queueName(prefix + "-main")).queueUrl(),
                "hide", attribute(url, VISIBILITY_TIMEOUT),
                "tags", sqs.listQueueTags(call -> call.queueUrl(url)).tags());
    }

    Object message(String url) {
        var bytes = new byte[256];
        for (int number = 0; number < 256; number++) bytes[number] = (byte) number;
        var sent = sqs.sendMessage(call -> call.queueUrl(url).messageBody(BODY)
                .messageAttributes(Map.of(
                        "text", value("String.label").stringValue("\u00fc").build(),
                        "number", value("Number").stringValue("-1.5").build(),
                        "bytes", value("Binary").binaryValue(SdkBytes.fromByteArray(bytes)).build()))
                .messageSystemAttributes(Map.of(MessageSystemAttributeNameForSends.AWS_TRACE_HEADER,
                        MessageSystemAttributeValue.builder().dataType("String").stringValue("Root=1-2-3").build())));
        var received = receive(url, 10).get(0);
        var attributes = new TreeMap<String, Object>();
        received.messageAttributes().forEach((name, value) -> attributes.put(name, List.of(
                value.dataType(),
                value.stringValue() == null ? "" : value.stringValue(),
                value.binaryValue() == null ? "" : HexFormat.of().formatHex(value.binaryValue().asByteArray()))));
        show(url, received);
        var again = receive(url, 10).get(0);
        delete(url, again);
        return Map.of(
                "is the same", List.of(received.messageId(), again.messageId()).equals(List.of(sent.messageId(), sent.messageId())),
                "digests", List.of(
                        sent.md5OfMessageBody(), sent.md5OfMessageAttributes(), sent.md5OfMessageSystemAttributes()),
                "body", received.body(),
                "attributes", attributes,
                "trace", received.attributes().get(AWS_TRACE_HEADER),
                "counts", List.of(counted(received), counted(again)),
                "left", sqs.receiveMessage(call -> call.queueUrl(url)).messages().size());
    }

    Object batches(String url) {
        var sent = sqs.sendMessageBatch(call -> call.queueUrl(url).entries(entries("a", "b", "\u0001")));
        var changes = new ArrayList<ChangeMessageVisibilityBatchRequestEntry>();
        var deletes = new ArrayList<DeleteMessageBatchRequestEntry>();
        var receipts = receipts(url, 2);
        receipts.add("none");
        for (int number = 0; number < receipts.size(); number++) {
            var id = String.valueOf(number);
            var receipt = receipts.get(number);
            changes.add(ChangeMessageVisibilityBatchRequestEntry.builder()
                    .id(id).receiptHandle(receipt).visibilityTimeout(50).build());
            deletes.add(DeleteMessageBatchRequestEntry.builder().id(id).receiptHandle(receipt).build());
        }
        var changed = sqs.changeMessageVisibilityBatch(call -> call.queueUrl(url).entries(changes));
        var deleted = sqs.deleteMessageBatch(call -> call.queueUrl(url).entries(deletes));
        return Map.of(
                "is all well", !sqs.sendMessageBatch(call -> call.queueUrl(url).entries(entries("c"))).hasFailed(),
                "sent", List.of(sent.successful().size(), failures(sent.failed())),
                "changed", List.of(changed.successful().size(), failures(changed.failed())),
                "deleted", List.of(deleted.successful().size(), failures(deleted.failed())));
    }

    /** By the other client, which has another HTTP library. */
    Object poll() throws Exception {
        var url = created("poll", Map.of());
        try (var async = SqsAsyncClient.create()) {
            var heard = async.receiveMessage(call -> call.queueUrl(url).waitTimeSeconds(20));
            Thread.sleep(300);
            var sent = System.nanoTime();
            async.sendMessage(call -> call.queueUrl(url).messageBody("ring")).get();
            var body = heard.get().messages().get(0).body();
            return Map.of("body", body, "is at once", System.nanoTime() - sent < 15_000_000_000L);
        }
    }

    Object large() {
        var url = created("large", Map.of(VISIBILITY_TIMEOUT, "1"));
        send(url, "x".repeat(ONE_MIB));
        return Map.of("length", receive(url, 1).get(0).body().length());
    }

    Object fifo() {
        var url = created("line.fifo", Map.of(FIFO_QUEUE, "true"));
        var ids = new ArrayList<String>();
        var numbers = new ArrayList<String>();
        for (var text : List.of("1", "2", "3", "3")) {
            var sent = sqs.sendMessage(call ->
                    call.queueUrl(url).messageBody(text).messageGroupId("g").messageDeduplicationId(text));
            ids.add(sent.messageId());
            numbers.add(sent.sequenceNumber());
        }
        fails("no group", () -> send(url, "x"));
        var first = receive(url, 1).get(0);
        var isLocked = sqs.receiveMessage(call -> call.queueUrl(url)).messages().isEmpty();
        delete(url, first);
        var order = new ArrayList<>(List.of(first.body()));
        receive(url, 10).forEach(message -> order.add(message.body()));
        return Map.of(
                "order", order,
                "is locked", isLocked,
                "is a duplicate", ids.get(2).equals(ids.get(3)) && numbers.get(2).equals(numbers.get(3)),
                "is ascending", numbers.equals(numbers.stream().sorted().toList()),
                "group", first.attributes().get(MESSAGE_GROUP_ID));
    }

    Object deadLetters() throws Exception {
        var dead = created("dead", Map.of());
        var arn = attribute(dead, QUEUE_ARN);
        var policy = "{\"deadLetterTargetArn\":\"" + arn + "\",\"maxReceiveCount\":1}";
        var source = created("source", Map.of(REDRIVE_POLICY, policy));
        send(source, "bad");
        show(source, receive(source, 1).get(0));
        var left = sqs.receiveMessage(call -> call.queueUrl(source)).messages().size();
        var letter = receive(dead, 1).get(0);
        show(dead, letter);
        var sources = sqs.listDeadLetterSourceQueues(call -> call.queueUrl(dead)).queueUrls();
        sqs.startMessageMoveTask(call -> call.sourceArn(arn));
        var back = receive(source, 1).get(0);
        ListMessageMoveTasksResultEntry task;
        int looks = 0;
        do {
            Thread.sleep(50);
            task = sqs.listMessageMoveTasks(call -> call.sourceArn(arn)).results().get(0);
        } while (task.status().equals("RUNNING") && looks++ < 1_000);
        fails("no such queue to move", () -> sqs.startMessageMoveTask(call -> call.sourceArn(arn + "-not")));
        return Map.of(
                "left", left,
                "from", letter.attributes().get(DEAD_LETTER_QUEUE_SOURCE_ARN),
                "sources", sources,
                "back", back.body(),
                "task", task.status(),
                "moved", task.approximateNumberOfMessagesMoved());
    }

    Object pages() {
        IntStream.range(0, 5).forEach(number -> created("page-" + number, Map.of()));
        return sqs.listQueuesPaginator(call -> call.queueNamePrefix(prefix + "-page").maxResults(2)).stream()
                .map(page -> page.queueUrls().stream().map(url -> url.substring(url.lastIndexOf('-') + 1)).toList())
                .toList();
    }
}
