package validator

import (
	"crypto/sha256"
	"fmt"
	"math"

	lru "github.com/hashicorp/golang-lru/v2"

	"quorate/aggregator/bls"
	"quorate/devnet/world"
	"quorate/engine/chain"
	"quorate/engine/chain/warp"
)

// Codes of the application protocol itself.
const (
	codeUnexpected   = -1
	codeUnregistered = -2
)

// Codes of the C-Chain and of L1s' chains.
const (
	codeCParse  = 1 // unparsable, unknown, or a message that was never emitted
	codeCVerify = 2 // a block that was not accepted
)

// Codes of the P-Chain.
const (
	codePAddressedCall = iota + 1
	codePSourceAddress
	codePPayload
	codePPayloadType
	codePJustification
	codePNotConverted
	codePConversionMismatch
	codePJustificationType
	codePSubnetID
	codePValidationMismatch
	codePValidationAbsent
	codePValidationExists
	codePRegistration
	codePCouldBeRegistered
	codePImpossibleNonce
	codePWrongNonce
	codePWrongWeight
)

// signer is what an honest validator signs, by chain.
type signer struct {
	world *world.World
	key   *bls.SecretKey
	// cChain is the C-Chain where Helicon activates, else nil.
	cChain CChain
	// platform is the history of the P-Chain, else nil.
	platform Platform
	// signed keeps the EVM chains' signatures by message ID, as the real ones do.
	signed *lru.Cache[chain.ID, [bls.SignatureLen]byte]
}

func refuse(code int32, format string, args ...any) Reply {
	return Reply{Outcome: Refused, Code: code, Text: fmt.Sprintf(format, args...)}
}

// reply is the honest answer to a signature request that names one of the
// chains with a handler for it.
func (s *signer) reply(req *Request) Reply {
	// The request's bytes are the connection's buffer; parsing keeps what it is given.
	u, err := warp.Parse(append([]byte(nil), req.Message...))
	if err != nil {
		return refuse(codeUnexpected, "failed to parse warp unsigned message: %v", err)
	}
	if req.ChainID == chain.PlatformChainID {
		return s.signPlatform(u, req.Justification)
	}
	return s.signEVM(req.ChainID, u)
}

// signEVM signs what the asked chain has emitted, whatever others have.
func (s *signer) signEVM(asked chain.ID, u *warp.Unsigned) Reply {
	late, id := s.late(asked), u.ID()
	refuse := refuseEVM
	if late {
		refuse = refuseLate
	}
	if u.SourceChainID != asked {
		return refuse(u)
	}
	if sig, ok := s.signed.Get(id); ok {
		return Reply{Outcome: Answered, Signature: sig[:]}
	}
	switch {
	case s.world.Emits(u) && !(late && s.cChain.Waits(id)):
	case late && s.attests(u):
	default:
		return refuse(u)
	}
	sig := s.key.Sign(u.Bytes())
	s.signed.Add(id, sig)
	return Reply{Outcome: Answered, Signature: sig[:]}
}

func refuseEVM(u *warp.Unsigned) Reply {
	if _, err := warp.ParseAddressedCall(u.Payload); err == nil {
		return refuse(codeCParse, "unknown payload type: *payload.AddressedCall")
	}
	if hash, ok := hashPayload(u.Payload); ok {
		return refuse(codeCVerify, "failed to get block %s: not found", hash)
	}
	return refuse(codeCParse, "failed to parse payload")
}

// hashPayload reads a payload that attests a block hash.
func hashPayload(b []byte) (chain.ID, bool) {
	var hash chain.ID
	if len(b) < chain.IDLen {
		return hash, false
	}
	copy(hash[:], b[len(b)-chain.IDLen:])
	return hash, string(b) == string(warp.HashPayload(hash))
}

// signPlatform checks a claim about the P-Chain's state. Like the real one it
// looks at the claim before it looks at the message's network and source.
func (s *signer) signPlatform(u *warp.Unsigned, justification []byte) Reply {
	call, err := warp.ParseAddressedCall(u.Payload)
	if err != nil {
		return refuse(codePAddressedCall, "failed to parse warp addressed call: %v", err)
	}
	if len(call.SourceAddress) != 0 {
		return refuse(codePSourceAddress, "source address should be empty")
	}
	claim, ok := parseClaim(call.Payload)
	if !ok {
		return refuse(codePPayload, "failed to parse warp addressed call payload")
	}
	if refusal := s.check(claim, justification); refusal.Outcome == Refused {
		return refusal
	}
	if u.SourceChainID != chain.PlatformChainID {
		return refuse(codeUnexpected, "failed to sign message: wrong SourceChainID")
	}
	if u.NetworkID != world.NetworkID {
		return refuse(codeUnexpected, "failed to sign message: wrong networkID")
	}
	sig := s.key.Sign(u.Bytes())
	return Reply{Outcome: Answered, Signature: sig[:]}
}

// check returns a refusal, or a reply that is not one when the claim is true.
func (s *signer) check(c claim, justification []byte) Reply {
	switch c.kind {
	case claimConversion:
		return s.checkConversion(c.id, justification)
	case claimRegistration:
		if c.registered {
			if _, weight, _ := s.validation(c.id); weight == 0 {
				return refuse(codePValidationAbsent, "validation %q does not exist", c.id)
			}
			return Reply{}
		}
		return s.checkGone(c.id, justification)
	case claimWeight:
		return s.checkWeight(c)
	default:
		return refuse(codePPayloadType, "unsupported warp addressed call payload type: %d", c.kind)
	}
}

func (s *signer) checkConversion(id chain.ID, justification []byte) Reply {
	if len(justification) != chain.IDLen {
		return refuse(codePJustification, "failed to parse justification: expected 32 bytes but got %d", len(justification))
	}
	conversion, ok := s.conversion(chain.ID(justification))
	switch {
	case !ok:
		return refuse(codePNotConverted, "subnet %q has not been converted", chain.ID(justification))
	case conversion != id:
		return refuse(codePConversionMismatch, "provided conversionID %q != expected conversionID %q", id, conversion)
	}
	return Reply{}
}

// conversion returns the ID of the conversion that made a subnet an L1.
func (s *signer) conversion(subnet chain.ID) (id chain.ID, ok bool) {
	if l, ok := s.world.L1(subnet); ok {
		return l.ConversionID, true
	}
	if s.platform == nil {
		return id, false
	}
	return s.platform.Conversion(subnet)
}

// validation returns a validator of an L1 as [Platform] does.
func (s *signer) validation(id chain.ID) (nonce, weight uint64, known bool) {
	if m, ok := s.world.L1Validator(id); ok {
		return m.MinNonce, m.L1Weight, true
	}
	if s.platform == nil {
		return 0, 0, false
	}
	return s.platform.Validation(id)
}

// checkGone checks that a validation ended or can never begin.
func (s *signer) checkGone(id chain.ID, justification []byte) Reply {
	j, err := parseJustification(justification)
	switch {
	case err != nil:
		return refuse(codePJustification, "failed to parse justification: %v", err)
	case j.registration == nil && !j.initial:
		return refuse(codePJustificationType, "invalid justification type: <nil>")
	case j.initial:
		return s.checkInitialGone(id, j)
	}
	registration, err := world.ParseRegistration(j.registration)
	if err != nil {
		return refuse(codePRegistration, "failed to parse RegisterL1Validator justification: %v", err)
	}
	if derived := chain.ID(sha256.Sum256(j.registration)); derived != id {
		return refuse(codePValidationMismatch, "validationID %q != justificationID %q", id, derived)
	}
	_, weight, known := s.validation(id)
	if weight != 0 {
		return refuse(codePValidationExists, "validation %q exists", id)
	}
	if known { // and was removed: nothing registers it again
		return Reply{}
	}
	if now := s.world.GenesisTime().Unix(); registration.Expiry > uint64(now) { // a fixed time
		return refuse(codePCouldBeRegistered, "validation %q can be registered until %d", id, registration.Expiry)
	}
	return Reply{}
}

func (s *signer) checkInitialGone(id chain.ID, j justification) Reply {
	if len(j.subnet) != chain.IDLen {
		return refuse(codePSubnetID, "failed to parse subnetID: expected 32 bytes but got %d", len(j.subnet))
	}
	subnet := chain.ID(j.subnet)
	if derived := world.InitialValidationID(subnet, j.index); derived != id {
		return refuse(codePValidationMismatch, "validationID %q != justificationID %q", id, derived)
	}
	if _, ok := s.conversion(subnet); !ok {
		return refuse(codePNotConverted, "subnet %q has not been converted", subnet)
	}
	if _, weight, _ := s.validation(id); weight != 0 {
		return refuse(codePValidationExists, "validation %q exists", id)
	}
	return Reply{}
}

func (s *signer) checkWeight(c claim) Reply {
	if c.nonce == math.MaxUint64 {
		return refuse(codePImpossibleNonce, "impossible nonce")
	}
	nonce, weight, _ := s.validation(c.id)
	switch {
	case weight == 0:
		return refuse(codePValidationAbsent, "validation %q does not exist", c.id)
	case c.nonce+1 != nonce:
		return refuse(codePWrongNonce, "provided nonce %d != expected nonce (%d - 1)", c.nonce, nonce)
	case c.weight != weight:
		return refuse(codePWrongWeight, "provided weight %d != expected weight %d", c.weight, weight)
	}
	return Reply{}
}
