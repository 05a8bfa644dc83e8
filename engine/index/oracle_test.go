package index

import (
	"bytes"
	"math/big"

	"quorate/engine/chain/evm"
	"quorate/engine/index/indextest"
)

// oracle recomputes from blocks what the index must say, slowly and plainly,
// with no code of the index.
type oracle struct {
	txs    []*oracleTx
	byHash map[evm.Hash]*oracleTx
	byAddr map[evm.Address][]*oracleTx
	moves  []oracleMove
	coins  map[evm.Address]map[evm.Address]*big.Int // holder, token
	// doubtful balances fell below zero once, by holder and token.
	doubtful map[string]bool
	owners   map[string]evm.Address // token and ID
	native   map[evm.Address]*big.Int
	blocks   []*evm.Block
	byBlock  map[uint64][]*oracleTx
}

type oracleTx struct {
	b    *evm.Block
	tx   *evm.Tx
	mine []oracleMove
	warp [][]byte
	// Texts are kept, since they are asked for in many lists.
	text, short string
}

type oracleMove struct {
	t          *oracleTx
	log, item  int
	kind       int // 20, 721, 1155
	token      evm.Address
	from, to   evm.Address
	id, amount *big.Int
}

func number(b []byte) *big.Int { return new(big.Int).SetBytes(b) }

func topic(s string) evm.Hash { return evm.Keccak([]byte(s)) }

// recompute replays blocks up to a height.
func recompute(blocks []*evm.Block, height uint64) *oracle {
	o := &oracle{
		byHash: map[evm.Hash]*oracleTx{}, byAddr: map[evm.Address][]*oracleTx{},
		coins: map[evm.Address]map[evm.Address]*big.Int{}, owners: map[string]evm.Address{},
		doubtful: map[string]bool{}, native: map[evm.Address]*big.Int{}, byBlock: map[uint64][]*oracleTx{},
	}
	// What an account has before its first change is known later.
	for _, b := range blocks {
		for _, bal := range b.Balances {
			if o.native[bal.Address] == nil {
				o.native[bal.Address] = bal.Before.ToBig()
			}
		}
	}
	for _, b := range blocks {
		if b.Number > height {
			break
		}
		o.blocks = append(o.blocks, b)
		for i := range b.Txs {
			o.replay(b, &b.Txs[i])
		}
		for _, bal := range b.Balances {
			o.native[bal.Address] = bal.Wei.ToBig()
		}
	}
	return o
}

func (o *oracle) replay(b *evm.Block, tx *evm.Tx) {
	t := &oracleTx{b: b, tx: tx}
	o.txs = append(o.txs, t)
	o.byHash[tx.Hash] = t
	o.byBlock[b.Number] = append(o.byBlock[b.Number], t)
	who := map[evm.Address]bool{tx.From: true}
	if tx.Creation {
		who[tx.Contract] = true
	} else {
		who[tx.To] = true
	}
	for _, l := range tx.Logs {
		if !tx.Failed {
			o.log(t, &l)
		}
	}
	for _, m := range t.mine {
		who[m.from], who[m.to] = true, true
	}
	for _, c := range tx.Calls {
		who[c.From] = true
		creates := c.Type == evm.CallCreate || c.Type == evm.CallCreate2
		if c.To != (evm.Address{}) || !creates {
			who[c.To] = true
		}
	}
	for a := range who {
		o.byAddr[a] = append(o.byAddr[a], t)
	}
}

func (o *oracle) log(t *oracleTx, l *evm.Log) {
	address := func(i int) (a evm.Address, ok bool) {
		return evm.Address(l.Topics[i][12:]), bytes.Equal(l.Topics[i][:12], make([]byte, 12))
	}
	m := oracleMove{t: t, log: int(l.Index), token: l.Address, id: new(big.Int), amount: big.NewInt(1)}
	if l.Address == indextest.Wrapped && len(l.Topics) == 2 {
		a, _ := address(1)
		amount := number(l.Data)
		if l.Topics[0] == topic("Withdrawal(address,uint256)") {
			amount.Neg(amount)
		}
		o.add(a, l.Address, amount)
		return
	}
	if l.Address == (evm.Address{0: 2, 19: 5}) {
		n := number(l.Data[32:64]).Int64()
		t.warp = append(t.warp, l.Data[64:64+n])
		return
	}
	if len(l.Topics) < 3 {
		return
	}
	at := 1
	if l.Topics[0] != topic("Transfer(address,address,uint256)") {
		at = 2
	}
	if len(l.Topics) < at+2 {
		return
	}
	var ok1, ok2 bool
	m.from, ok1 = address(at)
	m.to, ok2 = address(at + 1)
	if !ok1 || !ok2 {
		return
	}
	switch {
	case at == 1 && len(l.Topics) == 3 && len(l.Data) == 32:
		m.kind, m.amount = 20, number(l.Data)
	case at == 1 && len(l.Topics) == 4 && len(l.Data) == 0:
		m.kind, m.id = 721, number(l.Topics[3][:])
	case l.Topics[0] == topic("TransferSingle(address,address,address,uint256,uint256)") && len(l.Data) == 64:
		m.kind, m.id, m.amount = 1155, number(l.Data[:32]), number(l.Data[32:])
	case l.Topics[0] == topic("TransferBatch(address,address,address,uint256[],uint256[])") && len(l.Data) == 8*32:
		for i := range 2 { // the one shape that the generator makes well
			m.kind, m.item = 1155, i
			m.id, m.amount = number(l.Data[(3+i)*32:][:32]), number(l.Data[(6+i)*32:][:32])
			o.move(t, m)
		}
		return
	default:
		return
	}
	o.move(t, m)
}

func (o *oracle) move(t *oracleTx, m oracleMove) {
	t.mine = append(t.mine, m)
	o.moves = append(o.moves, m)
	switch m.kind {
	case 20:
		o.add(m.from, m.token, new(big.Int).Neg(m.amount))
		o.add(m.to, m.token, m.amount)
	case 721:
		o.owners[string(m.token[:])+m.id.String()] = m.to
	}
}

func (o *oracle) add(holder, token evm.Address, n *big.Int) {
	if holder == (evm.Address{}) {
		return
	}
	if o.coins[holder] == nil {
		o.coins[holder] = map[evm.Address]*big.Int{}
	}
	old := o.coins[holder][token]
	if old == nil {
		old = new(big.Int)
	}
	sum := new(big.Int).Add(old, n)
	if sum.Sign() < 0 {
		sum.SetInt64(0)
		o.doubtful[string(holder[:])+string(token[:])] = true
	}
	o.coins[holder][token] = sum
}
