package feed_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/cespare/xxhash/v2"

	"quorate/engine/archive"
	"quorate/engine/chain"
	"quorate/engine/feed"
	"quorate/engine/feed/feedtest"
	"quorate/engine/metric"
)

const network = 7

var (
	of      = chain.ID{1, 2, 3}
	subject = feed.Subject(network, of, feed.SubjectBlocks)
)

// made makes a chain of blocks whose IDs are sums of what they are.
func made(n, size int) (list []feed.Block[[]byte]) {
	random := rand.New(rand.NewPCG(1, uint64(size)))
	var parent [32]byte
	for height := range uint64(n) {
		data := binary.BigEndian.AppendUint64(nil, height)
		data = append(data, parent[:]...)
		for range size {
			data = append(data, byte(random.Uint32()))
		}
		b := feed.Block[[]byte]{Height: height, ID: sha256.Sum256(data), Parent: parent, Item: data}
		list, parent = append(list, b), b.ID
	}
	return list
}

func encode(b []byte) []byte { return b }

// tail returns a server's view of a log.
func tail(t *testing.T, log feed.Log, writer string) *feed.Tail[[]byte] {
	t.Helper()
	return feed.NewTail(feed.Config[[]byte]{
		Log: log, Network: network, Chain: of, Kind: archive.KindEVM, Writer: writer, Logger: slog.New(slog.DiscardHandler), Metrics: metric.NewSet(),
		Parse: func(b archive.Block) ([]byte, error) {
			if sha256.Sum256(b.Data) != b.ID || binary.BigEndian.Uint64(b.Data) != b.Height || !bytes.Equal(b.Data[8:40], b.Parent[:]) {
				return nil, errors.New("it is not what its ID says")
			}
			return b.Data, nil
		},
	})
}

// from returns what has all blocks that the log may lack.
func from(all []feed.Block[[]byte]) func(from, to uint64) ([]feed.Block[[]byte], error) {
	return func(from, to uint64) ([]feed.Block[[]byte], error) { return append(all[:0:0], all[from:to+1]...), nil }
}

// linked checks that a log has each height once, each behind its parent.
func linked(t *testing.T, log *feedtest.Log, first, last uint64) {
	t.Helper()
	next, parent := first, [32]byte{}
	codec := archive.NewCodec(archive.KindEVM)
	for i, raw := range log.Records(subject) {
		r, err := feed.Decode(raw)
		if err != nil {
			t.Fatalf("record %d: %v", i, err)
		}
		if r.Next != next || i > 0 && r.Parent != parent {
			t.Fatalf("record %d follows on %d, %x, not %d, %x", i, r.Next, r.Parent, next, parent)
		}
		if r.Kind == feed.Absent {
			next, parent = next+1, [32]byte(r.Data)
			continue
		}
		for rest := r.Data; len(rest) > 0; {
			unit, _, left, err := archive.SplitUnit(rest)
			if err == nil {
				err = codec.Unpack(unit, func(b archive.Block) error {
					next, parent = b.Height+1, b.ID
					return nil
				})
			}
			if err != nil {
				t.Fatal(err)
			}
			rest = left
		}
	}
	if next != last+1 {
		t.Fatalf("the log ends before block %d, not %d", next, last+1)
	}
}

// TestOffer: of two servers that append the same blocks each is in the log once, and the one
// that has none reads them.
func TestOffer(t *testing.T) {
	t.Parallel()
	log, all := feedtest.New(), made(300, 60)
	var both sync.WaitGroup
	for _, name := range []string{"a", "b"} {
		both.Go(func() {
			w := tail(t, log, name)
			for at := 0; at < len(all); at++ {
				if err := w.Offer(t.Context(), append(all[:0:0], all[at]), encode, from(all)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	both.Wait()
	linked(t, log, 0, 299)

	r := tail(t, log, "c")
	if err := r.Sync(t.Context(), false); err != nil || r.Next() != 300 {
		t.Fatal(r.Next(), err)
	}
	if r.Patience() == 0 {
		t.Error("who has never written has no patience")
	}
	for _, at := range []uint64{0, 1, 77, 298, 299} {
		list, err := r.Blocks(t.Context(), at, at+3)
		if err != nil || len(list) != min(4, 300-int(at)) || !bytes.Equal(list[0], all[at].Item) {
			t.Errorf("from %d: %d blocks, %v", at, len(list), err)
		}
	}
	if _, err := r.Blocks(t.Context(), 300, 301); !errors.Is(err, feed.ErrNotHere) {
		t.Error(err)
	}
}

// TestOfferFills: who finds that the log lacks blocks appends them first, no more than it keeps,
// and who offers what is there is told what that is.
func TestOfferFills(t *testing.T) {
	t.Parallel()
	log, all := feedtest.New(), made(6000, 8)
	w := tail(t, log, "a")
	if err := w.Offer(t.Context(), append(all[:0:0], all[5999]), encode, from(all)); err != nil {
		t.Fatal(err)
	}
	linked(t, log, 5999-feed.Kept, 5999)
	if list, err := w.Blocks(t.Context(), 2000, 2010); err != nil || len(list) != 11 {
		t.Errorf("%d blocks, %v", len(list), err)
	}
	if _, err := w.Blocks(t.Context(), 100, 110); !errors.Is(err, feed.ErrNotHere) {
		t.Error(err)
	}
	late := append(all[:0:0], all[5990:]...)
	for i := range late {
		late[i].Item = []byte("told by another node")
	}
	if err := tail(t, log, "b").Offer(t.Context(), late, encode, from(all)); err != nil || !bytes.Equal(late[0].Item, all[5990].Item) {
		t.Errorf("%q, %v", late[0].Item, err)
	}
	late[0].ID[5] ^= 1
	if err := tail(t, log, "b").Offer(t.Context(), late, encode, from(all)); !errors.Is(err, feed.ErrForked) {
		t.Error(err)
	}
	linked(t, log, 5999-feed.Kept, 5999)
}

// TestLargeBlock: the log does without what is in a block that does not fit, and goes on.
func TestLargeBlock(t *testing.T) {
	t.Parallel()
	log, all := feedtest.New(), made(2, 10)
	large := made(1, 3<<20)[0]
	large.Height, large.Parent = 2, all[1].ID
	large.ID = [32]byte{9}
	next := feed.Block[[]byte]{Height: 3, Parent: large.ID}
	next.Item = append(binary.BigEndian.AppendUint64(nil, 3), large.ID[:]...)
	next.ID = sha256.Sum256(next.Item)
	w := tail(t, log, "a")
	if err := w.Offer(t.Context(), append(all, large, next), encode, nil); err != nil {
		t.Fatal(err)
	}
	linked(t, log, 0, 3)
	for _, r := range []*feed.Tail[[]byte]{w, tail(t, log, "b")} {
		if err := r.Sync(t.Context(), true); err != nil || r.Next() != 4 {
			t.Fatal(r.Next(), err)
		}
		if list, err := r.Blocks(t.Context(), 0, 3); err != nil || len(list) != 2 {
			t.Errorf("%d blocks, %v", len(list), err)
		}
		if _, err := r.Blocks(t.Context(), 2, 3); !errors.Is(err, feed.ErrNotHere) {
			t.Error(err)
		}
		if list, err := r.Blocks(t.Context(), 3, 3); err != nil || len(list) != 1 {
			t.Errorf("%d blocks, %v", len(list), err)
		}
	}
}

// TestBadRecords: a record that is not what it should be is passed over by all readers, and the
// next one is appended behind it.
func TestBadRecords(t *testing.T) {
	t.Parallel()
	all := made(30, 40)
	good := feedtest.New()
	w := tail(t, good, "a")
	for i := range 21 {
		if err := w.Offer(t.Context(), append(all[:0:0], all[i]), encode, nil); err != nil {
			t.Fatal(err)
		}
	}
	records := good.Records(subject)
	next := records[20]
	sealed := func(change func(b []byte)) []byte {
		b := bytes.Clone(next)
		change(b)
		return binary.BigEndian.AppendUint64(b[:len(b)-8], xxhash.Sum64(b[:len(b)-8]))
	}
	for name, bad := range map[string][]byte{
		"empty": {}, "text": []byte("hello"), "cut": next[:len(next)-5],
		"sum":     append(bytes.Clone(next[:len(next)-1]), next[len(next)-1]^1),
		"version": sealed(func(b []byte) { b[3] = 2 }),
		"kind":    sealed(func(b []byte) { b[4] = 9 }),
		"blocks":  sealed(func(b []byte) { b[5] = 2 }),
		"network": sealed(func(b []byte) { b[8]++ }),
		"chain":   sealed(func(b []byte) { b[12]++ }),
		"height":  sealed(func(b []byte) { b[51]++ }),
		"parent":  sealed(func(b []byte) { b[52]++ }),
		"length":  sealed(func(b []byte) { b[84] = 4 }),
		"again":   records[19],
		"content": sealed(func(b []byte) { b[len(b)-12] ^= 1 }),
		"claims":  claims(all[20].ID, all[20].Parent),
		"false":   falseBlock(&all[20]),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			log := feedtest.New()
			log.Replace(subject, records[:20]...)
			before := tail(t, log, "b")
			if err := before.Sync(t.Context(), true); err != nil {
				t.Fatal(err)
			}
			log.Push(subject, bad)
			after := tail(t, log, "c")
			for _, r := range []*feed.Tail[[]byte]{before, after} {
				if err := r.Sync(t.Context(), true); err != nil || r.Next() != 20 {
					t.Fatal(r.Next(), err)
				}
				if list, err := r.Blocks(t.Context(), 3, 29); err != nil || len(list) != 17 {
					t.Errorf("%d blocks, %v", len(list), err)
				}
			}
			if err := after.Offer(t.Context(), append(all[:0:0], all[20]), encode, from(all)); err != nil {
				t.Fatal(err)
			}
			if err := before.Sync(t.Context(), false); err != nil || before.Next() != 21 {
				t.Error(before.Next(), err)
			}
			if list, err := before.Blocks(t.Context(), 20, 20); err != nil || !bytes.Equal(list[0], all[20].Item) {
				t.Error(err)
			}
		})
	}
}

// packed returns a record of the block behind the first 20.
func packed(parent [32]byte, data []byte) []byte {
	return (&feed.Record{
		Kind: feed.Blocks, Of: archive.KindEVM, Network: network, Chain: of, Writer: "x", Next: 20, Parent: parent, Data: data,
	}).Append(nil)
}

// claims returns a record whose only block has 64 MiB, by its head.
func claims(id, parent [32]byte) []byte {
	unit, _, _ := archive.NewCodec(archive.KindEVM).Pack(nil, []archive.Block{{Height: 20, ID: id, Parent: parent, Data: make([]byte, archive.MaxBlock)}})
	return packed(parent, unit)
}

// falseBlock returns a record with another block under a true ID.
func falseBlock(b *feed.Block[[]byte]) []byte {
	unit, _, _ := archive.NewCodec(archive.KindEVM).Pack(nil, []archive.Block{{Height: 20, ID: b.ID, Parent: b.Parent, Data: append(bytes.Clone(b.Item), 0)}})
	return packed(b.Parent, unit)
}

// TestLogLost: a log that was deleted, or is an older copy, is filled again; one that is away is
// known to be.
func TestLogLost(t *testing.T) {
	t.Parallel()
	log, all := feedtest.New(), made(120, 20)
	w, r := tail(t, log, "a"), tail(t, log, "b")
	offer := func(w *feed.Tail[[]byte], from, to int) {
		t.Helper()
		for at := from; at <= to; at++ {
			if err := w.Offer(t.Context(), append(all[:0:0], all[at]), encode, func(from, to uint64) ([]feed.Block[[]byte], error) {
				return append(all[:0:0], all[from:to+1]...), nil
			}); err != nil {
				t.Fatal(err)
			}
		}
		if err := r.Sync(t.Context(), true); err != nil || r.Next() != uint64(to+1) {
			t.Fatal(r.Next(), err)
		}
	}
	offer(w, 0, 49)
	copied := log.Records(subject)[:30]
	offer(w, 50, 79)
	log.Replace(subject, copied...)
	offer(w, 80, 89)
	linked(t, log, 0, 89)
	log.Replace(subject)
	offer(tail(t, log, "c"), 90, 90)
	offer(w, 91, 91)
	linked(t, log, 0, 91)
	// Another one, whose positions go on behind those that were read.
	log.Replace(subject)
	offer(tail(t, log, "d"), 0, 119)
	linked(t, log, 0, 119)
	if err := w.Sync(t.Context(), true); err != nil || w.Next() != 120 || w.Patience() == 0 {
		t.Error(w.Next(), err)
	}
	log.Cut(true)
	if err := w.Sync(t.Context(), false); !errors.Is(err, feedtest.ErrCut) {
		t.Error(err)
	}
	if list, err := w.Blocks(t.Context(), 119, 119); err != nil || len(list) != 1 {
		t.Errorf("what was read is lost: %v", err)
	}
}

// TestOfferLoses: an append that another server was faster with is followed by what that one has
// appended.
func TestOfferLoses(t *testing.T) {
	t.Parallel()
	log, all := feedtest.New(), made(3, 20)
	a, b := tail(t, log, "a"), tail(t, log, "b")
	var once atomic.Bool
	log.Before(func(string) {
		if !once.CompareAndSwap(false, true) {
			return
		}
		if err := b.Offer(context.Background(), append(all[:0:0], all[:2]...), encode, nil); err != nil {
			t.Error(err)
		}
	})
	mine := append(all[:0:0], all...)
	mine[0].Item = []byte("told by another node")
	if err := a.Offer(t.Context(), mine, encode, nil); err != nil || !bytes.Equal(mine[0].Item, all[0].Item) {
		t.Errorf("%q, %v", mine[0].Item, err)
	}
	linked(t, log, 0, 2)
	if a.Patience() != 0 {
		t.Error("who wrote the last record waits")
	}
	if err := b.Sync(t.Context(), false); err != nil || b.Patience() == 0 {
		t.Error("who was overtaken does not wait", err)
	}
}

func FuzzDecode(f *testing.F) {
	log, all := feedtest.New(), made(3, 20)
	err := feed.NewTail(feed.Config[[]byte]{
		Log: log, Network: network, Chain: of, Kind: archive.KindEVM, Writer: "w", Logger: slog.New(slog.DiscardHandler), Metrics: metric.NewSet(),
	}).Offer(context.Background(), all, encode, nil)
	if err != nil {
		f.Fatal(err)
	}
	for _, b := range log.Records(subject) {
		f.Add(b)
	}
	f.Add([]byte(strings.Repeat("QFR\x01", 40)))
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, raw := range [][]byte{b, binary.BigEndian.AppendUint64(bytes.Clone(b), xxhash.Sum64(b))} {
			r, err := feed.Decode(raw)
			if err != nil {
				if !errors.Is(err, feed.ErrRefused) {
					t.Error(err)
				}
				continue
			}
			if again := r.Append(nil); !bytes.Equal(again, raw) {
				t.Errorf("%x is written as %x", raw, again)
			}
			log := feedtest.New()
			log.Push(feed.Subject(r.Network, r.Chain, feed.SubjectBlocks), raw)
			tail := feed.NewTail(feed.Config[int]{
				Log: log, Network: r.Network, Chain: r.Chain, Kind: r.Of, Writer: "r", Logger: slog.New(slog.DiscardHandler), Metrics: metric.NewSet(),
				Parse: func(b archive.Block) (int, error) {
					if len(b.Data) > feed.MaxRaw {
						return 0, fmt.Errorf("%d bytes", len(b.Data))
					}
					return 0, nil
				},
			})
			if err := tail.Sync(t.Context(), true); err != nil {
				t.Error(err)
			}
		}
	})
}
