package index

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/holiman/uint256"

	"quorate/engine/chain/evm"
	store "quorate/engine/store/index"
)

// unevenTokens are the tokens whose events do not add up, each with the height at
// which that turned out. It does not change.
type unevenTokens map[evm.Address]uint64

// maxUneven bounds the uneven tokens that are known, and so their memory: about
// 60 bytes each. Anyone can make such tokens, but only by a transaction each.
const maxUneven = 100_000

// ErrUneven means that so many tokens are uneven that no further one is noted.
var ErrUneven = errors.New("too many tokens whose events do not add up")

// SaidBalance is the ERC-20 balance that a contract stated after a block.
type SaidBalance struct {
	Token, Holder evm.Address
	Height        uint64
	Amount        uint256.Int
}

// PutUneven notes that the events of a token do not add up, as it turned out at a
// height: from now on its balances are those that its contract stated.
func (c *Chain) PutUneven(ctx context.Context, token evm.Address, height uint64) error {
	old := *c.uneven.Load()
	if _, known := old[token]; known {
		return nil
	}
	if len(old) >= maxUneven {
		return ErrUneven
	}
	var r rows
	r.put(c.meta().key(store.TableUnevenTokens).addr(&token), key(nil).u64(height))
	if err := c.putMeta(ctx, r.list); err != nil {
		return err
	}
	next := maps.Clone(old)
	next[token] = height
	c.uneven.Store(&next)
	c.tokenVersion.Add(1)
	return nil
}

// Uneven reports whether the events of a token are known not to add up.
func (c *Chain) Uneven(token evm.Address) bool {
	_, uneven := (*c.uneven.Load())[token]
	return uneven
}

// UnevenTokens returns how many tokens are known whose events do not add up.
func (c *Chain) UnevenTokens() int { return len(*c.uneven.Load()) }

func (c *Chain) loadUneven() error {
	found := unevenTokens{}
	c.uneven.Store(&found)
	s, err := c.db.Snapshot()
	if err != nil {
		return err
	}
	defer s.Close()
	prefix := c.meta().key(store.TableUnevenTokens)
	rows, err := s.Rows(prefix, false)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Seek(prefix); rows.Valid(); rows.Next() {
		at := rows.Key()[len(prefix):]
		if len(at) != evm.AddressLen {
			return fmt.Errorf("%w: key of an uneven token", errCodec)
		}
		token := evm.Address(at)
		if err := rows.Value(func(b []byte) error {
			if len(b) != heightLen {
				return fmt.Errorf("%w: uneven token", errCodec)
			}
			found[token] = binary.BigEndian.Uint64(b)
			return nil
		}); err != nil {
			return err
		}
	}
	return nil
}

// PutSaid keeps balances that contracts stated.
func (c *Chain) PutSaid(ctx context.Context, list []SaidBalance) error {
	if len(list) == 0 {
		return nil
	}
	var r rows
	for i := range list {
		s := &list[i]
		c.asked.add(&s.Token) // before it can be read
		k := c.meta().key(store.TableSaidBalances).addr(&s.Token).addr(&s.Holder).u64(^s.Height)
		r.put(k, appendAmount(nil, &s.Amount))
	}
	err := c.putMeta(ctx, r.list)
	c.tokenVersion.Add(1)
	return err
}

// loadAsked fills the set with the tokens of which balances were stated: a seek each.
func (c *Chain) loadAsked() error {
	s, err := c.db.Snapshot()
	if err != nil {
		return err
	}
	defer s.Close()
	prefix := c.meta().key(store.TableSaidBalances)
	rows, err := s.Rows(prefix, false)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Seek(prefix); rows.Valid(); {
		at := rows.Key()[len(prefix):]
		if len(at) < evm.AddressLen {
			return fmt.Errorf("%w: key of a balance that a contract stated", errCodec)
		}
		token := evm.Address(at[:evm.AddressLen])
		c.asked.add(&token)
		rows.Seek(append(slices.Clone(prefix).addr(&token), bytes.Repeat([]byte{0xff}, evm.AddressLen+heightLen+1)...))
	}
	return nil
}

// PutTokenWork keeps how far the contracts of tokens were asked.
func (c *Chain) PutTokenWork(ctx context.Context, state []byte) error {
	return c.putMeta(ctx, []row{{key: c.meta().key(store.TableTokenWork), value: state}})
}

// TokenWork returns what [Chain.PutTokenWork] kept last, nil if nothing.
func (c *Chain) TokenWork() (state []byte, err error) {
	s, err := c.db.Snapshot()
	if err != nil {
		return nil, err
	}
	defer s.Close()
	_, err = s.Get(c.meta().key(store.TableTokenWork), func(b []byte) error {
		state = bytes.Clone(b)
		return nil
	})
	return state, err
}

// Said returns the balance that a contract stated after a block of the view or, the
// last time before, after an earlier one; false if it was not asked until then.
func (v *View) Said(token, holder evm.Address, height uint64) (s SaidBalance, known bool, err error) {
	if !v.c.asked.may(&token) {
		return s, false, nil
	}
	prefix := v.c.meta().key(store.TableSaidBalances).addr(&token).addr(&holder)
	rows, err := v.s.Rows(prefix, false)
	if err != nil {
		return s, false, err
	}
	defer rows.Close()
	rows.Seek(append(key(nil), prefix...).u64(^min(height, v.tip.Number)))
	if !rows.Valid() {
		return s, false, nil
	}
	s = SaidBalance{Token: token, Holder: holder, Height: ^binary.BigEndian.Uint64(rows.Key()[len(prefix):])}
	err = rows.Value(func(b []byte) (err error) {
		s.Amount, err = decodeAmount(b)
		return err
	})
	return s, err == nil, err
}

// EventBalance returns an ERC-20 balance as the token's events have it, and reports
// whether they moved more than there was.
func (v *View) EventBalance(holder, token evm.Address) (amount uint256.Int, doubtful bool, err error) {
	t := tokenWalk{v: v, prefix: v.at.key(store.TableTokenBalances).addr(&holder)}
	defer t.close()
	if err := t.open(); err != nil {
		return amount, false, err
	}
	k := append(key(nil), t.prefix...).addr(&token)
	t.rows.Seek(append(key(nil), k...).u64(^v.tip.Number))
	if !t.rows.Valid() || !bytes.HasPrefix(t.rows.Key(), k) {
		return amount, false, nil
	}
	var b balance
	err = t.rows.Value(b.decode)
	// Version 1 had the events of wrapped coins behind those of their transaction.
	return b.amount, b.doubtful && v.at.of[store.TableTokenBalances].version > 1, err
}

// settle puts what the contract stated in the place of a balance that transfers do not
// tell, and reports whether it belongs in a list. Of an uneven token, and of all while
// sums lack older blocks, the contract may say more than nothing though there is no
// row that does: it belongs there if may is set.
func (v *View) settle(holder evm.Address, b *TokenBalance, may bool) (listed bool, err error) {
	uneven := v.c.Uneven(b.Token) || !v.Summed()
	if !uneven && !b.Doubtful {
		return !b.Amount.IsZero(), nil
	}
	b.Doubtful = true
	said, known, err := v.Said(b.Token, holder, v.tip.Number)
	if err != nil {
		return false, err
	}
	if known {
		b.Amount, b.Said, b.SaidAt = said.Amount, true, said.Height
	}
	return uneven && (may || known) || !b.Amount.IsZero(), nil
}

// SaidHolders returns how many holders of a token were asked for, at most limit.
func (v *View) SaidHolders(token evm.Address, limit int) (n int, err error) {
	w, err := v.walkSaid(token, nil)
	if err != nil {
		return 0, err
	}
	defer w.rows.Close()
	for found := w.rows.Valid(); found && n < limit; n++ {
		found = w.skip(w.addr())
	}
	return n, nil
}

// saidWalk goes over what a contract stated for all holders.
type saidWalk struct {
	rows   *store.Rows
	prefix key
}

// walkSaid begins behind a holder, or at the first one.
func (v *View) walkSaid(token evm.Address, after []byte) (w saidWalk, err error) {
	w.prefix = v.c.meta().key(store.TableSaidBalances).addr(&token)
	if w.rows, err = v.s.Rows(w.prefix, false); err != nil {
		return w, err
	}
	if after == nil {
		w.rows.Seek(w.prefix)
	} else {
		w.skip(evm.Address(after))
	}
	return w, nil
}

func (w *saidWalk) addr() evm.Address { return evm.Address(w.rows.Key()[len(w.prefix):]) }

// skip goes behind the rows of a holder and reports whether there is another.
func (w *saidWalk) skip(holder evm.Address) bool {
	k := append(key(nil), w.prefix...).addr(&holder).u64(^uint64(0))
	w.rows.Seek(append(k, 0))
	return w.rows.Valid()
}

// said is [View.Holders] of a token whose events do not add up: what counts is what
// its contract stated. ok is false if it was never asked.
func (w *holderWalk) said(p *Page) (next []byte, ok bool, err error) {
	if len(p.After) == insideLen { // a page before was made by events
		return nil, false, nil
	}
	if p.After == nil {
		if n, err := w.v.SaidHolders(w.token, 1); err != nil || n == 0 {
			return nil, false, err
		}
	}
	walk, err := w.v.walkSaid(w.token, p.After)
	if err != nil {
		return nil, false, err
	}
	defer walk.rows.Close()
	for last := []byte(nil); walk.rows.Valid(); {
		a := walk.addr()
		h, held, err := w.saidHolder(&walk, &a)
		switch {
		case err != nil:
			return nil, false, err
		case held && len(w.out) == p.Limit:
			return last, true, nil
		case held:
			w.out = append(w.out, h)
		}
		last = append(last[:0], a[:]...)
		if w.passed >= maxPassed {
			return last, true, nil
		}
	}
	return nil, true, nil
}

// saidHolder reads the rows of one holder and goes behind them.
func (w *holderWalk) saidHolder(walk *saidWalk, a *evm.Address) (h Holder, held bool, err error) {
	h.Address = *a
	for now := true; walk.rows.Valid() && walk.addr() == *a; walk.rows.Next() {
		w.passed++
		at := walk.rows.Key()[len(walk.prefix)+evm.AddressLen:]
		if len(at) != heightLen {
			return h, false, fmt.Errorf("%w: key of a balance that a contract stated", errCodec)
		}
		height := ^binary.BigEndian.Uint64(at)
		if height > w.v.tip.Number {
			continue
		}
		var amount uint256.Int
		if err := walk.rows.Value(func(b []byte) (err error) {
			amount, err = decodeAmount(b)
			return err
		}); err != nil {
			return h, false, err
		}
		if now {
			h.Balance, now = amount, false
		}
		if height <= w.hi && w.above.Lt(&amount) {
			held = true
		}
		if height <= w.lo || held {
			walk.skip(*a)
			break
		}
	}
	return h, held, nil
}
