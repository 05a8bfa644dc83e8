package index

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"testing"

	"github.com/holiman/uint256"

	"quorate/engine/chain/evm"
	store "quorate/engine/store/index"
)

// Rows that were kept of a token's holders are those that are read: in pages of all
// sizes, after a commit that moves the token, and in views of older blocks.
func TestHoldersKept(t *testing.T) {
	if testing.Short() {
		t.Skip("nothing in it runs at once")
	}
	t.Parallel()
	const holders = 3 * maxRun
	token, n := evm.Address{1}, uint256.NewInt
	holder := func(i int) (a evm.Address) {
		binary.BigEndian.PutUint32(a[:], uint32(i+1))
		return a
	}
	var first, second []evm.Log
	for i := range holders {
		first = append(first, mint(token, holder(i), n(uint64(i+1))))
		if i%3 == 0 {
			second = append(second, burn(token, holder(i), n(uint64(i+1))))
		}
	}
	want := func(burnt bool, above int) []string {
		list := []string{}
		for i := range holders {
			if a := holder(i); i+1 > above && !(burnt && i%3 == 0) {
				list = append(list, fmt.Sprintf("%x %d", a[:], i+1))
			}
		}
		return list
	}
	blocks := moving(nil, first, second)
	c := openChain(t, Options{})
	ask := func(tip *uint64, burnt bool) {
		t.Helper()
		for _, limit := range []int{1, 50, maxRun - 1, maxRun, maxRun + 1, holders} {
			for _, above := range []int{0, 7, holders / 2, 0} {
				v := at(t, c, tip)
				after := Frame{v.Tip().TimeMilli/1000 + 1, ^uint64(0)} // what they have at the tip counts
				got, _ := allHolders(t, func() *View { return v }, token, *n(uint64(above)), after, limit)
				mustEqual(t, fmt.Sprintf("limit %d above %d", limit, above), got, want(burnt, above))
			}
		}
	}
	commit(t, c, blocks[:2], 2)
	ask(nil, false)
	begin := at(t, c, nil).at.key(store.TableHolders).addr(&token)
	if run := c.runs.slot(begin).Load(); run == nil || len(run.rows) != maxRun || run.whole || !bytes.Equal(run.begin, begin) {
		t.Errorf("kept %+v", run)
	}
	commit(t, c, blocks[2:], 1)
	one := uint64(1)
	ask(nil, true)
	ask(&one, false)
	ask(nil, true)
}
