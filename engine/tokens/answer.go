package tokens

import (
	"context"
	"errors"
	"math"
	"time"

	"github.com/holiman/uint256"

	"quorate/engine/chain/evm"
	"quorate/engine/index"
	evmsource "quorate/engine/source/evm"
)

const (
	// maxURIs and maxHolders bound what is kept of one token.
	maxURIs, maxHolders = 10_000, 10_000
	// taskBatch is how many tasks go out at once.
	taskBatch = 64
	// listPart is how many rows are read at once where all of a token are.
	listPart = 512
	// taskRate is how many tasks are done each second in the long run, taskBurst how
	// many without a pause: what tokens make does not keep a node busy.
	taskRate, taskBurst = 1000, 1 << 14
	// saidRate is how many balances of requests are kept each second at most.
	saidRate = 16
)

// countKey names what is counted of a token: URIs, or holders.
type countKey struct {
	token   evm.Address
	holders bool
}

// count returns how many URIs or holders of a token are kept.
func (l *Lane) count(v *index.View, k countKey) (n int, err error) {
	n, ok := l.counted.Get(k)
	if ok {
		return n, nil
	}
	if k.holders {
		n, err = v.SaidHolders(k.token, maxHolders)
	} else {
		// Beyond the bound too: what is above it must be gone before there is room again.
		n, err = v.CountURIs(k.token, 2*l.mostURIs)
	}
	if err == nil {
		l.counted.Add(k, n)
	}
	return n, err
}

// mint has the URI of a new NFT read.
func (l *Lane) mint(n index.SeenNFT) {
	l.push(&task{token: n.Token, kind: n.Kind, id: n.ID})
}

// askURIs has the URIs of a token read again that are known, those of IDs from one
// to another if these are not nil.
func (l *Lane) askURIs(token evm.Address, kind index.TransferKind, from, to *uint256.Int) error {
	return l.view(func(v *index.View) error {
		var after []byte
		if from != nil && !from.IsZero() {
			id := new(uint256.Int).Sub(from, uint256.NewInt(1)).Bytes32()
			after = id[:]
		}
		for n := 0; n < l.mostURIs; n += listPart {
			nfts, _, next, err := v.TokenURIs(token, index.Page{After: after, Limit: listPart})
			if err != nil {
				return err
			}
			for i := range nfts {
				if to != nil && nfts[i].ID.Gt(to) {
					return nil
				}
				l.push(&task{token: token, kind: kind, id: nfts[i].ID, again: true})
			}
			if after = next; next == nil {
				return nil
			}
		}
		return nil
	})
}

// askHolders has all balances of an uneven token read.
func (l *Lane) askHolders(token evm.Address) error {
	return l.view(func(v *index.View) error {
		var after []byte
		for n := 0; n < maxHolders; n += listPart {
			holders, next, err := v.EventHolders(token, index.Page{After: after, Limit: listPart})
			if err != nil {
				return err
			}
			for _, h := range holders {
				l.push(&task{token: token, kind: index.ERC20, holder: h})
			}
			if after = next; next == nil {
				return nil
			}
		}
		return nil
	})
}

// answer does a batch of tasks and reports whether there were any.
func (l *Lane) answer(ctx context.Context) (bool, error) {
	if len(l.batch) == 0 && l.afford() {
		l.batch = l.queue.pop(taskBatch)
		l.budget -= float64(len(l.batch))
	}
	l.stats.queued.Set(float64(l.queue.n + len(l.batch)))
	if len(l.batch) == 0 {
		return false, nil
	}
	var a *answers
	var tip evm.Head
	var uris, balances []task
	if err := l.view(func(v *index.View) (err error) {
		tip = v.Tip()
		a = newAnswers(tip.Number)
		uris, balances, err = l.sortTasks(v)
		return err
	}); err != nil || a == nil {
		return false, err
	}
	if err := errors.Join(l.readURIs(ctx, uris, a), l.readBalances(ctx, &tip, balances, a)); err != nil {
		return false, err
	}
	if err := l.view(func(v *index.View) error { return l.dropSame(v, a) }); err != nil {
		return false, err
	}
	if err := l.keep(ctx, a); err != nil {
		return false, err
	}
	l.countURIs(a)
	for _, uri := range a.uris {
		l.budget -= float64(index.URIWeight(uri) - 1) // what tokens make does not fill a disk sooner by being long
	}
	l.batch = nil
	return true, nil
}

// afford reports whether there is budget for a batch of tasks.
func (l *Lane) afford() bool {
	now := time.Now()
	if l.spent.IsZero() {
		l.budget = taskBurst
	}
	l.budget = min(taskBurst, l.budget+taskRate*now.Sub(l.spent).Seconds())
	l.spent = now
	return l.budget >= taskBatch
}

// countURIs counts URIs that are kept now.
func (l *Lane) countURIs(a *answers) {
	for token, weight := range a.grown {
		l.counts(countKey{token, false}, weight)
	}
}

func (l *Lane) counts(k countKey, weight int) {
	if n, ok := l.counted.Get(k); ok {
		l.counted.Add(k, n+weight)
	}
}

// sortTasks leaves out what is known already and what is above a token's bounds.
func (l *Lane) sortTasks(v *index.View) (uris, balances []task, err error) {
	for _, t := range l.batch {
		if t.kind == index.ERC20 {
			_, known, err := v.Said(t.token, t.holder, math.MaxUint64)
			if err != nil {
				return nil, nil, err
			}
			if n, err := l.count(v, countKey{t.token, true}); err != nil {
				return nil, nil, err
			} else if !known && n >= maxHolders {
				l.stats.dropped.Inc()
				continue
			}
			balances = append(balances, t)
			continue
		}
		_, known, err := v.TokenURI(t.token, t.id)
		if err != nil {
			return nil, nil, err
		}
		n, err := l.count(v, countKey{t.token, false})
		if err != nil {
			return nil, nil, err
		}
		switch {
		case known && !t.again:
		case !known && n >= l.mostURIs:
			l.stats.dropped.Inc()
		default:
			uris = append(uris, t)
		}
	}
	return uris, balances, nil
}

func (l *Lane) readURIs(ctx context.Context, tasks []task, a *answers) error {
	calls := make([]evmsource.ContractCall, len(tasks))
	for i := range tasks {
		calls[i] = evmsource.URICall(tasks[i].token, &tasks[i].id, sourceKind(tasks[i].kind))
	}
	if err := l.read(ctx, nil, calls); err != nil {
		return err
	}
	for i, t := range tasks {
		a.uris[index.NFT{Token: t.token, ID: t.id}] = evmsource.ReadURI(&calls[i])
	}
	return nil
}

// readBalances reads balances after the last block that is indexed. Where the node
// has no state of it, they stay what they were.
func (l *Lane) readBalances(ctx context.Context, tip *evm.Head, tasks []task, a *answers) error {
	calls := make([]evmsource.ContractCall, len(tasks))
	for i := range tasks {
		calls[i] = evmsource.BalanceCall(tasks[i].token, tasks[i].holder)
	}
	if err := l.read(ctx, tip, calls); err != nil {
		if errors.Is(err, evmsource.ErrNotFound) {
			l.stats.dropped.Add(float64(len(tasks)))
			return nil
		}
		return err
	}
	for i, t := range tasks {
		a.said = append(a.said, index.SaidBalance{Token: t.token, Holder: t.holder, Height: a.height, Amount: evmsource.ReadBalance(&calls[i])})
	}
	return nil
}

// dropSame leaves out what was said before: it need not be kept again.
func (l *Lane) dropSame(v *index.View, a *answers) error {
	if err := l.boundURIs(v, a); err != nil {
		return err
	}
	list, seen := a.said[:0], map[index.SaidBalance]bool{}
	for _, s := range a.said {
		old, known, err := v.Said(s.Token, s.Holder, s.Height)
		if err != nil {
			return err
		}
		if known && old.Amount.Eq(&s.Amount) || seen[s] {
			continue
		}
		seen[s] = true
		if !known {
			l.counts(countKey{s.Token, true}, 1)
		}
		list = append(list, s)
	}
	a.said = list
	return nil
}

// boundURIs leaves out URIs that are kept already. Where short ones became long ones they
// are none once their token has no room: fewer long ones are kept.
func (l *Lane) boundURIs(v *index.View, a *answers) error {
	for nft, uri := range a.uris {
		old, known, err := v.TokenURI(nft.Token, nft.ID)
		if err != nil {
			return err
		}
		if !known {
			a.grown[nft.Token] += index.URIWeight(uri)
			continue
		}
		if index.URIWeight(uri) > index.URIWeight(old) {
			n, err := l.count(v, countKey{nft.Token, false})
			if err != nil {
				return err
			}
			if n+a.grown[nft.Token] >= l.mostURIs {
				uri = ""
			}
		}
		if uri == old {
			delete(a.uris, nft)
			continue
		}
		a.uris[nft] = uri
		a.grown[nft.Token] += index.URIWeight(uri) - index.URIWeight(old)
	}
	return nil
}

// keepSaid keeps balances that requests have asked for, as many as time permits.
func (l *Lane) keepSaid(ctx context.Context, list []index.SaidBalance, now time.Time) {
	if len(list) == 0 {
		return
	}
	l.credit = min(saidRate, l.credit+saidRate*now.Sub(l.written).Seconds())
	l.written = now
	n := min(len(list), int(l.credit))
	l.credit -= float64(n)
	a := newAnswers(0)
	a.said = list[:n]
	err := l.view(func(v *index.View) error {
		bounded := a.said[:0]
		for _, s := range a.said {
			if c, err := l.count(v, countKey{s.Token, true}); err != nil {
				return err
			} else if c < maxHolders {
				bounded = append(bounded, s)
			}
		}
		a.said = bounded
		return l.dropSame(v, a)
	})
	if err == nil {
		err = l.keep(ctx, a)
	}
	if err != nil && ctx.Err() == nil {
		l.log.Warn("balances that contracts stated could not be saved", "err", err)
	}
}
