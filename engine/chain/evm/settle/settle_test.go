package settle

import (
	"errors"
	"testing"

	"github.com/holiman/uint256"

	"quorate/engine/chain/evm"
	"quorate/engine/chain/evm/consensus"
)

// paid makes a transaction that paid a price with a tip, up to most.
func paid(price, tip, most uint64) evm.Tx {
	return evm.Tx{
		Type: consensus.TypeDynamicFee, GasPrice: *uint256.NewInt(price),
		MaxPriorityFee: uint256.NewInt(tip), MaxFee: uint256.NewInt(most), GasLimit: 100, GasUsed: 50,
	}
}

// legacy makes one with a fixed price whose receipt says that it paid another.
func legacy(t *testing.T, price, paid uint64) evm.Tx {
	t.Helper()
	tx := evm.Tx{GasPrice: *uint256.NewInt(price), GasLimit: 100, GasUsed: 50}
	raw, err := consensus.AppendTx(nil, &tx, &consensus.Signed{V: *uint256.NewInt(27), R: *uint256.NewInt(1), S: *uint256.NewInt(1)})
	if err != nil {
		t.Fatal(err)
	}
	tx.Raw = raw
	tx.GasPrice.SetUint64(paid)
	return tx
}

func TestBaseFees(t *testing.T) {
	t.Parallel()
	untold := legacy(t, 9, 9)
	untold.Raw = nil
	for name, c := range map[string]struct {
		txs         []evm.Tx
		least, most uint64
		field       string
	}{
		"none":                         {nil, 0, 30, ""},
		"shown":                        {[]evm.Tx{paid(25, 5, 100)}, 20, 20, ""},
		"shown, cut off":               {[]evm.Tx{paid(25, 5, 25)}, 20, 25, ""},
		"cut off, all of it the tip":   {[]evm.Tx{paid(25, 30, 25)}, 0, 25, ""},
		"shown twice":                  {[]evm.Tx{paid(25, 5, 100), paid(20, 0, 100)}, 20, 20, ""},
		"cut off, then shown":          {[]evm.Tx{paid(25, 5, 25), paid(22, 0, 100)}, 22, 22, ""},
		"two of them":                  {[]evm.Tx{paid(25, 5, 100), paid(21, 0, 100)}, 0, 0, "transactions[1].effectiveGasPrice"},
		"less than another's cut":      {[]evm.Tx{paid(25, 5, 25), paid(19, 0, 100)}, 0, 0, "transactions[1].effectiveGasPrice"},
		"above the header's":           {[]evm.Tx{paid(36, 5, 100)}, 0, 0, "transactions[0].effectiveGasPrice"},
		"above what is allowed":        {[]evm.Tx{paid(26, 5, 25)}, 0, 0, "transactions[0].effectiveGasPrice"},
		"less than the tip":            {[]evm.Tx{paid(4, 5, 100)}, 0, 0, "transactions[0].effectiveGasPrice"},
		"fixed":                        {[]evm.Tx{legacy(t, 40, 40)}, 0, 30, ""},
		"fixed, lower":                 {[]evm.Tx{legacy(t, 28, 28), paid(25, 5, 100)}, 20, 20, ""},
		"fixed, lower than the others": {[]evm.Tx{paid(25, 5, 100), legacy(t, 19, 19)}, 0, 0, "transactions[1].effectiveGasPrice"},
		"fixed, another paid":          {[]evm.Tx{legacy(t, 40, 41)}, 0, 0, "transactions[0].effectiveGasPrice"},
		"of no known encoding":         {[]evm.Tx{untold}, 0, 9, ""},
	} {
		h := &consensus.Header{Number: 7, BaseFee: uint256.NewInt(30), GasUsed: 100 * uint64(len(c.txs))}
		b := &evm.Block{Number: 7, Txs: c.txs}
		least, most, err := BaseFees(h, b)
		var m *consensus.Mismatch
		switch {
		case c.field != "":
			if !errors.As(err, &m) || m.Field != c.field || m.Number != 7 {
				t.Errorf("%s: %v", name, err)
			}
			if err := CheckExecuted(h, b); !errors.As(err, &m) || m.Field != c.field {
				t.Errorf("%s: executed: %v", name, err)
			}
		case err != nil || least.Uint64() != c.least || most.Uint64() != c.most:
			t.Errorf("%s: %s to %s, %v", name, least.Dec(), most.Dec(), err)
		}
	}
	broken := legacy(t, 1, 1)
	broken.Raw = broken.Raw[:len(broken.Raw)-1]
	if _, _, err := BaseFees(&consensus.Header{BaseFee: uint256.NewInt(1)}, &evm.Block{Txs: []evm.Tx{broken}}); !errors.Is(err, consensus.ErrEncoding) {
		t.Errorf("a broken transaction: %v", err)
	}
}

func TestCheckExecutedGas(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		limit, used, header uint64
		extra               []byte
		field               string
	}{
		"half":                    {100, 50, 100, nil, ""},
		"half, rounded up":        {101, 51, 101, nil, ""},
		"half, rounded down":      {101, 50, 101, nil, "transactions[0].gasUsed"},
		"all":                     {101, 101, 101, nil, ""},
		"more":                    {101, 102, 101, nil, "transactions[0].gasUsed"},
		"atomic":                  {100, 50, 11330, []byte{1}, ""},
		"atomic, but none there":  {100, 50, 11330, nil, "gasUsed"},
		"less than the limits":    {100, 50, 99, []byte{1}, "gasUsed"},
		"limits beyond the range": {^uint64(0), ^uint64(0), 100, nil, "gasUsed"},
	} {
		h := &consensus.Header{BaseFee: uint256.NewInt(30), GasUsed: c.header}
		tx := paid(25, 5, 100)
		tx.GasLimit, tx.GasUsed = c.limit, c.used
		err := CheckExecuted(h, &evm.Block{Txs: []evm.Tx{tx}, ExtData: c.extra})
		var m *consensus.Mismatch
		if c.field == "" && err != nil || c.field != "" && (!errors.As(err, &m) || m.Field != c.field) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestSynchronous(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		h    consensus.Header
		want bool
	}{
		"no member":    {consensus.Header{}, true},
		"all are zero": {*stating(0, 0, 0), true},
		"one is not":   {*stating(0, 0, 1), false},
		"one missing":  {consensus.Header{SettledHeight: uptr(1), SettledGasUnix: uptr(1), SettledExcess: uptr(1)}, true},
	} {
		c.h.Number = 9
		want := uint64(0)
		if c.want {
			want = 9
		}
		if Synchronous(&c.h) != c.want || Height(&c.h) != want {
			t.Errorf("%s: synchronous %v, height %d", name, Synchronous(&c.h), Height(&c.h))
		}
	}
}

// A header settles neither itself nor less than its parent did; and the blocks are
// those that it settles.
func TestCheckSettledRange(t *testing.T) {
	t.Parallel()
	w := recorded(t)
	const n = 126 // settles 123 to 125
	parent, h := w.header(t, n-1), w.header(t, n)
	for height, good := range map[uint64]bool{121: false, 122: true, n - 1: true, n: false} {
		lie := *h
		lie.SettledHeight = &height
		if err := CheckHeader(parent, &lie); (err == nil) != good {
			t.Errorf("settles %d: %v", height, err)
		}
	}
	blocks := w.settles(t, n)
	unknown := &evm.Block{Number: blocks[1].Number, Txs: blocks[1].Txs}
	for name, blocks := range map[string][]*evm.Block{
		"none":    nil,
		"less":    blocks[1:],
		"others":  w[n-2-transition : n+1-transition],
		"twice":   {blocks[0], blocks[0], blocks[1]},
		"unknown": {blocks[0], unknown, blocks[2]},
	} {
		clock := w.clock(t, Height(parent))
		before := *clock
		var m *consensus.Mismatch
		if err := CheckSettled(parent, h, blocks, clock); err == nil || errors.As(err, &m) || *clock != before {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := CheckSettled(parent, h, blocks, &Clock{target: 1_000_000, minPrice: 1}); err == nil {
		t.Error("another clock fits")
	}
}

// Base fees above the header's are those of another clock.
func TestExecuteAboveHeader(t *testing.T) {
	t.Parallel()
	w := recorded(t)
	c, _ := busy()
	before := c
	var m *consensus.Mismatch
	if _, err := c.Execute(w.header(t, 77), w.block(77)); !errors.As(err, &m) || m.Field != "baseFeePerGas" || c != before {
		t.Errorf("%v", err)
	}
}
