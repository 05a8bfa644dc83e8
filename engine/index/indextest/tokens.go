package indextest

import (
	"encoding/binary"

	"github.com/holiman/uint256"

	"quorate/engine/chain/evm"
)

// Topics of events, as in their standards.
var (
	transfer = evm.Keccak([]byte("Transfer(address,address,uint256)"))
	single   = evm.Keccak([]byte("TransferSingle(address,address,address,uint256,uint256)"))
	batch    = evm.Keccak([]byte("TransferBatch(address,address,address,uint256[],uint256[])"))
	deposit  = evm.Keccak([]byte("Deposit(address,uint256)"))
	withdraw = evm.Keccak([]byte("Withdrawal(address,uint256)"))
	sendWarp = evm.Keccak([]byte("SendWarpMessage(address,bytes32,bytes)"))
)

func (c *Chain) emit(tx *evm.Tx, at evm.Address, data []byte, topics ...evm.Hash) {
	tx.Logs = append(tx.Logs, evm.Log{Index: c.log, Address: at, Topics: topics, Data: data})
	c.log++
}

func pad(a evm.Address) (h evm.Hash) {
	copy(h[evm.HashLen-evm.AddressLen:], a[:])
	return h
}

func words(values ...uint64) []byte {
	b := make([]byte, 32*len(values))
	for i, v := range values {
		binary.BigEndian.PutUint64(b[32*i+24:], v)
	}
	return b
}

// parties returns who moves a token to whom: at times it is minted or burnt.
func (c *Chain) parties(tx *evm.Tx) (from, to evm.Hash) {
	from, to = pad(tx.From), pad(c.account())
	switch c.rnd.IntN(6) {
	case 0, 1:
		from = evm.Hash{}
	case 2:
		to = evm.Hash{}
	case 3:
		from = pad(c.account())
	}
	return from, to
}

// tokens makes tx one that moves tokens, once or several times.
func (c *Chain) tokens(tx *evm.Tx) {
	tx.To = c.token()
	for range 1 + c.rnd.IntN(3)*c.rnd.IntN(2) {
		from, to := c.parties(tx)
		switch k := c.rnd.IntN(20); {
		case k < 12:
			c.emit(tx, c.token(), words(c.rnd.Uint64N(1000)), transfer, from, to)
		case k < 14:
			id := evm.Hash(words(c.rnd.Uint64N(30)))
			c.emit(tx, Arts[c.rnd.IntN(len(Arts))], nil, transfer, from, to, id)
		case k < 15:
			c.emit(tx, Items[c.rnd.IntN(len(Items))], words(c.rnd.Uint64N(5), c.rnd.Uint64N(100)), single, pad(tx.From), from, to)
		case k < 16:
			c.emit(tx, Items[0], words(64, 160, 2, 1, 2, 2, 10, 20), batch, pad(tx.From), from, to)
		case k < 17:
			c.emit(tx, Liar, words(1000+c.rnd.Uint64N(1000)), transfer, pad(tx.From), to)
		case k < 18:
			c.wrap(tx)
		case k < 19:
			c.odd(tx, from, to)
		default:
			c.warp(tx)
		}
	}
	if c.rnd.IntN(3) == 0 {
		tx.Calls = append(tx.Calls, evm.Call{
			Type: evm.CallPlain, Depth: 1, From: tx.To, To: c.account(), Value: *uint256.NewInt(0), Gas: 5000, GasUsed: 400,
			Reverted: c.rnd.IntN(4) == 0,
		})
	}
}

// wrap wraps and unwraps the native coin, as routers do: what they wrap they
// forward, and what they receive they unwrap, so they end with what they had.
func (c *Chain) wrap(tx *evm.Tx) {
	router, from := pad(Router), pad(tx.From)
	switch c.rnd.IntN(3) {
	case 0:
		c.emit(tx, Wrapped, words(7), deposit, from)
	case 1:
		c.emit(tx, Wrapped, words(10), deposit, router)
		c.emit(tx, Wrapped, words(10), transfer, router, pad(c.account()))
	default:
		c.emit(tx, Wrapped, words(20), deposit, from)
		c.emit(tx, Wrapped, words(5), transfer, from, router)
		c.emit(tx, Wrapped, words(5), withdraw, router)
		c.emit(tx, Wrapped, words(3), withdraw, from)
	}
}

// odd logs what is no transfer though it looks like one.
func (c *Chain) odd(tx *evm.Tx, from, to evm.Hash) {
	dirty := to
	dirty[0] = 1
	c.emit(tx, Odd, nil, transfer, from, to)
	c.emit(tx, Odd, words(1), transfer, from, dirty)
	c.emit(tx, Odd, words(1, 2), transfer, from, to)
	c.emit(tx, Odd, words(1), transfer, from, to, from)
	c.emit(tx, Odd, words(1), single, from, from, to)
	c.emit(tx, Odd, words(64, 160, 2, 1, 2, 3, 10, 20, 30), batch, from, from, to)
	c.emit(tx, Odd, words(64, 1<<40, 2, 1, 2), batch, from, from, to)
	c.emit(tx, Odd, words(64, 96, 1<<31, 0), batch, from, from, to)
	c.emit(tx, Odd, nil, batch, from, from, to)
	c.emit(tx, Odd, nil)
}

// warp sends a message through the precompile.
func (c *Chain) warp(tx *evm.Tx) {
	msg := tx.Hash[:20]
	data := append(words(32, uint64(len(msg))), msg...)
	data = append(data, make([]byte, 12)...)
	c.emit(tx, evm.Address{0: 2, 19: 5}, data, sendWarp, pad(tx.From), tx.Hash)
}
