package icm

import (
	"bytes"
	"encoding/hex"
	"reflect"
	"strings"
	"testing"

	"github.com/holiman/uint256"

	"quorate/engine/chain"
	"quorate/engine/chain/evm"
)

// The topics are those that the deployed contract has in its code.
func TestTopics(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		topic evm.Hash
		want  string
	}{
		{TopicSent, "0x2a211ad4a59ab9d003852404f9c57c690704ee755f3c79d2c2812ad32da99df8"},
		{TopicFeeAdded, "0xc1bfd1f1208927dfbd414041dcb5256e6c9ad90dd61aec3249facbd34ff7b3e1"},
		{TopicReceiptReceived, "0xd13a7935f29af029349bed0a2097455b91fd06190a30478c575db3f31e00bf57"},
		{TopicReceived, "0x292ee90bbaf70b5d4936025e09d56ba08f3e421156b6a568cf3c2840d9343e34"},
		{TopicExecuted, "0x34795cc6b122b9a0ae684946319f1e14a577b4e8f9b3dda9ac94c21a54d3188c"},
		{TopicFailed, "0x4619adc1017b82e02eaefac01a43d50d6d8de4460774bc370c3ff0210d40c985"},
	} {
		if c.topic.String() != c.want {
			t.Errorf("%s, want %s", c.topic, c.want)
		}
	}
	for i, want := range []string{
		"0x253b2784c75e510dD0fF1da844684a1aC0aa5fcf", "0xF7cBd95f1355f0d8d659864b92e2e9fbfaB786f7", "0x50A46AA7b2eCBe2B1AbB7df865B9A87f5eed8635",
	} {
		if Messengers[i].String() != want || !IsMessenger(&Messengers[i]) {
			t.Errorf("messenger %d is %s, want %s", i, Messengers[i], want)
		}
	}
}

func sample() *Message {
	return &Message{
		Nonce: *uint256.NewInt(7), From: evm.Address{1}, Destination: chain.ID{2}, To: evm.Address{3}, GasLimit: *uint256.NewInt(200_000),
		Relayers: []evm.Address{{4}}, Receipts: []Receipt{{*uint256.NewInt(5), evm.Address{6}}, {*uint256.NewInt(6), evm.Address{}}},
		Data: []byte("hello"),
	}
}

// The encoding is that of the ABI: written out by hand for one message.
func TestEncoding(t *testing.T) {
	t.Parallel()
	w := func(s string) string { return strings.Repeat("0", 64-len(s)) + s }
	addr := func(first string) string { return w(first + strings.Repeat("0", 38)) }
	want := w("20") +
		w("7") + addr("01") + "02" + strings.Repeat("0", 62) + addr("03") + w("30d40") + w("100") + w("140") + w("1e0") +
		w("1") + addr("04") +
		w("2") + w("5") + addr("06") + w("6") + w("0") +
		w("5") + "68656c6c6f" + strings.Repeat("0", 54)
	got := sample().Append(nil)
	if hex.EncodeToString(got) != want {
		t.Errorf("got  %x\nwant %s", got, want)
	}
	m, err := ParseMessage(got)
	if err != nil || !reflect.DeepEqual(m, sample()) {
		t.Errorf("%+v, %v", m, err)
	}
}

func events() []Event {
	m, self := sample(), chain.ID{9}
	fee := Fee{evm.Address{8}, *uint256.NewInt(99)}
	out := MessageID(&Messengers[0], &self, &m.Destination, &m.Nonce)
	in := *m
	in.Destination = self
	id := MessageID(&Messengers[0], &m.Destination, &self, &in.Nonce)
	return []Event{
		{Kind: Sent, ID: out, Messenger: Messengers[0], Peer: m.Destination, Fee: fee, Message: m},
		{Kind: FeeAdded, ID: out, Messenger: Messengers[1], Fee: fee},
		{Kind: ReceiptReceived, ID: out, Messenger: Messengers[2], Peer: m.Destination, Fee: fee, Relayer: evm.Address{7}},
		{Kind: Received, ID: id, Messenger: Messengers[0], Peer: m.Destination, Deliverer: evm.Address{5}, Relayer: evm.Address{6}, Message: &in},
		{Kind: Executed, ID: id, Messenger: Messengers[0], Peer: m.Destination},
		{Kind: Failed, ID: id, Messenger: Messengers[0], Peer: m.Destination, Message: &in},
	}
}

func TestEvents(t *testing.T) {
	t.Parallel()
	self, other := chain.ID{9}, chain.ID{10}
	for _, e := range events() {
		log := e.Log()
		got, ok := ParseEvent(&log)
		if !ok || !reflect.DeepEqual(got, e) {
			t.Errorf("kind %d: %+v, %v, want %+v", e.Kind, got, ok, e)
		}
		if got.Proves(&self) != (e.Message != nil) || got.Proves(&other) {
			t.Errorf("kind %d proves itself on this chain %v, on another %v", e.Kind, got.Proves(&self), got.Proves(&other))
		}
	}
}

// What is no event of a known messenger is none, whatever it looks like.
func TestNoEvents(t *testing.T) {
	t.Parallel()
	for _, e := range events() {
		for what, spoil := range map[string]func(l *evm.Log){
			"another contract": func(l *evm.Log) { l.Address[0]++ },
			"another topic":    func(l *evm.Log) { l.Topics[0][0]++ },
			"a topic more":     func(l *evm.Log) { l.Topics = append(l.Topics, evm.Hash{}) },
			"a topic less":     func(l *evm.Log) { l.Topics = l.Topics[:len(l.Topics)-1] },
			"data cut": func(l *evm.Log) {
				if len(l.Data) == 0 {
					l.Topics = nil
				} else {
					l.Data = l.Data[:len(l.Data)/2]
				}
			},
			"offsets beyond the end": func(l *evm.Log) {
				if len(l.Data) == 0 {
					l.Topics = nil
					return
				}
				for i := range l.Data[:len(l.Data)&^(word-1)] {
					l.Data[i] = 0xff
				}
			},
		} {
			log := e.Log()
			spoil(&log)
			if got, ok := ParseEvent(&log); ok {
				t.Errorf("kind %d, %s: read as %+v", e.Kind, what, got)
			}
		}
	}
	big := events()[0]
	big.Message.Data = make([]byte, maxData)
	log := big.Log()
	if _, ok := ParseEvent(&log); ok {
		t.Error("a message that no warp message can carry is read")
	}
}

// An ID proves its message: whatever else is changed is found out.
func TestProof(t *testing.T) {
	t.Parallel()
	self := chain.ID{9}
	for what, spoil := range map[string]func(e *Event){
		"ID":          func(e *Event) { e.ID[5]++ },
		"nonce":       func(e *Event) { e.Message.Nonce.AddUint64(&e.Message.Nonce, 1) },
		"peer":        func(e *Event) { e.Peer[0]++ },
		"messenger":   func(e *Event) { e.Messenger = Messengers[1] },
		"destination": func(e *Event) { e.Message.Destination[0]++ },
	} {
		for _, i := range []int{0, 3, 5} {
			e := events()[i]
			if spoil(&e); e.Proves(&self) {
				t.Errorf("kind %d with another %s proves itself", e.Kind, what)
			}
		}
	}
}

func FuzzParseMessage(f *testing.F) {
	f.Add(sample().Append(nil))
	f.Add((&Message{}).Append(nil))
	f.Fuzz(func(t *testing.T, b []byte) {
		m, err := ParseMessage(b)
		if err != nil {
			return
		}
		again := m.Append(nil)
		if len(again) > maxData {
			return // lists of b overlap
		}
		n, err := ParseMessage(again)
		if err != nil || !bytes.Equal(n.Append(nil), again) {
			t.Fatalf("%x is read as %+v, which is not read again: %v", b, m, err)
		}
	})
}

func FuzzParseEvent(f *testing.F) {
	for _, e := range events() {
		log := e.Log()
		f.Add(uint8(e.Kind-1), uint8(len(log.Topics)), log.Data)
	}
	topics := []evm.Hash{TopicSent, TopicFeeAdded, TopicReceiptReceived, TopicReceived, TopicExecuted, TopicFailed}
	f.Fuzz(func(t *testing.T, kind, n uint8, data []byte) {
		log := evm.Log{Address: Messengers[0], Topics: []evm.Hash{topics[int(kind)%len(topics)], {1}, {2}, {31: 3}}[:n%5], Data: data}
		e, ok := ParseEvent(&log)
		if !ok {
			return
		}
		again := e.Log()
		got, ok := ParseEvent(&again)
		if len(again.Data) <= maxData && (!ok || !reflect.DeepEqual(got, e)) {
			t.Fatalf("%+v is read again as %+v, %v", e, got, ok)
		}
	})
}
