// What is refused, and small talk with a queue.

import static java.util.stream.Collectors.joining;
import static software.amazon.awssdk.services.sqs.model.MessageSystemAttributeName.APPROXIMATE_RECEIVE_COUNT;
import static software.amazon.awssdk.services.sqs.model.QueueAttributeName.VISIBILITY_TIMEOUT;

import java.net.URI;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.IntStream;
import software.amazon.awssdk.auth.credentials.AwsBasicCredentials;
import software.amazon.awssdk.services.sqs.SqsClient;
import software.amazon.awssdk.services.sqs.model.*;

class Talk {
    static final int ONE_MIB = 1_048_576;
    final Map<String, Object> errors = new TreeMap<>();
    final SqsClient sqs = SqsClient.create();
    final String prefix;

    Talk(String prefix) {
        this.prefix = prefix;
    }

    void refusals(String url) {
        fails("missing queue", () -> sqs.getQueueUrl(call -> call.queueName(prefix + "-not")));
        fails("attribute", () -> sqs.setQueueAttributes(call ->
                call.queueUrl(url).attributesWithStrings(Map.of("Nonsense", "1"))));
        fails("value", () -> sqs.setQueueAttributes(call ->
                call.queueUrl(url).attributes(Map.of(VISIBILITY_TIMEOUT, "50000"))));
        fails("receipt", () -> sqs.deleteMessage(call -> call.queueUrl(url).receiptHandle("none")));
        fails("eleven", () -> sqs.receiveMessage(call -> call.queueUrl(url).maxNumberOfMessages(11)));
        fails("character", () -> send(url, "\u0001"));
        fails("too long", () -> send(url, "x".repeat(ONE_MIB + 1)));
        var half = "x".repeat(ONE_MIB / 2);
        fails("batch too long", () -> sendAll(url, entries(half, half, "x")));
        fails("empty batch", () -> sendAll(url, List.of()));
        fails("eleven in a batch", () -> sendAll(url, entries("abcdefghijk".split(""))));
        var entry = entries("a").get(0);
        fails("one id", () -> sendAll(url, List.of(entry, entry)));
        fails("id", () -> sendAll(url, List.of(entry.toBuilder().id("a.b").build())));
        sqs.purgeQueue(call -> call.queueUrl(url));
        fails("purge", () -> sqs.purgeQueue(call -> call.queueUrl(url)));
    }

    void strangers() {
        Map.of("wrong secret", System.getenv("AWS_ACCESS_KEY_ID"), "unknown key", "AKIANOBODY").forEach((what, key) -> {
            var stranger = SqsClient.builder().credentialsProvider(() -> AwsBasicCredentials.create(key, "wrong")).build();
            fails(what, stranger::listQueues);
        });
        var deny = """
                {"Statement": {"Effect": "Deny", "Principal": "*", "Action": "sqs:SendMessage", "Resource": "*"}}""";
        var shut = created("shut", Map.of(QueueAttributeName.POLICY, deny));
        fails("denied", () -> send(shut, "x"));
    }

    String clock(String late) {
        var there = SqsClient.builder().endpointOverride(URI.create(late)).build();
        return there.createQueue(call -> call.queueName(prefix + "-late")).queueUrl();
    }

    String created(String name, Map<QueueAttributeName, String> attributes) {
        return sqs.createQueue(call -> call.queueName(prefix + "-" + name).attributes(attributes)).queueUrl();
    }

    String attribute(String url, QueueAttributeName name) {
        return sqs.getQueueAttributes(call -> call.queueUrl(url).attributeNames(name)).attributes().get(name);
    }

    MessageAttributeValue.Builder value(String type) {
        return MessageAttributeValue.builder().dataType(type);
    }

    void send(String url, String body) {
        sqs.sendMessage(call -> call.queueUrl(url).messageBody(body));
    }

    void sendAll(String url, List<SendMessageBatchRequestEntry> entries) {
        sqs.sendMessageBatch(call -> call.queueUrl(url).entries(entries));
    }

    List<SendMessageBatchRequestEntry> entries(String... bodies) {
        return IntStream.range(0, bodies.length).mapToObj(number ->
                SendMessageBatchRequestEntry.builder()
                        .id(String.valueOf(number)).messageBody(bodies[number]).build()).toList();
    }

    List<Message> receive(String url, int most) {
        return sqs.receiveMessage(call -> call.queueUrl(url).maxNumberOfMessages(most).waitTimeSeconds(20)
                .messageAttributeNames("All").messageSystemAttributeNames(MessageSystemAttributeName.ALL)).messages();
    }

    List<String> receipts(String url, int count) {
        var found = new ArrayList<String>();
        while (found.size() < count) receive(url, 10).forEach(message -> found.add(message.receiptHandle()));
        return found;
    }

    void show(String url, Message message) {
        sqs.changeMessageVisibility(call ->
                call.queueUrl(url).receiptHandle(message.receiptHandle()).visibilityTimeout(0));
    }

    void delete(String url, Message message) {
        sqs.deleteMessage(call -> call.queueUrl(url).receiptHandle(message.receiptHandle()));
    }

    String counted(Message message) {
        return message.attributes().get(APPROXIMATE_RECEIVE_COUNT);
    }

    List<Object> failures(List<BatchResultErrorEntry> failed) {
        return failed.stream().<Object>map(each -> List.of(each.id(), each.code(), each.senderFault())).toList();
    }

    void fails(String what, Runnable call) {
        try {
            call.run();
        } catch (SqsException error) {
            var details = error.awsErrorDetails();
            errors.put(what, List.of(
                    error.getClass().getSimpleName(), details.errorCode(), details.errorMessage(), error.statusCode()));
            return;
        }
        throw new AssertionError(what + ": it did not fail");
    }

    static String json(Object value) {
        if (value instanceof Map<?, ?> map)
            return map.entrySet().stream().map(each -> json(each.getKey()) + ":" + json(each.getValue()))
                    .collect(joining(",", "{", "}"));
        if (value instanceof List<?> list) return list.stream().map(Talk::json).collect(joining(",", "[", "]"));
        if (!(value instanceof String text)) return String.valueOf(value);
        return text.chars().mapToObj(letter -> String.format("\\u%04x", letter)).collect(joining("", "\"", "\""));
    }
}
