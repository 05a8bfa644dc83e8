// Package facts is what nodes say of networks and their chains that servers without nodes need:
// those with nodes write it to the log that all share, and it is remembered by those without
// as if a node had told it.
package facts

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/goccy/go-json"

	"quorate/engine/actor"
	"quorate/engine/chain"
	"quorate/engine/feed"
	"quorate/engine/follow"
	"quorate/engine/health"
	"quorate/engine/network"
)

const (
	// every is the time between two looks at the facts in the log, soon while they are waited
	// for.
	every = 10 * time.Second
	soon  = 250 * time.Millisecond
)

// Log is the log of newest blocks that several servers share.
type Log interface {
	feed.Log
	// Networks returns the numbers of the networks that have one.
	Networks(ctx context.Context) ([]uint32, error)
}

// Keeper writes facts, or remembers those that others have written.
type Keeper struct {
	Log    Log
	Memory follow.Memory
	Writer string // names this server
	Logger *slog.Logger
}

// record is what is written of a network.
type record struct {
	Network network.Record `json:"network"`
	// Chains are the records of EVM chains, by their IDs.
	Chains map[string]json.RawMessage `json:"chains"`
}

// Share writes what is remembered of a network, when it is not in the log, until ctx ends or
// the log turns out to be another network's. chains returns the EVM chains of the network.
func (k *Keeper) Share(ctx context.Context, n *network.Network, chains func() []chain.ID) error {
	said := ""
	for {
		if n.Learned() {
			err := k.write(ctx, n.ID(), chains())
			if errors.Is(err, feed.ErrOther) {
				return fmt.Errorf("network %d: %w", n.ID(), err)
			}
			if err != nil && ctx.Err() == nil && err.Error() != said {
				said = err.Error()
				k.Logger.Warn("the log has not what nodes say of the network", "network", n.ID(), "err", err)
			}
		}
		select {
		case <-time.After(every):
		case <-ctx.Done():
			return nil
		}
	}
}

func (k *Keeper) write(ctx context.Context, id uint32, chains []chain.ID) error {
	old, at, err := feed.ReadFacts(ctx, k.Log, id)
	if err != nil {
		return err
	}
	var known record
	if old != nil && json.Unmarshal(old, &known) != nil {
		known = record{}
	}
	k.merge(id, chains, &known)
	text, err := json.Marshal(&known)
	if err != nil || bytes.Equal(text, old) {
		return err
	}
	if err := feed.AppendFacts(ctx, k.Log, id, k.Writer, at, text); !errors.Is(err, feed.ErrMoved) {
		return err
	}
	return nil // it is looked at again
}

// merge adds what is remembered here to what is in the log. What nodes disagree about stays as
// it was written first.
func (k *Keeper) merge(id uint32, chains []chain.ID, known *record) {
	var own network.Record
	if k.Memory.Recall(network.Key(id), &own) {
		known.Network.Merge(&own)
	}
	if known.Chains == nil {
		known.Chains = make(map[string]json.RawMessage)
	}
	for _, of := range chains {
		var raw json.RawMessage
		if k.Memory.Recall(follow.RecordKey(of), &raw) {
			known.Chains[of.String()] = follow.MergeRecords(known.Chains[of.String()], raw)
		}
	}
}

var errNone = errors.New("no server with nodes has written to it what they say")

// Learn remembers what others have written, and calls join with each network as long as it
// fails, until ctx ends. remembered are the networks that are known already, and remember is
// called with those in the log.
func (k *Keeper) Learn(ctx context.Context, remembered []uint32, join func(context.Context, uint32, *network.Record) error, remember func([]uint32)) error {
	for _, id := range remembered {
		var known network.Record
		if k.Memory.Recall(network.Key(id), &known) {
			if err := join(ctx, id, &known); err != nil {
				return err
			}
		}
	}
	actor.Retry(ctx, soon, every, func(err error) {
		k.Logger.Warn("the log does not say yet which networks there are", "err", err)
	}, func() error { return k.read(ctx, join, remember) })
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			_ = k.read(ctx, join, remember) // the health check says what is wrong
		case <-ctx.Done():
			return nil
		}
	}
}

func (k *Keeper) read(ctx context.Context, join func(context.Context, uint32, *network.Record) error, remember func([]uint32)) error {
	ids, err := k.Log.Networks(ctx)
	if err != nil {
		return err
	}
	var found []uint32
	for _, id := range ids {
		raw, _, err := feed.ReadFacts(ctx, k.Log, id)
		var known record
		if err == nil && raw != nil {
			err = json.Unmarshal(raw, &known)
		}
		if err != nil {
			return err
		}
		if raw == nil {
			continue
		}
		found = append(found, id)
		k.Memory.Remember(ctx, network.Key(id), &known.Network)
		for name, record := range known.Chains {
			if of, err := chain.ParseID(name); err == nil {
				k.Memory.Remember(ctx, follow.RecordKey(of), record)
			}
		}
		if err := join(ctx, id, &known.Network); err != nil {
			return err
		}
	}
	if len(found) == 0 {
		return errNone
	}
	remember(found)
	return nil
}

// message is what the check of the log says.
type message struct {
	Networks []uint32 `json:"networks"`
}

// Check is the health check of the log.
func (k *Keeper) Check() health.Check {
	return health.Check{Name: "log", Run: func(ctx context.Context) (any, error) {
		ids, err := k.Log.Networks(ctx)
		if err != nil {
			err = fmt.Errorf("the log of newest blocks: %w", err)
		}
		return message{ids}, err
	}}
}
