package valset

import (
	"context"
	"fmt"
	"sync"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"

	"quorate/engine/chain"
)

const (
	// maxLookups bounds the questions that callers wait for, maxEach those of one
	// client, and maxParallel how many are put to the source at once: a P-Chain
	// answers under one lock.
	maxLookups  = 1024
	maxEach     = 64
	maxParallel = 8
	// maxSets is how many of them may be for sets of the past, the costliest
	// question to a node, and restFactor how many times as long as the last one took
	// such a place then stays free: whoever iterates heights gets at most half a
	// core of the node and of ours.
	maxSets    = 2
	restFactor = 3
	// maxMissed bounds the remembered answers that there is no such thing, each for
	// missedFor: long enough to make repeats cheap, short enough not to be noticed
	// by whoever has just created it.
	maxMissed = 1 << 14
	missedFor = 5 * time.Second
)

// Kinds of questions to the source that callers wait for.
const (
	kindSet = iota
	kindBalances
	kindSubnet
	kindConversion
	kindPoll
)

type lookupKey struct {
	kind   int
	id     chain.ID
	height uint64
}

// caller is whom a context's questions are put for, and until when.
type caller struct {
	client   string
	deadline time.Time // zero for none
}

type callerKey struct{}

// For returns a context whose questions count for a client, who waits for them
// until deadline: clients take turns when questions have to wait. Without it
// they count for the server itself. Unlike a context with a deadline it costs
// nothing as long as there are no waiters.
func For(ctx context.Context, client string, deadline time.Time) context.Context {
	return &callerContext{ctx, caller{client, deadline}}
}

// callerContext is what context.WithValue would make, in one allocation: it is
// part of every request.
type callerContext struct {
	context.Context
	caller caller
}

// Value implements context.Context.
func (c *callerContext) Value(key any) any {
	if key == (callerKey{}) {
		return &c.caller
	}
	return c.Context.Value(key)
}

func callerOf(ctx context.Context) caller {
	if c, ok := ctx.Value(callerKey{}).(*caller); ok {
		return *c
	}
	return caller{}
}

// lookup is one question that any number of callers wait for. Fields but done are
// guarded by the lookups' mu until done is closed.
type lookup struct {
	key     lookupKey
	ask     func(context.Context) (any, error)
	done    chan struct{} // closed when value and err are set
	value   any
	err     error
	waiting int  // callers
	begun   bool // or dropped
}

// missed is the answer that there is no such thing.
type missed struct {
	err   error
	until time.Time
}

// lookups puts questions to the source: the same one once, few at a time, and
// those of different clients in turn, so that who asks much waits alone.
type lookups struct {
	timeout time.Duration
	missed  *lru.Cache[lookupKey, missed]

	mu      sync.Mutex            // guards what follows
	run     context.Context       // nil while not running
	work    sync.WaitGroup        // of running questions
	byKey   map[lookupKey]*lookup // waiting or running
	queues  map[string][]*lookup  // waiting, by client; one may be in several
	turns   []string              // clients with a queue, the next one first
	running int
	sets    int // running or resting
}

func newLookups(timeout time.Duration) *lookups {
	m, err := lru.New[lookupKey, missed](maxMissed)
	if err != nil {
		panic(err) // only for sizes below 1
	}
	return &lookups{
		timeout: timeout, missed: m,
		byKey: make(map[lookupKey]*lookup), queues: make(map[string][]*lookup),
	}
}

// look puts a question to the source unless the same one is under way or was
// answered just now that there is no such thing, and waits for the answer or for
// the end of ctx. A question without waiters is not asked.
func look[T any](ctx context.Context, l *lookups, key lookupKey, ask func(context.Context) (T, error)) (T, error) {
	var zero T
	if m, ok := l.missed.Get(key); ok {
		if time.Now().Before(m.until) {
			return zero, m.err
		}
		l.missed.Remove(key)
	}
	who := callerOf(ctx)
	q, err := l.enqueue(who.client, key, func(ctx context.Context) (any, error) { return ask(ctx) })
	if err != nil {
		return zero, err
	}
	if !who.deadline.IsZero() {
		bounded, cancel := context.WithDeadline(ctx, who.deadline)
		defer cancel()
		ctx = bounded
	}
	select {
	case <-q.done:
	case <-ctx.Done():
		l.mu.Lock()
		q.waiting--
		l.mu.Unlock()
		return zero, context.Cause(ctx)
	}
	if q.err != nil {
		return zero, q.err
	}
	return q.value.(T), nil // the kind in key fixes the type
}

// miss remembers for a time that the answer to key is err.
func (l *lookups) miss(key lookupKey, err error, d time.Duration) error {
	l.missed.Add(key, missed{err, time.Now().Add(d)})
	return err
}

func (l *lookups) enqueue(client string, key lookupKey, ask func(context.Context) (any, error)) (*lookup, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.run == nil || l.run.Err() != nil {
		return nil, fmt.Errorf("%w: not running", ErrSource)
	}
	q := l.byKey[key]
	switch {
	case q != nil && q.begun:
		q.waiting++
		return q, nil
	case client != "" && len(l.queues[client]) >= maxEach:
		return nil, fmt.Errorf("%w: %d of this client", ErrBusy, maxEach)
	case q == nil && len(l.byKey) >= maxLookups && !l.displace(client):
		return nil, fmt.Errorf("%w: %d are waiting", ErrBusy, maxLookups)
	}
	if q == nil {
		q = &lookup{key: key, ask: ask, done: make(chan struct{})}
		l.byKey[key] = q
	}
	q.waiting++
	// Also when it waits in another client's queue already: that may be longer.
	if _, has := l.queues[client]; !has {
		l.turns = append(l.turns, client)
	}
	l.queues[client] = append(l.queues[client], q)
	l.dispatch()
	return q, nil
}

// displace makes room by dropping the last question of the client that waits for
// most, if that has more than one more than client. It needs mu.
func (l *lookups) displace(client string) bool {
	longest := client
	for c, q := range l.queues {
		if len(q) > len(l.queues[longest]) {
			longest = c
		}
	}
	list := l.queues[longest]
	if len(list) < len(l.queues[client])+2 {
		return false
	}
	q := list[len(list)-1]
	l.queues[longest] = list[:len(list)-1]
	if !q.begun {
		l.end(q, nil, fmt.Errorf("%w: others wait for less", ErrBusy))
	}
	return true
}

// dispatch begins as many questions as may run, the clients in turn. It needs mu.
func (l *lookups) dispatch() {
	for passed := 0; l.running < maxParallel && passed < len(l.turns); {
		client := l.turns[0]
		l.turns = l.turns[1:]
		q, rest := l.next(l.queues[client])
		if len(rest) == 0 {
			delete(l.queues, client)
		} else {
			l.queues[client] = rest
			l.turns = append(l.turns, client)
		}
		if q == nil {
			if len(rest) > 0 {
				passed++ // all it waits for are sets, whose places are taken
			}
			continue
		}
		passed = 0
		l.begin(q)
	}
}

// next takes the first question off a queue that may be put now. It needs mu.
func (l *lookups) next(queue []*lookup) (q *lookup, rest []*lookup) {
	keep := queue[:0]
	for i, c := range queue {
		switch {
		case c.begun:
		case c.waiting == 0:
			l.end(c, nil, context.Canceled) // there are no listeners any more
		case c.key.kind == kindSet && l.sets >= maxSets:
			keep = append(keep, c)
		default:
			return c, append(keep, queue[i+1:]...)
		}
	}
	return nil, keep
}

func (l *lookups) begin(q *lookup) {
	q.begun = true
	l.running++
	if q.key.kind == kindSet {
		l.sets++
	}
	ctx := l.run
	l.work.Go(func() {
		started := time.Now()
		call, cancel := context.WithTimeout(ctx, l.timeout)
		value, err := q.ask(call)
		cancel()
		l.mu.Lock()
		defer l.mu.Unlock()
		l.running--
		if q.key.kind == kindSet {
			rest := min(restFactor*time.Since(started), time.Second)
			time.AfterFunc(rest, func() {
				l.mu.Lock()
				defer l.mu.Unlock()
				l.sets--
				l.dispatch()
			})
		}
		l.end(q, value, err)
		l.dispatch()
	})
}

// end answers the callers of a question. It needs mu.
func (l *lookups) end(q *lookup, value any, err error) {
	q.begun, q.value, q.err = true, value, err
	delete(l.byKey, q.key)
	close(q.done)
}

// open lets questions through until ctx ends.
func (l *lookups) open(ctx context.Context) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.run = ctx
}

// stop ends all questions; the context of open has ended.
func (l *lookups) stop() {
	l.mu.Lock()
	for _, q := range l.byKey {
		if !q.begun {
			l.end(q, nil, fmt.Errorf("%w: %w", ErrSource, context.Cause(l.run)))
		}
	}
	clear(l.queues)
	l.turns, l.run = nil, nil
	l.mu.Unlock()
	l.work.Wait()
}
