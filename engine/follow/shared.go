package follow

import (
	"context"
	"errors"
	"fmt"

	"github.com/cespare/xxhash/v2"

	"quorate/engine/archive"
	evmarchive "quorate/engine/archive/evm"
	"quorate/engine/chain/evm"
	"quorate/engine/chain/evm/consensus"
	"quorate/engine/feed"
	"quorate/engine/feed/share"
	"quorate/engine/tokens"
)

// Feed is the log of newest blocks that a server shares with others.
type Feed struct {
	Log feed.Log
	// Writer names the server, and no other one.
	Writer string
}

// logConfig says which log the chain has.
func (b *base[B]) logConfig(kind archive.Kind, parse func(archive.Block) (B, error)) feed.Config[B] {
	return feed.Config[B]{
		Log: b.common.Feed.Log, Network: b.NetworkID(), Chain: b.common.ID, Kind: kind, Parse: parse,
		Writer: b.common.Feed.Writer, Logger: b.log, Metrics: b.metrics(),
	}
}

// joinLog lets the log know the archive, and the archive agree with the log. stored, if not
// nil, is the depot.
func (b *base[B]) joinLog(stored *storage[B]) {
	if b.shared == nil {
		return
	}
	sink := b.keeper.Load().sink
	kept := share.Kept[B]{Archive: sink.archive, Reader: sink.reader, Cursor: sink.Cursor}
	if stored != nil {
		kept.Stored = stored.Blocks
	}
	b.shared.Join(kept)
	sink.agree = b.shared.Agree
}

// mine reports whether it is up to this server to learn what others need not.
func (b *base[B]) mine() bool { return b.shared == nil || b.shared.Mine() }

// share has blocks come from nodes, and from the log that servers share if there is one.
func (c *EVM) share(nodes EVMBlocks) {
	c.from, c.blocks = nodes, nodes
	if c.cfg.Feed == nil {
		return
	}
	cfg := share.Config[*evm.Block]{
		Config: c.logConfig(archive.KindEVM, ParseShared), Nodes: nodes, Encode: evmarchive.Append,
		Needs: func(b *evm.Block) bool { return !b.Traced && b.Number > 0 && len(b.Txs)+len(b.Atomic) > 0 },
	}
	if nodes != nil {
		cfg.Complete = func(ctx context.Context, b *evm.Block) error {
			err := nodes.Complete(ctx, b)
			if err == nil {
				return nil
			}
			if in, ok := c.shared.Logged(ctx, b.Number); ok && in.Hash == b.Hash && !cfg.Needs(in) {
				*b, err = *in, nil
			}
			return err
		}
	}
	c.shared = share.New(cfg)
	c.from, c.blocks = c.shared, c.shared
}

// ParseShared reads a block of the log, and checks it as far as its hash reaches.
func ParseShared(b archive.Block) (*evm.Block, error) {
	is := new(evm.Block)
	if err := evmarchive.Decode(b.Data, is); err != nil {
		return nil, err
	}
	if is.Number != b.Height || is.Hash != b.ID || is.Parent != b.Parent {
		return nil, fmt.Errorf("it is block %d, %s", is.Number, is.Hash)
	}
	if is.Unverified != "" {
		return is, nil
	}
	return is, consensus.Check(is)
}

// shareNotes exchanges notes until ctx ends.
func (c *EVM) shareNotes(ctx context.Context) error {
	k := c.keeper.Load()
	if !await(ctx, &k.joined) {
		return nil
	}
	n := share.NewNotes(share.NotesConfig{
		NotesConfig: feed.NotesConfig{
			Log: c.cfg.Feed.Log, Network: c.NetworkID(), Chain: c.cfg.ID, Kind: archive.KindEVM, Writer: c.cfg.Feed.Writer,
		},
		Archive: k.sink.archive, Cursor: c.index.Cursor, Apply: c.applyNotes, Silent: c.cfg.Nodeless, Logger: c.log,
	})
	c.notes.Store(n)
	return n.Run(ctx)
}

// applyNotes keeps notes of others, and puts what they say into the index.
func (c *EVM) applyNotes(ctx context.Context, notes []archive.Note) (added []archive.Note, err error) {
	if err := c.cfg.Room(); err != nil {
		return nil, err
	}
	var corrections, others []archive.Note
	for _, n := range notes {
		if n.Type != evmarchive.NoteCorrection {
			others = append(others, n)
		} else if ok, err := right(ctx, c, &n); err != nil {
			return nil, err
		} else if ok {
			corrections = append(corrections, n)
		}
	}
	a := c.keeper.Load().sink.archive
	if err := a.AddNotes(ctx, others); err != nil {
		return nil, err
	}
	err = errors.Join(c.complete(ctx), tokens.Apply(ctx, others, c.rows))
	c.keeper.Load().changed()
	if err != nil || len(corrections) == 0 {
		return others, err
	}
	lowest, highest := corrections[0].Height, corrections[0].Height
	for _, n := range corrections {
		lowest, highest = min(lowest, n.Height), max(highest, n.Height)
	}
	if err := c.renew(ctx, lowest, func() error {
		return errors.Join(a.AddNotes(ctx, corrections), c.readCorrections(ctx, a))
	}); err != nil {
		return notes, err
	}
	c.log.Warn("blocks about which another server was wrong are put right", "from", lowest, "to", highest)
	return notes, absolve(ctx, c)
}

// absolve takes blocks off the list of those of which something false is kept whose results fit
// now.
func absolve(ctx context.Context, c *EVM) error {
	_, last, _ := c.second.Ends()
	for _, s := range c.second.Suspects() {
		if s.By == 0 || s.By > last {
			continue
		}
		kept, err := c.below(ctx, s.From, s.By)
		if err != nil {
			return err
		}
		if c.fit(ctx, kept, s.By) != nil {
			c.second.Settled(ctx, &s)
		}
	}
	return nil
}

// right reports whether a correction is of a block that is here and says something else of it,
// as far as its hash reaches.
func right(ctx context.Context, c *EVM, n *archive.Note) (ok bool, err error) {
	var is evm.Block
	wrong := evmarchive.Decode(n.Data, &is)
	if wrong == nil && is.Unverified == "" {
		wrong = consensus.Check(&is)
	}
	if wrong != nil {
		c.log.Error("a correction in the log is refused", "height", n.Height, "err", wrong)
		return false, nil
	}
	err = c.keeper.Load().sink.reader.Read(ctx, n.Height, n.Height, func(b *evm.Block) error {
		ok = b.Hash == is.Hash && !equalBlocks(b, &is)
		return nil
	})
	if errors.Is(err, archive.ErrRange) {
		return false, nil // it lies below what is kept here
	}
	if err != nil {
		err = fmt.Errorf("block %d, which is corrected: %w", n.Height, err)
	}
	return ok, err
}

func equalBlocks(a, b *evm.Block) bool {
	return xxhash.Sum64(evmarchive.Append(nil, a)) == xxhash.Sum64(evmarchive.Append(nil, b))
}
