// Java: sends three messages in one call, receives them with long polling, deletes them.
//
//     cd examples/java
//     mvn -q dependency:copy-dependencies
//     java -cp 'target/dependency/*' Teas.java

import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;
import software.amazon.awssdk.services.sqs.SqsClient;
import software.amazon.awssdk.services.sqs.model.Message;
import software.amazon.awssdk.services.sqs.model.MessageAttributeValue;
import software.amazon.awssdk.services.sqs.model.QueueDoesNotExistException;
import software.amazon.awssdk.services.sqs.model.SendMessageBatchRequestEntry;

class Teas {
    static final List<String> TEAS = List.of("Assam", "Ceylon", "Darjeeling");

    public static void main(String[] arguments) {
        try (var sqs = SqsClient.create()) {
            var queue = sqs.createQueue(call -> call.queueName("teas-java")).queueUrl();
            var entries = IntStream.range(0, TEAS.size()).mapToObj(Teas::entry).toList();
            var sent = sqs.sendMessageBatch(call -> call.queueUrl(queue).entries(entries));
            if (sent.hasFailed()) throw new IllegalStateException(sent.failed().get(0).message());

            for (int served = 0; served < TEAS.size(); ) {
                var received = sqs.receiveMessage(call -> call.queueUrl(queue)
                        .maxNumberOfMessages(10).waitTimeSeconds(20).messageAttributeNames("All"));
                for (Message message : received.messages()) {
                    System.out.println(message.body() + ": " + message.messageAttributes().get("cups").stringValue());
                    sqs.deleteMessage(call -> call.queueUrl(queue).receiptHandle(message.receiptHandle()));
                    served++;
                }
            }

            try {
                sqs.getQueueUrl(call -> call.queueName("coffees-java"));
            } catch (QueueDoesNotExistException missing) {
                System.out.println("coffees: " + missing.awsErrorDetails().errorMessage());
            }
        }
    }

    static SendMessageBatchRequestEntry entry(int number) {
        var cups = MessageAttributeValue.builder().dataType("Number").stringValue(String.valueOf(number + 1)).build();
        return SendMessageBatchRequestEntry.builder().id(String.valueOf(number)).messageBody(TEAS.get(number))
                .messageAttributes(Map.of("cups", cups)).build();
    }
}
