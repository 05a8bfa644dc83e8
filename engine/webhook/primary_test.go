package webhook

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"quorate/engine/chain"
	"quorate/engine/chain/address"
	"quorate/engine/primary"
)

// primaryMessage is one about the primary network.
type primaryMessage struct {
	WebhookID, EventType, MessageID string
	Event                           struct {
		EventType, NodeID, ValidationID, BlockNumber string
		Addresses                                    []string
		Transaction                                  struct{ TxHash, BlockNumber string }
		Balances                                     map[string]string
		Reward                                       struct{ Amount string }
	}
}

// line says what a message tells as an oracle does.
func (m *primaryMessage) line() string {
	e := &m.Event
	s := e.BlockNumber
	if s == "" {
		s = e.Transaction.BlockNumber
	}
	s = fmt.Sprintf("%06s %s", s, e.EventType)
	if e.Transaction.TxHash != "" {
		s += " " + e.Transaction.TxHash
	}
	switch {
	case e.EventType == string(RewardPaid):
		return s + fmt.Sprint(" ", e.Addresses, " ", e.Reward.Amount)
	case m.EventType == string(PrimaryActivity):
		s += fmt.Sprint(" ", e.Addresses)
	case e.Transaction.TxHash == "":
		return s + " " + e.ValidationID
	default:
		id := e.ValidationID
		if id == "" {
			id = chain.ID{}.String()
		}
		return s + " " + e.NodeID + " " + id
	}
	if e.EventType == string(BalanceChange) {
		var held []string
		for _, name := range slices.Sorted(maps.Keys(e.Balances)) {
			held = append(held, name+"="+e.Balances[name])
		}
		s += " " + strings.Join(held, ",")
	}
	return s
}

// primaryReceiver takes the messages of several webhooks.
type primaryReceiver struct {
	*httptest.Server
	mu    sync.Mutex
	ids   map[string]bool
	lines map[string][]string // by webhook, in the order in which they came first
	twice int
	treat func(w http.ResponseWriter, r *http.Request) bool
	got   chan struct{} // room for one
}

func newPrimaryReceiver(t testing.TB) *primaryReceiver {
	r := &primaryReceiver{ids: map[string]bool{}, lines: map[string][]string{}, got: make(chan struct{}, 1)}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		body, err := io.ReadAll(req.Body)
		if err != nil || r.treat != nil && r.treat(w, req) {
			return
		}
		var m primaryMessage
		if err := json.Unmarshal(body, &m); err != nil {
			t.Errorf("%s: %v", body, err)
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.ids[m.MessageID] {
			r.twice++
		} else {
			r.ids[m.MessageID] = true
			r.lines[m.WebhookID] = append(r.lines[m.WebhookID], m.line())
		}
		select {
		case r.got <- struct{}{}:
		default:
		}
	}))
	t.Cleanup(r.Close)
	return r
}

// await waits until a webhook has been told what it must be.
func (r *primaryReceiver) await(t *testing.T, id string, want []string, sorted bool) {
	t.Helper()
	limit := time.After(2 * time.Minute)
	for {
		r.mu.Lock()
		lines := slices.Clone(r.lines[id])
		r.mu.Unlock()
		if sorted {
			lines = sortedInBlocks(lines)
		}
		if slices.Equal(lines, want) {
			return
		}
		if len(lines) >= len(want) || !sorted && !slices.Equal(lines, want[:len(lines)]) {
			t.Fatal(differ(lines, want))
		}
		select {
		case <-r.got:
		case <-limit:
			t.Fatal(differ(lines, want))
		}
	}
}

func differ(got, want []string) string {
	for i := range max(len(got), len(want)) {
		g, w := "nothing", "nothing"
		if i < len(got) {
			g = got[i]
		}
		if i < len(want) {
			w = want[i]
		}
		if g != w {
			return fmt.Sprintf("%d messages, want %d; the one at %d is\n%s, want\n%s", len(got), len(want), i, g, w)
		}
	}
	return ""
}

// sortedInBlocks sorts what is of the same block.
func sortedInBlocks(lines []string) []string {
	for i := 0; i < len(lines); {
		j := i
		for j < len(lines) && lines[j][:6] == lines[i][:6] {
			j++
		}
		slices.Sort(lines[i:j])
		i = j
	}
	return lines
}

// busiest returns the addresses that have part in the most transactions.
func (w *primaryWorld) busiest(on primary.Kind, n int) []address.Address {
	w.t.Helper()
	r := w.open(on)
	defer r.Close()
	count := map[address.Address]int{}
	if _, err := r.Txs(nil, primary.TimeRange{}, primary.Page{Limit: 1 << 20, Asc: true}, func(row *primary.TxRow) (primary.Result, error) {
		t, err := parts{}.Tx(r, row)
		if err != nil {
			return primary.Full, err
		}
		for _, u := range append(t.Consumed, t.Emitted...) {
			for _, a := range u.Addresses {
				count[a]++
			}
		}
		return primary.Taken, nil
	}); err != nil {
		w.t.Fatal(err)
	}
	list := slices.SortedFunc(maps.Keys(count), func(a, b address.Address) int {
		if count[a] != count[b] {
			return count[b] - count[a]
		}
		return slices.Compare(a[:], b[:])
	})
	return list[:min(n, len(list))]
}

// middle returns a middle amount of AVAX that some addresses have in a balance now.
func (w *primaryWorld) middle(on primary.Kind, name string, of []address.Address) uint64 {
	w.t.Helper()
	r := w.open(on)
	defer r.Close()
	h, err := r.holdings(of, r.horizon)
	if err != nil || h == nil {
		w.t.Fatal(err)
	}
	var list []uint64
	for _, a := range of {
		list = append(list, h.amount(r, name, a))
	}
	slices.Sort(list)
	return list[len(list)/2]
}

// selections are webhooks of all kinds about what happens on a chain.
func selections(t *testing.T, on primary.Kind) []Hook {
	t.Helper()
	w := newPrimaryWorld(t)
	if on == primary.XChain {
		w.grow(primary.XVertices, 1<<20)
	}
	w.grow(on, 1<<20)
	keys := w.busiest(on, 12)
	name := BalanceNames(on)[0]
	list := []Hook{
		{Type: PrimaryActivity, On: on, Keys: keys, Told: PrimaryActivity.Subs(), Low: &Low{Balance: name, Least: w.middle(on, name, keys)}},
		{Type: PrimaryActivity, On: on, Keys: keys[:2], Told: []Sub{BalanceChange}},
	}
	if on == primary.PChain {
		for _, name := range []string{lockedPlatform, lockedStakeable, pendingStaked} {
			list = append(list, Hook{Type: PrimaryActivity, On: on, Keys: keys[:6], Told: []Sub{BalanceLow}, Low: &Low{Balance: name, Least: 1}})
		}
		list = append(list, w.validatorHooks()...)
	}
	for i := range list {
		list[i].Client, list[i].Network = "me", "fuji"
	}
	return list
}

func (w *primaryWorld) validatorHooks() (list []Hook) {
	r := w.open(primary.PChain)
	defer r.Close()
	nodes, subnets := map[chain.NodeID]int{}, map[chain.ID]int{}
	if _, err := r.Platform.Stakers(&primary.StakerFilter{AnyKind: true}, primary.Page{Limit: 1 << 20}, func(s *primary.Staker) bool {
		nodes[s.Node]++
		return true
	}); err != nil {
		w.t.Fatal(err)
	}
	if _, err := r.Platform.L1Validators(&primary.L1Filter{Inactive: true}, primary.Page{Limit: 1 << 20}, func(v *primary.L1Validator) bool {
		subnets[v.Subnet]++
		return true
	}); err != nil {
		w.t.Fatal(err)
	}
	least := uint64(20 * 24 * 3600) // some run out, and pass it
	most := func(a, b chain.NodeID) int { return nodes[a] - nodes[b] }
	node := slices.MaxFunc(slices.SortedFunc(maps.Keys(nodes), func(a, b chain.NodeID) int { return slices.Compare(a[:], b[:]) }), most)
	list = append(list, Hook{Validators: &Validators{Node: &node}}, Hook{Validators: &Validators{Subnet: &chain.PrimaryNetworkID}})
	for id := range subnets {
		list = append(list, Hook{Validators: &Validators{Subnet: &id, Least: &least}})
	}
	for i := range list {
		list[i].Type, list[i].On, list[i].Told = ValidatorActivity, primary.PChain, ValidatorActivity.Subs()
	}
	return list
}

// Webhooks of the primary network are told what happens, in the order of the chain, at
// least once and nothing else: while blocks come, when they come behind, though their
// receiver fails and breaks off, and though the server is killed at any moment.
func TestPrimaryDelivery(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		on    primary.Kind
		begin func(h *history) int
	}{{primary.PChain, (*history).late}, {primary.XChain, func(*history) int { return 30 }}} {
		t.Run(c.on.String(), func(t *testing.T) {
			t.Parallel()
			hooks := selections(t, c.on)
			w, r := newPrimaryWorld(t), newPrimaryReceiver(t)
			begin := c.begin(w.h)
			want := expect(newPrimaryWorld(t), c.on, begin, hooks...)
			if c.on == primary.XChain {
				w.grow(primary.XVertices, 1<<20)
			}
			w.grow(c.on, begin)
			r.treat = moody()
			h, stop := w.run()
			ids := make([]string, len(hooks))
			for i := range hooks {
				hooks[i].URL = r.URL
				n, err := h.Create(t.Context(), hooks[i])
				if err != nil {
					t.Fatal(err)
				}
				ids[i] = n.ID
			}
			rnd := rand.New(rand.NewPCG(7, uint64(c.on)))
			for before := -1; before != w.done[c.on]; {
				before = w.done[c.on]
				w.grow(c.on, 1+rnd.IntN(12))
				if rnd.IntN(3) == 0 {
					next := w.store.killed() // what is committed; deliveries on their way are not
					stop()
					w.store = next
					_, stop = w.run()
				}
			}
			told := map[string]int{}
			for i, id := range ids {
				r.await(t, id, want[i], hooks[i].Kind() == ValidatorActivity)
				for _, line := range want[i] {
					told[string(hooks[i].Type)+" "+strings.Fields(line)[1]]++
				}
			}
			for i := range hooks {
				for _, sub := range hooks[i].Told {
					if name := string(hooks[i].Type) + " " + string(sub); c.on == primary.PChain && told[name] == 0 {
						t.Errorf("nothing was told of %s: %v", name, told)
					}
				}
			}
		})
	}
}

// moody fails now and then in all ways.
func moody() func(w http.ResponseWriter, _ *http.Request) bool {
	var mu sync.Mutex
	moods := rand.New(rand.NewPCG(4, 4))
	return func(w http.ResponseWriter, r *http.Request) bool {
		mu.Lock()
		n := moods.IntN(16)
		mu.Unlock()
		switch n {
		case 0:
			w.WriteHeader(http.StatusInternalServerError)
		case 1:
			w.Header().Set("Content-Length", "100")
			_, _ = io.WriteString(w, "ok") // and breaks off
		case 2:
			panic(http.ErrAbortHandler)
		case 3:
			http.Redirect(w, r, "http://169.254.169.254/latest/meta-data", http.StatusTemporaryRedirect)
		default:
			return false
		}
		return true
	}
}
