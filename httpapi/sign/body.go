package sign

import (
	"encoding/hex"
	"fmt"
	"math"

	"quorate/aggregator"
	"quorate/engine/chain"
	"quorate/engine/chain/warp"
	"quorate/httpapi/door"
)

const (
	// maxMessage bounds the message in bytes: the longest payload, with room for
	// the message's head and for the padding of a log's data.
	maxMessage = warp.MaxPayload + 256
	// maxJustification bounds the justification in bytes. Each validator that is
	// asked gets it. Real ones are a subnet ID (32 bytes), a subnet ID with an index
	// (at most 44), or an L1 validator's registration: 146 bytes and 20 for each
	// owner of its balance, of whom there is room for 90.
	maxJustification = 2 << 10
	// maxHeight is the largest integer that every JSON implementation can carry.
	maxHeight = 1<<53 - 1
	// proposedHeight is what avalanchego writes for the proposed height.
	proposedHeight = math.MaxUint64
)

// The members of an aggregation request, in the order of memberNames and members.
const (
	memMessage = iota
	memJustification
	memSubnet
	memQuorum
	memBuffer
	memHeight
	memOtherHeight // as the relayers' own aggregator documents it, while its code has the other
	memDestination
)

var (
	sdkNames = door.MemberNames{"message", "justification", "signingSubnetId",
		"quorumPercentage", "quorumPercentageBuffer", "pChainHeight", "pChainHeight", "destinationBlockchainId"}
	relayerNames = door.MemberNames{"message", "justification", "signing-subnet-id",
		"quorum-percentage", "quorum-percentage-buffer", "pchain-height", "p-chain-height", "destination-blockchain-id"}
)

// parseRequest reads the body of an aggregation request. Its errors are of type
// *failure. The request does not alias body. Members that the form does not know go to
// rest, if it is not nil; a lenient form refuses none of them.
func parseRequest(body []byte, form *form, rest *door.Ignored) (*aggregator.Request, error) {
	names, known := &form.names, form.names[:]
	if form.lenient {
		known = nil // an extra member is one, whatever it looks like
	}
	var mistyped *door.Failure
	m, err := door.ParseObject(body, names, form.lenient, func(name []byte) {
		if mistyped == nil && rest != nil {
			mistyped = rest.Add("member", name, known)
		}
	})
	if err != nil {
		return nil, err
	}
	if mistyped != nil {
		return nil, mistyped
	}
	// One allocation for the request and what it points to.
	r := &struct {
		aggregator.Request
		subnet, destination chain.ID
	}{}
	if r.Message, err = hexMember(&m, memMessage, names, maxMessage); err != nil {
		return nil, err
	}
	if r.Justification, err = hexMember(&m, memJustification, names, maxJustification); err != nil {
		return nil, err
	}
	if len(r.Message) == 0 && len(r.Justification) == 0 {
		return nil, door.BadRequest("message or justification is required")
	}
	found, err := idMember(&m, memSubnet, names, &r.subnet)
	if err != nil {
		return nil, err
	}
	if found {
		r.SigningSubnetID = &r.subnet
	}
	quorum, err := integerMember(&m, memQuorum, names, aggregator.DefaultQuorum, 100)
	if err != nil {
		return nil, err
	}
	buffer, err := integerMember(&m, memBuffer, names, 0, 100)
	if err != nil {
		return nil, err
	}
	if quorum+buffer > 100 {
		return nil, door.BadRequest(fmt.Sprintf("%s and %s are together %d, at most 100 is possible",
			names[memQuorum], names[memBuffer], quorum+buffer))
	}
	r.Quorum, r.Buffer = int(quorum), int(buffer) // both at most 100
	if r.PChainHeight, r.AtHeight, err = heightMember(&m, form); err != nil {
		return nil, err
	}
	if found, err = idMember(&m, memDestination, names, &r.destination); err != nil {
		return nil, err
	}
	if found {
		r.Destination = &r.destination
	}
	return &r.Request, nil
}

// height returns the P-Chain height and reports whether it is written out, by either name.
func heightMember(m *door.Members, form *form) (height uint64, written bool, err error) {
	names, limit := &form.names, uint64(maxHeight)
	if form.lenient {
		limit = math.MaxUint64
	}
	for _, i := range [...]int{memHeight, memOtherHeight} {
		if m[i].Kind() == door.Absent {
			continue
		}
		n, err := integerMember(m, i, names, 0, limit)
		if n == proposedHeight {
			n = 0
		}
		switch {
		case err != nil:
			return 0, false, err
		case written && n != height:
			return 0, false, door.BadRequest(fmt.Sprintf("%s is %d and %s is %d; they are two names of one thing", names[memHeight], height, names[i], n))
		}
		height, written = n, true
	}
	return height, written, nil
}

// hex returns the bytes of a hex string with or without 0x, at most limit; nil if
// it is absent or empty.
func hexMember(m *door.Members, i int, names *door.MemberNames, limit int) ([]byte, error) {
	v := m[i]
	if v.Kind() == door.Absent {
		return nil, nil
	}
	if v.Kind() != door.Text {
		return nil, door.BadRequest(fmt.Sprintf("%s must be a string of hex digits, not %s", names[i], v.Kind()))
	}
	digits := v.Bytes()
	if len(digits) >= 2 && digits[0] == '0' && digits[1] == 'x' {
		digits = digits[2:]
	}
	switch {
	case len(digits) == 0:
		return nil, nil
	case len(digits) > 2*limit:
		return nil, door.BadRequest(fmt.Sprintf("%s has %d bytes, at most %d are possible", names[i], len(digits)/2, limit))
	case len(digits)%2 != 0:
		return nil, door.BadRequest(names[i] + " has an odd number of hex digits")
	}
	out := make([]byte, len(digits)/2)
	if _, err := hex.Decode(out, digits); err != nil {
		return nil, door.BadRequest(fmt.Sprintf("%s is not hex: %s", names[i], badDigit(digits)))
	}
	return out, nil
}

func badDigit(digits []byte) string {
	for i, c := range digits {
		if door.HexDigit(c) > 15 {
			return fmt.Sprintf("%s is no digit (position %d)", door.Excerpt(digits[i:i+1]), i)
		}
	}
	return "no digit"
}

// idMember reads an ID in hex or CB58 into id and reports whether there is one.
func idMember(m *door.Members, i int, names *door.MemberNames, id *chain.ID) (bool, error) {
	v := m[i]
	if v.Kind() == door.Absent || v.Kind() == door.Text && len(v.Bytes()) == 0 {
		return false, nil
	}
	if v.Kind() != door.Text {
		return false, door.BadRequest(fmt.Sprintf("%s must be a string, not %s", names[i], v.Kind()))
	}
	s := v.Bytes()
	var err error
	if *id, err = chain.ParseIDHexOrCB58(string(s)); err != nil {
		return false, door.BadRequest(fmt.Sprintf("%s %s is neither 32 bytes in hex nor an ID in CB58", names[i], door.Excerpt(s)))
	}
	return true, nil
}

// integer returns an integer from 0 to limit, def if it is absent.
func integerMember(m *door.Members, i int, names *door.MemberNames, def, limit uint64) (uint64, error) {
	v := m[i]
	if v.Kind() == door.Absent {
		return def, nil
	}
	if v.Kind() == door.Number {
		if n, ok := door.Integer(v.Raw); ok && n <= limit {
			return n, nil
		}
		return 0, door.BadRequest(fmt.Sprintf("%s must be an integer from 0 to %d, not %.64s", names[i], limit, v.Raw))
	}
	return 0, door.BadRequest(fmt.Sprintf("%s must be an integer from 0 to %d, not %s", names[i], limit, v.Kind()))
}
