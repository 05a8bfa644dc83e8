package operation

import (
	"cmp"
	"errors"
	"log/slog"
	"time"

	"quorate/engine/archive/vfs"
	"quorate/engine/chain"
	"quorate/engine/index"
	"quorate/engine/metric"
	"quorate/engine/store"
	"quorate/engine/yield"
)

// Chain is a chain that is followed: its index, and its EVM chain number.
type Chain struct {
	*index.Chain
	Number uint64
}

// Config says what exports may take. Zero values take the defaults.
type Config struct {
	// Dir is the folder of the files. Required.
	Dir string
	// Store keeps the records; see [Exports.KeepIn].
	Store store.Records
	// Chain returns a chain if it is followed; required.
	Chain func(id chain.ID) (Chain, bool)
	// FS is the file system. Default the machine's.
	FS vfs.FS
	// Room reports why nothing may be written. Nil: there is room.
	Room func() error
	// Spare is the time that requests leave; nil has exports take what they want.
	Spare *yield.Time

	// Workers is how many exports are written at one time. Default 2.
	Workers int
	// Queue bounds the operations that wait for a worker. Default 64.
	Queue int
	// PerClient bounds the operations of one client that are not over. Default 4.
	PerClient int
	// MaxSize is the size of the rows of one export, before compression, from which on
	// it ends, at the next block. Default 4 GiB.
	MaxSize int64
	// MaxFiles bounds the bytes of all files together. Default 16 GiB.
	MaxFiles int64
	// Keep is for how long an operation that is over, and its file, are kept. Default 3
	// days.
	Keep time.Duration
	// Patience is for how long an export waits for a chain that is not there after a
	// restart, or went back. Default 10 min.
	Patience time.Duration

	Logger  *slog.Logger
	Metrics *metric.Set
}

const (
	// maxKept bounds the operations that are remembered, keptPerClient those of one client.
	maxKept       = 2048
	keptPerClient = 256
	// defaultChunk is the size of the rows that are compressed at once, and
	// defaultCommit that after which the file is synced and its position committed: what
	// a kill makes written again.
	defaultChunk  = 256 << 10
	defaultCommit = 8 << 20
	// retryEvery is the time between two looks at what waits for a chain.
	retryEvery = time.Second
	// commitTime bounds the wait for a commit.
	commitTime = 5 * time.Second
)

func (c *Config) fill() error {
	if c.Dir == "" || c.Chain == nil {
		return errors.New("operation: Dir and Chain are required")
	}
	if c.FS == nil {
		c.FS = vfs.OS{}
	}
	if c.Room == nil {
		c.Room = func() error { return nil }
	}
	c.Workers = cmp.Or(c.Workers, 2)
	c.Queue = cmp.Or(c.Queue, 64)
	c.PerClient = cmp.Or(c.PerClient, 4)
	c.MaxSize = cmp.Or(c.MaxSize, 4<<30)
	c.MaxFiles = cmp.Or(c.MaxFiles, 16<<30)
	c.Keep = cmp.Or(c.Keep, 3*24*time.Hour)
	c.Patience = cmp.Or(c.Patience, 10*time.Minute)
	if min(c.Workers, c.Queue, c.PerClient) < 1 || min(c.MaxSize, c.MaxFiles) < 1 || min(c.Keep, c.Patience) < 1 {
		return errors.New("operation: bounds must be positive")
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.Metrics == nil {
		c.Metrics = metric.NewSet()
	}
	return nil
}
