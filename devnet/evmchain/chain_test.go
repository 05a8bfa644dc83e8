package evmchain

import (
	"bytes"
	"errors"
	"math"
	"testing"
	"time"

	"quorate/engine/chain/evm"
)

func timed(blocks uint64, history time.Duration) Config {
	return Config{
		Blocks: blocks, TxsPerBlock: 1, HistoryInterval: history, BlockInterval: 500 * time.Millisecond,
		End: time.Unix(1735689600, 0),
	}
}

// TestTimes: times never fall, there are bursts, and the history ends on time.
func TestTimes(t *testing.T) {
	t.Parallel()
	for _, interval := range []time.Duration{time.Millisecond, 100 * time.Millisecond, time.Second, 2 * time.Minute, 8 * time.Hour} {
		cfg := timed(1000, interval)
		last, bursts := uint64(0), 0
		for n := range uint64(1200) {
			at := cfg.timeOf(n)
			if at < last {
				t.Fatalf("%s: block %d at %d, before %d", interval, n, at, last)
			}
			if n > 0 && n <= cfg.Blocks && at-last < 300 {
				bursts++
			}
			last = at
		}
		if bursts < 200 && interval > time.Second {
			t.Errorf("%s: %d blocks in bursts", interval, bursts)
		}
		if end := cfg.timeOf(1000); math.Abs(float64(end)-float64(cfg.End.UnixMilli())) > float64(10*interval.Milliseconds()) {
			t.Errorf("%s: the history ends at %d", interval, end)
		}
	}
}

func TestConfig(t *testing.T) {
	t.Parallel()
	good := timed(10, time.Second)
	if _, err := New(good); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(c *Config){
		"blocks":       func(c *Config) { c.Blocks = 0 },
		"too many":     func(c *Config) { c.Blocks = MaxBlocks + 1 },
		"transactions": func(c *Config) { c.TxsPerBlock = 0 },
		"interval":     func(c *Config) { c.HistoryInterval = time.Microsecond },
		"too long":     func(c *Config) { c.HistoryInterval = MaxHistory },
		"live":         func(c *Config) { c.BlockInterval = 25 * time.Hour },
	} {
		cfg := good
		change(&cfg)
		if _, err := New(cfg); !errors.Is(err, ErrConfig) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// The examples of EIP-1014.
func TestCreate2(t *testing.T) {
	t.Parallel()
	from, err := evm.ParseAddress("0x00000000000000000000000000000000deadbeef")
	if err != nil {
		t.Fatal(err)
	}
	var salt [32]byte
	copy(salt[28:], []byte{0xca, 0xfe, 0xba, 0xbe})
	if got := create2Address(from, salt, []byte{0xde, 0xad, 0xbe, 0xef}).String(); got != "0x60f3f640a8508fC6a86d45DF051962668E1e8AC7" {
		t.Error(got)
	}
	if got := create2Address(evm.Address{}, [32]byte{}, []byte{0}).String(); got != "0x4D1A2e2bB4F88F0250f26Ffff098B0b30B26BF38" {
		t.Error(got)
	}
}

func FuzzOp(f *testing.F) {
	f.Add((&op{kind: opSwap, contract: cToken, from: 7, nonce: 300, a: 1, b: 2, id: 1 << 31, mantissa: 77, exp: 18}).append(nil))
	f.Add([]byte{1, 2, 3})
	f.Fuzz(func(t *testing.T, b []byte) {
		var o, again op
		rest, err := o.take(b)
		if err != nil {
			return
		}
		if tail, err := again.take(append(o.append(nil), rest...)); err != nil || again != o || !bytes.Equal(tail, rest) {
			t.Errorf("%+v became %+v: %v", o, again, err)
		}
	})
}
