package main

// kind is the purpose of a call.
type kind uint8

const (
	sending kind = iota
	receiving
	deleting
	polling // a receive of an idle long poller: only load, in no figure
	creating
	dropping
	kinds
)

var kindNames = [kinds]string{"send", "receive", "delete", "poll", "create_queue", "delete_queue"}

// tally has the counts of the window.
type tally struct {
	latency       [kinds]histogram // receives: only those that returned messages
	messages      [kinds]uint64
	emptyReceives uint64
	age           histogram // of messages, from send to delivery
	errors        uint64
	errorTexts    map[string]uint64
	reconnects    uint64
	bytesIn       uint64
	bytesOut      uint64
}

const errorTextsMax = 8

func newTally() *tally { return &tally{errorTexts: map[string]uint64{}} }

func (t *tally) fail(k kind, text string) {
	t.errors++
	text = kindNames[k] + ": " + text
	if len(text) > 200 {
		text = text[:200]
	}
	if len(t.errorTexts) < errorTextsMax || t.errorTexts[text] > 0 {
		t.errorTexts[text]++
	}
}

// CallResult is one kind of call in the result. Empty receives are only in their own count.
type CallResult struct {
	Calls        uint64  `json:"calls"`
	CallsPerS    float64 `json:"calls_per_s"`
	Messages     uint64  `json:"messages"`
	MessagesPerS float64 `json:"messages_per_s"`
	Latency      Latency `json:"latency_ms"`
}

// Result is printed at the end. Rates are per second of the window.
type Result struct {
	Event            string                `json:"event"`
	Mode             string                `json:"mode"`
	Flags            map[string]string     `json:"flags"`
	Seconds          float64               `json:"seconds"`
	CallsPerS        float64               `json:"calls_per_s"`
	MessagesPerS     float64               `json:"messages_per_s"`
	Calls            map[string]CallResult `json:"calls"`
	EmptyReceives    uint64                `json:"empty_receives"`
	Age              *Latency              `json:"age_ms,omitempty"`
	Errors           uint64                `json:"errors"`
	ErrorTexts       map[string]uint64     `json:"error_texts,omitempty"`
	Reconnects       uint64                `json:"reconnects"`
	BytesIn          uint64                `json:"bytes_in"`
	BytesOut         uint64                `json:"bytes_out"`
	MD5Checked       uint64                `json:"md5_checked"`
	Acked            uint64                `json:"acknowledged"`
	Received         uint64                `json:"received"`
	Duplicates       uint64                `json:"duplicates"`
	Waiting          int64                 `json:"waiting"`
	SetupSeconds     float64               `json:"setup_seconds"`
	GeneratorSeconds float64               `json:"generator_cpu_s"`
}

// summarize leaves out what the caller knows: flags, setup time, the generator's own CPU.
func summarize(mode string, t *tally, l *ledger, seconds float64) Result {
	r := Result{Event: "result", Mode: mode, Seconds: seconds, Calls: map[string]CallResult{},
		EmptyReceives: t.emptyReceives, Errors: t.errors, ErrorTexts: t.errorTexts, Reconnects: t.reconnects,
		BytesIn: t.bytesIn, BytesOut: t.bytesOut, MD5Checked: l.md5Checked, Acked: l.ackedCount,
		Received: l.receivedCount, Duplicates: l.duplicates, Waiting: int64(l.ackedCount) - int64(l.receivedCount)}
	for k, name := range kindNames {
		h := &t.latency[k]
		if h.count == 0 || kind(k) == polling {
			continue
		}
		r.Calls[name] = CallResult{Calls: h.count, CallsPerS: float64(h.count) / seconds, Messages: t.messages[k],
			MessagesPerS: float64(t.messages[k]) / seconds, Latency: h.latency()}
		r.CallsPerS += float64(h.count) / seconds
	}
	last := deleting
	if t.messages[deleting] == 0 {
		last = sending
	}
	r.MessagesPerS = float64(t.messages[last]) / seconds
	if t.age.count > 0 {
		age := t.age.latency()
		r.Age = &age
	}
	return r
}
