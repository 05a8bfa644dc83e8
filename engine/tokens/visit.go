package tokens

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/holiman/uint256"

	"quorate/engine/chain/evm"
	"quorate/engine/index"
	evmsource "quorate/engine/source/evm"
)

const (
	// visitBatch is how many tokens are visited at once.
	visitBatch = 4
	// maxDue bounds the visits that wait; others are found by the next sweep.
	maxDue = 8192
	// movedEvery is how often a token that moves is visited, changedEvery one that
	// shows signs of change.
	movedEvery, changedEvery = 10 * time.Minute, 10 * time.Second
	// recentTransfers and sampleHolders say whose balances a visit looks at: the
	// parties of the last transfers, and some of all holders, which are all of most
	// tokens.
	recentTransfers, sampleHolders = 4, 16
	// sampleURIs is how many URIs a visit reads again.
	sampleURIs = 4
	// firstVisits is how often a token that is new at the chain's head is visited at
	// least, whether it moves or not: one that rebases may begin as it should be.
	firstVisits = 3
	// saidPerHolder is how much rarer an uneven token is visited for each holder: all
	// balances are read then, and kept if they have changed, 1 MB a day at most.
	saidPerHolder = 5 * time.Second
	// maxFruitless bounds how much rarer a token is visited that shows signs of change
	// but never changes: by a power of two.
	maxFruitless = 6
)

// visited says when a token was visited last, how often in this run, and how often
// since it has changed.
type visited struct {
	at               time.Time
	times, fruitless int
}

// first has a token visited that was moved, for the first time in this run.
func (l *Lane) first(token evm.Address, now time.Time) {
	if !l.visited.Contains(token) {
		l.schedule(token, now, 0)
	}
}

// schedule has a token visited once the last visit is long enough ago.
func (l *Lane) schedule(token evm.Address, now time.Time, every time.Duration) {
	at := now
	if last, ok := l.visited.Get(token); ok {
		if at = last.at.Add(every); at.Before(now) {
			at = now
		}
	}
	if old, ok := l.due[token]; ok && !at.Before(old) || !ok && len(l.due) >= maxDue {
		return
	}
	l.due[token] = at
}

// interval is how often a token is visited while it moves.
func (l *Lane) interval(token evm.Address) time.Duration {
	if l.cfg.Index.Uneven(token) {
		return l.unevenEvery(token)
	}
	last, _ := l.visited.Get(token)
	return min(movedEvery, changedEvery<<min(2*last.times, 10))
}

// unevenEvery is how often all balances of an uneven token are read.
func (l *Lane) unevenEvery(token evm.Address) time.Duration {
	n, _ := l.counted.Get(countKey{token, true})
	return max(changedEvery, time.Duration(n)*saidPerHolder)
}

// signEvery is how often a token is visited that shows signs of change.
func (l *Lane) signEvery(token evm.Address) time.Duration {
	last, _ := l.visited.Get(token)
	every := changedEvery << min(last.fruitless, maxFruitless)
	if l.cfg.Index.Uneven(token) {
		every = max(every, l.unevenEvery(token))
	}
	return every
}

// takeDue takes tokens whose visit is due.
func (l *Lane) takeDue(limit int) (list []evm.Address) {
	now := time.Now()
	for token, at := range l.due {
		if len(list) == limit {
			break
		}
		if !at.After(now) {
			list = append(list, token)
		}
	}
	return list
}

// isToken reports whether the index knows a token at an address.
func (l *Lane) isToken(a evm.Address) bool {
	if l.known.Contains(a) {
		return true
	}
	known := false
	_ = l.view(func(v *index.View) (err error) { // a sign that is missed is seen by the next sweep
		_, known, err = v.Token(a)
		return err
	})
	if known {
		l.known.Add(a, struct{}{})
	}
	return known
}

// view opens the index at its last block.
func (l *Lane) view(f func(v *index.View) error) error {
	v, err := l.cfg.Index.At(nil)
	if err != nil {
		if errors.Is(err, index.ErrEmpty) {
			return nil
		}
		return err
	}
	defer v.Close()
	return f(v)
}

// guest is a token that is visited.
type guest struct {
	token evm.Address
	kind  index.TransferKind // of its transfers, 0 if it is not known
	old   index.TokenMeta
	known bool

	pairs []pair
	nfts  []index.NFT
	uris  []string // those that are known
}

// pair is a balance as the token's events have it.
type pair struct {
	holder    evm.Address
	sum       uint256.Int
	overdrawn bool // the events moved more than there was
}

// visit asks tokens what they are and whether their events add up, and reports
// whether there were any.
func (l *Lane) visit(ctx context.Context, tokens []evm.Address) (bool, error) {
	if len(tokens) == 0 {
		return false, nil
	}
	var guests []*guest
	var tip evm.Head
	if err := l.view(func(v *index.View) error {
		tip = v.Tip()
		for _, t := range tokens {
			g, err := l.meet(v, t)
			if err != nil {
				return err
			}
			guests = append(guests, g)
		}
		return nil
	}); err != nil {
		return false, err
	}
	a := newAnswers(tip.Number)
	if err := errors.Join(l.askFacts(ctx, guests, a), l.audit(ctx, &tip, guests, a)); err != nil {
		return false, err
	}
	if err := l.changedURIs(guests, a); err != nil {
		return false, err
	}
	if err := l.keep(ctx, a); err != nil {
		return false, err
	}
	l.countURIs(a)
	now := time.Now()
	for _, g := range guests {
		delete(l.due, g.token)
		last, _ := l.visited.Get(g.token)
		last.at, last.times, last.fruitless = now, last.times+1, last.fruitless+1
		if _, changed := a.facts[g.token]; changed {
			last.fruitless = 0
		}
		l.visited.Add(g.token, last)
		l.stats.visits.Inc()
		if l.live && last.times < firstVisits {
			l.schedule(g.token, now, l.interval(g.token))
		}
		if l.cfg.Index.Uneven(g.token) {
			if err := l.askHolders(g.token); err != nil {
				return false, err
			}
		}
	}
	return true, nil
}

// meet reads what the index has of a token.
func (l *Lane) meet(v *index.View, token evm.Address) (*guest, error) {
	g := &guest{token: token}
	var err error
	if g.old, g.known, err = v.Token(token); err != nil {
		return nil, err
	}
	var holders []evm.Address
	if _, err := v.TokenTransfers(token, index.Page{Limit: recentTransfers, To: math.MaxUint64}, func(t *index.AddressedTransfer) bool {
		g.kind = t.Kind
		holders = append(holders, t.From, t.To)
		return true
	}); err != nil {
		return nil, err
	}
	if g.kind != index.ERC20 {
		g.nfts, g.uris, _, err = v.TokenURIs(token, index.Page{After: randomNFT(), Limit: sampleURIs})
		return g, err
	}
	if l.cfg.Index.Uneven(token) || !v.Summed() {
		return g, nil // there is nothing more to find out, or not yet
	}
	some, err := sample(v, token)
	if err != nil {
		return nil, err
	}
	seen := map[evm.Address]bool{{}: true}
	for _, h := range append(holders, some...) {
		if seen[h] {
			continue
		}
		seen[h] = true
		p := pair{holder: h}
		if p.sum, p.overdrawn, err = v.EventBalance(h, token); err != nil {
			return nil, err
		}
		g.pairs = append(g.pairs, p)
	}
	return g, nil
}

// sample returns holders of a token from a random one on, and goes on with the first
// behind the last: each is as likely.
func sample(v *index.View, token evm.Address) ([]evm.Address, error) {
	some, _, err := v.EventHolders(token, index.Page{After: randomAddress(), Limit: sampleHolders})
	if err != nil || len(some) == sampleHolders {
		return some, err
	}
	first, _, err := v.EventHolders(token, index.Page{Limit: sampleHolders - len(some)})
	return append(some, first...), err
}

func randomAddress() []byte {
	b := make([]byte, evm.AddressLen)
	for i := range b {
		b[i] = byte(rand.Uint32())
	}
	return b
}

// randomNFT returns a position in a token's list of URIs: IDs are small as a rule.
func randomNFT() []byte {
	id := uint256.NewInt(rand.Uint64N(1 << rand.UintN(20))).Bytes32()
	return id[:]
}

// askFacts asks tokens for their facts, and a sample of their URIs again.
func (l *Lane) askFacts(ctx context.Context, guests []*guest, a *answers) error {
	var calls []evmsource.ContractCall
	for _, g := range guests {
		calls = evmsource.AppendTokenCalls(calls, g.token)
		for i := range g.nfts {
			calls = append(calls, evmsource.URICall(g.token, &g.nfts[i].ID, sourceKind(g.kind)))
		}
	}
	if err := l.read(ctx, nil, calls); err != nil {
		return err
	}
	for _, g := range guests {
		meta := metaOf(evmsource.ReadToken(calls), g.kind)
		if !g.known || meta != g.old {
			a.facts[g.token] = meta
		}
		calls = calls[evmsource.TokenCalls:]
		for i := range g.nfts {
			if uri := evmsource.ReadURI(&calls[i]); uri != g.uris[i] {
				a.uris[g.nfts[i]] = uri
			}
		}
		calls = calls[len(g.nfts):]
	}
	return nil
}

// changedURIs has all URIs read again of tokens of which one of the sample has changed.
func (l *Lane) changedURIs(guests []*guest, a *answers) error {
	if len(a.uris) == 0 {
		return nil
	}
	if err := l.view(func(v *index.View) error { return l.boundURIs(v, a) }); err != nil {
		return err
	}
	for _, g := range guests {
		if !slices.ContainsFunc(g.nfts, func(n index.NFT) bool { _, changed := a.uris[n]; return changed }) {
			continue
		}
		if err := l.askURIs(g.token, g.kind, nil, nil); err != nil {
			return err
		}
	}
	return nil
}

// metaOf translates what a contract says of itself. What it does not say follows
// from its transfers.
func metaOf(info evmsource.TokenInfo, kind index.TransferKind) index.TokenMeta {
	switch info.Kind {
	case evmsource.ERC20:
		kind = index.ERC20
	case evmsource.ERC721:
		kind = index.ERC721
	case evmsource.ERC1155:
		kind = index.ERC1155
	}
	return index.TokenMeta{Name: info.Name, Symbol: info.Symbol, Decimals: info.Decimals, HasDecimals: info.HasDecimals, Kind: kind}
}

func sourceKind(k index.TransferKind) evmsource.Kind {
	if k == index.ERC1155 {
		return evmsource.ERC1155
	}
	return evmsource.ERC721
}

// audit holds balances against what contracts say after the same block, the last one that
// is indexed. A node without the state of that block leaves it open.
func (l *Lane) audit(ctx context.Context, tip *evm.Head, guests []*guest, a *answers) error {
	var calls []evmsource.ContractCall
	for _, g := range guests {
		for i := range g.pairs {
			calls = append(calls, evmsource.BalanceCall(g.token, g.pairs[i].holder))
		}
	}
	if err := l.read(ctx, tip, calls); err != nil {
		if errors.Is(err, evmsource.ErrNotFound) {
			l.stats.unaudited.Inc()
			return nil
		}
		return err
	}
	for _, g := range guests {
		for i := range g.pairs {
			said := evmsource.ReadBalance(&calls[i])
			p := &g.pairs[i]
			if _, found := a.uneven[g.token]; !found && (p.overdrawn || !said.Eq(&p.sum)) {
				a.uneven[g.token] = evidence{holder: p.holder, sum: p.sum, said: said}
				log := l.log.With("token", g.token, "holder", p.holder, "block", a.height)
				if said.Eq(&p.sum) {
					log.Info("the events of a token move more than its holder had")
				} else {
					log.Info("the events of a token do not add up to what its contract says", "events", p.sum.Dec(), "contract", said.Dec())
				}
			}
		}
		calls = calls[len(g.pairs):]
	}
	return nil
}

// read asks contracts, unless there is nothing to ask.
func (l *Lane) read(ctx context.Context, at *evm.Head, calls []evmsource.ContractCall) error {
	if len(calls) == 0 {
		return nil
	}
	l.stats.calls.Add(float64(len(calls)))
	return l.cfg.Node.ReadContracts(ctx, at, calls)
}
