package wire

import (
	"bytes"
	_ "embed"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"net/netip"
	"reflect"
	"strings"
	"testing"

	"quorate/engine/chain"
)

//go:embed testdata/golden.txt
var goldenText string

//go:embed testdata/recorded.txt
var recordedText string

// golden returns the bytes of a name in testdata/golden.txt.
func golden(t testing.TB, name string) []byte { return named(t, goldenText, name) }

// recorded returns the bytes of a name in testdata/recorded.txt.
func recorded(t testing.TB, name string) []byte { return named(t, recordedText, name) }

func named(t testing.TB, text, name string) []byte {
	t.Helper()
	for line := range strings.Lines(text) {
		if digits, ok := strings.CutPrefix(strings.TrimSpace(line), name+" "); ok {
			b, err := hex.DecodeString(digits)
			if err != nil {
				t.Fatal(err)
			}
			return b
		}
	}
	t.Fatalf("no bytes of that name: %s", name)
	return nil
}

func newCodec(t testing.TB) *Codec {
	t.Helper()
	c, err := NewCodec()
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func fill(n int, v byte) []byte { return bytes.Repeat([]byte{v}, n) }

var (
	testChain     = chain.ID(fill(32, 0x11))
	testFilter    = append([]byte{1}, fill(9, 0)...)
	testHandshake = Handshake{
		NetworkID: 12345, MyTime: 1700000001, Addr: netip.MustParseAddrPort("0.0.0.0:1"),
		UpgradeTime: 1607144400, IPSigningTime: 1700000000, IPNodeIDSig: fill(71, 0xaa),
		TrackedSubnets: []chain.ID{chain.ID(fill(32, 1)), chain.ID(fill(32, 2))},
		Client:         Version{Name: "avalanchego", Major: 1, Minor: 14, Patch: 2},
		SupportedACPs:  []uint32{23, 300}, ObjectedACPs: []uint32{77},
		Filter: testFilter, Salt: fill(2, 7), IPBLSSig: fill(96, 0xbb), AllSubnets: true,
	}
	testPeers = PeerList{Peers: []ClaimedIP{
		{Certificate: fill(200, 0xc1), Addr: netip.MustParseAddrPort("10.1.2.3:9651"), Timestamp: 1700000000, Signature: fill(70, 0x51)},
		{Certificate: fill(3, 0xc2), Addr: netip.MustParseAddrPort("[2001:db8::7]:65535"), Timestamp: 1, Signature: fill(1, 0x52), TxID: chain.ID(fill(32, 9))},
	}}
	testGetPeers  = GetPeerList{Filter: testFilter, Salt: fill(8, 7), AllSubnets: true}
	testPullQuery = PullQuery{ChainID: testChain, RequestID: 11, Deadline: 5e9, BlockID: chain.ID(fill(32, 0x44)), Height: 31}
	testRequest   = AppRequest{ChainID: testChain, RequestID: 1<<32 - 1, Deadline: 1e10, Bytes: fill(150, 0x22)}
	testResponse  = AppResponse{ChainID: testChain, RequestID: 7, Bytes: fill(98, 0x33)}
	testError     = AppError{ChainID: testChain, RequestID: 9, Code: -2, Message: "no handler"}
)

// member returns the member that Kind names.
func (m *Message) member() any {
	switch m.Kind {
	case KindPing:
		return m.Ping
	case KindPong:
		return Pong{}
	case KindHandshake:
		return m.Handshake
	case KindPeerList:
		return PeerList{Peers: append([]ClaimedIP{}, m.PeerList.Peers...)}
	case KindGetPeerList:
		return m.GetPeerList
	case KindAppRequest:
		return m.AppRequest
	case KindAppResponse:
		return m.AppResponse
	case KindAppError:
		return m.AppError
	}
	return nil
}

// appendMember serializes the member that Kind names.
func (m *Message) appendMember(dst []byte) []byte {
	switch m.Kind {
	case KindPing:
		return m.Ping.Append(dst)
	case KindPong:
		return Pong{}.Append(dst)
	case KindHandshake:
		return m.Handshake.Append(dst)
	case KindPeerList:
		return m.PeerList.Append(dst)
	case KindGetPeerList:
		return m.GetPeerList.Append(dst)
	case KindQuery:
		return (&PullQuery{}).Append(dst)
	case KindAppRequest:
		return m.AppRequest.Append(dst)
	case KindAppResponse:
		return m.AppResponse.Append(dst)
	case KindAppError:
		return m.AppError.Append(dst)
	}
	return dst
}

func TestMessagesAgainstGolden(t *testing.T) {
	c := newCodec(t)
	var m Message // used again for all, as a reader does
	f := func(name string, kind Kind, want any, got []byte) {
		t.Helper()
		if want := golden(t, name); !bytes.Equal(got, want) {
			t.Errorf("%s: got %x, want %x", name, got, want)
		}
		if err := c.Parse(golden(t, name), &m); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if m.Kind != kind || !reflect.DeepEqual(m.member(), want) {
			t.Errorf("%s: parsed %v %+v, want %+v", name, m.Kind, m.member(), want)
		}
	}
	f("handshake", KindHandshake, testHandshake, testHandshake.Append(nil))
	f("ping0", KindPing, Ping{}, Ping{}.Append(nil))
	f("ping100", KindPing, Ping{Uptime: 100}, Ping{Uptime: 100}.Append(nil))
	f("pong", KindPong, Pong{}, Pong{}.Append(nil))
	f("peerlist2", KindPeerList, testPeers, testPeers.Append(nil))
	f("peerlist0", KindPeerList, PeerList{Peers: []ClaimedIP{}}, (&PeerList{}).Append(nil))
	f("getpeerlist", KindGetPeerList, testGetPeers, testGetPeers.Append(nil))
	f("apprequest", KindAppRequest, testRequest, testRequest.Append(nil))
	f("appresponse", KindAppResponse, testResponse, testResponse.Append(nil))
	f("apperror", KindAppError, testError, testError.Append(nil))
	least := AppError{ChainID: testChain, RequestID: 9, Code: -1 << 31}
	f("apperrormin", KindAppError, least, least.Append(nil))

	// Of a query only the kind is read.
	if got := testPullQuery.Append(nil); !bytes.Equal(got, golden(t, "pullquery")) {
		t.Errorf("pullquery: got %x", got)
	}
	for _, name := range []string{"pullquery", "pushquery"} {
		if err := c.Parse(golden(t, name), &m); err != nil || m.Kind != KindQuery {
			t.Errorf("%s: %v, %v", name, m.Kind, err)
		}
	}

	if err := c.Parse(golden(t, "appgossip"), &m); err != nil || m.Kind != KindOther {
		t.Errorf("gossip: %v, %v; want it skipped", m.Kind, err)
	}
}

func TestZstdAgainstGolden(t *testing.T) {
	c := newCodec(t)
	var m Message
	if err := c.Parse(golden(t, "zstd"), &m); err != nil {
		t.Fatal(err)
	}
	if !m.Compressed || m.Kind != KindAppResponse || !reflect.DeepEqual(m.AppResponse, testResponse) {
		t.Fatalf("got %+v", m)
	}
	if want := len(testResponse.Append(nil)); m.Size != want {
		t.Fatalf("size %d, want %d", m.Size, want)
	}
}

func TestSignatureBytesAgainstGolden(t *testing.T) {
	message, justification, sig := fill(130, 0x44), fill(3, 0x55), fill(96, 0x66)
	if got := AppendSignatureRequest(nil, message, justification); !bytes.Equal(got, golden(t, "sigrequest")) {
		t.Errorf("request %x", got)
	}
	m, j, err := ParseSignatureRequest(golden(t, "sigrequest"))
	if err != nil || !bytes.Equal(m, message) || !bytes.Equal(j, justification) {
		t.Errorf("request parsed as %x, %x, %v", m, j, err)
	}
	if got := AppendSignatureResponse(nil, sig); !bytes.Equal(got, golden(t, "sigresponse")) {
		t.Errorf("response %x", got)
	}
	if got, err := ParseSignatureResponse(golden(t, "sigresponse")); err != nil || !bytes.Equal(got, sig) {
		t.Errorf("response parsed as %x, %v", got, err)
	}
	if got, err := ParseSignatureResponse(nil); err != nil || len(got) != 0 {
		t.Errorf("empty response parsed as %x, %v", got, err)
	}
	if _, err := ParseSignatureResponse(AppendSignatureResponse(nil, sig[1:])); !errors.Is(err, ErrSignatureLength) {
		t.Errorf("short signature: %v", err)
	}
	if _, _, err := ParseSignatureRequest([]byte{3}); !errors.Is(err, ErrHandler) {
		t.Errorf("other handler: %v", err)
	}
	for _, b := range [][]byte{nil, {0x80}, {2, 0x0a, 5, 1}} {
		if _, _, err := ParseSignatureRequest(b); !errors.Is(err, ErrMalformed) {
			t.Errorf("request %x: %v", b, err)
		}
	}
}

func TestClaimAgainstGolden(t *testing.T) {
	c := newCodec(t)
	var m Message
	if err := c.Parse(golden(t, "rsaclaim"), &m); err != nil {
		t.Fatal(err)
	}
	claim := m.PeerList.Peers[0]
	if got, want := claim.NodeID().String(), "NodeID-7Xhw2mDxuDS44j42TCB6U5579esbSt3Lg"; got != want {
		t.Errorf("node ID %s, want %s", got, want)
	}
	if err := claim.Verify(); err != nil {
		t.Errorf("a real claim: %v", err)
	}
	hash := ClaimHash(claim.NodeID(), claim.Timestamp, []byte("saltsalt"))
	if want := binary.BigEndian.Uint64(golden(t, "claimhash")); hash != want {
		t.Errorf("hash %x, want %x", hash, want)
	}
	filter, err := ParseBloom(golden(t, "filter"))
	if err != nil {
		t.Fatal(err)
	}
	if !filter.Contains(hash) || filter.Contains(hash+1) {
		t.Error("the filter does not hold just the claim")
	}
	// The same seeds, filled here, must give the same bytes.
	again := &Bloom{seeds: filter.seeds, bits: make([]byte, len(filter.bits))}
	again.Add(hash)
	if got := again.Append(nil); !bytes.Equal(got, golden(t, "filter")) {
		t.Errorf("filter %x, want %x", got, golden(t, "filter"))
	}
}

// TestRecorded reads what real nodes sent.
func TestRecorded(t *testing.T) {
	t.Parallel()
	c := newCodec(t)
	for name, kind := range map[string]Kind{"handshake": KindHandshake, "peerlist": KindPeerList, "appresponse": KindAppResponse} {
		var m Message
		if err := c.Parse(recorded(t, name), &m); err != nil || m.Kind != kind {
			t.Errorf("%s: kind %v, %v", name, m.Kind, err)
			continue
		}
		for i := range m.PeerList.Peers {
			if err := m.PeerList.Peers[i].Verify(); err != nil {
				t.Errorf("%s: peer %d: %v", name, i, err)
			}
		}
		if kind != KindAppResponse {
			continue
		}
		if sig, err := ParseSignatureResponse(m.AppResponse.Bytes); err != nil || len(sig) != SignatureLen {
			t.Errorf("signature of %d bytes, %v", len(sig), err)
		}
	}
}
