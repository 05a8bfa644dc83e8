package wire

import (
	"fmt"
	"net/netip"

	"google.golang.org/protobuf/encoding/protowire"

	"quorate/engine/chain"
)

// Field numbers of the p2p.Message oneof.
const (
	fieldZstd        protowire.Number = 2
	fieldPing        protowire.Number = 11
	fieldPong        protowire.Number = 12
	fieldHandshake   protowire.Number = 13
	fieldPeerList    protowire.Number = 14
	fieldPushQuery   protowire.Number = 27
	fieldPullQuery   protowire.Number = 28
	fieldAppRequest  protowire.Number = 30
	fieldAppResponse protowire.Number = 31
	fieldAppError    protowire.Number = 34
	fieldGetPeerList protowire.Number = 35
	fieldSimplex     protowire.Number = 36 // the last one; not read here
)

// MaxSalt is the longest salt a peer accepts beside a bloom filter, in bytes.
const MaxSalt = 32

// Ping asks for one [Pong].
type Ping struct {
	// Uptime is the receiver's uptime as the sender sees it, in percent. A
	// value above 100 makes the receiver close the connection.
	Uptime uint32
}

// Pong answers a [Ping]. One that was not asked for closes the connection.
type Pong struct{}

// Version names a peer's software.
type Version struct {
	Name                string
	Major, Minor, Patch uint32
}

// String returns the form that nodes report, "avalanchego/1.14.2".
func (v Version) String() string {
	return fmt.Sprintf("%s/%d.%d.%d", v.Name, v.Major, v.Minor, v.Patch)
}

// Handshake is the first message of each side. A second one closes the connection.
type Handshake struct {
	NetworkID uint32
	// MyTime is the sender's clock, Unix seconds; 60 s of skew close the connection.
	MyTime uint64
	// Addr is where the sender says it can be reached. The port must not be 0.
	Addr netip.AddrPort
	// UpgradeTime is the latest scheduled network upgrade, Unix seconds; not checked.
	UpgradeTime uint64
	// IPSigningTime is the age of the claim to Addr, Unix seconds.
	IPSigningTime uint64
	// IPNodeIDSig is the TLS key's signature of the claim, see [SignClaim].
	IPNodeIDSig []byte
	// TrackedSubnets names at most 16 subnets, the primary network not among them.
	TrackedSubnets []chain.ID
	Client         Version
	SupportedACPs  []uint32
	ObjectedACPs   []uint32
	// Filter and Salt tell the peers that the sender knows. A nil Filter is left
	// out; one that is there must parse.
	Filter, Salt []byte
	// IPBLSSig is a compressed G2 point: a proof-of-possession signature of the
	// claim if the sender is a validator, any valid point if not.
	IPBLSSig []byte
	// AllSubnets asks for the addresses of every subnet's validators.
	AllSubnets bool
}

// PeerList carries addresses, and, even empty, ends the sender's half of the handshake.
type PeerList struct {
	Peers []ClaimedIP
}

// GetPeerList asks for addresses of peers that the filter does not hold.
type GetPeerList struct {
	// Filter is a serialized [Bloom]; one that does not parse closes the connection.
	Filter []byte
	// Salt is at most [MaxSalt] bytes.
	Salt       []byte
	AllSubnets bool
}

// PullQuery asks for a vote on a block, which only validators are asked for.
type PullQuery struct {
	ChainID   chain.ID
	RequestID uint32
	// Deadline is a duration in nanoseconds.
	Deadline uint64
	BlockID  chain.ID
	// Height is that of the block that is to be accepted next.
	Height uint64
}

// AppRequest asks the VM of a chain.
type AppRequest struct {
	ChainID chain.ID
	// RequestID must be odd: EVM chains drop even ones silently.
	RequestID uint32
	// Deadline is a duration in nanoseconds; 0 counts as expired, peers cut it to 10 s.
	Deadline uint64
	Bytes    []byte
}

// AppResponse answers an [AppRequest].
type AppResponse struct {
	ChainID   chain.ID
	RequestID uint32
	Bytes     []byte
}

// AppError refuses an [AppRequest].
type AppError struct {
	ChainID   chain.ID
	RequestID uint32
	// Code is below 0 for the protocol's own errors and above 0 for the VM's.
	Code    int32
	Message string
}

// Append appends the serialized message.
func (m Ping) Append(dst []byte) []byte {
	dst, start := open(dst, fieldPing)
	dst = appendUint(dst, 1, uint64(m.Uptime))
	return shut(dst, start)
}

// Append appends the serialized message.
func (Pong) Append(dst []byte) []byte {
	dst, start := open(dst, fieldPong)
	return shut(dst, start)
}

// Append appends the serialized message.
func (m *Handshake) Append(dst []byte) []byte {
	dst, start := open(dst, fieldHandshake)
	dst = appendUint(dst, 1, uint64(m.NetworkID))
	dst = appendUint(dst, 2, m.MyTime)
	dst = appendAddr(dst, 3, m.Addr)
	dst = appendUint(dst, 5, m.UpgradeTime)
	dst = appendUint(dst, 6, m.IPSigningTime)
	dst = appendBytes(dst, 7, m.IPNodeIDSig)
	for i := range m.TrackedSubnets {
		dst = protowire.AppendTag(dst, 8, protowire.BytesType)
		dst = protowire.AppendBytes(dst, m.TrackedSubnets[i][:])
	}
	dst = m.Client.append(dst, 9)
	dst = appendPacked(dst, 10, m.SupportedACPs)
	dst = appendPacked(dst, 11, m.ObjectedACPs)
	if m.Filter != nil {
		dst = appendFilter(dst, 12, m.Filter, m.Salt)
	}
	dst = appendBytes(dst, 13, m.IPBLSSig)
	dst = appendBool(dst, 14, m.AllSubnets)
	return shut(dst, start)
}

func (v Version) append(dst []byte, num protowire.Number) []byte {
	dst, start := open(dst, num)
	dst = appendBytes(dst, 1, []byte(v.Name))
	dst = appendUint(dst, 2, uint64(v.Major))
	dst = appendUint(dst, 3, uint64(v.Minor))
	dst = appendUint(dst, 4, uint64(v.Patch))
	return shut(dst, start)
}

// Append appends the serialized message.
func (m *PeerList) Append(dst []byte) []byte {
	dst, start := open(dst, fieldPeerList)
	for i := range m.Peers {
		dst = m.Peers[i].append(dst, 1)
	}
	return shut(dst, start)
}

// Append appends the serialized message.
func (m *GetPeerList) Append(dst []byte) []byte {
	dst, start := open(dst, fieldGetPeerList)
	dst = appendFilter(dst, 1, m.Filter, m.Salt)
	dst = appendBool(dst, 2, m.AllSubnets)
	return shut(dst, start)
}

// Append appends the serialized message.
func (m *PullQuery) Append(dst []byte) []byte {
	dst, start := open(dst, fieldPullQuery)
	dst = appendBytes(dst, 1, m.ChainID[:])
	dst = appendUint(dst, 2, uint64(m.RequestID))
	dst = appendUint(dst, 3, m.Deadline)
	dst = appendBytes(dst, 4, m.BlockID[:])
	dst = appendUint(dst, 6, m.Height)
	return shut(dst, start)
}

// Append appends the serialized message.
func (m *AppRequest) Append(dst []byte) []byte {
	dst, start := open(dst, fieldAppRequest)
	dst = appendBytes(dst, 1, m.ChainID[:])
	dst = appendUint(dst, 2, uint64(m.RequestID))
	dst = appendUint(dst, 3, m.Deadline)
	dst = appendBytes(dst, 4, m.Bytes)
	return shut(dst, start)
}

// Append appends the serialized message.
func (m *AppResponse) Append(dst []byte) []byte {
	dst, start := open(dst, fieldAppResponse)
	dst = appendBytes(dst, 1, m.ChainID[:])
	dst = appendUint(dst, 2, uint64(m.RequestID))
	dst = appendBytes(dst, 3, m.Bytes)
	return shut(dst, start)
}

// Append appends the serialized message.
func (m *AppError) Append(dst []byte) []byte {
	dst, start := open(dst, fieldAppError)
	dst = appendBytes(dst, 1, m.ChainID[:])
	dst = appendUint(dst, 2, uint64(m.RequestID))
	dst = appendUint(dst, 3, protowire.EncodeZigZag(int64(m.Code)))
	dst = appendBytes(dst, 4, []byte(m.Message))
	return shut(dst, start)
}
