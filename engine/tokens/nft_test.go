package tokens

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/holiman/uint256"

	"quorate/engine/archive"
	"quorate/engine/chain/evm"
	"quorate/engine/index"
)

func mints(token evm.Address, from, to uint64) (logs []evm.Log) {
	for id := from; id < to; id++ {
		logs = append(logs, nftLog(token, nobody, alice, id))
	}
	return logs
}

func collection(name string) *token {
	return &token{kind: index.ERC721, name: name, decimals: -1, uri: func(id uint64) string { return fmt.Sprint(name, id) }}
}

// TestURIs: the URI of each NFT is read once, in batches; after a restart only what
// was minted since is looked at.
func TestURIs(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	l := w.lane()
	w.add(art, collection("a"))
	for i := range uint64(10) {
		w.grow(l, mints(art, i*50, i*50+50))
	}
	for id := range uint64(500) {
		if got := w.uri(w.index, art, id); got != fmt.Sprint("a", id) {
			t.Fatalf("%d: %s", id, got)
		}
	}
	w.do(l.store(t.Context()))
	l.savedAt = time.Time{}
	w.settle(l)
	w.block(mints(art, 500, 510))
	again := w.lane()
	if again.next != w.last.Number {
		t.Errorf("the work begins at block %d, the last is %d", again.next, w.last.Number)
	}
	calls := w.calls
	w.settle(again)
	if got := w.uri(w.index, art, 509); got != "a509" {
		t.Error(got)
	}
	// 10 URIs, and the facts of the token with a sample of its URIs.
	if n := w.calls - calls; n > 10+7+sampleURIs {
		t.Errorf("%d calls after the restart", n)
	}
}

// TestURIsOfOlderDatabase: what was asked by a lane that did not keep how far it was
// is not asked again, and gets its notes.
func TestURIsOfOlderDatabase(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.add(art, collection("a"))
	w.block(mints(art, 0, 20))
	uris := map[index.NFT]string{}
	for id := range uint64(15) {
		uris[index.NFT{Token: art, ID: *uint256.NewInt(id)}] = fmt.Sprint("a", id)
	}
	w.do(w.index.PutTokenURIs(t.Context(), uris))
	w.do(w.index.PutTokens(t.Context(), map[evm.Address]index.TokenMeta{art: {Kind: index.ERC721, Name: "a"}}))
	l := w.lane()
	w.settle(l)
	if w.calls != 5 || w.uri(w.index, art, 19) != "a19" {
		t.Errorf("%d calls, %s", w.calls, w.uri(w.index, art, 19))
	}
	again := newWorld(t)
	again.add(art, collection("a"))
	again.block(mints(art, 0, 20))
	w.do(Replay(t.Context(), w.readAll, again.index))
	for id := range uint64(20) {
		if got := w.uri(again.index, art, id); got != fmt.Sprint("a", id) {
			t.Errorf("%d: %s", id, got)
		}
	}
	if m, known := w.meta(again.index, art); !known || m.Name != "a" {
		t.Errorf("%+v", m)
	}
	calls := again.calls
	replayed := again.lane()
	again.settle(replayed)
	if again.calls-calls > 7+sampleURIs {
		t.Errorf("%d calls", again.calls-calls)
	}
}

// TestURIsChange: URIs are read again when a contract says so, and when a visit
// finds that one has changed.
func TestURIsChange(t *testing.T) {
	t.Parallel()
	event := func(a evm.Address, signature string, data ...[]byte) []evm.Log {
		return []evm.Log{{Address: a, Topics: []evm.Hash{topic(signature)}, Data: bytes.Join(data, nil)}}
	}
	for name, c := range map[string]struct {
		logs []evm.Log
		new  []uint64
	}{
		"one":            {event(art, "MetadataUpdate(uint256)", word(4)), []uint64{4}},
		"one unknown":    {event(art, "MetadataUpdate(uint256)", word(400)), nil},
		"a range":        {event(art, "BatchMetadataUpdate(uint256,uint256)", word(3), word(5)), []uint64{3, 4, 5}},
		"all":            {event(art, "BatchMetadataUpdate(uint256,uint256)", word(0), bytes.Repeat([]byte{255}, 32)), []uint64{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}},
		"cut off":        {event(art, "MetadataUpdate(uint256)", word(4)[:31]), nil},
		"no token":       {event(odd, "MetadataUpdate(uint256)", word(4)), nil},
		"like ERC-1155s": {[]evm.Log{{Address: art, Topics: []evm.Hash{topic("URI(string,uint256)"), evm.Hash(word(9))}}}, []uint64{9}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			l := w.lane()
			a := w.add(art, collection("old"))
			w.grow(l, mints(art, 0, 10))
			a.uri = func(id uint64) string { return fmt.Sprint("new", id) }
			w.grow(l, c.logs)
			want := map[uint64]bool{}
			for _, id := range c.new {
				want[id] = true
			}
			for id := range uint64(10) {
				if got := w.uri(w.index, art, id); got != map[bool]string{true: "new", false: "old"}[want[id]]+fmt.Sprint(id) {
					t.Errorf("%d: %s", id, got)
				}
			}
		})
	}
	w := newWorld(t)
	l := w.lane()
	a := w.add(art, collection("old"))
	w.grow(l, mints(art, 0, 1000))
	a.uri = func(id uint64) string { return fmt.Sprint("new", id) }
	for range 20 { // a sample can be empty
		l.past(movedEvery)
		l.schedule(art, time.Now(), movedEvery)
		w.settle(l)
	}
	for id := range uint64(1000) {
		if got := w.uri(w.index, art, id); got != fmt.Sprint("new", id) {
			t.Fatalf("%d: %s", id, got)
		}
	}
}

// TestSpam: a contract that mints without end costs a bounded number of calls, and
// others no more than their turn.
func TestSpam(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	const most = 1000
	l := w.lane()
	l.mostURIs = most
	spam := evm.Address{0xbb}
	w.add(spam, collection("spam"))
	w.add(art, collection("a"))
	const step = 400
	for i := range uint64(3) {
		w.block(mints(spam, i*step, i*step+step))
	}
	w.block(mints(art, 0, 5))
	l.next, l.live = 1, false
	steps := 0
	for ; w.uri(w.index, art, 4) != "a4"; steps++ {
		_, err := l.step(t.Context())
		w.do(err)
	}
	if steps > 10 {
		t.Errorf("others waited %d steps", steps)
	}
	w.settle(l)
	v := w.view(w.index)
	n, err := v.CountURIs(spam, 2*most)
	v.Close()
	if err != nil || n < most || n > most+taskBatch {
		t.Errorf("%d URIs of spam, %v", n, err)
	}
	calls := w.calls
	w.grow(l, mints(spam, 3*step, 4*step))
	again := w.lane()
	again.mostURIs = most
	w.settle(again)
	if n := w.calls - calls; n > 2*(7+sampleURIs+taskBatch) {
		t.Errorf("%d calls for what is above the bound", n)
	}
}

// TestURIsTold: whoever fetches what URIs lead to hears of each that was read first or has
// changed, and can have one read again.
func TestURIsTold(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	l := w.lane()
	var told []uint64
	l.cfg.URIs = func(nfts []index.NFT) {
		for _, n := range nfts {
			if got := w.uri(w.index, n.Token, n.ID.Uint64()); got == "" {
				t.Errorf("%d was told before it was kept", n.ID.Uint64())
			}
			told = append(told, n.ID.Uint64())
		}
	}
	name := "a"
	w.add(art, &token{kind: index.ERC721, name: "a", decimals: -1, uri: func(id uint64) string { return fmt.Sprint(name, id) }})
	w.grow(l, mints(art, 1, 6))
	slices.Sort(told)
	if !slices.Equal(told, []uint64{1, 2, 3, 4, 5}) {
		t.Fatalf("told of %v", told)
	}
	told, name = nil, "b"
	l.AskURI(art, *uint256.NewInt(3))
	l.AskURI(art, *uint256.NewInt(9)) // not minted
	w.settle(l)
	if !slices.Equal(told, []uint64{3}) || w.uri(w.index, art, 3) != "b3" {
		t.Errorf("told of %v, %s", told, w.uri(w.index, art, 3))
	}
	told = nil
	l.AskURI(art, *uint256.NewInt(3))
	if w.settle(l); len(told) > 0 {
		t.Errorf("told of %v, though nothing has changed", told)
	}
}

// TestLongURIs: URIs that are documents count as many, so that a contract cannot fill a
// disk with them, also not by short ones that become long.
func TestLongURIs(t *testing.T) {
	t.Parallel()
	const most = 40
	spam := evm.Address{19: 0x5a}
	w := newWorld(t)
	l := w.lane()
	l.mostURIs = most
	long := "data:," + strings.Repeat("x", 20<<10)
	w.add(spam, &token{kind: index.ERC721, name: "s", decimals: -1, uri: func(uint64) string { return long }})
	for i := range uint64(5) { // a batch each
		w.grow(l, mints(spam, 2*i, 2*i+2))
	}
	kept := 0
	for id := range uint64(10) {
		if w.uri(w.index, spam, id) == long {
			kept++
		}
	}
	if kept < 2 || kept > 6 {
		t.Errorf("%d of 20 KiB are kept with room for %d short ones", kept, most)
	}
	v := w.view(w.index)
	n, err := v.CountURIs(spam, 10*most)
	list, listErr := v.URITokens(nil, 10)
	behind, behindErr := v.URITokens(&spam, 10)
	v.Close()
	if err = errors.Join(err, listErr, behindErr); err != nil || n != kept*index.URIWeight(long) || !slices.Equal(list, []evm.Address{spam}) || len(behind) > 0 {
		t.Errorf("they count as %d, in %v and %v, %v", n, list, behind, err)
	}
	uri := "short"
	w.add(art, &token{kind: index.ERC721, name: "a", decimals: -1, uri: func(id uint64) string { return fmt.Sprint(uri, id) }})
	w.grow(l, mints(art, 0, most))
	uri = long
	for id := range uint64(most) {
		l.AskURI(art, *uint256.NewInt(id))
		w.settle(l)
	}
	size := 0
	for id := range uint64(most) {
		size += len(w.uri(w.index, art, id))
	}
	if size > 2*len(long) {
		t.Errorf("%d bytes of URIs", size)
	}
}

func TestQueue(t *testing.T) {
	t.Parallel()
	var q queue
	for i := range 3 * quantum {
		for _, a := range []evm.Address{{1}, {2}} {
			if i < 3 || a[0] == 1 {
				q.push(&task{token: a, id: *uint256.NewInt(uint64(i))})
			}
		}
	}
	var got []string
	for _, x := range q.pop(quantum + 3 + 1) {
		got = append(got, fmt.Sprint(x.token[0], "-", x.id.Dec()))
	}
	if fmt.Sprint(got) != "[1-0 1-1 1-2 1-3 1-4 1-5 1-6 1-7 2-0 2-1 2-2 1-8]" || q.n != 2*quantum-1 || len(q.pop(100)) != 2*quantum-1 || q.n != 0 || q.pop(5) != nil {
		t.Errorf("%v, %d are left", got, q.n)
	}
	for i := range maxQueued {
		if !q.push(&task{token: evm.Address{byte(i)}}) {
			t.Fatal(i)
		}
	}
	if q.push(&task{}) {
		t.Error("no bound")
	}
}

func someAnswers() *answers {
	a := newAnswers(77)
	a.facts[coin] = index.TokenMeta{Kind: index.ERC20, Name: "Ünit", Symbol: "U", Decimals: 6, HasDecimals: true}
	a.facts[odd] = index.TokenMeta{}
	a.uris[index.NFT{Token: art, ID: *uint256.NewInt(5)}] = "ipfs://5"
	a.uris[index.NFT{Token: art, ID: *new(uint256.Int).SetAllOne()}] = ""
	a.uneven[coin] = evidence{holder: alice, sum: *uint256.NewInt(300), said: uint256.Int{}}
	a.said = []index.SaidBalance{{Token: coin, Holder: bob, Height: 76, Amount: *new(uint256.Int).SetAllOne()}, {Token: coin, Holder: carol, Height: 77}}
	return a
}

func TestNotes(t *testing.T) {
	t.Parallel()
	want := someAnswers()
	got := newAnswers(77)
	notes := want.notes()
	for _, n := range notes {
		if err := got.read(n); err != nil {
			t.Fatal(err)
		}
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	for _, n := range notes {
		for size := range len(n.Data) {
			short := archive.Note{Height: n.Height, Type: n.Type, Data: n.Data[:size]}
			if err := newAnswers(0).read(short); err != nil && !errors.Is(err, ErrNote) {
				t.Error(err)
			} else if err == nil && size <= evm.AddressLen {
				t.Errorf("type %d with %d bytes", n.Type, size)
			}
		}
		n.Data = bytes.Clone(n.Data)
		n.Data[0]++
		if err := newAnswers(0).read(n); !errors.Is(err, ErrNote) {
			t.Errorf("another version: %v", err)
		}
	}
}

func FuzzNote(f *testing.F) {
	for _, n := range someAnswers().notes() {
		f.Add(byte(n.Type), n.Data)
	}
	f.Fuzz(func(t *testing.T, kind byte, data []byte) {
		a := newAnswers(5)
		if err := a.read(archive.Note{Height: 5, Type: archive.NoteType(kind), Data: data}); err != nil {
			if !errors.Is(err, ErrNote) {
				t.Error(err)
			}
			return
		}
		b := newAnswers(5)
		for _, n := range a.notes() {
			if err := b.read(n); err != nil {
				t.Fatal(err)
			}
		}
		if !reflect.DeepEqual(a, b) {
			t.Errorf("%+v came back as %+v", a, b)
		}
	})
}
