package wire

import (
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"

	"quorate/engine/chain"
)

// Kind says which member of a [Message] is set.
type Kind uint8

const (
	// KindOther is a message that this package does not read: skip it.
	KindOther Kind = iota
	KindPing
	KindPong
	KindHandshake
	KindPeerList
	KindGetPeerList
	// KindQuery is a [PullQuery], or a PushQuery, which carries the block itself. What it
	// asks is not read.
	KindQuery
	KindAppRequest
	KindAppResponse
	KindAppError
	kindCount
)

// String names the kind, for logs.
func (k Kind) String() string {
	names := [kindCount]string{"other", "ping", "pong", "handshake", "peer_list",
		"get_peer_list", "query", "app_request", "app_response", "app_error"}
	if k >= kindCount {
		return fmt.Sprintf("kind %d", k)
	}
	return names[k]
}

// Bounds of repeated fields, above anything a real node sends: they keep a
// message of many tiny items from growing into many large structs.
const (
	maxPeers   = 1 << 10
	maxSubnets = 1 << 10
	maxACPs    = 1 << 12
)

// Message is one parsed message: Kind says which of the members is valid. It
// can be parsed into again and then keeps its memory. Byte fields alias the
// parsed bytes or the Message's own buffer: they hold until either is reused.
type Message struct {
	Kind Kind

	Ping        Ping
	Handshake   Handshake
	PeerList    PeerList
	GetPeerList GetPeerList
	AppRequest  AppRequest
	AppResponse AppResponse
	AppError    AppError

	// Compressed reports whether the message came as zstd.
	Compressed bool
	// Size is the length of the message after decompression, in bytes.
	Size int

	plain []byte // decompressed bytes
}

// Trim drops a decompression buffer and a peer list above limit bytes, so
// that one large message does not stay in memory for the life of a connection.
func (m *Message) Trim(limit int) {
	if cap(m.plain) > limit {
		m.plain = nil
	}
	const itemSize = 128 // about the size of a ClaimedIP
	if cap(m.PeerList.Peers)*itemSize > limit {
		m.PeerList.Peers = nil
	}
}

// Parse reads a serialized p2p.Message, compressed or not, into m. Members
// other than the one that Kind names keep stale values. A message that names
// no member at all, or one that is unknown here, is [KindOther].
func (c *Codec) Parse(b []byte, m *Message) error {
	m.Kind, m.Compressed, m.Size = KindOther, false, len(b)
	if len(b) > MaxMessageSize {
		return ErrTooLarge
	}
	num, body, err := member(b)
	if err != nil {
		return err
	}
	if num == fieldZstd {
		m.plain, err = c.decompress(m.plain[:0], body)
		if err != nil {
			return err
		}
		m.Compressed, m.Size = true, len(m.plain)
		if num, body, err = member(m.plain); err != nil {
			return err
		}
		if num == fieldZstd {
			return fmt.Errorf("%w: compressed twice", ErrMalformed)
		}
	}
	return m.parse(num, body)
}

// member returns the last oneof member of b, number 0 when there is none that
// today's protocol knows.
func member(b []byte) (num protowire.Number, body []byte, err error) {
	f := fields{rest: b}
	for f.next() {
		known := f.num == fieldZstd || f.num >= fieldPing && f.num <= fieldSimplex
		if known && f.typ == protowire.BytesType {
			num, body = f.num, f.raw
		}
	}
	return num, body, f.err
}

func (m *Message) parse(num protowire.Number, body []byte) error {
	var err error
	kind := KindOther
	switch num {
	case fieldPing:
		kind, err = KindPing, m.Ping.parse(body)
	case fieldPong:
		kind = KindPong
	case fieldHandshake:
		kind, err = KindHandshake, m.Handshake.parse(body)
	case fieldPeerList:
		kind, err = KindPeerList, m.PeerList.parse(body)
	case fieldGetPeerList:
		kind, err = KindGetPeerList, m.GetPeerList.parse(body)
	case fieldPullQuery, fieldPushQuery:
		kind = KindQuery
	case fieldAppRequest:
		kind, err = KindAppRequest, m.AppRequest.parse(body)
	case fieldAppResponse:
		kind, err = KindAppResponse, m.AppResponse.parse(body)
	case fieldAppError:
		kind, err = KindAppError, m.AppError.parse(body)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", kind, err)
	}
	m.Kind = kind
	return nil
}

func (m *Ping) parse(b []byte) error {
	*m = Ping{}
	f := fields{rest: b}
	for f.next() {
		if f.num == 1 {
			m.Uptime = f.uint32()
		}
	}
	return f.err
}

func (m *Handshake) parse(b []byte) error {
	*m = Handshake{TrackedSubnets: m.TrackedSubnets[:0],
		SupportedACPs: m.SupportedACPs[:0], ObjectedACPs: m.ObjectedACPs[:0]}
	claim := addrField{num: 3}
	f := fields{rest: b}
	for f.next() {
		claim.take(&f)
		switch f.num {
		case 1:
			m.NetworkID = f.uint32()
		case 2:
			m.MyTime = f.uint64()
		case 5:
			m.UpgradeTime = f.uint64()
		case 6:
			m.IPSigningTime = f.uint64()
		case 7:
			m.IPNodeIDSig = f.bytes()
		case 8:
			m.takeSubnet(&f)
		case 9:
			m.Client.parse(&f)
		case 10:
			m.SupportedACPs = takeACPs(&f, m.SupportedACPs)
		case 11:
			m.ObjectedACPs = takeACPs(&f, m.ObjectedACPs)
		case 12:
			m.Filter, m.Salt = parseFilter(&f)
		case 13:
			m.IPBLSSig = f.bytes()
		case 14:
			m.AllSubnets = f.bool()
		}
	}
	m.Addr = claim.addrPort()
	return f.err
}

func (m *Handshake) takeSubnet(f *fields) {
	if len(m.TrackedSubnets) == maxSubnets {
		f.fail(fmt.Errorf("more than %d subnets", maxSubnets))
		return
	}
	var id chain.ID
	f.id(&id)
	m.TrackedSubnets = append(m.TrackedSubnets, id)
}

func takeACPs(f *fields, dst []uint32) []uint32 {
	if len(dst)+len(f.raw) > maxACPs {
		f.fail(fmt.Errorf("more than %d bytes of ACP numbers", maxACPs))
		return dst
	}
	return f.uint32s(dst)
}

func (v *Version) parse(outer *fields) {
	*v = Version{}
	f := fields{rest: outer.bytes()}
	for f.next() {
		switch f.num {
		case 1:
			v.Name = string(f.bytes())
		case 2:
			v.Major = f.uint32()
		case 3:
			v.Minor = f.uint32()
		case 4:
			v.Patch = f.uint32()
		}
	}
	if f.err != nil {
		outer.fail(f.err)
	}
}

// parseFilter never returns a nil filter: nil stands for an absent one.
func parseFilter(outer *fields) (filter, salt []byte) {
	filter = []byte{}
	f := fields{rest: outer.bytes()}
	for f.next() {
		switch f.num {
		case 1:
			filter = f.bytes()
		case 2:
			salt = f.bytes()
		}
	}
	if f.err != nil {
		outer.fail(f.err)
	}
	return filter, salt
}

func (m *PeerList) parse(b []byte) error {
	clear(m.Peers) // drop what the last message's claims refer to
	m.Peers = m.Peers[:0]
	f := fields{rest: b}
	for f.next() {
		if f.num != 1 {
			continue
		}
		if len(m.Peers) == maxPeers {
			f.fail(fmt.Errorf("more than %d peers", maxPeers))
			break
		}
		var c ClaimedIP
		c.parse(&f)
		m.Peers = append(m.Peers, c)
	}
	return f.err
}

func (m *GetPeerList) parse(b []byte) error {
	*m = GetPeerList{}
	f := fields{rest: b}
	for f.next() {
		switch f.num {
		case 1:
			m.Filter, m.Salt = parseFilter(&f)
		case 2:
			m.AllSubnets = f.bool()
		}
	}
	return f.err
}

func (m *AppRequest) parse(b []byte) error {
	*m = AppRequest{}
	f := appFields{fields: fields{rest: b}}
	for f.next(&m.ChainID, &m.RequestID) {
		switch f.num {
		case 3:
			m.Deadline = f.uint64()
		case 4:
			m.Bytes = f.bytes()
		}
	}
	return f.end()
}

func (m *AppResponse) parse(b []byte) error {
	*m = AppResponse{}
	f := appFields{fields: fields{rest: b}}
	for f.next(&m.ChainID, &m.RequestID) {
		if f.num == 3 {
			m.Bytes = f.bytes()
		}
	}
	return f.end()
}

func (m *AppError) parse(b []byte) error {
	*m = AppError{}
	f := appFields{fields: fields{rest: b}}
	for f.next(&m.ChainID, &m.RequestID) {
		switch f.num {
		case 3:
			m.Code = int32(protowire.DecodeZigZag(f.uint64() & (1<<32 - 1)))
		case 4:
			m.Message = string(f.bytes())
		}
	}
	return f.end()
}

// appFields walks over one of the three App messages. It reads the fields that
// they share itself.
type appFields struct {
	fields
	named bool // the chain is named
}

// next moves to the next field that is not shared.
func (f *appFields) next(chainID *chain.ID, requestID *uint32) bool {
	for f.fields.next() {
		switch f.num {
		case 1:
			f.id(chainID)
			f.named = true
		case 2:
			*requestID = f.uint32()
		default:
			return true
		}
	}
	return false
}

// end requires the chain ID: without one there is no chain that the message
// could belong to. [chain.PlatformChainID] is 32 zero bytes, not absent.
func (f *appFields) end() error {
	if f.err == nil && !f.named {
		return fmt.Errorf("%w: no chain ID", ErrMalformed)
	}
	return f.err
}
