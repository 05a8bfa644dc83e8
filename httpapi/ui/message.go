package ui

import (
	"encoding/hex"
	"fmt"
	"net/http"
	"strings"
	"time"

	"quorate/engine/chain"
	"quorate/engine/chain/evm"
	"quorate/engine/chain/icm"
	"quorate/engine/chain/warp"
)

// message is a warp message taken apart.
type message struct {
	ID, SourceChain chain.ID
	Network         uint32
	Unsigned        string // hex
	Bytes           int
	Signature       *messageSignature // nil of an unsigned one
	// Kind says what the payload is, in words.
	Kind    string
	Payload string // hex
	// Call is the payload of an addressed call, else nil. Its source is hex, empty of the
	// P-Chain's.
	Call *addressedCall
	// BlockHash is of a payload that attests a block.
	BlockHash string
	// Validation is of a P-Chain message about a validator of an L1.
	Validation *validation
	// Teleporter is of a message of the Teleporter.
	Teleporter *teleporterMessage
}

type messageSignature struct {
	Signers   string // hex of the bit set
	Count     int
	Aggregate string // hex
}

type addressedCall struct{ Source, Payload string }

type validation struct {
	ID         chain.ID
	Registered bool
}

type teleporterMessage struct {
	ID                    evm.Hash
	Nonce, GasLimit, Data string
	From, To              string
	Destination           chain.ID
	Relayers              []string
	Receipts              []teleporterReceipt
}

type teleporterReceipt struct{ Nonce, Relayer string }

// maxBoxInput bounds what is taken apart, in characters of hex.
const maxBoxInput = 1 << 20

// readHex reads bytes from hex with or without 0x; spaces and line ends do not count.
func readHex(s string) ([]byte, error) {
	s = strings.Join(strings.Fields(s), "")
	s = strings.TrimPrefix(strings.TrimPrefix(s, "0x"), "0X")
	switch {
	case s == "":
		return nil, errorf(http.StatusBadRequest, "there is nothing to read: paste a message in hex, or the hash of a transaction")
	case len(s) > maxBoxInput:
		return nil, errorf(http.StatusBadRequest, "%d characters are too many: at most %d are read", len(s), maxBoxInput)
	case len(s)%2 != 0:
		return nil, errorf(http.StatusBadRequest, "this is not whole bytes of hex: it has %s, an odd number; perhaps the last one is missing", plural(len(s), "digit", "digits"))
	}
	b, err := hex.DecodeString(s)
	if err != nil {
		return nil, errorf(http.StatusBadRequest, "this is not hex: %v", err)
	}
	return b, nil
}

// takeApart reads a signed or unsigned message, or the data of a log that carries one.
func takeApart(raw []byte) (*message, error) {
	if inner, ok := warp.UnwrapABI(raw); ok {
		raw = inner
	}
	unsigned, err := warp.Parse(raw)
	if err == nil {
		return describe(unsigned), nil
	}
	signed, also := warp.ParseSigned(raw)
	if also != nil {
		return nil, errorf(http.StatusBadRequest, "%s that are no warp message: as an unsigned one: %v; as a signed one: %v", plural(len(raw), "byte", "bytes"), err, also)
	}
	m := describe(signed.Unsigned)
	m.Signature = &messageSignature{Signers: hex0x(signed.Signers), Aggregate: hex0x(signed.Signature[:])}
	if bits, ok := warp.BitsFromSigners(signed.Signers, 8*len(signed.Signers)); ok {
		m.Signature.Count = bits.Count()
	}
	return m, nil
}

func hex0x(b []byte) string { return "0x" + hex.EncodeToString(b) }

// describe takes an unsigned message apart, as far as its payload is known.
func describe(u *warp.Unsigned) *message {
	m := &message{
		ID: u.ID(), SourceChain: u.SourceChainID, Network: u.NetworkID,
		Unsigned: hex0x(u.Bytes()), Bytes: len(u.Bytes()), Payload: hex0x(u.Payload), Kind: "payload of an unknown kind",
	}
	if len(u.Payload) == 6+chain.IDLen && string(u.Payload[:6]) == "\x00\x00\x00\x00\x00\x00" {
		m.Kind, m.BlockHash = "block hash", hex0x(u.Payload[6:])
		return m
	}
	call, err := warp.ParseAddressedCall(u.Payload)
	if err != nil {
		return m
	}
	m.Kind, m.Call = "addressed call", &addressedCall{Source: hex0x(call.SourceAddress), Payload: hex0x(call.Payload)}
	if u.SourceChainID == chain.PlatformChainID {
		if id, registered, err := warp.ParseL1ValidatorRegistration(call.Payload); err == nil {
			m.Kind, m.Validation = "registration of a validator of an L1", &validation{id, registered}
		}
		return m
	}
	if t := teleporter(u, &call); t != nil {
		m.Kind, m.Teleporter = "Teleporter message", t
	}
	return m
}

// teleporter reads the message of a Teleporter contract, nil if it is none.
func teleporter(u *warp.Unsigned, call *warp.AddressedCall) *teleporterMessage {
	if len(call.SourceAddress) != evm.AddressLen {
		return nil
	}
	from := evm.Address(call.SourceAddress)
	if !icm.IsMessenger(&from) {
		return nil
	}
	m, err := icm.ParseMessage(call.Payload)
	if err != nil {
		return nil
	}
	t := &teleporterMessage{
		ID:    icm.MessageID(&from, &u.SourceChainID, &m.Destination, &m.Nonce),
		Nonce: m.Nonce.Dec(), GasLimit: m.GasLimit.Dec(), Data: hex0x(m.Data),
		From: m.From.String(), To: m.To.String(), Destination: m.Destination,
	}
	for _, r := range m.Relayers {
		t.Relayers = append(t.Relayers, r.String())
	}
	for i := range m.Receipts {
		r := &m.Receipts[i]
		t.Receipts = append(t.Receipts, teleporterReceipt{r.Nonce.Dec(), r.Relayer.String()})
	}
	return t
}

// destination returns the chain that a message is for, false if it does not say.
func destination(unsigned []byte) (chain.ID, bool) {
	u, err := warp.Parse(unsigned)
	if err != nil {
		return chain.ID{}, false
	}
	call, err := warp.ParseAddressedCall(u.Payload)
	if err != nil {
		return chain.ID{}, false
	}
	t := teleporter(u, &call)
	if t == nil {
		return chain.ID{}, false
	}
	return t.Destination, true
}

// readMessageID reads the ID of a message, in CB58 or hex.
func readMessageID(s string) (chain.ID, error) {
	id, err := chain.ParseIDHexOrCB58(s)
	if err != nil {
		return id, errorf(http.StatusBadRequest, "a message goes by its ID, in CB58 or as 64 digits of hex: %v", err)
	}
	return id, nil
}

// chainName is a chain as pages name it.
type chainName struct {
	ID   string
	Name string // empty if it has none
}

func (s *Site) chain(id chain.ID) chainName {
	return chainName{id.String(), s.cfg.Operator.NameOf(id)}
}

// milliseconds returns a short time as text, empty for none.
func milliseconds(d time.Duration) string {
	ms := float64(d) / 1e6
	switch {
	case d <= 0:
		return ""
	case ms < 10:
		return fmt.Sprintf("%.1f ms", ms)
	case ms < 10_000:
		return fmt.Sprintf("%.0f ms", ms)
	}
	return fmt.Sprintf("%.1f s", ms/1000)
}
