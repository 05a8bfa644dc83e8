package settle

import (
	"bufio"
	"compress/gzip"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/holiman/uint256"

	"quorate/engine/chain/evm/consensus"
)

// fields reads the numbers of a line of the vectors.
type fields struct {
	t    *testing.T
	line int
	rest []string
}

// next returns the next number, or same for "=". A negative one is 2^64 less.
func (f *fields) next(same uint64) uint64 {
	f.t.Helper()
	s := f.rest[0]
	f.rest = f.rest[1:]
	if s == "=" {
		return same
	}
	v, err := strconv.ParseUint(strings.TrimPrefix(s, "-"), 10, 64)
	if err != nil {
		f.t.Fatalf("line %d: %v", f.line, err)
	}
	if s[0] == '-' {
		return -v
	}
	return v
}

// settings makes a header that asks for a target and a least price.
func settings(target, price uint64) *consensus.Header {
	return &consensus.Header{TargetExponent: &target, MinPriceExponent: &price}
}

// stating makes a header that states a clock.
func stating(unix, numerator, excess uint64) *consensus.Header {
	return &consensus.Header{SettledHeight: new(uint64), SettledGasUnix: &unix, SettledGasNumerator: &numerator, SettledExcess: &excess}
}

// Clocks advance and price as avalanchego's: see testdata/README.md.
func TestVectors(t *testing.T) {
	t.Parallel()
	file, err := os.Open("testdata/clocks.txt.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	z, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	var (
		c                   Clock
		unix, target, price uint64
		seen                = map[string]int{}
		lines               = bufio.NewScanner(z)
	)
	for n := 1; lines.Scan(); n++ {
		kind, rest, _ := strings.Cut(lines.Text(), " ")
		seen[kind]++
		f := fields{t, n, strings.Fields(rest)}
		switch kind {
		case "c": // a clock that a header states
			unix = f.next(0)
			h := stating(unix, f.next(0), f.next(0))
			target, price = f.next(0), f.next(0)
			c = After(settings(target, price), h)
		case "s": // one that starts after a synchronous block
			unix = f.next(0)
			milli := unix*1000 + f.next(0)
			h := settings(f.next(0), 0)
			h.Time, h.TimeMilli, h.BaseFee = unix, &milli, uint256.NewInt(f.next(0))
			c = Start(h)
		case "b": // a block and its base fee
			seconds, milli := unix+f.next(0), f.next(0)
			target, price = f.next(target), f.next(price)
			h := settings(target, price)
			h.Time, h.TimeMilli = seconds, &milli
			c.Begin(h)
			gas := f.next(0)
			if got, want := c.BaseFee(), f.next(0); got != want {
				t.Fatalf("line %d: base fee %d, want %d", n, got, want)
			}
			c.End(h, gas)
		case "e": // what a header then states
			if err := c.check(stating(unix+f.next(0), f.next(0), f.next(0))); err != nil {
				t.Fatalf("line %d: %v", n, err)
			}
		default:
			t.Fatalf("line %d: %q", n, kind)
		}
	}
	if err := lines.Err(); err != nil || fmt.Sprint(seen) != "map[b:13333 c:10000 e:11000 s:1000]" {
		t.Errorf("read %v, %v", seen, err)
	}
}
