package index

import (
	"bytes"
	"context"
	"slices"

	"quorate/engine/chain/evm"
	store "quorate/engine/store/index"
)

// stored answers what was before from the changes of the group so far, those of
// the group that is being committed, the maker's caches and the database, in this
// order. It passes over rows at and above a height.
type stored struct {
	m      *maker
	below  uint64
	tokens *store.Rows
	key    key

	changed map[holding]balance
	cells   cells
	noted   map[SeenToken]struct{}
}

func newStored(m *maker, s *store.Snapshot, below uint64) (*stored, error) {
	p := &stored{
		m: m, below: below,
		changed: map[holding]balance{}, noted: map[SeenToken]struct{}{},
		cells: cells{s: s, changed: map[string][]byte{}},
	}
	var err error
	p.tokens, err = s.Rows(m.at.key(store.TableTokenBalances), false)
	return p, err
}

// load reads ahead the balances that blocks change, in the order of their keys:
// neighbours lie in the same blocks of the database.
func (p *stored) load(ctx context.Context, blocks []*evm.Block) error {
	if p.below == 0 || !p.m.writes(store.TableTokenBalances) {
		return nil
	}
	want := map[holding]struct{}{}
	var transfers []Transfer
	for _, b := range blocks {
		for i := range b.Txs {
			for j := range b.Txs[i].Logs {
				log := &b.Txs[i].Logs[j]
				if holder, _, _, ok := p.m.c.wraps(log); ok {
					want[holding{holder, log.Address}] = struct{}{}
				}
				transfers = AppendTransfers(transfers[:0], log)
				for k := range transfers {
					if t := &transfers[k]; t.Kind == ERC20 {
						want[holding{t.From, t.Token}] = struct{}{}
						want[holding{t.To, t.Token}] = struct{}{}
					}
				}
			}
		}
		p.m.worker.Rest(ctx.Done())
	}
	order := make([]holding, 0, len(want))
	for h := range want {
		if _, ok := p.m.tokens.get(h); !ok && !h.holder.IsZero() {
			order = append(order, h)
		}
	}
	slices.SortFunc(order, func(a, b holding) int {
		if n := bytes.Compare(a.holder[:], b.holder[:]); n != 0 {
			return n
		}
		return bytes.Compare(a.token[:], b.token[:])
	})
	for i := range order {
		if _, err := p.token(&order[i].holder, &order[i].token); err != nil {
			return err
		}
		if i%restRows == 0 {
			p.m.worker.Rest(ctx.Done())
		}
	}
	return nil
}

func (p *stored) token(holder, token *evm.Address) (balance, error) {
	h := holding{*holder, *token}
	bal, ok := p.changed[h]
	if ok || p.below == 0 {
		return bal, nil
	}
	if bal, ok = p.m.ahead.tokens[h]; ok {
		return bal, nil
	}
	if bal, ok = p.m.tokens.get(h); ok {
		return bal, nil
	}
	p.key = p.m.at.appendKey(p.key[:0], store.TableTokenBalances).addr(holder).addr(token)
	if p.seek(p.tokens) {
		if err := p.tokens.Value(bal.decode); err != nil {
			return bal, err
		}
	}
	p.m.tokens.put(h, bal)
	return bal, nil
}

func (p *stored) setToken(holder, token *evm.Address, b balance) {
	p.changed[holding{*holder, *token}] = b
}

func (p *stored) tokenSeen(t SeenToken) bool {
	if _, ok := p.noted[t]; ok {
		return true
	}
	if _, ok := p.m.noted.get(t); ok {
		return true
	}
	p.noted[t] = struct{}{}
	return false
}

// keep takes the group's changes into the caches, once they are committed or on
// their way.
func (p *stored) keep() {
	for h, bal := range p.changed {
		p.m.tokens.put(h, bal)
	}
	for k, value := range p.cells.changed {
		p.m.cells.put(k, value)
	}
	for t := range p.noted {
		p.m.noted.put(t, struct{}{})
	}
}

// seek goes to the newest row that starts with p.key and is below the height.
func (p *stored) seek(r *store.Rows) bool {
	n := len(p.key)
	p.key = p.key.u64(^(p.below - 1))
	r.Seek(p.key)
	return r.Valid() && len(r.Key()) == n+heightLen && bytes.Equal(r.Key()[:n], p.key[:n])
}
