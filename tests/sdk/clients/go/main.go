// The conversation of test_conversations.py, by the AWS SDK for Go: what it was told, as one JSON object.
//
//	program PREFIX LATE      of the names of its queues; the endpoint of a server whose clock is ahead
package main

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"sort"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
)

type told = map[string]any

const oneMiB = 1_048_576

var (
	ctx    = context.Background()
	client *sqs.Client
	prefix = os.Args[1]
	body   = "h\u00e9llo <&> \"\r\n\t\U0001D11E"
	errs   = told{}
)

func main() {
	client = connected()
	url := created("main", map[string]string{"VisibilityTimeout": "60"})
	answers := told{"queue": queue(url), "message": message(url), "batches": batches(url), "poll": poll(), "large": large(),
		"fifo": fifo(), "dead letters": deadLetters(), "pages": pages(), "errors": errs}
	refusals(url)
	strangers()
	answers["clock"] = clock()
	fmt.Println(string(must(json.Marshal(answers))))
}

func queue(url *string) told {
	fails("other attributes", second(client.CreateQueue(ctx, &sqs.CreateQueueInput{
		QueueName: aws.String(prefix + "-main"), Attributes: map[string]string{"VisibilityTimeout": "61"}})))
	must(client.TagQueue(ctx, &sqs.TagQueueInput{QueueUrl: url, Tags: map[string]string{"team": "shop", "empty": ""}}))
	return told{
		"url":  must(client.GetQueueUrl(ctx, &sqs.GetQueueUrlInput{QueueName: aws.String(prefix + "-main")})).QueueUrl,
		"hide": attribute(url, types.QueueAttributeNameVisibilityTimeout),
		"tags": must(client.ListQueueTags(ctx, &sqs.ListQueueTagsInput{QueueUrl: url})).Tags,
	}
}

func message(url *string) told {
	bytes := make([]byte, 256)
	for number := range bytes {
		bytes[number] = byte(number)
	}
	sent := must(client.SendMessage(ctx, &sqs.SendMessageInput{
		QueueUrl: url, MessageBody: &body,
		MessageAttributes: map[string]types.MessageAttributeValue{
			"text":   {DataType: aws.String("String.label"), StringValue: aws.String("\u00fc")},
			"number": {DataType: aws.String("Number"), StringValue: aws.String("-1.5")},
			"bytes":  {DataType: aws.String("Binary"), BinaryValue: bytes},
		},
		MessageSystemAttributes: map[string]types.MessageSystemAttributeValue{
			"AWSTraceHeader": {DataType: aws.String("String"), StringValue: aws.String("Root=1-2-3")}},
	}))
	received := receive(url, 10)[0]
	attributes := told{}
	for name, value := range received.MessageAttributes {
		attributes[name] = []string{*value.DataType, aws.ToString(value.StringValue), hex.EncodeToString(value.BinaryValue)}
	}
	must(client.ChangeMessageVisibility(ctx, &sqs.ChangeMessageVisibilityInput{
		QueueUrl: url, ReceiptHandle: received.ReceiptHandle, VisibilityTimeout: 0}))
	again := receive(url, 10)[0]
	deleted(url, again)
	return told{
		"is the same": *sent.MessageId == *received.MessageId && *sent.MessageId == *again.MessageId,
		"digests":     []string{*sent.MD5OfMessageBody, *sent.MD5OfMessageAttributes, *sent.MD5OfMessageSystemAttributes},
		"body":        received.Body, "attributes": attributes, "trace": received.Attributes["AWSTraceHeader"],
		"counts": []string{received.Attributes["ApproximateReceiveCount"], again.Attributes["ApproximateReceiveCount"]},
		"left":   len(must(client.ReceiveMessage(ctx, &sqs.ReceiveMessageInput{QueueUrl: url})).Messages),
	}
}

func batches(url *string) told {
	sent := must(client.SendMessageBatch(ctx, &sqs.SendMessageBatchInput{QueueUrl: url, Entries: entries("a", "b", "\u0001")}))
	var changes []types.ChangeMessageVisibilityBatchRequestEntry
	var deletes []types.DeleteMessageBatchRequestEntry
	for number, receipt := range append(receipts(url, 2), "none") {
		id := aws.String(fmt.Sprint(number))
		changes = append(changes, types.ChangeMessageVisibilityBatchRequestEntry{Id: id, ReceiptHandle: &receipt, VisibilityTimeout: 50})
		deletes = append(deletes, types.DeleteMessageBatchRequestEntry{Id: id, ReceiptHandle: &receipt})
	}
	changed := must(client.ChangeMessageVisibilityBatch(ctx, &sqs.ChangeMessageVisibilityBatchInput{QueueUrl: url, Entries: changes}))
	gone := must(client.DeleteMessageBatch(ctx, &sqs.DeleteMessageBatchInput{QueueUrl: url, Entries: deletes}))
	return told{
		"sent":        []any{len(sent.Successful), failures(sent.Failed)},
		"changed":     []any{len(changed.Successful), failures(changed.Failed)},
		"is all well": must(client.SendMessageBatch(ctx, &sqs.SendMessageBatchInput{QueueUrl: url, Entries: entries("c")})).Failed == nil,
		"deleted":     []any{len(gone.Successful), failures(gone.Failed)},
	}
}

func poll() told {
	url := created("poll", nil)
	heard := make(chan string)
	go func() { heard <- *receive(url, 1)[0].Body }()
	time.Sleep(300 * time.Millisecond)
	sent := time.Now()
	must(client.SendMessage(ctx, &sqs.SendMessageInput{QueueUrl: url, MessageBody: aws.String("ring")}))
	return told{"body": <-heard, "is at once": time.Since(sent) < 15*time.Second}
}

// Shown again after a second: this SDK may close the connection under a large answer, and ask again (docs/clients.md).
func large() told {
	url := created("large", map[string]string{"VisibilityTimeout": "1"})
	must(client.SendMessage(ctx, &sqs.SendMessageInput{QueueUrl: url, MessageBody: aws.String(strings.Repeat("x", oneMiB))}))
	return told{"length": len(*receive(url, 1)[0].Body)}
}

func fifo() told {
	url := created("line.fifo", map[string]string{"FifoQueue": "true"})
	ids, numbers := []string{}, []string{}
	for _, text := range []string{"1", "2", "3", "3"} {
		sent := must(client.SendMessage(ctx, &sqs.SendMessageInput{
			QueueUrl: url, MessageBody: &text, MessageGroupId: aws.String("g"), MessageDeduplicationId: &text}))
		ids, numbers = append(ids, *sent.MessageId), append(numbers, *sent.SequenceNumber)
	}
	fails("no group", second(client.SendMessage(ctx, &sqs.SendMessageInput{QueueUrl: url, MessageBody: aws.String("x")})))
	first := receive(url, 1)
	isLocked := len(must(client.ReceiveMessage(ctx, &sqs.ReceiveMessageInput{QueueUrl: url})).Messages) == 0
	deleted(url, first[0])
	order := []string{*first[0].Body}
	for _, each := range receive(url, 10) {
		order = append(order, *each.Body)
	}
	return told{"order": order, "is locked": isLocked, "is a duplicate": ids[2] == ids[3] && numbers[2] == numbers[3],
		"is ascending": sort.StringsAreSorted(numbers), "group": first[0].Attributes["MessageGroupId"]}
}

func deadLetters() told {
	dead := created("dead", nil)
	arn := attribute(dead, types.QueueAttributeNameQueueArn)
	source := created("source", map[string]string{"RedrivePolicy": `{"deadLetterTargetArn":"` + arn + `","maxReceiveCount":1}`})
	must(client.SendMessage(ctx, &sqs.SendMessageInput{QueueUrl: source, MessageBody: aws.String("bad")}))
	must(client.ChangeMessageVisibility(ctx, &sqs.ChangeMessageVisibilityInput{
		QueueUrl: source, ReceiptHandle: receive(source, 1)[0].ReceiptHandle, VisibilityTimeout: 0}))
	left := len(must(client.ReceiveMessage(ctx, &sqs.ReceiveMessageInput{QueueUrl: source})).Messages)
	letter := receive(dead, 1)[0]
	must(client.ChangeMessageVisibility(ctx, &sqs.ChangeMessageVisibilityInput{
		QueueUrl: dead, ReceiptHandle: letter.ReceiptHandle, VisibilityTimeout: 0}))
	sources := must(client.ListDeadLetterSourceQueues(ctx, &sqs.ListDeadLetterSourceQueuesInput{QueueUrl: dead})).QueueUrls
	must(client.StartMessageMoveTask(ctx, &sqs.StartMessageMoveTaskInput{SourceArn: &arn}))
	back := receive(source, 1)[0]
	task := types.ListMessageMoveTasksResultEntry{Status: aws.String("RUNNING")}
	for give := 0; give < 1_000 && *task.Status == "RUNNING"; give++ {
		time.Sleep(50 * time.Millisecond)
		task = must(client.ListMessageMoveTasks(ctx, &sqs.ListMessageMoveTasksInput{SourceArn: &arn})).Results[0]
	}
	fails("no such queue to move", second(client.StartMessageMoveTask(ctx, &sqs.StartMessageMoveTaskInput{SourceArn: aws.String(arn + "-not")})))
	return told{"left": left, "from": letter.Attributes["DeadLetterQueueSourceArn"], "sources": sources, "back": back.Body,
		"task": *task.Status, "moved": task.ApproximateNumberOfMessagesMoved}
}

func pages() [][]string {
	for number := range 5 {
		created(fmt.Sprint("page-", number), nil)
	}
	found := [][]string{}
	pager := sqs.NewListQueuesPaginator(client, &sqs.ListQueuesInput{QueueNamePrefix: aws.String(prefix + "-page"), MaxResults: aws.Int32(2)})
	for pager.HasMorePages() {
		page := []string{}
		for _, url := range must(pager.NextPage(ctx)).QueueUrls {
			page = append(page, url[strings.LastIndex(url, "-")+1:])
		}
		found = append(found, page)
	}
	return found
}
