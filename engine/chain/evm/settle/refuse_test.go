package settle

import (
	"bytes"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/holiman/uint256"

	"quorate/engine/chain/evm"
	"quorate/engine/chain/evm/consensus"
)

// atOnce checks block n as it can be as soon as it is executed.
func (w world) atOnce(t testing.TB, n uint64) error {
	t.Helper()
	b := w.block(n)
	if hash := evm.Keccak(b.Header); hash != b.Hash {
		return errors.New("hash")
	}
	h := parse(t, b)
	return errors.Join(h.CheckTxs(b, true), CheckHeader(w.header(t, n-1), h), CheckExecuted(h, b))
}

// later checks block n by the header that settles it.
func (w world) later(t testing.TB, n uint64) error {
	t.Helper()
	m := n + 1
	for Height(w.header(t, m)) < n {
		m++
	}
	return CheckSettled(w.header(t, m-1), w.header(t, m), w.settles(t, m), w.clock(t, Height(w.header(t, m-1))))
}

// with returns the chain with another block n.
func (w world) with(n uint64, change func(b *evm.Block)) world {
	w = slices.Clone(w)
	b := *w.block(n)
	b.Txs = slices.Clone(b.Txs)
	for i := range b.Txs {
		tx := &b.Txs[i]
		tx.Raw, tx.Logs = bytes.Clone(tx.Raw), slices.Clone(tx.Logs)
		for k := range tx.Logs {
			tx.Logs[k].Data, tx.Logs[k].Topics = bytes.Clone(tx.Logs[k].Data), slices.Clone(tx.Logs[k].Topics)
		}
	}
	change(&b)
	w[n-transition] = &b
	return w
}

// resultLies are changes of each member of a receipt and of a log. Those that cannot
// be made of a block leave it as it is.
var resultLies = map[string]func(b *evm.Block){
	"status":    func(b *evm.Block) { eachTx(b, func(t *evm.Tx) { t.Failed = !t.Failed }) },
	"more gas":  func(b *evm.Block) { eachTx(b, func(t *evm.Tx) { t.GasUsed++ }) },
	"less gas":  func(b *evm.Block) { eachTx(b, func(t *evm.Tx) { t.GasUsed-- }) },
	"all gas":   func(b *evm.Block) { eachTx(b, func(t *evm.Tx) { t.GasUsed = t.GasLimit }) },
	"over gas":  func(b *evm.Block) { eachTx(b, func(t *evm.Tx) { t.GasUsed = t.GasLimit + 1 }) },
	"price":     func(b *evm.Block) { eachTx(b, func(t *evm.Tx) { t.GasPrice.AddUint64(&t.GasPrice, 1) }) },
	"low price": func(b *evm.Block) { eachTx(b, func(t *evm.Tx) { t.GasPrice.SubUint64(&t.GasPrice, 1) }) },
	"a log more": func(b *evm.Block) {
		eachTx(b, func(t *evm.Tx) { t.Logs = append(t.Logs, evm.Log{}) })
	},
	"a log less":  func(b *evm.Block) { eachLog(b, func(t *evm.Tx, _ *evm.Log) { t.Logs = t.Logs[1:] }) },
	"a log twice": func(b *evm.Block) { eachLog(b, func(t *evm.Tx, l *evm.Log) { t.Logs = append(t.Logs, *l) }) },
	"address":     func(b *evm.Block) { eachLog(b, func(_ *evm.Tx, l *evm.Log) { l.Address[19] ^= 1 }) },
	"data":        func(b *evm.Block) { eachLog(b, func(_ *evm.Tx, l *evm.Log) { l.Data = append(l.Data, 0) }) },
	"a topic more": func(b *evm.Block) {
		eachLog(b, func(_ *evm.Tx, l *evm.Log) { l.Topics = append(l.Topics, evm.Hash{}) })
	},
	"another topic": func(b *evm.Block) { eachLog(b, func(_ *evm.Tx, l *evm.Log) { l.Topics[0][31] ^= 1 }) },
	"a topic less":  func(b *evm.Block) { eachLog(b, func(_ *evm.Tx, l *evm.Log) { l.Topics = l.Topics[1:] }) },
	"order": func(b *evm.Block) {
		if len(b.Txs) > 1 && b.Txs[0].GasUsed != b.Txs[1].GasUsed {
			b.Txs[0].GasUsed, b.Txs[1].GasUsed = b.Txs[1].GasUsed, b.Txs[0].GasUsed
		}
	},
}

// eachTx changes the last transaction.
func eachTx(b *evm.Block, change func(t *evm.Tx)) {
	if n := len(b.Txs); n > 0 {
		change(&b.Txs[n-1])
	}
}

// eachLog changes the last transaction with a log that has topics, and that log.
func eachLog(b *evm.Block, change func(t *evm.Tx, l *evm.Log)) {
	for i := len(b.Txs) - 1; i >= 0; i-- {
		if t := &b.Txs[i]; len(t.Logs) > 0 && len(t.Logs[0].Topics) > 0 {
			change(t, &t.Logs[0])
			return
		}
	}
}

// Every member of a receipt and of a log that is not what it was is found: by the
// block itself, or by the header that settles it.
func TestLiesAboutResults(t *testing.T) {
	t.Parallel()
	w := recorded(t)
	for name, lie := range resultLies {
		atOnce, later := 0, 0
		for n := uint64(transition + 1); n <= lastEnd; n++ {
			lied := w.with(n, lie)
			switch {
			case reflect.DeepEqual(lied.block(n), w.block(n)):
			case lied.atOnce(t, n) != nil:
				atOnce++
			case lied.later(t, n) != nil:
				later++
			default:
				t.Errorf("block %d, %s: not found", n, name)
			}
		}
		if atOnce+later < 5 {
			t.Errorf("%s: found %d at once, %d later", name, atOnce, later)
		}
		if name == "status" && atOnce > 0 || name == "less gas" && atOnce < 100 || name == "over gas" && later > 0 {
			t.Errorf("%s: found %d at once, %d later", name, atOnce, later)
		}
	}
}

// A base fee that all transactions of a block agree on is found by the clock alone.
func TestLieAboutBaseFee(t *testing.T) {
	t.Parallel()
	w := recorded(t)
	found := 0
	for n := uint64(transition + 1); n <= lastEnd; n++ {
		h := w.header(t, n)
		least, most, err := BaseFees(h, w.block(n))
		if err != nil || least != most || least.Eq(h.BaseFee) {
			continue
		}
		lied := w.with(n, func(b *evm.Block) {
			for i := range b.Txs {
				if t := &b.Txs[i]; t.MaxFee != nil {
					t.GasPrice = consensus.EffectivePrice(t, h.BaseFee)
				}
			}
		})
		if err := lied.atOnce(t, n); err != nil {
			t.Errorf("block %d: %v", n, err)
		}
		var m *consensus.Mismatch
		if err := lied.later(t, n); !errors.As(err, &m) || !strings.HasSuffix(m.Field, "effectiveGasPrice") || m.Number != n {
			t.Errorf("block %d: %v", n, err)
		}
		found++
	}
	if found < 10 {
		t.Errorf("%d blocks", found)
	}
}

// change makes another value of one of the kinds of a header's members.
func change(t *testing.T, v reflect.Value) {
	t.Helper()
	switch x := v.Addr().Interface().(type) {
	case *uint64:
		*x++
	case **uint64:
		*x = uptr(**x ^ 1<<20)
	case *uint256.Int:
		x.AddUint64(x, 1)
	case **uint256.Int:
		*x = new(uint256.Int).Xor(*x, uint256.NewInt(2))
	case **evm.Hash:
		*x = &evm.Hash{1}
	case *[]byte:
		*x = append(bytes.Clone(*x), 1)
	case *[][]byte:
		*x = [][]byte{{1}}
	case *bool:
		*x = !*x
	default:
		v.Index(v.Len() - 1).SetUint(v.Index(v.Len()-1).Uint() ^ 1)
	}
}

func uptr(v uint64) *uint64 { return &v }

// Every member of a header that is not what it was changes the hash. Those that say
// when and with what a block was executed, and what it settles, are found without it.
func TestLiesAboutHeaders(t *testing.T) {
	t.Parallel()
	w := recorded(t)
	byRules := []string{
		"TxRoot", "ReceiptsRoot", "Bloom", "GasLimit", "GasUsed", "Time", "ExtDataHash", "Uncles", "BaseFee",
		"TimeMilli", "TargetExponent", "SettledHeight", "SettledGasUnix", "SettledGasNumerator", "SettledExcess",
	}
	kind := reflect.TypeFor[consensus.Header]()
	for i := range kind.NumField() {
		name, found := kind.Field(i).Name, false
		for _, n := range []uint64{77, 126, 183} { // under load and idle; each settles several
			lied := w.with(n, func(b *evm.Block) {
				h := parse(t, b)
				change(t, reflect.ValueOf(h).Elem().Field(i))
				b.Header = h.Append(nil)
			})
			if err := lied.atOnce(t, n); err == nil || err.Error() != "hash" {
				t.Errorf("%s: %v", name, err)
			}
			b := lied.block(n)
			b.Hash = evm.Keccak(b.Header)
			found = errors.Join(lied.atOnce(t, n), lied.whole(t, n+6)) != nil || found
		}
		if !found && slices.Contains(byRules, name) {
			t.Errorf("%s: not found by rules", name)
		}
	}
}

// whole runs one clock from the transition block to block n.
func (w world) whole(t testing.TB, last uint64) error {
	t.Helper()
	clock := Start(w.header(t, transition))
	for n := uint64(transition + 1); n <= last; n++ {
		parent, h := w.header(t, n-1), w.header(t, n)
		if err := CheckHeader(parent, h); err != nil {
			return err
		}
		if err := CheckSettled(parent, h, w.settles(t, n), &clock); err != nil {
			return err
		}
	}
	return nil
}
