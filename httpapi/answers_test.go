package httpapi

import (
	"strings"
	"testing"

	"quorate/engine/chain/evm"
)

// TestAnswersServed: what is answered from memory is the same answer, header by
// header, and a new block shows at once.
func TestAnswersServed(t *testing.T) {
	t.Parallel()
	c := sampleChain()
	head := numbered(c.tip, 0xb)
	c.head.Store(&head)
	s := dataServer(t, Config{}, c)
	path := "/v1/chains/" + c.info.ChainID + "/transactions"
	plain := get(s, path)
	want := plain.String()
	for range 3 {
		if got := get(s, path).String(); got != want {
			t.Fatalf("got %s\nwant %s", got, want)
		}
	}
	if s.desk.Answers.Bytes() == 0 {
		t.Error("nothing was kept")
	}
	tx := *c.txs[0]
	tx.Hash = evm.Hash{0xaa}
	c.grow(&tx)
	next := numbered(c.tip, 0xb)
	c.head.Store(&next)
	if got := string(get(s, path).Body()); got == string(plain.Body()) {
		t.Error("a new block does not show")
	}
}

// TestTokenVersion: what a token says of itself is read again when the chain has
// another version of it, and only then.
func TestTokenVersion(t *testing.T) {
	t.Parallel()
	c := sampleChain()
	s := dataServer(t, Config{}, c)
	path := "/v1/chains/" + c.info.ChainID + "/tokens/" + gold.String() + "/transfers"
	before := get(s, path).String()
	meta := c.tokens[gold]
	meta.Name = "renamed"
	c.tokens[gold] = meta
	if get(s, path).String() != before {
		t.Error("read again without need")
	}
	c.version.Add(1)
	if got := get(s, path).String(); got == before || !strings.Contains(got, "renamed") {
		t.Errorf("not read again: %s", got)
	}
}
