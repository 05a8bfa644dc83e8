// Package jetstream keeps the log of [feed] in NATS JetStream.
//
// A network has one stream, quorate-NETWORK, of the subjects quorate.NETWORK.>, on disk, on
// three servers where there is a cluster. Of each subject it keeps the newest 4,096 records,
// without a bound by age or by bytes, which would take those of quiet chains first. What was
// stored is told, without what is in it, under quorate-new.NETWORK.>. Servers have no
// consumers there: they read records by their positions, so that one that pauses costs
// nothing.
package jetstream

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"quorate/engine/actor"
	"quorate/engine/feed"
)

const (
	// callWait bounds a call, and dialWait the attempt to connect.
	callWait = 2 * time.Second
	dialWait = 2 * time.Second
	// dialPause is the wait between two attempts.
	dialPause = 250 * time.Millisecond
	// copies is on how many servers of a cluster a stream is.
	copies = 3

	prefix = "quorate."
	told   = "quorate-new."
	// Members of a stream's metadata.
	ofNetwork, ofVersion = "quorate-network", "quorate-version"
	version              = "1"
)

// ErrURL is wrapped by the error of a URL that names no log.
var ErrURL = errors.New("a log is nats://HOST:PORT, or tls://HOST:PORT, and further ones behind commas")

// Config says where the log is.
type Config struct {
	// URL is that of one server or of several, separated by commas. They may name a user with
	// a password, or a token.
	URL string
	// Name is how the servers call this one.
	Name   string
	Logger *slog.Logger // nil discards
}

// CheckURL checks the form of a URL.
func CheckURL(text string) error {
	for part := range strings.SplitSeq(text, ",") {
		u, err := url.Parse(strings.TrimSpace(part))
		if err != nil || u.Scheme != "nats" && u.Scheme != "tls" || u.Hostname() == "" || u.Path != "" || u.RawQuery != "" || u.Fragment != "" {
			return ErrURL // which has no password
		}
	}
	return nil
}

// Hosts returns what may be shown of a URL.
func Hosts(text string) string {
	var hosts []string
	for part := range strings.SplitSeq(text, ",") {
		if u, err := url.Parse(strings.TrimSpace(part)); err == nil {
			hosts = append(hosts, u.Scheme+"://"+u.Host)
		}
	}
	return strings.Join(hosts, ",")
}

// Log is a [feed.Log] in JetStream.
type Log struct {
	conn *nats.Conn
	js   jetstream.JetStream

	mu      sync.Mutex // guards streams
	streams map[string]jetstream.Stream
}

// Open returns the log, which is connected to as soon as that is possible.
func Open(cfg Config) (*Log, error) {
	if err := CheckURL(cfg.URL); err != nil {
		return nil, err
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	conn, err := nats.Connect(
		cfg.URL, nats.Name(cfg.Name), nats.Timeout(dialWait), nats.RetryOnFailedConnect(true), nats.MaxReconnects(-1),
		nats.ReconnectWait(dialPause), nats.ReconnectJitter(dialPause/2, dialPause/2), nats.ReconnectBufSize(-1),
		nats.PingInterval(2*time.Second), nats.MaxPingsOutstanding(2), nats.IgnoreAuthErrorAbort(),
		nats.DisconnectErrHandler(func(_ *nats.Conn, err error) {
			cfg.Logger.Warn("the connection to the log is lost", "err", err)
		}),
		nats.ConnectHandler(func(c *nats.Conn) { cfg.Logger.Info("connected to the log", "server", c.ConnectedServerName()) }),
		nats.ReconnectHandler(func(c *nats.Conn) {
			cfg.Logger.Info("connected to the log again", "server", c.ConnectedServerName())
		}),
	)
	if err != nil {
		return nil, fmt.Errorf("connect to the log: %w", err)
	}
	js, err := jetstream.New(conn, jetstream.WithDefaultTimeout(callWait))
	return &Log{conn: conn, js: js, streams: make(map[string]jetstream.Stream)}, err
}

// Close ends all calls.
func (l *Log) Close() { l.conn.Close() }

// Networks returns the numbers of the networks that have a stream.
func (l *Log) Networks(ctx context.Context) (list []uint32, err error) {
	names := l.js.StreamNames(ctx, jetstream.WithStreamListSubject(prefix+">"))
	for name := range names.Name() {
		text, ok := strings.CutPrefix(name, "quorate-")
		if n, err := strconv.ParseUint(text, 10, 32); ok && err == nil {
			list = append(list, uint32(n))
		}
	}
	return list, names.Err()
}

// Await is [Log.Networks] that tries until it succeeds, or ctx ends.
func (l *Log) Await(ctx context.Context) (list []uint32, err error) {
	actor.Retry(ctx, dialPause, dialPause, func(error) {}, func() error {
		list, err = l.Networks(ctx)
		return err
	})
	return list, err
}

// stream returns the stream of a subject, and makes it if it is to be made.
func (l *Log) stream(ctx context.Context, subject string, make bool) (jetstream.Stream, error) {
	network, _, _ := strings.Cut(subject, ".")
	l.mu.Lock()
	s := l.streams[network]
	l.mu.Unlock()
	if s != nil {
		return s, nil
	}
	if !l.conn.IsConnected() {
		return nil, feed.ErrAway
	}
	name := "quorate-" + network
	s, err := l.js.Stream(ctx, name)
	if errors.Is(err, jetstream.ErrStreamNotFound) && make {
		if s, err = l.js.CreateStream(ctx, l.config(network)); errors.Is(err, jetstream.ErrStreamNameAlreadyInUse) {
			s, err = l.js.Stream(ctx, name)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("stream %s: %w", name, err)
	}
	has := s.CachedInfo().Config
	if has.Metadata[ofNetwork] != network || has.Metadata[ofVersion] != version || !has.AllowDirect {
		return nil, fmt.Errorf("%w: stream %s says that it is of network %q, version %q", feed.ErrOther, name, has.Metadata[ofNetwork], has.Metadata[ofVersion])
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.streams[network] = s
	return s, nil
}

// config is how a stream is made.
func (l *Log) config(network string) jetstream.StreamConfig {
	replicas := 1
	if l.conn.ConnectedClusterName() != "" {
		replicas = copies
	}
	return jetstream.StreamConfig{
		Name: "quorate-" + network, Description: "Newest blocks of the chains of Avalanche network " + network + ", for Quorate.",
		Subjects: []string{prefix + network + ".>"}, Storage: jetstream.FileStorage, Replicas: replicas,
		Discard: jetstream.DiscardOld, MaxMsgsPerSubject: feed.Kept, AllowDirect: true,
		RePublish: &jetstream.RePublish{Source: prefix + network + ".>", Destination: told + network + ".>", HeadersOnly: true},
		Metadata:  map[string]string{ofNetwork: network, ofVersion: version},
	}
}

// lost forgets a stream that does not answer: it may have been deleted.
func (l *Log) lost(subject string) {
	network, _, _ := strings.Cut(subject, ".")
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.streams, network)
}

// get returns a record. Without the stream there is none.
func (l *Log) get(ctx context.Context, subject string, get func(context.Context, jetstream.Stream) (*jetstream.RawStreamMsg, error)) (*jetstream.RawStreamMsg, error) {
	if !l.conn.IsConnected() {
		return nil, feed.ErrAway
	}
	ctx, cancel := context.WithTimeout(ctx, callWait)
	defer cancel()
	for again := range 2 {
		s, err := l.stream(ctx, subject, false)
		if errors.Is(err, jetstream.ErrStreamNotFound) {
			return nil, feed.ErrEnd
		}
		if err != nil {
			return nil, err
		}
		m, err := get(ctx, s)
		switch {
		case err == nil:
			return m, nil
		case errors.Is(err, jetstream.ErrMsgNotFound):
			return nil, feed.ErrEnd
		}
		if l.lost(subject); again > 0 || ctx.Err() != nil {
			return nil, fmt.Errorf("read the log: %w", err)
		}
	}
	return nil, feed.ErrAway
}

// Ends implements [feed.Log].
func (l *Log) Ends(ctx context.Context, subject string) (first, last uint64, err error) {
	m, err := l.get(ctx, subject, func(ctx context.Context, s jetstream.Stream) (*jetstream.RawStreamMsg, error) {
		return s.GetLastMsgForSubject(ctx, prefix+subject)
	})
	if errors.Is(err, feed.ErrEnd) {
		return 0, 0, nil
	}
	if err != nil {
		return 0, 0, err
	}
	_, first, err = l.Read(ctx, subject, 1)
	return first, max(first, m.Sequence), err
}

// Read implements [feed.Log].
func (l *Log) Read(ctx context.Context, subject string, from uint64) ([]byte, uint64, error) {
	m, err := l.get(ctx, subject, func(ctx context.Context, s jetstream.Stream) (*jetstream.RawStreamMsg, error) {
		return s.GetMsg(ctx, max(from, 1), jetstream.WithGetMsgSubject(prefix+subject))
	})
	if err != nil {
		return nil, 0, err
	}
	return m.Data, m.Sequence, nil
}

// Watch implements [feed.Log].
func (l *Log) Watch(ctx context.Context, subject string, f func()) error {
	s, err := l.conn.Subscribe(told+subject, func(*nats.Msg) { f() })
	if err != nil {
		return fmt.Errorf("watch the log: %w", err)
	}
	<-ctx.Done()
	_ = s.Unsubscribe() // at worst the connection is gone
	return context.Cause(ctx)
}

// Append implements [feed.Log].
func (l *Log) Append(ctx context.Context, subject string, after uint64, record []byte) (uint64, error) {
	if !l.conn.IsConnected() {
		return 0, feed.ErrAway
	}
	ctx, cancel := context.WithTimeout(ctx, callWait)
	defer cancel()
	for again := range 2 {
		if _, err := l.stream(ctx, subject, true); err != nil {
			return 0, err
		}
		ack, err := l.js.PublishMsg(ctx, &nats.Msg{Subject: prefix + subject, Data: record},
			jetstream.WithExpectLastSequencePerSubject(after), jetstream.WithRetryAttempts(0))
		var refused *jetstream.APIError
		switch {
		case err == nil:
			return ack.Sequence, nil
		case errors.As(err, &refused) && (refused.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequence ||
			refused.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequenceConstant):
			return 0, feed.ErrMoved
		}
		if l.lost(subject); again > 0 || !errors.Is(err, jetstream.ErrNoStreamResponse) {
			return 0, fmt.Errorf("append to the log: %w", err)
		}
	}
	return 0, feed.ErrAway
}
