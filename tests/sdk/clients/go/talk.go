// What is refused, and small talk with a queue.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"reflect"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/aws/smithy-go"
)

func refusals(url *string) {
	fails("missing queue", second(client.GetQueueUrl(ctx, &sqs.GetQueueUrlInput{QueueName: aws.String(prefix + "-not")})))
	fails("attribute", second(client.SetQueueAttributes(ctx, &sqs.SetQueueAttributesInput{
		QueueUrl: url, Attributes: map[string]string{"Nonsense": "1"}})))
	fails("value", second(client.SetQueueAttributes(ctx, &sqs.SetQueueAttributesInput{
		QueueUrl: url, Attributes: map[string]string{"VisibilityTimeout": "50000"}})))
	fails("receipt", second(client.DeleteMessage(ctx, &sqs.DeleteMessageInput{QueueUrl: url, ReceiptHandle: aws.String("none")})))
	fails("eleven", second(client.ReceiveMessage(ctx, &sqs.ReceiveMessageInput{QueueUrl: url, MaxNumberOfMessages: 11})))
	fails("character", send(url, "\u0001"))
	fails("too long", send(url, strings.Repeat("x", oneMiB+1)))
	half := strings.Repeat("x", oneMiB/2)
	fails("batch too long", sendAll(url, entries(half, half, "x")))
	fails("empty batch", sendAll(url, []types.SendMessageBatchRequestEntry{}))
	fails("eleven in a batch", sendAll(url, entries(strings.Split("abcdefghijk", "")...)))
	fails("one id", sendAll(url, append(entries("a"), entries("b")...)))
	bad := entries("a")
	bad[0].Id = aws.String("a.b")
	fails("id", sendAll(url, bad))
	must(client.PurgeQueue(ctx, &sqs.PurgeQueueInput{QueueUrl: url}))
	fails("purge", second(client.PurgeQueue(ctx, &sqs.PurgeQueueInput{QueueUrl: url})))
}

func strangers() {
	for what, key := range map[string]string{"wrong secret": os.Getenv("AWS_ACCESS_KEY_ID"), "unknown key": "AKIANOBODY"} {
		stranger := connected(func(options *sqs.Options) {
			options.Credentials = aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
				return aws.Credentials{AccessKeyID: key, SecretAccessKey: "wrong"}, nil
			})
		})
		fails(what, second(stranger.ListQueues(ctx, &sqs.ListQueuesInput{})))
	}
	deny := `{"Statement":{"Effect":"Deny","Principal":"*","Action":"sqs:SendMessage","Resource":"*"}}`
	fails("denied", send(created("shut", map[string]string{"Policy": deny}), "x"))
}

func clock() *string {
	late := connected(func(options *sqs.Options) { options.BaseEndpoint = &os.Args[2] })
	return must(late.CreateQueue(ctx, &sqs.CreateQueueInput{QueueName: aws.String(prefix + "-late")})).QueueUrl
}

func connected(changes ...func(*sqs.Options)) *sqs.Client {
	return sqs.NewFromConfig(must(config.LoadDefaultConfig(ctx)), changes...)
}

func created(name string, attributes map[string]string) *string {
	input := sqs.CreateQueueInput{QueueName: aws.String(prefix + "-" + name), Attributes: attributes}
	return must(client.CreateQueue(ctx, &input)).QueueUrl
}

func attribute(url *string, name types.QueueAttributeName) string {
	input := sqs.GetQueueAttributesInput{QueueUrl: url, AttributeNames: []types.QueueAttributeName{name}}
	return must(client.GetQueueAttributes(ctx, &input)).Attributes[string(name)]
}

func send(url *string, body string) error {
	return second(client.SendMessage(ctx, &sqs.SendMessageInput{QueueUrl: url, MessageBody: &body}))
}

func sendAll(url *string, entries []types.SendMessageBatchRequestEntry) error {
	return second(client.SendMessageBatch(ctx, &sqs.SendMessageBatchInput{QueueUrl: url, Entries: entries}))
}

func entries(bodies ...string) (entries []types.SendMessageBatchRequestEntry) {
	for number, body := range bodies {
		id := aws.String(fmt.Sprint(number))
		entries = append(entries, types.SendMessageBatchRequestEntry{Id: id, MessageBody: &body})
	}
	return entries
}

func receive(url *string, most int32) []types.Message {
	return must(client.ReceiveMessage(ctx, &sqs.ReceiveMessageInput{
		QueueUrl: url, MaxNumberOfMessages: most, WaitTimeSeconds: 20, MessageAttributeNames: []string{"All"},
		MessageSystemAttributeNames: []types.MessageSystemAttributeName{types.MessageSystemAttributeNameAll},
	})).Messages
}

func receipts(url *string, count int) (found []string) {
	for len(found) < count {
		for _, message := range receive(url, 10) {
			found = append(found, *message.ReceiptHandle)
		}
	}
	return found
}

func deleted(url *string, message types.Message) {
	must(client.DeleteMessage(ctx, &sqs.DeleteMessageInput{QueueUrl: url, ReceiptHandle: message.ReceiptHandle}))
}

func failures(failed []types.BatchResultErrorEntry) [][]any {
	found := [][]any{}
	for _, each := range failed {
		found = append(found, []any{*each.Id, *each.Code, each.SenderFault})
	}
	return found
}

func fails(what string, err error) {
	var known smithy.APIError
	var answer *http.ResponseError
	if !errors.As(err, &known) || !errors.As(err, &answer) {
		log.Fatalf("%s: %v", what, err)
	}
	kind := reflect.TypeOf(known).Elem().Name()
	errs[what] = []any{kind, known.ErrorCode(), known.ErrorMessage(), answer.HTTPStatusCode()}
}

func second[T any](_ T, err error) error { return err }

func must[T any](value T, err error) T {
	if err != nil {
		log.Panic(err)
	}
	return value
}
