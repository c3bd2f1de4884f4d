// Command load is the load generator of `make bench`: closed-loop clients on keep-alive connections, one thread, both
// protocols of SQS. It checks the responses and prints one JSON object per line: {"event": "window_start"} and
// {"event": "window_end"} at those times, so that the caller can read the server's CPU clock, then the result.
//
//	send      clients send as fast as they get responses
//	receive   clients receive and delete the messages of -backlog
//	mixed     each client sends messages, receives as many, deletes them
//	rate      -clients send -rate messages per second (open loop); -receivers receive and delete
//	fill      sends -backlog messages as fast as possible; use with -keep
//	idle      only the -pollers
package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"net"
	"os"
	"runtime"
	"runtime/debug"
	"time"
)

type options struct {
	endpoint, protocol, mode, prefix        string
	clients, receivers, batch, size, queues int
	fifoGroups, wait, pollers, pollWait     int
	verify, visibility, setupClients        int
	backlog                                 uint64
	rate                                    float64
	duration, warmUp, drain, timeout        time.Duration
	processing, pause                       time.Duration
	isSigning, isKeeping, hasSDKHead        bool
	accessKey, secretKey, region            string
	seed                                    int64
}

func parseOptions(arguments []string) (*options, map[string]string, error) {
	o := &options{}
	f := flag.NewFlagSet("load", flag.ContinueOnError)
	f.StringVar(&o.endpoint, "endpoint", "http://127.0.0.1:9324", "the server, on this machine")
	f.StringVar(&o.protocol, "protocol", "json", "json or query")
	f.StringVar(&o.mode, "mode", "mixed", "send, receive, mixed, rate, fill or idle")
	f.StringVar(&o.prefix, "prefix", "bench", "queue names begin with this")
	f.IntVar(&o.clients, "clients", 64, "connections with load")
	f.IntVar(&o.receivers, "receivers", 4, "rate: connections that receive and delete")
	f.IntVar(&o.batch, "batch", 1, "messages per call, 1 to 10")
	f.IntVar(&o.size, "size", 1024, "size of a message's body, bytes")
	f.IntVar(&o.queues, "queues", 1, "queues, all with traffic")
	f.IntVar(&o.fifoGroups, "fifo-groups", 0, "FIFO queues with this many groups; 0 = standard queues")
	f.IntVar(&o.wait, "wait", 0, "WaitTimeSeconds of receives, except the pollers'")
	f.IntVar(&o.pollers, "pollers", 0, "connections that long-poll an empty queue all the time")
	f.IntVar(&o.pollWait, "poll-wait", 20, "WaitTimeSeconds of the pollers")
	f.IntVar(&o.verify, "verify", 8, "check every nth MD5; 0 = none")
	f.IntVar(&o.visibility, "visibility", 120, "VisibilityTimeout of the queues, seconds")
	f.IntVar(&o.setupClients, "setup-clients", 8, "connections that create and fill queues")
	f.Uint64Var(&o.backlog, "backlog", 0, "messages sent to the queues beforehand")
	f.Float64Var(&o.rate, "rate", 2000, "rate: messages per second")
	f.DurationVar(&o.duration, "duration", 10*time.Second, "length of the window")
	f.DurationVar(&o.warmUp, "warmup", 2*time.Second, "load before the window")
	f.DurationVar(&o.drain, "drain", 10*time.Second, "maximum time to finish after the window")
	f.DurationVar(&o.processing, "processing", 0, "rate, receive: processing time per message")
	f.DurationVar(&o.pause, "pause", 0, "rate, receive: how long a receiver waits after an empty receive")
	f.DurationVar(&o.timeout, "timeout", 30*time.Second, "timeout of a call, which then counts as an error")
	f.BoolVar(&o.isSigning, "sign", false, "sign each request (SigV4); otherwise the header has an invalid signature")
	f.BoolVar(&o.isKeeping, "keep", false, "do not delete the queues at the end")
	f.BoolVar(&o.hasSDKHead, "sdk-headers", false, "send all headers that boto3 sends")
	f.StringVar(&o.accessKey, "access-key", "test", "access key id")
	f.StringVar(&o.secretKey, "secret-key", "test", "secret key")
	f.StringVar(&o.region, "region", "us-east-1", "region in the signature")
	f.Int64Var(&o.seed, "seed", 1, "seed of the bodies' filler")
	if err := f.Parse(arguments); err != nil {
		return nil, nil, err
	}
	set := map[string]string{}
	f.Visit(func(one *flag.Flag) { set[one.Name] = one.Value.String() })
	delete(set, "secret-key")
	return o, set, o.check()
}

func (o *options) check() error {
	switch {
	case o.batch < 1 || o.batch > 10:
		return errors.New("-batch is 1 to 10")
	case o.size < headerBytes || o.size*o.batch > 1<<20:
		return fmt.Errorf("-size is at least %d, and a call carries at most 1 MiB", headerBytes)
	case o.queues < 1 || o.clients < 1 || o.setupClients < 1:
		return errors.New("-queues, -clients and -setup-clients are at least 1")
	case o.protocol != "json" && o.protocol != "query":
		return errors.New("-protocol is json or query")
	case o.mode == "rate" && o.rate <= 0:
		return errors.New("-rate is more than 0")
	case (o.mode == "fill" || o.mode == "receive") && o.backlog == 0:
		return errors.New("this mode needs a -backlog")
	}
	return nil
}

func main() {
	runtime.GOMAXPROCS(2)
	debug.SetGCPercent(400)
	o, set, err := parseOptions(os.Args[1:])
	if errors.Is(err, flag.ErrHelp) {
		os.Exit(0)
	}
	if err == nil {
		err = run(o, set, json.NewEncoder(os.Stdout))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "load:", err)
		os.Exit(2)
	}
}

func localAddress(host string) (*net.TCPAddr, error) {
	address, err := net.ResolveTCPAddr("tcp4", host)
	if err != nil {
		return nil, err
	}
	if !address.IP.IsLoopback() {
		return nil, fmt.Errorf("%s is not on this machine", host)
	}
	return address, nil
}
