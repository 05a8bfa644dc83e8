package operation

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io/fs"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"quorate/devnet/torture"
	"quorate/engine/archive/vfs/faultfs"
	"quorate/engine/chain"
	"quorate/engine/chain/evm"
	"quorate/engine/index/indextest"
)

// someAddresses are busy accounts that deal with each other, a contract and a stranger.
func someAddresses() []evm.Address {
	accounts := indextest.New(indextest.Config{Seed: 1}).Accounts()
	return []evm.Address{accounts[0], accounts[1], indextest.Factory, {0xee}}
}

// TestEqualsPaging: a file has the rows that paging gives, in the order of the chain.
func TestEqualsPaging(t *testing.T) {
	t.Parallel()
	chains := makeChains(t, 160, 90)
	disk := &faultfs.Disk{}
	e, _ := running(t, Config{Store: &memory{}, FS: disk, Chain: chains.byID})
	one, two := chains[chain.ID{1}], chains[chain.ID{2}]
	middle := func(i int) uint64 { return one.blocks[i].TimeMilli }
	f := func(req Request) {
		t.Helper()
		op := await(t, e, create(t, e, req).ID)
		if op.Status != Completed || op.Progress != 1 || op.Code != CodeNone || op.Message != "" {
			t.Fatalf("%+v", op)
		}
		_, rows := content(t, e, op)
		var got, want [][]string
		for _, id := range req.Chains {
			number := strconv.FormatUint(chains[id].number, 10)
			for _, row := range rows {
				if row[1] == number {
					got = append(got, row)
				}
			}
			want = append(want, wanted(t, chains[id], req.Addresses, req.First, req.Last)...)
		}
		same(t, got, want)
		if len(got) != len(rows) {
			t.Errorf("%d rows of other chains", len(rows)-len(got))
		}
		byTime := func(a, b []string) int { return cmp.Compare(a[4], b[4]) }
		if !slices.IsSortedFunc(rows, byTime) {
			t.Error("chains are not in the order of time")
		}
	}
	a := someAddresses()
	f(Request{Addresses: a[:1], Chains: []chain.ID{{1}}})
	f(Request{Addresses: a[:1], Chains: []chain.ID{{1}}, Compression: Zstd})
	f(Request{Addresses: a, Chains: []chain.ID{{1}}})
	f(Request{Addresses: a, Chains: []chain.ID{{2}, {1}}, Compression: Zstd})
	f(Request{Addresses: a[3:], Chains: chains.ids()})
	f(Request{Addresses: a, Chains: chains.ids(), First: middle(40), Last: middle(90)})
	f(Request{Addresses: a[:2], Chains: []chain.ID{{1}}, First: middle(40) + 1, Last: middle(90) - 1})
	f(Request{Addresses: a[:2], Chains: []chain.ID{{1}}, First: middle(len(one.blocks)-1) + 1})
	f(Request{Addresses: a[:2], Chains: []chain.ID{{1}}, Last: 1})
	f(Request{Addresses: []evm.Address{two.blocks[5].Txs[0].From, indextest.Coins[0], indextest.Arts[0]}, Chains: []chain.ID{{2}}})
	if list := names(disk); len(list) != 10 || strings.Contains(strings.Join(list, " "), "part") {
		t.Errorf("files: %v", list)
	}
}

// TestKilled: wherever the power goes, whatever the disk then has kept, the next process
// leaves the same bytes, and no other file. The database has all that was committed
// before.
func TestKilled(t *testing.T) {
	t.Parallel()
	chains := makeChains(t, 100)
	for _, compression := range []Compression{Gzip, Zstd} {
		req := Request{Addresses: someAddresses(), Chains: chains.ids(), Compression: compression}
		whole := &faultfs.Disk{}
		e, stop := running(t, Config{Store: &memory{}, FS: whole, Chain: chains.byID})
		want, _ := content(t, e, await(t, e, create(t, e, req).ID))
		stop()
		rng := rand.New(rand.NewPCG(9, 9))
		resumed := 0
		for n := 2; n <= whole.Ops(); n += torture.Pick(11, 1) {
			disk, kept := &faultfs.Disk{}, &memory{}
			disk.PowerOff(n)
			kept.put = func(string) error {
				if disk.Ops() >= n {
					return faultfs.ErrPower
				}
				return nil
			}
			e, stop := running(t, Config{Store: kept, FS: disk, Chain: chains.byID})
			id := create(t, e, req).ID
			await(t, e, id)
			stop()
			kept.put = nil
			if r, err := decodeRecord([]byte(kept.rows[id])); err != nil || r.Over() {
				t.Fatalf("killed at %d: the database has %+v, %v", n, r, err)
			} else if r.At.Offset > 0 {
				resumed++
			}
			disk = disk.After(faultfs.Loss(rng.IntN(3)), rng)
			e, stop = running(t, Config{Store: kept, FS: disk, Chain: chains.byID})
			if got, _ := content(t, e, await(t, e, id)); !bytes.Equal(got, want) {
				t.Fatalf("killed at %d: other bytes", n)
			}
			if list := names(disk); len(list) != 1 {
				t.Fatalf("killed at %d: files %v", n, list)
			}
			stop()
		}
		if resumed < 2 {
			t.Errorf("%s: only %d exports had something to go on with", compression, resumed)
		}
	}
}

// TestStopped: an export that is stopped in order again and again is the same in the end.
func TestStopped(t *testing.T) {
	t.Parallel()
	chains := makeChains(t, 120)
	req := Request{Addresses: someAddresses(), Chains: chains.ids()}
	disk, kept := &faultfs.Disk{}, &memory{}
	e, stop := running(t, Config{Store: kept, FS: disk, Chain: chains.byID})
	want, _ := content(t, e, await(t, e, create(t, e, req).ID))
	first := create(t, e, req).ID
	for range 8 {
		stop()
		e, stop = running(t, Config{Store: kept, FS: disk, Chain: chains.byID})
		create(t, e, req)
		kept.mu.Lock()
		for k := range kept.rows {
			if k != first && !strings.Contains(kept.rows[k], "COMPLETED") {
				delete(kept.rows, k) // their files are strays for the next one
			}
		}
		kept.mu.Unlock()
	}
	got, _ := content(t, e, await(t, e, first))
	if !bytes.Equal(got, want) {
		t.Error("other bytes")
	}
}

// TestFullDisk: wherever the disk is full, the export fails with a reason, and leaves
// nothing on it.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	chains := makeChains(t, 60)
	full := func(what string, fail func(op, name string) error, room func() error) {
		t.Helper()
		disk := &faultfs.Disk{}
		e, _ := running(t, Config{Store: &memory{}, FS: disk, Chain: chains.byID, Room: room})
		disk.Fail(fail)
		op := await(t, e, create(t, e, Request{Addresses: someAddresses(), Chains: chains.ids()}).ID)
		if op.Status != Failed || op.Code != CodeInternal || op.Message != noRoomLeft || op.Size != 0 || op.HasFile() {
			t.Errorf("%s: %+v", what, op)
		}
		disk.Fail(nil)
		if list := names(disk); len(list) != 0 {
			t.Errorf("%s: files %v", what, list)
		}
		if e.bytes() != 0 {
			t.Errorf("%s: %d bytes are counted", what, e.bytes())
		}
	}
	for _, kind := range []string{"write", "sync", "rename"} {
		left := 3
		if kind == "rename" {
			left = 0
		}
		full(kind, func(op, _ string) error {
			if op == kind {
				if left--; left < 0 {
					return syscall.ENOSPC
				}
			}
			return nil
		}, nil)
	}
	asked := atomic.Int32{}
	full("room", nil, func() error {
		if asked.Add(1) > 4 {
			return errors.New("12 bytes are free")
		}
		return nil
	})
}

// TestTruncated: exports that end at their size say with which date the next one begins;
// together they have every row once.
func TestTruncated(t *testing.T) {
	t.Parallel()
	chains := makeChains(t, 120, 80)
	e, _ := running(t, Config{Store: &memory{}, FS: &faultfs.Disk{}, Chain: chains.byID, MaxSize: 9000})
	req := Request{Addresses: someAddresses(), Chains: chains.ids()}
	want := make(map[string][][]string)
	for _, id := range req.Chains {
		c := chains[id]
		want[strconv.FormatUint(c.number, 10)] = wanted(t, c, req.Addresses, 0, 0)
	}
	got := make(map[string][][]string)
	parts := 0
	for {
		parts++
		op := await(t, e, create(t, e, req).ID)
		_, rows := content(t, e, op)
		for _, row := range rows {
			got[row[1]] = append(got[row[1]], row)
		}
		if op.Status == Completed {
			break
		}
		next, err := time.Parse(time.RFC3339, FormatTime(op.Next))
		if op.Status != Warning || op.Code != CodeTruncated || op.Next <= req.First || err != nil || uint64(next.UnixMilli()) != op.Next ||
			!strings.Contains(op.Message, FormatTime(op.Next)) {
			t.Fatalf("%+v, %v", op, err)
		}
		req.First = op.Next
	}
	if parts < 10 {
		t.Errorf("%d parts", parts)
	}
	for number := range want {
		same(t, got[number], want[number])
	}
}

// TestRewound: a chain that goes back while it is exported makes the export begin again:
// the file has no block that was taken back.
func TestRewound(t *testing.T) {
	t.Parallel()
	chains := makeChains(t, 100)
	c := chains[chain.ID{1}]
	disk := &faultfs.Disk{}
	e, _ := running(t, Config{Store: &memory{}, FS: disk, Chain: chains.byID})
	writes := 0
	disk.Fail(func(kind, _ string) error {
		if kind != "write" {
			return nil
		}
		if writes++; writes != 4 {
			return nil
		}
		const to = 60
		if err := c.x.Rewind(context.Background(), blocksOf(c.blocks), to); err != nil {
			return err
		}
		c.blocks = fork(c.blocks, to+1)
		return c.x.Commit(context.Background(), c.blocks[to+1:])
	})
	op := await(t, e, create(t, e, Request{Addresses: someAddresses(), Chains: chains.ids()}).ID)
	if op.Status != Completed || writes < 4 {
		t.Fatalf("%+v after %d writes", op, writes)
	}
	if n := e.snapshot()[op.ID].Restarts; n != 1 {
		t.Errorf("started again %d times", n)
	}
	_, rows := content(t, e, op)
	same(t, rows, wanted(t, c, someAddresses(), 0, 0))
}

// blocksOf is an archive.
type blocksOf []*evm.Block

func (b blocksOf) Read(_ context.Context, from, to uint64, f func(*evm.Block) error) error {
	for _, blk := range b[from : to+1] {
		if err := f(blk); err != nil {
			return err
		}
	}
	return nil
}

// fork returns blocks whose last ones are others than those of the chain.
func fork(blocks []*evm.Block, at int) []*evm.Block {
	list := slices.Clone(blocks[:at])
	for i, b := range indextest.New(indextest.Config{Seed: 999, Txs: 8}).Blocks(len(blocks) - at + 1)[1:] {
		cp := *b
		cp.Number, cp.Parent = uint64(at+i), list[len(list)-1].Hash
		cp.TimeMilli = blocks[at-1].TimeMilli + uint64(i)*1000
		list = append(list, &cp)
	}
	return list
}

// TestQuotas: a client has so many exports that are not finished, all together so many
// that wait, and none are accepted without room.
func TestQuotas(t *testing.T) {
	t.Parallel()
	chains := makeChains(t, 20)
	var full atomic.Bool
	hold := make(chan struct{})
	disk := &faultfs.Disk{}
	e, _ := running(t, Config{
		Store: &memory{}, FS: disk, Chain: chains.byID, Workers: 1, Queue: 3, PerClient: 2,
		Room: func() error {
			if full.Load() {
				return errors.New("full")
			}
			return nil
		},
	})
	ask := func(client string) error {
		_, err := e.Create(t.Context(), Request{Addresses: someAddresses(), Chains: chains.ids(), Client: client})
		return err
	}
	refused := func(kind Kind, err error) {
		t.Helper()
		var r *Error
		if !errors.As(err, &r) || r.Kind != kind || r.Msg == "" {
			t.Errorf("%v, want kind %d", err, kind)
		}
	}
	first := create(t, e, Request{Addresses: someAddresses(), Chains: chains.ids(), Client: "a"})
	await(t, e, first.ID)
	disk.Fail(func(op, _ string) error {
		if op == "create" {
			<-hold
		}
		return nil
	})
	if err := errors.Join(ask("a"), ask("a")); err != nil {
		t.Fatal(err)
	}
	refused(Quota, ask("a"))
	full.Store(true)
	refused(NoRoom, ask("b"))
	full.Store(false)
	if err := errors.Join(ask("b"), ask("b")); err != nil { // one is being written, three wait
		t.Fatal(err)
	}
	refused(Busy, ask("c"))
	_, err := e.Create(t.Context(), Request{Addresses: someAddresses(), Chains: []chain.ID{{9}}})
	refused(Unknown, err)
	close(hold)
	for id := range e.snapshot() {
		if op := await(t, e, id); op.Status != Completed {
			t.Errorf("%+v", op)
		}
	}
	if err := ask("a"); err != nil {
		t.Error(err)
	}
}

// TestForgotten: what is over for long is removed with its file, and nothing else.
func TestForgotten(t *testing.T) {
	t.Parallel()
	chains := makeChains(t, 20)
	disk, kept := &faultfs.Disk{}, &memory{}
	e, stop := running(t, Config{Store: kept, FS: disk, Chain: chains.byID, Keep: time.Hour})
	op := await(t, e, create(t, e, Request{Addresses: someAddresses(), Chains: chains.ids()}).ID)
	young := await(t, e, create(t, e, Request{Addresses: someAddresses(), Chains: chains.ids()}).ID)
	stop()
	r, err := decodeRecord([]byte(kept.rows[op.ID]))
	if err != nil {
		t.Fatal(err)
	}
	r.Updated = r.Updated.Add(-2 * time.Hour)
	b, err := r.encode()
	if err != nil {
		t.Fatal(err)
	}
	kept.rows[op.ID] = string(b)
	for _, stray := range []string{newID() + ".part", newID() + ".csv.gz", op.ID + ".part", "other.txt"} {
		if _, err := disk.Create("/exports/" + stray); err != nil {
			t.Fatal(err)
		}
	}
	lost := *r
	lost.ID, lost.Updated = newID(), time.Now()
	if b, err = lost.encode(); err != nil {
		t.Fatal(err)
	}
	kept.rows[lost.ID] = string(b) // its file is not there, as after a restore
	e, _ = running(t, Config{Store: kept, FS: disk, Chain: chains.byID, Keep: time.Hour})
	until(t, "the old one is forgotten", func() bool {
		_, found, err := e.Get(op.ID)
		return !found && err == nil && len(names(disk)) == 2
	})
	if _, err := e.Open(op.ID); err == nil {
		t.Error("the file is there")
	}
	if list := names(disk); !slices.Contains(list, young.ID+".csv.gz") || !slices.Contains(list, "other.txt") || len(kept.rows) != 1 {
		t.Errorf("files %v, %d records", list, len(kept.rows))
	}
	content(t, e, young)
}

// TestChainGone: after a restart an export waits for its chain, and fails when it does
// not come.
func TestChainGone(t *testing.T) {
	t.Parallel()
	chains := makeChains(t, 40)
	disk, kept := &faultfs.Disk{}, &memory{}
	e, stop := running(t, Config{Store: kept, FS: disk, Chain: chains.byID})
	hold := errors.New("stop here")
	kept.put = func(v string) error {
		if strings.Contains(v, "COMPLETED") || strings.Contains(v, "FAILED") {
			return hold
		}
		return nil
	}
	op := create(t, e, Request{Addresses: someAddresses(), Chains: chains.ids()})
	await(t, e, op.ID)
	stop()
	kept.put = nil
	disk = &faultfs.Disk{}
	e, _ = running(t, Config{Store: kept, FS: disk, Chain: testChains{}.byID, Patience: 20 * time.Millisecond})
	if op := await(t, e, op.ID); op.Status != Failed || op.Code != CodeRequest {
		t.Errorf("%+v", op)
	}
	if list := names(disk); len(list) != 0 {
		t.Errorf("files %v", list)
	}
}

// TestBeforeRun: until it is known which operations there are, all is refused.
func TestBeforeRun(t *testing.T) {
	t.Parallel()
	e, err := New(Config{Dir: t.TempDir(), Chain: makeChains(t, 2).byID})
	if err != nil {
		t.Fatal(err)
	}
	_, createErr := e.Create(t.Context(), Request{Chains: []chain.ID{{1}}})
	_, _, getErr := e.Get("a")
	for _, err := range []error{createErr, getErr} {
		var refusal *Error
		if !errors.As(err, &refusal) || refusal.Kind != Stopping {
			t.Errorf("got %v", err)
		}
	}
	if _, err := e.Open("a"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a file: %v", err)
	}
	e.KeepIn(&memory{})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- e.Run(ctx) }()
	until(t, "it runs", func() bool { _, found, err := e.Get("a"); return err == nil && !found })
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
