package tokens

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"time"

	"quorate/engine/index"
)

const (
	// sweepEvery is how often all tokens are visited, if there are no more than
	// sweepPart for each tick.
	sweepEvery = 24 * time.Hour
	sweepPart  = visitBatch
	// saveEvery is how often it is kept how far the work is.
	saveEvery = 10 * time.Second
	// pullBlocks is how many blocks are read at once.
	pullBlocks = 64
	// searchPart is how many rows of an older database are searched at once.
	searchPart = 512
)

// work is how far the lane is. The codec: u8 1 | u64 next | u64 when the sweep
// began, Unix seconds | position of the sweep, empty between two.
type work struct {
	next  uint64 // what blocks below name was asked
	began int64  // when the last sweep began, Unix seconds
	at    []byte // where the sweep is; nil: it is done
}

const (
	workVersion = 1
	workLen     = 1 + 8 + 8
)

func (w *work) append(b []byte) []byte {
	b = binary.BigEndian.AppendUint64(append(b, workVersion), w.next)
	return append(binary.BigEndian.AppendUint64(b, uint64(w.began)), w.at...)
}

func (w *work) decode(b []byte) bool {
	if len(b) < workLen || b[0] != workVersion {
		return false
	}
	w.next, w.began = binary.BigEndian.Uint64(b[1:]), int64(binary.BigEndian.Uint64(b[9:]))
	if w.at = nil; len(b) > workLen {
		w.at = bytes.Clone(b[workLen:])
	}
	return true
}

// begin finds out what is left to do: of blocks that came since the lane ended, or,
// in a database of before the lane kept that, of all tokens.
func (l *Lane) begin(ctx context.Context) error {
	state, err := l.cfg.Index.TokenWork()
	if err != nil {
		return err
	}
	l.live = false
	if l.work.decode(state) {
		l.saved, l.next = l.work, l.work.next
		return nil
	}
	l.work = work{began: time.Now().Unix()}
	if height, _, ok := l.cfg.Index.Cursor(); ok {
		if err := errors.Join(l.remember(ctx), l.search(ctx)); err != nil {
			return err
		}
		l.work.next = height + 1
	}
	l.next = l.work.next
	return l.store(ctx)
}

// remember makes notes of what was said before there was an archive to keep it.
func (l *Lane) remember(ctx context.Context) error {
	var at []byte
	for first := true; first || at != nil; first = false {
		a := newAnswers(0)
		if err := l.view(func(v *index.View) error {
			a.height = v.Tip().Number
			tokens, next, err := v.SeenTokens(index.Page{After: at, Limit: searchPart})
			at = next
			for _, t := range tokens {
				meta, known, err := v.Token(t.Token)
				if err != nil {
					return err
				}
				if !known {
					continue
				}
				a.facts[t.Token] = meta
				if err := l.rememberURIs(ctx, v, t, a.height); err != nil {
					return err
				}
			}
			return err
		}); err != nil {
			return err
		}
		if err := l.cfg.Keep(ctx, a.notes()); err != nil {
			return err
		}
	}
	return nil
}

func (l *Lane) rememberURIs(ctx context.Context, v *index.View, t index.SeenToken, height uint64) error {
	if t.Kind == index.ERC20 {
		return nil
	}
	var at []byte
	for first := true; first || at != nil; first = false {
		nfts, uris, next, err := v.TokenURIs(t.Token, index.Page{After: at, Limit: searchPart})
		if err != nil {
			return err
		}
		a := newAnswers(height)
		for i := range nfts {
			a.uris[nfts[i]] = uris[i]
		}
		if err := l.cfg.Keep(ctx, a.notes()); err != nil {
			return err
		}
		at = next
	}
	return nil
}

// search asks everything in the index that was not asked.
func (l *Lane) search(ctx context.Context) error {
	var tokensAt, nftsAt []byte
	for first := true; first || tokensAt != nil || nftsAt != nil; first = false {
		if err := l.view(func(v *index.View) (err error) {
			var tokens []index.SeenToken
			var nfts []index.SeenNFT
			if first || tokensAt != nil {
				tokens, tokensAt, err = v.TokensWithoutMeta(index.Page{After: tokensAt, Limit: searchPart})
			}
			if err == nil && (first || nftsAt != nil) {
				nfts, nftsAt, err = v.NFTsWithoutURI(index.Page{After: nftsAt, Limit: searchPart})
			}
			now := time.Now()
			for _, t := range tokens {
				l.first(t.Token, now)
			}
			for _, n := range nfts {
				l.mint(n)
			}
			return err
		}); err != nil {
			return err
		}
		for {
			visits, err := l.visit(ctx, l.takeDue(visitBatch))
			if err != nil {
				return err
			}
			asked, err := l.answer(ctx)
			if err != nil {
				return err
			}
			if !visits && !asked {
				break
			}
		}
	}
	return nil
}

// pull looks at further blocks, while there is room for what they name, and reports
// whether there were any. At the end of the chain the lane is live.
func (l *Lane) pull() (read bool, err error) {
	if l.live || l.queue.n > maxQueued/2 || len(l.due) > maxDue/2 {
		return false, nil
	}
	tip, _, ok := l.cfg.Index.Cursor()
	if !ok || l.next > tip {
		l.live = true
		return false, nil
	}
	now := time.Now()
	err = l.view(func(v *index.View) error {
		l.next = max(l.next, v.First())
		for end := min(l.next+pullBlocks, tip+1); l.next < end && l.queue.n <= maxQueued/2; l.next++ {
			if err := l.block(v, now); err != nil {
				return err
			}
		}
		return nil
	})
	return true, err
}

// block looks at the block that is next.
func (l *Lane) block(v *index.View, now time.Time) error {
	return v.BlockTransfers(l.next, func(t *index.Transfer) {
		l.first(t.Token, now)
		if t.Kind != index.ERC20 && t.From.IsZero() {
			l.mint(index.SeenNFT{NFT: index.NFT{Token: t.Token, ID: t.ID}, Kind: t.Kind})
		}
	})
}

// sweep has further tokens visited if it is time for that.
func (l *Lane) sweep() {
	now := time.Now()
	if !l.live || len(l.due) > 0 {
		return
	}
	if l.work.at == nil {
		// A sweep that will begin in the future was begun by a clock that was wrong.
		if ago := now.Sub(time.Unix(l.work.began, 0)); ago >= 0 && ago < sweepEvery {
			return
		}
		l.work.began = now.Unix()
	}
	err := l.view(func(v *index.View) error {
		tokens, next, err := v.SeenTokens(index.Page{After: l.work.at, Limit: sweepPart})
		for _, t := range tokens {
			l.schedule(t.Token, now, sweepEvery/2)
		}
		if err == nil {
			l.work.at = next
		}
		return err
	})
	if errors.Is(err, index.ErrPosition) {
		l.work.at = nil
	} else if err != nil {
		l.log.Warn("tokens could not be looked through", "err", err)
	}
}

// save keeps how far the work is, when nothing waits.
func (l *Lane) save(ctx context.Context) error {
	if !l.live || l.queue.n+len(l.batch)+l.urgent() > 0 || l.lost.Load() {
		return nil
	}
	l.work.next = l.next
	if l.work.next == l.saved.next && l.work.began == l.saved.began && bytes.Equal(l.work.at, l.saved.at) ||
		time.Since(l.savedAt) < saveEvery {
		return nil
	}
	return l.store(ctx)
}

// urgent returns how many tokens wait for their first visit.
func (l *Lane) urgent() (n int) {
	for token := range l.due {
		if !l.visited.Contains(token) {
			n++
		}
	}
	return n
}

func (l *Lane) store(ctx context.Context) error {
	if err := l.cfg.Index.PutTokenWork(ctx, l.work.append(nil)); err != nil {
		return err
	}
	l.saved, l.savedAt = l.work, time.Now()
	return nil
}
