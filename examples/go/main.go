// Go: sends three messages in one call, receives them with long polling, deletes them.
//
//	cd examples/go
//	go run .
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
)

func main() {
	ctx := context.Background()
	settings := must(config.LoadDefaultConfig(ctx))
	client := sqs.NewFromConfig(settings)
	queue := must(client.CreateQueue(ctx, &sqs.CreateQueueInput{QueueName: aws.String("teas-go")})).QueueUrl

	var entries []types.SendMessageBatchRequestEntry
	for number, tea := range []string{"Assam", "Ceylon", "Darjeeling"} {
		cups := types.MessageAttributeValue{DataType: aws.String("Number"), StringValue: aws.String(strconv.Itoa(number + 1))}
		entries = append(entries, types.SendMessageBatchRequestEntry{
			Id: aws.String(strconv.Itoa(number)), MessageBody: aws.String(tea),
			MessageAttributes: map[string]types.MessageAttributeValue{"cups": cups},
		})
	}
	sent := must(client.SendMessageBatch(ctx, &sqs.SendMessageBatchInput{QueueUrl: queue, Entries: entries}))
	for _, failed := range sent.Failed {
		log.Fatal(*failed.Message)
	}

	poll := sqs.ReceiveMessageInput{QueueUrl: queue, MaxNumberOfMessages: 10, WaitTimeSeconds: 20, MessageAttributeNames: []string{"All"}}
	for served := 0; served < len(entries); {
		for _, message := range must(client.ReceiveMessage(ctx, &poll)).Messages {
			fmt.Printf("%s: %s\n", *message.Body, *message.MessageAttributes["cups"].StringValue)
			must(client.DeleteMessage(ctx, &sqs.DeleteMessageInput{QueueUrl: queue, ReceiptHandle: message.ReceiptHandle}))
			served++
		}
	}

	_, err := client.GetQueueUrl(ctx, &sqs.GetQueueUrlInput{QueueName: aws.String("coffees-go")})
	if missing := new(types.QueueDoesNotExist); errors.As(err, &missing) {
		fmt.Println("coffees:", missing.ErrorMessage())
	}
}

func must[T any](value T, err error) T {
	if err != nil {
		log.Fatal(err)
	}
	return value
}
