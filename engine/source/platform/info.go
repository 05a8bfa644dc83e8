package platform

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"quorate/engine/chain"
	"quorate/engine/chain/platform/rules"
)

// NetworkID returns the number of the network that the node belongs to.
func (c *Client) NetworkID(ctx context.Context) (uint32, error) {
	var r struct {
		NetworkID *number `json:"networkID"`
	}
	if err := c.info(ctx, "getNetworkID", nil, &r); err != nil {
		return 0, err
	}
	if r.NetworkID == nil || *r.NetworkID > 1<<32-1 {
		return 0, bad("no network ID")
	}
	return uint32(*r.NetworkID), nil
}

// NodeID returns the ID of the node that answers.
func (c *Client) NodeID(ctx context.Context) (chain.NodeID, error) {
	var r struct {
		NodeID string `json:"nodeID"`
	}
	if err := c.info(ctx, "getNodeID", nil, &r); err != nil {
		return chain.NodeID{}, err
	}
	id, err := chain.ParseNodeID(r.NodeID)
	if err != nil {
		return id, bad("node ID: %w", err)
	}
	return id, nil
}

// NodeIP returns the address at which the answering node takes peers. Public
// nodes often do not have the method: [ErrNoMethod].
func (c *Client) NodeIP(ctx context.Context) (netip.AddrPort, error) {
	var r struct {
		IP string `json:"ip"`
	}
	if err := c.info(ctx, "getNodeIP", nil, &r); err != nil {
		return netip.AddrPort{}, err
	}
	addr, err := netip.ParseAddrPort(r.IP)
	if err != nil {
		return addr, bad("address: %w", err)
	}
	return addr, nil
}

// Version is the version of a node's program, such as avalanchego/1.14.2.
type Version struct {
	Name                string
	Major, Minor, Patch uint32
}

// Compare orders versions by their numbers, as nodes do: names do not count.
func (v Version) Compare(o Version) int {
	return cmp.Or(cmp.Compare(v.Major, o.Major), cmp.Compare(v.Minor, o.Minor), cmp.Compare(v.Patch, o.Patch))
}

// String returns the form name/major.minor.patch.
func (v Version) String() string {
	return fmt.Sprintf("%s/%d.%d.%d", v.Name, v.Major, v.Minor, v.Patch)
}

// ParseVersion reads the form name/major.minor.patch.
func ParseVersion(s string) (Version, error) {
	name, numbers, ok := strings.Cut(s, "/")
	parts := strings.Split(strings.TrimPrefix(numbers, "v"), ".")
	if !ok || name == "" || len(name) > 64 || len(parts) != 3 {
		return Version{}, fmt.Errorf("version %.80q is not of the form name/major.minor.patch", s)
	}
	v := Version{Name: name}
	for i, dst := range []*uint32{&v.Major, &v.Minor, &v.Patch} {
		n, err := strconv.ParseUint(parts[i], 10, 32)
		if err != nil {
			return Version{}, fmt.Errorf("version %.80q is not of the form name/major.minor.patch", s)
		}
		*dst = uint32(n)
	}
	return v, nil
}

// Program is what a node runs.
type Program struct {
	Version
	// Plugins is the version of the RPCChainVM protocol that its plugins must speak,
	// 0 if the node does not say it.
	Plugins uint32
}

// Program returns what the answering node runs.
func (c *Client) Program(ctx context.Context) (p Program, err error) {
	var r struct {
		Version string  `json:"version"`
		Plugins *number `json:"rpcProtocolVersion"`
	}
	if err := c.info(ctx, "getNodeVersion", nil, &r); err != nil {
		return p, err
	}
	if p.Version, err = ParseVersion(r.Version); err != nil {
		return p, bad("%w", err)
	}
	if r.Plugins != nil && *r.Plugins <= math.MaxUint32 {
		p.Plugins = uint32(*r.Plugins)
	}
	return p, nil
}

// Upgrades returns when the answering node applies which rules. Nodes of before 1.12 do
// not have the method: [ErrNoMethod]. One that knows nothing of Helicon never applies it.
func (c *Client) Upgrades(ctx context.Context) (u rules.Upgrades, err error) {
	var r struct {
		Cortina, Durango, Etna, Helicon time.Time
	}
	r.Helicon = time.Unix(rules.Never, 0)
	names := struct {
		Cortina *time.Time `json:"cortinaTime"`
		Durango *time.Time `json:"durangoTime"`
		Etna    *time.Time `json:"etnaTime"`
		Helicon *time.Time `json:"heliconTime"`
	}{&r.Cortina, &r.Durango, &r.Etna, &r.Helicon}
	if err := c.info(ctx, "upgrades", nil, &names); err != nil {
		return u, err
	}
	for _, t := range []struct {
		dst  *uint64
		time *time.Time
	}{{&u.Cortina, names.Cortina}, {&u.Durango, names.Durango}, {&u.Etna, names.Etna}, {&u.Helicon, names.Helicon}} {
		if t.time == nil || t.time.IsZero() || t.time.Unix() < 0 {
			return u, bad("no time of an upgrade")
		}
		*t.dst = uint64(t.time.Unix())
	}
	return u, nil
}

// Peer is a node that the answering node is connected with.
type Peer struct {
	NodeID chain.NodeID
	// PublicIP is the address that the peer claims and that others can dial; it
	// is invalid when there is none.
	PublicIP netip.AddrPort
	// IP is the address of the connection, which has a passing port if the peer dialled.
	IP      netip.AddrPort
	Version string
}

type peersAnswer struct {
	Peers []struct {
		NodeID   string `json:"nodeID"`
		PublicIP string `json:"publicIP"`
		IP       string `json:"ip"`
		Version  string `json:"version"`
	} `json:"peers"`
}

// Peers returns the peers of the answering node, all or those of the given IDs.
// The node itself is never among them.
func (c *Client) Peers(ctx context.Context, ids ...chain.NodeID) ([]Peer, error) {
	params := struct {
		NodeIDs []string `json:"nodeIDs,omitempty"`
	}{}
	for _, id := range ids {
		params.NodeIDs = append(params.NodeIDs, id.String())
	}
	var r peersAnswer
	if err := c.info(ctx, "peers", params, &r); err != nil {
		return nil, err
	}
	return r.peers()
}

func (r *peersAnswer) peers() ([]Peer, error) {
	if len(r.Peers) > maxPeers {
		return nil, bad("more than %d peers", maxPeers)
	}
	out := make([]Peer, len(r.Peers))
	for i, p := range r.Peers {
		id, err := chain.ParseNodeID(p.NodeID)
		if err != nil {
			return nil, bad("node ID: %w", err)
		}
		out[i] = Peer{NodeID: id, Version: p.Version}
		// An address that cannot be read only means that this peer cannot be dialled.
		if addr, err := netip.ParseAddrPort(p.PublicIP); err == nil {
			out[i].PublicIP = addr
		}
		if addr, err := netip.ParseAddrPort(p.IP); err == nil {
			out[i].IP = addr
		}
	}
	return out, nil
}

// BlockchainID returns the ID of the blockchain with an alias, such as C.
// [ErrNotFound] when there is none.
func (c *Client) BlockchainID(ctx context.Context, alias string) (chain.ID, error) {
	var r struct {
		BlockchainID string `json:"blockchainID"`
	}
	if err := c.info(ctx, "getBlockchainID", map[string]string{"alias": alias}, &r); err != nil {
		return chain.ID{}, err
	}
	id, err := chain.ParseID(r.BlockchainID)
	if err != nil {
		return id, bad("blockchain ID: %w", err)
	}
	return id, nil
}

// IsBootstrapped reports whether the node has caught up with a chain, given by
// alias or ID. [ErrNotFound] when it does not know the chain.
func (c *Client) IsBootstrapped(ctx context.Context, name string) (bool, error) {
	var r struct {
		IsBootstrapped *bool `json:"isBootstrapped"`
	}
	if err := c.info(ctx, "isBootstrapped", map[string]string{"chain": name}, &r); err != nil {
		return false, err
	}
	if r.IsBootstrapped == nil {
		return false, bad("no answer to whether %s is bootstrapped", name)
	}
	return *r.IsBootstrapped, nil
}
