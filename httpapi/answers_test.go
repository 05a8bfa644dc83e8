package httpapi

import (
	"strings"
	"testing"

	"quorate/engine/chain/evm"
	"quorate/engine/index"
	store "quorate/engine/store/index"
)

// TestAnswersServed: what is answered from memory is the same answer, header by
// header, and a new block shows at once.
func TestAnswersServed(t *testing.T) {
	t.Parallel()
	c := ownSample()
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
	c.grow(&index.Tx{Tx: evm.Tx{Hash: sampleTx(50), From: alice, To: bob}})
	if got := string(get(s, path).Body()); got == string(plain.Body()) {
		t.Error("a new block does not show")
	}
}

// TestTokenVersion: what a token says of itself is read again when the chain has
// another version of it, and only then.
func TestTokenVersion(t *testing.T) {
	t.Parallel()
	c := ownSample()
	s := dataServer(t, Config{}, c)
	path := "/v1/chains/" + c.info.ChainID + "/tokens/" + gold.String() + "/transfers"
	before := get(s, path).String()
	c.spoil(store.TableTokenMeta)
	if get(s, path).String() != before {
		t.Error("read again without need")
	}
	must(c.PutTokens(t.Context(), map[evm.Address]index.TokenMeta{gold: {Kind: index.ERC20, Name: "renamed"}}))
	if got := get(s, path+"?pageSize=99").String(); got == before || !strings.Contains(got, "renamed") {
		t.Errorf("not read again: %s", got)
	}
}
