package ui

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/holiman/uint256"

	"quorate/engine/chain"
	"quorate/engine/chain/evm"
	"quorate/engine/chain/icm"
	"quorate/engine/chain/warp"
)

// hostile is what strangers would have a page do.
const hostile = `<script>alert(1)</script>"'><img src=x onerror=alert(2)>`

// fakeOperator shows what it holds.
type fakeOperator struct {
	signatures []Signature
	rates      Rates
	set        *ValidatorSet
	ops        *fakeOps
	signed     []*SignQuery
}

func (f *fakeOperator) Networks() []Network { return []Network{{12345, "Network 12345"}} }
func (f *fakeOperator) Nodes(uint32) []Node {
	return []Node{{"http://10.0.0.9:9650", true}, {hostile, false}}
}
func (f *fakeOperator) NameOf(chain.ID) string { return hostile }
func (f *fakeOperator) Recent(network uint32) []Signature {
	if network != 12345 {
		return nil
	}
	return f.signatures
}

func (f *fakeOperator) Signature(id chain.ID) (out []Signature) {
	for _, s := range f.signatures {
		if s.Message == id {
			out = append(out, s)
		}
	}
	return out
}
func (f *fakeOperator) Rates(uint32) Rates { return f.rates }

func (f *fakeOperator) TxMessages(hash [32]byte) ([][]byte, error) {
	if hash[0] != 1 {
		return nil, &Error{http.StatusNotFound, "transaction does not exist: " + hostile}
	}
	return [][]byte{f.signatures[0].Unsigned}, nil
}

func (f *fakeOperator) Sign(q *SignQuery) ([]byte, error) {
	f.signed = append(f.signed, q)
	if q.Quorum == 99 {
		return nil, errors.New("a path of this machine")
	}
	return []byte{0xab, 0xcd}, nil
}

func (f *fakeOperator) Verify(q *VerifyQuery) (*Verdict, error) {
	v := &Verdict{Weight: 2, Total: 3, Signers: 2, Validators: 3, Votes: []Vote{{Nodes: []chain.NodeID{{1}}, Weight: 2, State: "signed"}, {Nodes: []chain.NodeID{{2}}, Weight: 1, State: "absent"}}}
	if q.Quorum > 67 {
		v.Invalid = "66.66% of the stake signed " + hostile
	}
	return v, nil
}

func (f *fakeOperator) Stake(uint32) []SubnetStake { return []SubnetStake{f.set.SubnetStake} }
func (f *fakeOperator) ValidatorSet(_ uint32, subnet chain.ID) *ValidatorSet {
	if subnet != f.set.Subnet {
		return nil
	}
	return f.set
}

func (f *fakeOperator) Ops() Ops {
	if f.ops == nil {
		return nil
	}
	return f.ops
}

type fakeOps struct{ called []string }

func (f *fakeOps) Checks() []Check {
	return []Check{{Name: "network", At: time.Unix(1_700_000_000, 0), Took: time.Millisecond},
		{Name: hostile, Error: hostile, Details: `{"a":"` + `<b>"}`, At: time.Unix(1_700_000_000, 0), FailingSince: time.Unix(1_700_000_000, 0), Failures: 3}}
}

func (f *fakeOps) Log(level, logger string, limit int) ([]LogLine, error) {
	if logger == "none" {
		return nil, errors.New("no such logger")
	}
	return []LogLine{{time.Unix(1_700_000_000, 0), "WARN", "p2p", hostile}}, nil
}
func (f *fakeOps) Levels() []LoggerLevels { return []LoggerLevels{{"main", "INFO", "WARN"}} }
func (f *fakeOps) Keys() []KeyUse {
	return []KeyUse{{Name: hostile, Tier: "partner", UnitsPerMinute: 6000, Requests: 7, Units: 1234567}}
}
func (f *fakeOps) Disk() (*DiskUse, error) {
	return &DiskUse{Free: 5e9, Total: 2e10, Needed: 3e8, Parts: []DiskPart{{"archive", 123_456_789}}}, nil
}
func (f *fakeOps) Call(method string, params map[string]string, remote string) (json.RawMessage, error) {
	f.called = append(f.called, method+" "+params["loggerName"]+" "+params["logLevel"]+" "+remote)
	if params["logLevel"] == "LOUD" {
		return nil, errors.New("no such level: " + hostile)
	}
	return json.RawMessage("{}"), nil
}

// teleporterBytes is an unsigned message of the Teleporter.
func teleporterBytes(t testing.TB) []byte {
	t.Helper()
	m := icm.Message{Nonce: *uint256.NewInt(7), From: evm.Address{1}, Destination: chain.ID{0xdd}, To: evm.Address{2},
		GasLimit: *uint256.NewInt(100_000), Relayers: []evm.Address{{3}}, Receipts: []icm.Receipt{{Nonce: *uint256.NewInt(5), Relayer: evm.Address{4}}}, Data: []byte(hostile)}
	u, err := warp.New(12345, chain.ID{0xcc}, warp.AddressedCall{SourceAddress: icm.Messengers[0][:], Payload: m.Append(nil)}.Append(nil))
	if err != nil {
		t.Fatal(err)
	}
	return u.Bytes()
}

func newFakeOperator(t testing.TB) *fakeOperator {
	raw := teleporterBytes(t)
	u, err := warp.Parse(raw)
	if err != nil {
		t.Fatal(err)
	}
	sig := [warp.SignatureLen]byte{0x80}
	signed := warp.AppendSigned(nil, raw, []byte{3}, &sig)
	at := time.Unix(1_700_000_000, 0)
	votes := []Vote{{[]chain.NodeID{{1}}, 60, "signed", 0, 5 * time.Millisecond, false}, {[]chain.NodeID{{2}}, 25, "refused", -3, 0, false},
		{[]chain.NodeID{{3}}, 10, "invalid", 0, 0, true}, {[]chain.NodeID{{4}}, 3, "silent", 0, 0, false}}
	return &fakeOperator{
		signatures: []Signature{
			{Network: 12345, Message: u.ID(), SourceChain: u.SourceChainID, Unsigned: raw, Signed: signed, Height: 4321, Quorum: 67, Buffer: 13,
				Weight: 70, Total: 100, Signers: 2, Validators: 4, At: at, Took: 12 * time.Millisecond, How: "collected", Joined: 2, Repeats: 5, Votes: votes, Keyless: 2},
			{Network: 12345, Message: chain.ID{9}, SourceChain: chain.ID{0xee}, At: at, Quorum: 67, Failure: "not_found", Error: "source chain " + hostile},
		},
		rates: Rates{Window: 10 * time.Second, Counts: Counts{Collected: 1, Kept: 4, P50: 12 * time.Millisecond, P99: 40 * time.Millisecond},
			Points: []RatePoint{{At: at}, {At: at, Counts: Counts{Collected: 1, Kept: 4}}}},
		set: &ValidatorSet{SubnetStake: SubnetStake{Name: "Primary network", Height: 4321, Validators: 4, Connected: 90, Total: 100},
			Entries: []ValidatorEntry{
				{Weight: 40, Nodes: []ValidatorNode{{ID: chain.NodeID{1}, Connected: true, Since: at, Version: "avalanchego/1.14.2", Address: netip.MustParseAddrPort("10.0.0.1:9651"), P50: 5 * time.Millisecond, P99: 9 * time.Millisecond, Asked: 9, Answered: 9}}},
				{Weight: 30, Nodes: []ValidatorNode{{ID: chain.NodeID{2}, Connected: true, Since: at, P50: 7 * time.Millisecond, Refused: 4}, {ID: chain.NodeID{5}, Connected: true, Since: at}}},
				{Weight: 20, Nodes: []ValidatorNode{{ID: chain.NodeID{3}, Connected: true, Since: at, Invalid: 3, QuarantinedUntil: time.Now().Add(time.Hour), Fault: "signature"}}},
				{Weight: 10, Nodes: []ValidatorNode{{ID: chain.NodeID{4}, AwayFor: time.Hour, Silent: 2, Version: hostile}}},
			}},
		ops: &fakeOps{},
	}
}

// page returns the text of a page that is served with a status, and checks that nothing
// of strangers is more than text in it.
func page(t testing.TB, out Output, status int, wants ...string) string {
	t.Helper()
	text := string(out.HTML)
	if out.Status != status {
		t.Errorf("status %d, want %d", out.Status, status)
	}
	for _, bad := range []string{"<script>alert", "<img", "style=", "javascript:", "ZgotmplZ"} {
		if strings.Contains(text, bad) {
			t.Errorf("the page has %q", bad)
		}
	}
	for _, want := range wants {
		if !strings.Contains(text, want) {
			t.Errorf("the page has no %q", want)
		}
	}
	return text
}

func send(t testing.TB, s *Site, path string, form url.Values) Output {
	t.Helper()
	return visitAt(t, s, path, Input{Operator: true, Base: "http://localhost:9750", Form: form.Get, Remote: "127.0.0.1:5"})
}

func TestSignaturePages(t *testing.T) {
	t.Parallel()
	f := newFakeOperator(t)
	s := newSite(t, Config{API: fakeAPI{}, Operator: f})
	id := f.signatures[0].Message
	page(t, visit(t, s, "/signatures", true), 200, `href="/signatures/`+id.String()+`"`, "70.00%", "12 ms", "further requests", "2 joined", "not found", "+13%", "0.10", "4 further requests answered with them", `d="M0 98.0L1000 2.0"`)
	page(t, visit(t, s, "/signatures", false), 404)
	if text := page(t, visit(t, s, "/signatures?show=failed", true), 200); strings.Contains(text, id.String()) {
		t.Error("the filter shows what was signed")
	}
	page(t, visit(t, s, "/signatures?show=kept&network=12345", true), 200, id.String())
	page(t, visit(t, s, "/signatures?network=7", true), 404)
	for _, name := range []string{id.String(), "0x" + hex.EncodeToString(id[:])} {
		page(t, visit(t, s, "/signatures/"+name, true), 200, "60.00%", "it answers only to validators", "quarantined", "silent", "no usable key",
			hex.EncodeToString(f.signatures[0].Signed), "Teleporter ID", "anybody"[:0])
	}
	page(t, visit(t, s, "/signatures/"+chain.ID{7}.String(), true), 404, "nothing is remembered")
	page(t, visit(t, s, "/signatures/x"+url.PathEscape(hostile), true), 400)
	page(t, visit(t, newSite(t, Config{API: fakeAPI{}, Operator: f, Mode: Explorer}), "/signatures", true), 404)
}

func TestBox(t *testing.T) {
	t.Parallel()
	f := newFakeOperator(t)
	s := newSite(t, Config{API: fakeAPI{}, Operator: f})
	raw, signed := hex.EncodeToString(f.signatures[0].Unsigned), hex.EncodeToString(f.signatures[0].Signed)
	ask := func(input, do string, more ...string) Output {
		form := url.Values{"input": {input}, "do": {do}}
		for i := 0; i < len(more); i += 2 {
			form.Set(more[i], more[i+1])
		}
		return send(t, s, "/signatures/message", form)
	}
	page(t, ask(raw, "decode"), 200, "Teleporter message", "100\u202f000", chain.ID{0xdd}.String(), "nonce 5")
	page(t, ask("0x"+raw[:20]+"\n "+raw[20:], "decode"), 200, "Teleporter message")
	page(t, ask(signed, "decode"), 200, "signed, Teleporter message", "<dt>Signers</dt><dd>2,")
	page(t, ask(signed, "verify"), 200, ">valid<", "66.66%", "did not sign")
	page(t, ask(signed, "verify", "quorum", "80"), 200, "not valid", "66.66% of the stake signed")
	page(t, ask(raw, "verify"), 200, "This message is not signed")
	page(t, ask(raw, "sign", "quorum", "80", "height", "9"), 200, "0xabcd")
	if q := f.signed[0]; q.Quorum != 80 || q.Height != 9 || q.Subnet != nil || hex.EncodeToString(q.Message) != raw {
		t.Errorf("%+v", q)
	}
	page(t, ask(raw, "sign", "subnet", chain.ID{5}.String()), 200)
	if q := f.signed[1]; q.Subnet == nil || *q.Subnet != (chain.ID{5}) || q.Quorum != 67 {
		t.Errorf("%+v", q)
	}
	if text := page(t, ask(raw, "sign", "quorum", "99"), 200, "internal error"); strings.Contains(text, "a path of this machine") {
		t.Error("the page tells of this machine")
	}
	page(t, ask("01"+strings.Repeat("00", 31), "decode"), 200, "Teleporter message") // the hash of a transaction
	page(t, ask(strings.Repeat("00", 32), "decode"), 200, "transaction does not exist")
	page(t, ask(f.signatures[0].Message.String(), "decode"), 200, "signed, Teleporter message")
	page(t, ask("", "decode"), 200, "there is nothing to read")
	page(t, ask("abc", "decode"), 200, "an odd number")
	page(t, ask("zz", "decode"), 200, "this is not hex")
	page(t, ask("abcd", "decode"), 200, "no warp message")
	page(t, ask(hostile, "decode"), 200, "not")
	page(t, ask(raw, "sign", "quorum", "x"), 200, "1 to 100")
	page(t, ask(raw, "sign", "height", "-1"), 200, "whole number")
	page(t, ask(raw, "sign", "subnet", hostile), 200, "not an ID")
	page(t, visit(t, s, "/signatures/message?input="+raw, true), 200, "Teleporter message")
}

func TestValidatorPage(t *testing.T) {
	t.Parallel()
	f := newFakeOperator(t)
	s := newSite(t, Config{API: fakeAPI{}, Operator: f})
	text := page(t, visit(t, s, "/validators", true), 200, "90.00%", "avalanchego/1.14.2", "10.0.0.1:9651", "quarantined", "not connected", "for 1 h",
		"shares its key with 1 other node", `aria-sort="descending"`, "not its own over the message")
	if strings.Contains(text, "stays reachable") {
		t.Error("there is a prospect although nobody drops")
	}
	first := func(sort string) int {
		text := page(t, visit(t, s, "/validators?sort="+sort, true), 200)
		at, best := len(text), 0
		for i := byte(1); i <= 5; i++ {
			if k := strings.Index(text, chain.NodeID{i}.String()); k >= 0 && k < at {
				at, best = k, int(i)
			}
		}
		return best
	}
	for sort, want := range map[string]int{"": 1, "stake": 1, "-stake": 4, "refused": 2, "invalid": 3, "silent": 4, "p50": 2, "nonsense": 1, "%3Cscript%3E": 1} {
		if got := first(sort); got != want {
			t.Errorf("sort %q: first is %d, want %d", sort, got, want)
		}
	}
	page(t, visit(t, s, "/validators?"+dropName(chain.NodeID{2})+"=1", true), 200, "stays reachable", "90.00%")
	page(t, visit(t, s, "/validators?"+dropName(chain.NodeID{1})+"=1", true), 200, "out of reach", "50.00%", "17.00% would be missing")
	page(t, visit(t, s, "/validators?what=if", true), 200, "Mark the validators")
	page(t, visit(t, s, "/validators?subnet="+chain.ID{3}.String(), true), 404)
	page(t, visit(t, s, "/validators?subnet=x", true), 400)
	page(t, visit(t, s, "/validators", false), 404)
}

func TestOpsPage(t *testing.T) {
	t.Parallel()
	f := newFakeOperator(t)
	s := newSite(t, Config{API: fakeAPI{}, Operator: f})
	page(t, visit(t, s, "/ops", true), 200, "1 check fails", ", 3 times in a row", "1\u202f234\u202f567", "5.0 GB", "archive", "admin.memoryProfile", "partner", `href="/ops?level=WARN#log"`)
	page(t, visit(t, s, "/ops?level=ERROR&logger=p2p", true), 200)
	page(t, visit(t, s, "/ops?level=LOUD", true), 400)
	page(t, visit(t, s, "/ops?logger=none", true), 400)
	page(t, visit(t, s, "/ops", false), 404)
	page(t, send(t, s, "/ops", url.Values{"do": {"admin.setLoggerLevel"}, "loggerName": {"p2p"}, "logLevel": {"DEBUG"}}), 200, "The level is changed")
	page(t, send(t, s, "/ops", url.Values{"do": {"admin.setLoggerLevel"}, "logLevel": {"LOUD"}}), 200, "no such level")
	page(t, send(t, s, "/ops", url.Values{"do": {"admin.memoryProfile"}}), 200, "admin.memoryProfile is done.")
	page(t, send(t, s, "/ops", url.Values{"do": {"admin.aliasChain"}}), 400)
	if got := strings.Join(f.ops.called, "|"); got != "admin.setLoggerLevel p2p DEBUG 127.0.0.1:5|admin.setLoggerLevel  LOUD 127.0.0.1:5|admin.memoryProfile   127.0.0.1:5" {
		t.Errorf("called %s", got)
	}
	f.ops = nil
	without := newSite(t, Config{API: fakeAPI{}, Operator: f})
	if text := page(t, visit(t, without, "/ops", true), 404); strings.Contains(text, `href="/ops"`) {
		t.Error("there is a link to what is not served")
	}
}

func TestWhatIf(t *testing.T) {
	t.Parallel()
	set := newFakeOperator(t).set
	f := func(quorum int, left uint64, reachable bool, spareOrMissing uint64, drop ...byte) {
		t.Helper()
		dropped := map[chain.NodeID]bool{}
		for _, i := range drop {
			dropped[chain.NodeID{i}] = true
		}
		p := whatIf(set, dropped, quorum)
		if p.Left != left || p.Reachable != reachable || p.Spare+p.Missing != spareOrMissing || p.Dropped != len(drop) {
			t.Errorf("without %v: %+v", drop, p)
		}
	}
	f(67, 90, true, 23)
	f(67, 90, true, 23, 2)    // its key has another node
	f(67, 60, false, 7, 2, 5) // now it has none
	f(67, 70, true, 3, 3)     // one that is quarantined may still sign
	f(67, 90, true, 23, 4)    // is not connected anyway
	f(70, 70, true, 0, 3)     // exactly the quorum
	f(71, 70, false, 1, 3)    // by one
	f(67, 0, false, 67, 1, 2, 3, 5)
	set.Entries[0].Underfunded = true
	f(67, 50, false, 17)
	if p := whatIf(&ValidatorSet{}, nil, 67); p.Reachable {
		t.Error("nobody is a quorum")
	}
}

func TestTakeApart(t *testing.T) {
	t.Parallel()
	u, err := warp.New(1, chain.ID{1}, warp.HashPayload(chain.ID{0xab}))
	if err != nil {
		t.Fatal(err)
	}
	m, err := takeApart(u.Bytes())
	if err != nil || m.Kind != "block hash" || !strings.HasPrefix(m.BlockHash, "0xab00") || m.Network != 1 {
		t.Errorf("%+v, %v", m, err)
	}
	if u, err = warp.L1ValidatorRegistration(1, chain.ID{9}, true); err != nil {
		t.Fatal(err)
	}
	if m, err = takeApart(u.Bytes()); err != nil || m.Validation == nil || !m.Validation.Registered || m.Validation.ID != (chain.ID{9}) {
		t.Errorf("%+v, %v", m, err)
	}
	if u, err = warp.New(1, chain.ID{1}, []byte("whatever")); err != nil {
		t.Fatal(err)
	}
	if m, err = takeApart(u.Bytes()); err != nil || m.Call != nil || m.Payload != "0x7768617465766572" {
		t.Errorf("%+v, %v", m, err)
	}
}

func FuzzTakeApart(f *testing.F) {
	f.Add(teleporterBytes(f))
	f.Fuzz(func(t *testing.T, b []byte) {
		if m, err := takeApart(b); err == nil && m.Bytes == 0 {
			t.Error("a message of no bytes")
		}
	})
}

// TestPanels: operators see the signing on the first page, others do not.
func TestPanels(t *testing.T) {
	t.Parallel()
	s := newSite(t, Config{API: fakeAPI{"/v1/chains": `{"chains":[]}`}, Operator: newFakeOperator(t)})
	page(t, visit(t, s, "/", true), 200, "Signing on Network 12345", "http://10.0.0.9:9650", "does not answer", "90.00%", "0.10", "4 further requests answered with them", "40 ms", "/validators?network=12345&amp;subnet=1111")
	if text := page(t, visit(t, s, "/", false), 200); strings.Contains(text, "Signing on") {
		t.Error("clients see the signing")
	}
}
