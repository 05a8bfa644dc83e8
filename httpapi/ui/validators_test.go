package ui

import (
	"encoding/binary"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"quorate/engine/chain"
)

// thousand is a subnet of a thousand validators with the stakes 1 to 1000.
func thousand(t testing.TB) (*Site, func(i int) chain.NodeID) {
	f := newFakeOperator(t)
	id := func(i int) (id chain.NodeID) {
		binary.BigEndian.PutUint16(id[:], uint16(i))
		return id
	}
	f.set.Entries, f.set.Total, f.set.Connected, f.set.Validators = nil, 500_500, 500_500, 1000
	for i := 1; i <= 1000; i++ {
		version := "avalanchego/1.14.2"
		if i%100 == 0 {
			version = "avalanchego/1.13.0"
		}
		f.set.Entries = append(f.set.Entries, ValidatorEntry{Weight: uint64(i), Nodes: []ValidatorNode{{ID: id(i), Connected: true, Version: version}}})
	}
	return newSite(t, Config{API: fakeAPI{}, Operator: f}), id
}

// TestManyValidators: a large subnet is shown in parts, and what drops is worked out over
// all of it.
func TestManyValidators(t *testing.T) {
	t.Parallel()
	s, id := thousand(t)
	rows := func(q url.Values) (string, int) {
		t.Helper()
		text := page(t, visit(t, s, "/validators?"+q.Encode(), true), 200)
		if len(text) > 200_000 {
			t.Errorf("%v: %d bytes", q, len(text))
		}
		return text, strings.Count(text, `type="checkbox"`)
	}
	has := func(text, want string) {
		t.Helper()
		if !strings.Contains(text, want) {
			t.Errorf("no %q in %s", want, text)
		}
	}
	text, n := rows(url.Values{})
	if n != partRows || !strings.Contains(text, id(1000).String()) || strings.Contains(text, id(900).String()) {
		t.Errorf("the first part has %d rows", n)
	}
	has(text, "part 1 of 10")
	has(text, "1\u202f000 nodes")
	if text, n = rows(url.Values{"part": {"9"}, "to": {"10"}}); n != partRows || !strings.Contains(text, id(1).String()) {
		t.Errorf("the last part has %d rows", n)
	}
	// What is marked on one part holds on the others.
	marked := url.Values{"part": {"3"}, dropName(id(1000)): {"1"}, dropName(id(1)): {"1"}}
	text, _ = rows(marked)
	has(text, "when 2 validators drop")
	has(text, "99.80%") // 499,499 of 500,500, rounded down
	has(text, `<input type="hidden" name="`+dropName(id(1000))+`" value="1">`)
	has(text, "2 marked nodes are not shown")
	// Nobody need mark hundreds: the heaviest 300 hold 255,150 of 500,500.
	text, _ = rows(url.Values{"largest": {"300"}, "what": {"if"}})
	has(text, "would be out of reach")
	has(text, "among them the 300 largest")
	has(text, "49.02%")
	if text, n = rows(url.Values{"find": {"1.13.0"}}); n != 10 {
		t.Errorf("%d nodes of a version, want 10", n)
	}
	has(text, "10 nodes of 1\u202f000")
	if _, n = rows(url.Values{"find": {id(7).String()[8:]}, dropName(id(8)): {"1"}}); n != 1 {
		t.Errorf("%d nodes of an ID, want 1", n)
	}
	for _, odd := range []string{"0", "-1", "11", "x", strconv.Itoa(1 << 40), "99999999999999999999"} {
		if _, n := rows(url.Values{"part": {odd}, "largest": {odd}, "find": {""}}); n != partRows {
			t.Errorf("part %s has %d rows", odd, n)
		}
	}
	if _, n := rows(url.Values{"find": {strings.Repeat("no", 999)}}); n != 0 {
		t.Errorf("%d nodes of no version", n)
	}
}
