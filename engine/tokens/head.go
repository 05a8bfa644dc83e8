package tokens

import (
	"context"
	"errors"
	"time"

	"github.com/holiman/uint256"

	"quorate/engine/chain/evm"
	"quorate/engine/index"
	evmsource "quorate/engine/source/evm"
)

const (
	// factsTimeout is how long blocks wait for the facts of new tokens at most, and
	// factsPause how long none waits after it was not enough.
	factsTimeout, factsPause = 250 * time.Millisecond, 10 * time.Second
	// maxBefore is how many new tokens are asked before their blocks are indexed.
	maxBefore = 16
	// maxSigns bounds what is taken from one block.
	maxSigns = 256
)

// Before reads the facts of tokens that blocks at the chain's head name for the
// first time, so that they are known once the blocks are shown. The node has 250 ms
// to answer; if it needs longer, the facts come later, and no block waits for the
// next 10 s. One call at a time.
func (l *Lane) Before(ctx context.Context, blocks []*evm.Block) {
	if until := l.paused.Load(); until != nil && time.Now().Before(*until) {
		return
	}
	fresh, height, err := l.strangers(blocks)
	if err != nil || len(fresh) == 0 || l.cfg.Room() != nil {
		return // the commit will find out what is wrong
	}
	ctx, cancel := context.WithTimeout(ctx, factsTimeout)
	defer cancel()
	a := newAnswers(height)
	var calls []evmsource.ContractCall
	for _, t := range fresh {
		calls = evmsource.AppendTokenCalls(calls, t.Token)
	}
	if err = l.read(ctx, nil, calls); err == nil {
		for _, t := range fresh {
			a.facts[t.Token] = metaOf(evmsource.ReadToken(calls), t.Kind)
			calls = calls[evmsource.TokenCalls:]
		}
		err = l.keep(ctx, a)
	}
	if err != nil {
		l.stats.late.Inc()
		until := time.Now().Add(factsPause)
		l.paused.Store(&until)
		l.log.Debug("blocks are indexed before the facts of their new tokens are known", "err", err)
	}
}

// strangers returns tokens of blocks whose facts are not known.
func (l *Lane) strangers(blocks []*evm.Block) (fresh []index.SeenToken, height uint64, err error) {
	seen := map[evm.Address]bool{}
	eachTransfer(blocks, func(b *evm.Block, t *index.Transfer) {
		height = b.Number
		if !seen[t.Token] && !l.known.Contains(t.Token) {
			seen[t.Token] = true
			fresh = append(fresh, index.SeenToken{Token: t.Token, Kind: t.Kind})
		}
	})
	if len(fresh) == 0 {
		return nil, height, nil
	}
	v, err := l.cfg.Index.At(nil)
	if errors.Is(err, index.ErrEmpty) {
		return fresh[:min(len(fresh), maxBefore)], height, nil
	}
	if err != nil {
		return nil, height, err
	}
	defer v.Close()
	list := fresh[:0]
	for _, t := range fresh {
		_, known, err := v.Token(t.Token)
		switch {
		case err != nil:
			return nil, height, err
		case known:
			l.known.Add(t.Token, struct{}{})
		case len(list) < maxBefore:
			list = append(list, t)
		}
	}
	return list, height, nil
}

// eachTransfer yields the transfers of blocks.
func eachTransfer(blocks []*evm.Block, f func(b *evm.Block, t *index.Transfer)) {
	var room []index.Transfer
	for _, b := range blocks {
		for i := range b.Txs {
			tx := &b.Txs[i]
			if tx.Failed {
				continue
			}
			for j := range tx.Logs {
				room = index.AppendTransfers(room[:0], &tx.Logs[j])
				for k := range room {
					f(b, &room[k])
				}
			}
		}
	}
}

// Events that say nothing about the facts of a token.
var everyday = topics(
	"Transfer(address,address,uint256)", "Approval(address,address,uint256)", "ApprovalForAll(address,address,bool)",
	"TransferSingle(address,address,address,uint256,uint256)", "TransferBatch(address,address,address,uint256[],uint256[])",
	"Deposit(address,uint256)", "Withdrawal(address,uint256)", "Sync(uint112,uint112)",
	"Swap(address,uint256,uint256,uint256,uint256,address)", "Mint(address,uint256,uint256)", "Burn(address,uint256,uint256,address)",
)

// Events that say that URIs have changed: ERC-4906 and ERC-1155.
var (
	topicUpdate      = topic("MetadataUpdate(uint256)")
	topicBatchUpdate = topic("BatchMetadataUpdate(uint256,uint256)")
	topicURI         = topic("URI(string,uint256)")
)

func topic(signature string) evm.Hash { return evm.Keccak([]byte(signature)) }

func topics(signatures ...string) map[evm.Hash]bool {
	m := make(map[evm.Hash]bool, len(signatures))
	for _, s := range signatures {
		m[topic(s)] = true
	}
	return m
}

// Block takes a block at the chain's head that was indexed: what moved in it, and
// what shows signs of a change. It costs little and never waits.
func (l *Lane) Block(b *evm.Block) {
	s := signs{lane: l, seen: map[sign]bool{}}
	for i := range b.Txs {
		if tx := &b.Txs[i]; !tx.Failed {
			s.tx(tx)
		}
	}
	if n := &s.news; len(n.moved)+len(n.changed)+len(n.tasks) > 0 {
		l.send(n)
	}
}

// sign is one of a block, each of which counts once.
type sign struct {
	a       evm.Address
	holder  evm.Address
	changed bool
}

type signs struct {
	lane *Lane
	news news
	seen map[sign]bool
	room []index.Transfer
}

func (s *signs) fresh(g sign) bool {
	if s.seen[g] || len(s.seen) >= maxSigns {
		return false
	}
	s.seen[g] = true
	return true
}

func (s *signs) changed(a evm.Address) {
	if s.fresh(sign{a: a, changed: true}) {
		s.news.changed = append(s.news.changed, a)
	}
}

func (s *signs) tx(tx *evm.Tx) {
	quiet := map[evm.Address]bool{} // contracts that were called and made no event
	if !tx.Creation && len(tx.Input) > 0 {
		quiet[tx.To] = true
	}
	for i := range tx.Calls {
		c := &tx.Calls[i]
		switch {
		case c.Reverted:
		case c.Type == evm.CallPlain && len(quiet) < maxSigns:
			quiet[c.To] = true
		case c.Type.Creates():
			s.changed(c.To) // at the address of a token that destroyed itself
		}
	}
	for i := range tx.Logs {
		delete(quiet, tx.Logs[i].Address)
		s.log(&tx.Logs[i])
	}
	for a := range quiet {
		if s.lane.known.Contains(a) {
			s.changed(a)
		}
	}
}

func (s *signs) log(log *evm.Log) {
	s.room = index.AppendTransfers(s.room[:0], log)
	for i := range s.room {
		s.transfer(&s.room[i])
	}
	if len(s.room) > 0 || len(log.Topics) == 0 {
		return
	}
	switch id := log.Topics[0]; {
	case id == topicUpdate && len(log.Data) == 32:
		s.uris(log.Address, new(uint256.Int).SetBytes32(log.Data), nil)
	case id == topicBatchUpdate && len(log.Data) == 64:
		s.uris(log.Address, new(uint256.Int).SetBytes32(log.Data), new(uint256.Int).SetBytes32(log.Data[32:]))
	case id == topicURI && len(log.Topics) == 2:
		s.uris(log.Address, new(uint256.Int).SetBytes(log.Topics[1][:]), nil)
	case !everyday[id]:
		s.changed(log.Address)
	}
}

func (s *signs) transfer(t *index.Transfer) {
	if s.fresh(sign{a: t.Token}) {
		s.news.moved = append(s.news.moved, t.Token)
	}
	if t.Kind != index.ERC20 || !s.lane.cfg.Index.Uneven(t.Token) {
		return
	}
	for _, a := range [...]evm.Address{t.From, t.To} {
		if !a.IsZero() && s.fresh(sign{a: t.Token, holder: a}) {
			s.news.tasks = append(s.news.tasks, task{token: t.Token, kind: index.ERC20, holder: a})
		}
	}
}

// uris has URIs read again. A range is one task until the lane has it.
func (s *signs) uris(token evm.Address, from, to *uint256.Int) {
	if len(s.news.tasks) >= maxSigns {
		return
	}
	t := task{token: token, id: *from, again: true}
	if to != nil {
		t.to = to
	}
	s.news.tasks = append(s.news.tasks, t)
}

// ask names a balance after a block.
type ask struct {
	token, holder evm.Address
	at            evm.Hash
}

// Balances asks contracts what a holder has of tokens after a block, and has what
// they say kept. What was asked of late is not asked again.
func (l *Lane) Balances(ctx context.Context, holder evm.Address, tokens []evm.Address, after *evm.Head) ([]uint256.Int, error) {
	out := make([]uint256.Int, len(tokens))
	var calls []evmsource.ContractCall
	var at []int
	for i, t := range tokens {
		if s, ok := l.asks.Get(ask{t, holder, after.Hash}); ok {
			out[i] = s.Amount
			continue
		}
		calls, at = append(calls, evmsource.BalanceCall(t, holder)), append(at, i)
	}
	if len(calls) == 0 {
		return out, nil
	}
	if err := l.read(ctx, after, calls); err != nil {
		return nil, err
	}
	n := &news{}
	for k, i := range at {
		s := index.SaidBalance{Token: tokens[i], Holder: holder, Height: after.Number, Amount: evmsource.ReadBalance(&calls[k])}
		out[i] = s.Amount
		l.asks.Add(ask{s.Token, holder, after.Hash}, s)
		n.said = append(n.said, s)
	}
	l.send(n)
	return out, nil
}
