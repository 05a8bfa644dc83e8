package settle

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/holiman/uint256"

	"quorate/engine/chain/evm"
)

// clone returns a block whose results can be changed.
func clone(b *evm.Block) *evm.Block {
	again := *b
	again.Txs = append([]evm.Tx(nil), b.Txs...)
	for i := range again.Txs {
		again.Txs[i].Logs = append([]evm.Log(nil), b.Txs[i].Logs...)
	}
	return &again
}

// A chain takes the recorded blocks from the transition block on, and from any other one
// on with those below that it needs: all results fit, what was paid is known of each
// block, and the last blocks stay unsettled.
func TestChain(t *testing.T) {
	t.Parallel()
	w := recorded(t)
	paid := map[uint64]*uint256.Int{}
	var c Chain
	c.Begin([]*evm.Block{w.block(transition)})
	for n := uint64(transition + 1); n <= tip; n++ {
		b := clone(w.block(n))
		b.BaseFee = nil
		if err := c.Next(b); err != nil {
			t.Fatal(err)
		}
		if paid[n] = b.BaseFee; b.BaseFee == nil || c.Settled() != Height(w.header(t, n)) || c.Last() != b {
			t.Fatalf("block %d: base fee %v, settled %d", n, b.BaseFee, c.Settled())
		}
		for i := range b.Txs {
			if tx := &b.Txs[i]; tx.MaxFee != nil && tx.GasPrice.Lt(tx.MaxFee) {
				if fee := new(uint256.Int).Sub(&tx.GasPrice, tx.MaxPriorityFee); !fee.Eq(b.BaseFee) {
					t.Errorf("block %d: base fee %s, paid %s", n, b.BaseFee, fee)
				}
			}
		}
	}
	if c.Settled() != lastEnd {
		t.Errorf("settled %d at the end", c.Settled())
	}
	for n := uint64(transition + 2); n <= tip; n++ {
		var c Chain
		from := Needs(w.block(n - 1))
		c.Begin(w[from-transition : n-transition])
		for m := n; m <= min(n+8, tip); m++ {
			b := clone(w.block(m))
			if err := c.Next(b); err != nil || !b.BaseFee.Eq(paid[m]) {
				t.Fatalf("from block %d: block %d: base fee %s, want %s: %v", n, m, b.BaseFee, paid[m], err)
			}
		}
	}
}

// Each result that is changed in a block is found when the block is taken, or by a header
// that settles it, and what does not fit is said to be of blocks with it among them. The
// chain goes on, and is sure of what it settles later.
func TestChainMisfit(t *testing.T) {
	t.Parallel()
	w := recorded(t)
	lies := map[string]func(tx *evm.Tx) bool{
		"gas used": func(tx *evm.Tx) bool { tx.GasUsed--; return true },
		"status":   func(tx *evm.Tx) bool { tx.Failed = !tx.Failed; return true },
		"log left out": func(tx *evm.Tx) bool {
			if len(tx.Logs) == 0 {
				return false
			}
			tx.Logs = tx.Logs[1:]
			return true
		},
		"log made up": func(tx *evm.Tx) bool { tx.Logs = append(tx.Logs, evm.Log{}); return true },
		"price": func(tx *evm.Tx) bool {
			tx.GasPrice.AddUint64(&tx.GasPrice, 1)
			return true
		},
		"address of a log": func(tx *evm.Tx) bool {
			if len(tx.Logs) == 0 {
				return false
			}
			tx.Logs[0].Address[3]++
			return true
		},
		"data of a log": func(tx *evm.Tx) bool {
			if len(tx.Logs) == 0 || len(tx.Logs[0].Data) == 0 {
				return false
			}
			data := append([]byte(nil), tx.Logs[0].Data...)
			data[0]++
			tx.Logs[0].Data = data
			return true
		},
	}
	for name, lie := range lies {
		tried := 0
		for n := uint64(transition + 1); n <= lastEnd; n++ {
			b := clone(w.block(n))
			if len(b.Txs) == 0 || !lie(&b.Txs[len(b.Txs)/2]) {
				continue
			}
			b.GasUsed = 0
			for i := range b.Txs {
				b.GasUsed += b.Txs[i].GasUsed
			}
			if tried++; tried%7 > 0 && name != "price" {
				continue
			}
			if err := found(w, b); err != nil {
				t.Errorf("%s in block %d: %v", name, n, err)
			}
		}
		if tried == 0 {
			t.Errorf("%s: no block", name)
		}
	}
}

// What was paid is known of every block although one has a false result that does not
// change it: of the block that finds it too.
func TestChainPaidAboveMisfit(t *testing.T) {
	t.Parallel()
	w := recorded(t)
	paid := func(lie uint64) (list []string) {
		var c Chain
		c.Begin([]*evm.Block{w.block(transition)})
		misfits := 0
		for _, b := range w[1:] {
			b = clone(b)
			if b.BaseFee = nil; b.Number == lie {
				b.Txs[0].Failed = !b.Txs[0].Failed
			}
			if c.Next(b) != nil {
				misfits++
			}
			list = append(list, fmt.Sprint(b.Number, " ", b.BaseFee))
		}
		if lie > 0 && misfits != 1 {
			t.Errorf("block %d: %d misfits", lie, misfits)
		}
		return list
	}
	want := paid(0)
	for _, lie := range []uint64{79, 82, 100} {
		if got := paid(lie); !slices.Equal(got, want) {
			t.Errorf("block %d is false:\n%v\nwant\n%v", lie, got, want)
		}
	}
}

// found has a chain take a block with a lie, and says why it was not found as it should be.
func found(w world, lie *evm.Block) error {
	var c Chain
	c.Begin([]*evm.Block{w.block(transition)})
	seen := false
	for _, b := range w[1:] {
		if b = clone(b); b.Number == lie.Number {
			b = lie
		}
		err := c.Next(b)
		var misfit *Misfit
		switch {
		case err == nil:
		case !errors.As(err, &misfit) || lie.Number < misfit.From || misfit.To < lie.Number && !seen || misfit.By < lie.Number:
			return err
		default:
			seen = true
		}
		if c.Settled() > lie.Number && err != nil && misfit.From > lie.Number {
			return fmt.Errorf("after it was settled: %w", err)
		}
	}
	if !seen {
		return errors.New("not found")
	}
	return nil
}
