package validator

import (
	"encoding/binary"
	"math"
	"testing"

	lru "github.com/hashicorp/golang-lru/v2"

	"quorate/aggregator/bls"
	"quorate/devnet/world"
	"quorate/engine/chain"
	"quorate/engine/chain/warp"
)

func newSigner(t *testing.T) *signer {
	t.Helper()
	w, err := world.New(world.Params{Validators: 3, Seed: 7, L1s: 1, Emitted: 1000})
	if err != nil {
		t.Fatal(err)
	}
	cache, err := lru.New[chain.ID, [bls.SignatureLen]byte](2)
	if err != nil {
		t.Fatal(err)
	}
	return &signer{world: w, key: w.Validators()[0].Key, signed: cache}
}

// expired returns a claim that a P-Chain signs, and why.
func expired(t *testing.T, w *world.World) (*warp.Unsigned, []byte) {
	t.Helper()
	justification := world.RegistrationJustification(w.ExpiredRegistration().Append(nil))
	id, err := warp.RegistrationJustification(justification)
	if err != nil {
		t.Fatal(err)
	}
	u, err := warp.L1ValidatorRegistration(world.NetworkID, id, false)
	if err != nil {
		t.Fatal(err)
	}
	return u, justification
}

func unsigned(t *testing.T, network uint32, source chain.ID, payload []byte) []byte {
	t.Helper()
	u, err := warp.New(network, source, payload)
	if err != nil {
		t.Fatal(err)
	}
	return u.Bytes()
}

func TestEVMCodes(t *testing.T) {
	s := newSigner(t)
	w := s.world
	emitter := w.Emitter()
	call := func(source, payload []byte) []byte {
		return warp.AddressedCall{SourceAddress: source, Payload: payload}.Append(nil)
	}
	ours, err := warp.ParseAddressedCall(w.Message(5).Payload)
	if err != nil {
		t.Fatal(err)
	}
	forged := append([]byte(nil), ours.Payload...)
	forged[len(forged)-1] ^= 1
	for name, tc := range map[string]struct {
		message []byte
		code    int32 // 0: signed
	}{
		"emitted":            {w.Message(999).Bytes(), 0},
		"not emitted yet":    {w.Message(1000).Bytes(), codeCParse},
		"other address":      {unsigned(t, world.NetworkID, w.CChainID(), call(make([]byte, 20), ours.Payload)), codeCParse},
		"forged":             {unsigned(t, world.NetworkID, w.CChainID(), call(emitter[:], forged)), codeCParse},
		"other network":      {unsigned(t, 1, w.CChainID(), w.Message(5).Payload), codeCParse},
		"other source":       {unsigned(t, world.NetworkID, w.XChainID(), w.Message(5).Payload), codeCParse},
		"unknown block":      {unsigned(t, world.NetworkID, w.CChainID(), warp.HashPayload(chain.ID{1})), codeCVerify},
		"unknown payload":    {unsigned(t, world.NetworkID, w.CChainID(), []byte{0, 0, 0, 0, 0, 9}), codeCParse},
		"no payload":         {unsigned(t, world.NetworkID, w.CChainID(), nil), codeCParse},
		"not a message":      {[]byte("no"), codeUnexpected},
		"bytes at the end":   {append(append([]byte(nil), w.Message(5).Bytes()...), 0), codeUnexpected},
		"empty":              {nil, codeUnexpected},
		"emitted, once more": {w.Message(999).Bytes(), 0},
	} {
		r := s.reply(&Request{ChainID: w.CChainID(), Message: tc.message})
		checkReply(t, s, name, r, tc.message, tc.code)
	}
}

func checkReply(t *testing.T, s *signer, name string, r Reply, message []byte, code int32) {
	t.Helper()
	if code != 0 {
		if r.Outcome != Refused || r.Code != code || r.Text == "" {
			t.Errorf("%s: %+v, want code %d", name, r, code)
		}
		return
	}
	want := s.key.Sign(message)
	if r.Outcome != Answered || string(r.Signature) != string(want[:]) {
		t.Errorf("%s: %+v, want a signature", name, r)
	}
}

func TestPlatformCodes(t *testing.T) {
	s := newSigner(t)
	w := s.world
	l := w.L1s()[0]
	gone := world.InitialValidationID(l.SubnetID, uint32(l.Initial-1))
	present := l.Members[0].ValidationID
	registration := w.ExpiredRegistration()
	pending := registration
	pending.Expiry = math.MaxUint64
	idOf := func(r world.Registration) chain.ID {
		id, err := warp.RegistrationJustification(world.RegistrationJustification(r.Append(nil)))
		if err != nil {
			t.Fatal(err)
		}
		return id
	}
	body := func(kind uint32, parts ...[]byte) []byte {
		b := binary.BigEndian.AppendUint32([]byte{0, 0}, kind)
		for _, p := range parts {
			b = append(b, p...)
		}
		return b
	}
	claim := func(kind uint32, id chain.ID, tail ...byte) []byte {
		return warp.AddressedCall{Payload: body(kind, id[:], tail)}.Append(nil)
	}
	weight := func(id chain.ID, nonce, weight uint64) []byte {
		tail := binary.BigEndian.AppendUint64(nil, nonce)
		return claim(claimWeight, id, binary.BigEndian.AppendUint64(tail, weight)...)
	}
	notConverted := chain.ID{9}
	for name, tc := range map[string]struct {
		payload, justification []byte
		code                   int32
	}{
		"hash":                     {warp.HashPayload(chain.ID{1}), nil, codePAddressedCall},
		"source address":           {warp.AddressedCall{SourceAddress: []byte{1}, Payload: body(0, make([]byte, 32))}.Append(nil), nil, codePSourceAddress},
		"no payload":               {warp.AddressedCall{}.Append(nil), nil, codePPayload},
		"short payload":            {warp.AddressedCall{Payload: body(0, make([]byte, 31))}.Append(nil), nil, codePPayload},
		"registration request":     {warp.AddressedCall{Payload: registration.Append(nil)}.Append(nil), nil, codePPayloadType},
		"flag of 2":                {claim(claimRegistration, present, 2), nil, codePPayload},
		"conversion":               {claim(claimConversion, l.ConversionID), l.SubnetID[:], 0},
		"conversion, no subnet":    {claim(claimConversion, l.ConversionID), nil, codePJustification},
		"conversion, other subnet": {claim(claimConversion, l.ConversionID), notConverted[:], codePNotConverted},
		"other conversion":         {claim(claimConversion, chain.ID{1}), l.SubnetID[:], codePConversionMismatch},
		"registered":               {claim(claimRegistration, present, 1), nil, 0},
		"registered, but gone":     {claim(claimRegistration, gone, 1), nil, codePValidationAbsent},
		"gone":                     {claim(claimRegistration, gone, 0), world.RemovedValidatorJustification(l.SubnetID, uint32(l.Initial-1)), 0},
		"gone, but registered":     {claim(claimRegistration, present, 0), world.RemovedValidatorJustification(l.SubnetID, l.Members[0].InitialIndex), codePValidationExists},
		"gone, other index":        {claim(claimRegistration, gone, 0), world.RemovedValidatorJustification(l.SubnetID, 0), codePValidationMismatch},
		"gone, subnet short":       {claim(claimRegistration, gone, 0), []byte{0x0a, 3, 0x0a, 1, 7}, codePSubnetID},
		"gone, not converted":      {claim(claimRegistration, world.InitialValidationID(notConverted, 0), 0), world.RemovedValidatorJustification(notConverted, 0), codePNotConverted},
		"gone, no reason":          {claim(claimRegistration, gone, 0), nil, codePJustificationType},
		"gone, unreadable reason":  {claim(claimRegistration, gone, 0), []byte{0x0a, 9}, codePJustification},
		"expired":                  {claim(claimRegistration, idOf(registration), 0), world.RegistrationJustification(registration.Append(nil)), 0},
		"expired, other ID":        {claim(claimRegistration, gone, 0), world.RegistrationJustification(registration.Append(nil)), codePValidationMismatch},
		"expired, no registration": {claim(claimRegistration, gone, 0), world.RegistrationJustification([]byte{1}), codePRegistration},
		"expired, empty":           {claim(claimRegistration, gone, 0), world.RegistrationJustification(nil), codePRegistration},
		"can still be registered":  {claim(claimRegistration, idOf(pending), 0), world.RegistrationJustification(pending.Append(nil)), codePCouldBeRegistered},
		"weight, no change yet":    {weight(present, 0, 100), nil, codePWrongNonce},
		"weight, impossible nonce": {weight(present, math.MaxUint64, 0), nil, codePImpossibleNonce},
		"weight, reserved nonce":   {weight(present, math.MaxUint64, 1), nil, codePPayload},
		"weight of nobody":         {weight(gone, 0, 100), nil, codePValidationAbsent},
	} {
		message := unsigned(t, world.NetworkID, chain.PlatformChainID, tc.payload)
		r := s.reply(&Request{ChainID: chain.PlatformChainID, Message: message, Justification: tc.justification})
		checkReply(t, s, name, r, message, tc.code)
	}
	// A true claim in the envelope of another network or chain.
	for name, message := range map[string][]byte{
		"other network": unsigned(t, 1, chain.PlatformChainID, claim(claimRegistration, present, 1)),
		"other chain":   unsigned(t, world.NetworkID, w.CChainID(), claim(claimRegistration, present, 1)),
	} {
		r := s.reply(&Request{ChainID: chain.PlatformChainID, Message: message})
		checkReply(t, s, name, r, message, codeUnexpected)
	}
}

func TestWeightClaim(t *testing.T) {
	s := newSigner(t)
	m := &s.world.L1s()[0].Members[1]
	m.MinNonce = 4 // as after the changes 0 to 3
	for _, tc := range []struct {
		nonce, weight uint64
		code          int32
	}{{3, m.L1Weight, 0}, {3, m.L1Weight + 1, codePWrongWeight}, {4, m.L1Weight, codePWrongNonce}} {
		r := s.check(claim{kind: claimWeight, id: m.ValidationID, nonce: tc.nonce, weight: tc.weight}, nil)
		if r.Code != tc.code {
			t.Errorf("nonce %d, weight %d: %+v, want code %d", tc.nonce, tc.weight, r, tc.code)
		}
	}
}

func FuzzClaim(f *testing.F) {
	f.Add([]byte{0, 0, 0, 0, 0, 2}, []byte{0x0a, 2, 8, 1})
	f.Add(append([]byte{0, 0, 0, 0, 0, 3}, make([]byte, 48)...), []byte{0x12, 1, 7})
	f.Fuzz(func(t *testing.T, b, j []byte) {
		c, ok := parseClaim(b)
		if ok && c.kind > claimWeight {
			t.Errorf("kind %d accepted", c.kind)
		}
		parsed, err := parseJustification(j)
		if err == nil && parsed.initial && parsed.registration != nil {
			t.Error("a justification of both kinds")
		}
	})
}
