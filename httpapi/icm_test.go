package httpapi

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/holiman/uint256"

	"quorate/devnet/torture"
	"quorate/devnet/traffic"
	"quorate/engine/chain"
	"quorate/engine/chain/evm"
	events "quorate/engine/chain/icm"
	"quorate/engine/chain/warp"
	"quorate/engine/index"
	store "quorate/engine/store/index"
)

// The messages of the sample chain: one that it sent to a chain that nobody follows, and
// one that came from there.
var (
	icmStranger   = chain.ID{0x77}
	icmSelf       = chain.ID{9}
	sampleMessage = events.MessageID(&events.Messengers[0], &icmSelf, &icmStranger, uint256.NewInt(3))
	cameMessage   = events.MessageID(&events.Messengers[0], &icmStranger, &icmSelf, uint256.NewInt(8))
)

// icmTx returns a transaction in which the messenger logs events.
func icmTx(height uint64, list ...events.Event) *index.Tx {
	tx := &index.Tx{Tx: evm.Tx{Hash: sampleTx(30 + byte(height)), From: bob, To: events.Messengers[0], GasUsed: 50_000, GasPrice: wei(25e9)}}
	for i := range list {
		tx.Logs = append(tx.Logs, list[i].Log())
		if m := list[i].Message; list[i].Kind == events.Sent && len(m.Data) < 1<<10 {
			tx.Logs = append(tx.Logs, warpLog(0, carrierOf(m)))
		}
	}
	return tx
}

// carrierOf is the warp message that carries one that the sample chain sends.
func carrierOf(m *events.Message) []byte {
	call := warp.AddressedCall{SourceAddress: events.Messengers[0][:], Payload: m.Append(nil)}
	u, err := warp.New(5, icmSelf, call.Append(nil))
	must(err)
	return u.Bytes()
}

// sentMessage is the message that the sample chain sent.
func sentMessage() *events.Message {
	return &events.Message{
		Nonce: *uint256.NewInt(3), From: alice, Destination: icmStranger, To: bob, GasLimit: *uint256.NewInt(100_000),
		Relayers: []evm.Address{bob}, Receipts: []events.Receipt{{Nonce: *uint256.NewInt(8), Relayer: alice}}, Data: []byte("hello"),
	}
}

// sampleICM is the sample chain with interchain messages, and one of warp.
func sampleICM() *testChain { return asSample(sharedICM()) }

var sharedICM = sync.OnceValue(func() *growing { return &ownICM(growIn(newDB(), icmSelf)).growing })

// ownICM makes it of an index that is empty.
func ownICM(g *growing) *testChain {
	m := sentMessage()
	came := *m
	came.Nonce, came.Destination, came.Relayers = *uint256.NewInt(8), icmSelf, nil
	fee := events.Fee{Token: gold, Amount: *uint256.NewInt(1000)}
	raised := events.Fee{Token: gold, Amount: *uint256.NewInt(1001)}
	messenger := events.Messengers[0]
	return sampleIn(g, map[uint64]*index.Tx{
		3: icmTx(3, events.Event{Kind: events.Received, ID: cameMessage, Messenger: messenger, Peer: icmStranger, Deliverer: bob, Relayer: alice, Message: &came},
			events.Event{Kind: events.Failed, ID: cameMessage, Messenger: messenger, Peer: icmStranger, Message: &came}),
		5: icmTx(5, events.Event{Kind: events.Sent, ID: sampleMessage, Messenger: messenger, Peer: icmStranger, Fee: fee, Message: m}),
		6: icmTx(6, events.Event{Kind: events.FeeAdded, ID: sampleMessage, Messenger: messenger, Fee: raised}),
		7: icmTx(7, events.Event{Kind: events.Executed, ID: cameMessage, Messenger: messenger, Peer: icmStranger}),
	})
}

// TestICMBodies compares the answers about messages with what was checked by hand.
func TestICMBodies(t *testing.T) {
	t.Parallel()
	carrier := chain.ID(sha256.Sum256(carrierOf(sentMessage())))
	s := dataServer(t, Config{Signed: func(id chain.ID) bool { return id == carrier }}, sampleICM(), secondChain())
	id := chain.ID(sampleMessage)
	var out bytes.Buffer
	for _, path := range []string{
		"/v1/icm/messages", "/v1/teleporter/messages?pageSize=1", "/v1/icm/messages/" + sampleMessage.String(), "/v1/icm/messages/" + id.String(),
		"/v1/icm/messages/" + cameMessage.String(), "/v1/icm/messages/" + evm.Hash{1}.String(), "/v1/icm/messages/xyz",
		"/v1/icm/addresses/" + bob.String() + "/messages", "/v1/icm/addresses/0x12/messages", "/v1/icm/addresses/" + gold.String() + "/messages",
		"/v1/icm/messages?sourceBlockchainId=moon", "/v1/icm/messages?from=0x12", "/v1/icm/messages?network=mainnet", "/v1/icm/messages?pageToken=x",
		"/v1/icm/messages?sourceBlockchainId=" + icmStranger.String(), base + "/transactions/" + sampleTx(33).String(),
	} {
		resp := get(s, path)
		var pretty bytes.Buffer
		if err := json.Indent(&pretty, resp.Body(), "", "  "); err != nil {
			t.Fatalf("%s: %v: %s", path, err, resp.Body())
		}
		fmt.Fprintf(&out, "GET %s\n%d\n%s\n\n", path, resp.StatusCode(), &pretty)
	}
	golden(t, "icm.txt", out.Bytes())
}

// While a chain's messages are being indexed, or its rows cannot be read, there is no
// answer that would be wrong.
func TestICMNotThere(t *testing.T) {
	t.Parallel()
	two := func(c *testChain) *testChain {
		c.info.ChainID, c.info.BlockchainID, c.alias, c.info.IsTestnet = "5", "five", "", false
		return c
	}
	one := sampleICM()
	s := dataServer(t, Config{}, one, two(ownSample().older(store.TableICMEvents)))
	for path, want := range map[string]int{"/v1/icm/messages": 503, "/v1/icm/messages/" + sampleMessage.String(): 503, "/v1/icm/messages?network=fuji": 200} {
		if resp := get(s, path); resp.StatusCode() != want {
			t.Errorf("%s: %d %s", path, resp.StatusCode(), resp.Body())
		}
	}
	broken := ownICM(growIn(newDB(), icmSelf))
	broken.spoil()
	s = dataServer(t, Config{}, broken, two(sampleChain()))
	for _, path := range []string{"/v1/icm/messages", "/v1/icm/messages/" + sampleMessage.String()} {
		if resp := get(s, path); resp.StatusCode() != 500 {
			t.Errorf("%s: %d %s", path, resp.StatusCode(), resp.Body())
		}
	}
	one.down = errDown
	s = dataServer(t, Config{}, one, two(sampleChain()))
	if resp := get(s, "/v1/icm/messages/"+evm.Hash{1}.String()); resp.StatusCode() != 503 {
		t.Errorf("a message that the node may know: %d %s", resp.StatusCode(), resp.Body())
	}
}

// trafficServer serves the first chains of a plan, whose blocks have nothing but its
// messages, each in a transaction of its own.
func trafficServer(t *testing.T, plan *traffic.Plan, followed int, height, step uint64) *Server {
	t.Helper()
	db := newDB()
	var chains testChains
	for i := range followed {
		g := growIn(db, plan.Chains[i])
		must(g.x.Commit(t.Context(), trafficBlocks(plan, i, height, step)))
		c := &testChain{Chain: g.x, growing: *g, info: sampleInfo()}
		c.info.ChainID, c.info.BlockchainID = fmt.Sprint(50_000+i), plan.Chains[i].String()
		chains = append(chains, c)
	}
	s, err := New(Config{Networks: networks{signs("x")}, Chains: chains, TokenKey: []byte("the key of all tests")})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// trafficBlocks are a chain's blocks, step milliseconds apart.
func trafficBlocks(plan *traffic.Plan, i int, height, step uint64) (list []*evm.Block) {
	for n := range height + 1 {
		b := &evm.Block{Number: n, Hash: numbered(n, byte(i)), TimeMilli: 1_700_000_000_000 + n*step + uint64(i)*130, Traced: true}
		if n > 0 {
			b.Parent = list[n-1].Hash
		}
		log := uint32(0)
		for j, step := range plan.Steps(&traffic.Local{Chain: i, Token: gold, Sender: alice}, n) {
			tx := evm.Tx{Index: uint32(j), Hash: evm.Hash{1, byte(i), byte(n >> 8), byte(n), byte(j)}, From: alice, To: events.Messengers[0], GasUsed: 1000, GasPrice: *uint256.NewInt(7)}
			for k := range step.Events {
				l := step.Events[k].Log()
				l.Index = log
				log++
				tx.Logs = append(tx.Logs, l)
			}
			b.Txs = append(b.Txs, tx)
		}
		list = append(list, b)
	}
	return list
}

// trafficMessage is what the answer about a message of the plan must be.
type trafficMessage struct {
	MessageID, SourceBlockchainID, DestinationBlockchainID, SourceEVMChainID, DestinationEVMChainID string
	MessageNonce, From, To, Status                                                                  string
	MessageExecuted, MessageExecutionFailed, ReceiptDelivered                                       bool
	at                                                                                              uint64 // in milliseconds
	source                                                                                          int
}

// trafficTruth works out from the plan alone what is known of its messages where only the
// first chains are followed, the newest first.
func trafficTruth(plan *traffic.Plan, followed int, height, step uint64) (list []trafficMessage) {
	number := func(i int) string {
		if i < followed {
			return fmt.Sprint(50_000 + i)
		}
		return ""
	}
	time := func(i int, height uint64) uint64 { return height*step + uint64(i)*130 }
	for i := range plan.Chains {
		for nonce := uint64(1); nonce*4-1 <= height; nonce++ {
			to, outcome := plan.Destination(i, nonce), traffic.OutcomeOf(nonce)
			m := trafficMessage{
				MessageID: plan.ID(i, nonce).String(), SourceBlockchainID: plan.Chains[i].String(), DestinationBlockchainID: plan.Chains[to].String(),
				SourceEVMChainID: number(i), DestinationEVMChainID: number(to), MessageNonce: fmt.Sprint(nonce),
				From: traffic.App(i, nonce).String(), To: traffic.App(to, nonce).String(), Status: "pending", at: time(i, nonce*4-1), source: i,
			}
			arrives, retries := nonce*4+3, nonce*4+11
			if outcome != traffic.Pending && arrives <= height && to < followed {
				m.Status = "delivered"
				m.MessageExecutionFailed = outcome == traffic.Failed || outcome == traffic.Retried
				m.MessageExecuted = outcome != traffic.Empty && !m.MessageExecutionFailed || outcome == traffic.Retried && retries <= height
			}
			if i >= followed {
				if m.Status == "pending" {
					continue
				}
				m.Status, m.at, m.source = "delivered_source_not_indexed", time(to, arrives), to
			}
			m.ReceiptDelivered = i < followed && acknowledged(plan, i, nonce, height)
			list = append(list, m)
		}
	}
	return list
}

// acknowledged reports whether a receipt of a message has come back.
func acknowledged(plan *traffic.Plan, source int, nonce, height uint64) bool {
	to := plan.Destination(source, nonce)
	for n := nonce + 2; n*4+3 <= height; n++ {
		if plan.Destination(to, n) != source || traffic.OutcomeOf(n) == traffic.Pending {
			continue
		}
		for _, r := range plan.Message(to, n, 0).Receipts {
			if r.Nonce.Uint64() == nonce {
				return true
			}
		}
	}
	return false
}

// walkICM reads a list by pages of a size.
func walkICM(t *testing.T, s *Server, path string, size int) (all []trafficMessage) {
	t.Helper()
	for next := ""; ; {
		url := fmt.Sprintf("%s&pageSize=%d", path, size)
		if !strings.Contains(path, "?") {
			url = fmt.Sprintf("%s?pageSize=%d", path, size)
		}
		if next != "" {
			url += "&pageToken=" + next
		}
		resp := get(s, url)
		var p struct {
			Messages []struct {
				trafficMessage
				SourceTransaction, DestinationTransaction struct{ Timestamp uint64 }
			}
			NextPageToken string
		}
		if err := decode(resp.Body(), &p); err != nil || resp.StatusCode() != 200 {
			t.Fatalf("%s: %d %s: %v", url, resp.StatusCode(), resp.Body(), err)
		}
		if len(p.Messages) > size {
			t.Fatalf("%s: %d messages", url, len(p.Messages))
		}
		for _, m := range p.Messages {
			all = append(all, m.trafficMessage)
		}
		if next = p.NextPageToken; next == "" {
			return all
		}
	}
}

// bare drops what answers do not say, and order within a second, which depends on IDs.
func bareICM(list []trafficMessage) (set map[trafficMessage]int) {
	set = map[trafficMessage]int{}
	for _, m := range list {
		m.at, m.source = 0, 0
		set[m]++
	}
	return set
}

// TestICMTraffic holds lists with all their filters against what the plan says, where all
// chains are followed and where one of them is not, by pages of several sizes.
func TestICMTraffic(t *testing.T) {
	if testing.Short() {
		t.Skip("nothing in it runs at once")
	}
	t.Parallel()
	plan := &traffic.Plan{NetworkID: 5, Chains: []chain.ID{{1, 9}, {2, 8}, {3, 7}}}
	const height = 140
	for _, followed := range []int{3, 2} {
		s, truth := trafficServer(t, plan, followed, height, 700), trafficTruth(plan, followed, height, 700)
		statuses := map[string]int{}
		for _, m := range truth {
			statuses[m.Status]++
			resp := get(s, "/v1/icm/messages/"+m.MessageID)
			var got trafficMessage
			if err := decode(resp.Body(), &got); err != nil {
				t.Fatal(err)
			}
			want := m
			want.at, want.source = 0, 0
			if got != want {
				t.Fatalf("%d followed:\n%+v\nwant\n%+v", followed, got, want)
			}
		}
		if len(statuses) != 5-followed {
			t.Errorf("%d followed: %v", followed, statuses)
		}
		rnd := rand.New(rand.NewPCG(4, uint64(followed)))
		ids := []string{"", plan.Chains[0].String(), "50001", plan.Chains[2].String()}
		real := []string{"", plan.Chains[0].String(), plan.Chains[1].String(), plan.Chains[2].String()}
		addresses := []string{"", traffic.App(0, 1).String(), traffic.App(1, 2).String(), traffic.App(2, 0).String()}
		for n := range torture.Pick(24, 60) {
			var pick [6]int
			for k := range pick {
				if rnd.IntN(3) == 0 {
					pick[k] = rnd.IntN(4)
				}
			}
			path, query := "/v1/icm/messages", ""
			for k, name := range []string{"sourceBlockchainId", "destinationBlockchainId", "blockchainId"} {
				if pick[k] > 0 {
					query += "&" + name + "=" + ids[pick[k]]
				}
			}
			who := ""
			if n%4 == 3 {
				who = addresses[1+n%3]
				path, query = "/v1/icm/addresses/"+who+"/messages", ""
				pick = [6]int{}
			}
			for k, name := range []string{"from", "to"} {
				if pick[3+k] > 0 {
					query += "&" + name + "=" + addresses[pick[3+k]]
				}
			}
			want := slices.DeleteFunc(slices.Clone(truth), func(m trafficMessage) bool {
				is := func(i int, have ...string) bool { return i == 0 || slices.Contains(have, real[i]) }
				at := func(i int, have string) bool { return i == 0 || addresses[i] == have }
				return !is(pick[0], m.SourceBlockchainID) || !is(pick[1], m.DestinationBlockchainID) ||
					!is(pick[2], m.SourceBlockchainID, m.DestinationBlockchainID) || !at(pick[3], m.From) || !at(pick[4], m.To) ||
					who != "" && who != m.From && who != m.To
			})
			if query != "" {
				path += "?" + query[1:]
			}
			whole := walkICM(t, s, path, 100)
			if got, want := bareICM(whole), bareICM(want); fmt.Sprint(got) != fmt.Sprint(want) {
				t.Fatalf("%d followed, %s: %d messages, want %d\n%v\n%v", followed, path, len(whole), len(want), got, want)
			}
			if size := 1 + rnd.IntN(9); n%3 == 0 {
				if got := walkICM(t, s, path, size); !slices.Equal(got, whole) {
					t.Fatalf("%d followed, %s by %d: %d messages, want %d", followed, path, size, len(got), len(whole))
				}
			}
		}
		byID := map[string]trafficMessage{}
		for _, m := range truth {
			byID[m.MessageID] = m
		}
		all := walkICM(t, s, "/v1/teleporter/messages", torture.Pick(23, 7))
		if !slices.IsSortedFunc(all, func(a, b trafficMessage) int { return int(byID[b.MessageID].at/1000) - int(byID[a.MessageID].at/1000) }) {
			t.Error("not the newest first")
		}
	}
}

// TestICMOfTransactions: a transaction's answer says which message it sent or received.
func TestICMOfTransactions(t *testing.T) {
	t.Parallel()
	plan := &traffic.Plan{NetworkID: 5, Chains: []chain.ID{{1, 9}, {2, 8}, {3, 7}}}
	s := trafficServer(t, plan, 2, 40, 700)
	kinds := map[string]int{}
	for i := range 2 {
		for _, b := range trafficBlocks(plan, i, 40, 700) {
			for j := range b.Txs {
				want := "null"
				for k := range b.Txs[j].Logs {
					e, _ := events.ParseEvent(&b.Txs[j].Logs[k])
					peer := e.Peer.String()
					for n := range 2 {
						if e.Peer == plan.Chains[n] {
							peer = fmt.Sprint(50_000 + n)
						}
					}
					if e.Kind == events.Sent {
						want = fmt.Sprintf(`{"teleporterMessageId":"%s","direction":"SOURCE_TRANSACTION","destinationChainId":"%s"}`, e.ID, peer)
						break
					} else if e.Kind == events.Received {
						want = fmt.Sprintf(`{"teleporterMessageId":"%s","direction":"DESTINATION_TRANSACTION","sourceChainId":"%s"}`, e.ID, peer)
						break
					}
				}
				resp := get(s, fmt.Sprintf("/v1/chains/%d/transactions/%s", 50_000+i, b.Txs[j].Hash))
				var got struct{ TeleporterMessageInfo json.RawMessage }
				if err := decode(resp.Body(), &got); err != nil {
					t.Fatal(err)
				}
				if got.TeleporterMessageInfo == nil {
					got.TeleporterMessageInfo = json.RawMessage("null")
				}
				if string(got.TeleporterMessageInfo) != want {
					t.Errorf("%s\nwant %s", got.TeleporterMessageInfo, want)
				}
				kinds[want[:min(len(want), 30)]]++
			}
		}
	}
	if len(kinds) < 5 {
		t.Errorf("%v", kinds)
	}
}

// TestICMSigned: an answer that says that a message is not signed yet is not kept.
func TestICMSigned(t *testing.T) {
	t.Parallel()
	one := sampleICM()
	signed := false
	s := dataServer(t, Config{Signed: func(chain.ID) bool { return signed }}, one)
	for _, want := range []bool{false, false, true, true} {
		signed = want
		for range 3 {
			if resp := get(s, "/v1/icm/messages/"+sampleMessage.String()); !bytes.Contains(resp.Body(), fmt.Appendf(nil, `"signed":%v`, want)) {
				t.Errorf("want signed %v: %s", want, resp.Body())
			}
		}
	}
}
