package nodeapi

import (
	"errors"
	"fmt"
	"net/netip"
	"time"

	"quorate/devnet/primary"
	"quorate/devnet/world"
	"quorate/engine/chain"
)

// What the node says of its software: the release whose protocol it speaks, and which
// knows Helicon if that is to activate.
const (
	clientName      = "avalanchego/"
	release         = "1.14.2"
	heliconRelease  = "1.15.0"
	databaseVersion = "v1.4.5"
	rpcProtocol     = 45
	heliconProtocol = 46
	// upgradeUnix is the time of the last network upgrade on a local network.
	upgradeUnix = 1607144400
)

type nodeVersionReply struct {
	Version         string            `json:"version"`
	DatabaseVersion string            `json:"databaseVersion"`
	RPCProtocol     number            `json:"rpcProtocolVersion"`
	GitCommit       string            `json:"gitCommit"`
	VMVersions      map[string]string `json:"vmVersions"`
}

type proofOfPossession struct {
	PublicKey hexBytes `json:"publicKey"`
	Proof     hexBytes `json:"proofOfPossession"`
}

func proofOf(v *world.Validator) proofOfPossession {
	proof := v.Proof()
	return proofOfPossession{PublicKey: v.PublicKey[:], Proof: proof[:]}
}

type peer struct {
	IP             netip.AddrPort `json:"ip"`
	PublicIP       netip.AddrPort `json:"publicIP"`
	NodeID         nodeID         `json:"nodeID"`
	Version        string         `json:"version"`
	UpgradeTime    uint64         `json:"upgradeTime"`
	LastSent       time.Time      `json:"lastSent"`
	LastReceived   time.Time      `json:"lastReceived"`
	ObservedUptime number         `json:"observedUptime"`
	TrackedSubnets []chainID      `json:"trackedSubnets"`
	SupportedACPs  []uint32       `json:"supportedACPs"`
	ObjectedACPs   []uint32       `json:"objectedACPs"`
	Benched        []string       `json:"benched"`
}

type peersReply struct {
	NumPeers number `json:"numPeers"`
	Peers    []peer `json:"peers"`
}

type nodeIDReply struct {
	NodeID  nodeID            `json:"nodeID"`
	NodePOP proofOfPossession `json:"nodePOP"`
}

type aliasArgs struct {
	Alias string `json:"alias"`
}

type chainArgs struct {
	Chain string `json:"chain"`
}

type peersArgs struct {
	NodeIDs []nodeID `json:"nodeIDs"`
}

func (s *Server) infoService() *service {
	return &service{name: "info", methods: map[string]method{
		"getNodeVersion":  call(s.getNodeVersion),
		"getNodeID":       call(s.getNodeID),
		"getNodeIP":       call(s.getNodeIP),
		"getNetworkID":    call(s.getNetworkID),
		"getNetworkName":  call(s.getNetworkName),
		"getBlockchainID": call(s.getBlockchainID),
		"isBootstrapped":  call(s.isBootstrapped),
		"getVMs":          call(s.getVMs),
		"getTxFee":        call(getTxFee),
		"peers":           call(s.peers),
	}}
}

func (s *Server) getNodeVersion(none) (any, error) {
	version := clientName + s.release()
	reply := nodeVersionReply{
		Version: version, DatabaseVersion: databaseVersion, RPCProtocol: rpcProtocol,
		VMVersions: map[string]string{"avm": version, "evm": "v" + s.release(), "platform": version},
	}
	if !s.helicon.IsZero() {
		reply.RPCProtocol = heliconProtocol
	}
	return reply, nil
}

func (s *Server) release() string {
	if s.helicon.IsZero() {
		return release
	}
	return heliconRelease
}

// upgrades answers for a network without a P-Chain with blocks, on which all upgrades but
// Helicon were active from the beginning.
func (s *Server) upgrades(none) (any, error) {
	return upgradesOf(primary.Forks{
		Genesis: upgradeUnix, Proposers: upgradeUnix, Apricot5: upgradeUnix, Banff: upgradeUnix, Cortina: upgradeUnix,
		Durango: upgradeUnix, Etna: upgradeUnix, Granite: upgradeUnix, Helicon: uint64(s.helicon.Unix()), // after 1970
	}, chain.ID{}), nil
}

func (s *Server) getNodeID(none) (any, error) {
	v := s.world.Validators()[s.index]
	return nodeIDReply{NodeID: nodeID(v.NodeID), NodePOP: proofOf(v)}, nil
}

func (s *Server) getNodeIP(none) (any, error) {
	return struct {
		IP netip.AddrPort `json:"ip"`
	}{s.live.Address(s.index)}, nil
}

func (s *Server) getNetworkID(none) (any, error) {
	return struct {
		NetworkID number `json:"networkID"`
	}{number(world.NetworkID)}, nil
}

func (s *Server) getNetworkName(none) (any, error) {
	return struct {
		NetworkName string `json:"networkName"`
	}{"local"}, nil
}

func (s *Server) getBlockchainID(args aliasArgs) (any, error) {
	id, ok := s.lookup(args.Alias)
	if !ok {
		return nil, fmt.Errorf("there is no ID with alias: %s", args.Alias)
	}
	return struct {
		BlockchainID chainID `json:"blockchainID"`
	}{chainID(id)}, nil
}

// named is an ID that is a name: that of a virtual machine, or of an extension of the X-Chain.
func named(name string) (id chainID) {
	copy(id[:], name)
	return id
}

// getVMs lists the node's own virtual machines, and that of the L1s, a plugin, which has no
// name but its ID.
func (s *Server) getVMs(none) (any, error) {
	vms := map[chainID][]string{
		named("platformvm"): {"platform"}, chainID(world.AVMID): {"avm"}, chainID(world.EVMID): {"evm"},
	}
	if len(s.world.L1s()) > 0 {
		vms[chainID(world.L1EVMID)] = []string{}
	}
	extensions := make(map[chainID]string)
	for _, name := range []string{"secp256k1fx", "nftfx", "propertyfx"} {
		extensions[named(name)] = name
	}
	return struct {
		VMs        map[chainID][]string `json:"vms"`
		Extensions map[chainID]string   `json:"fxs"`
	}{vms, extensions}, nil
}

// getTxFee answers as nodes do that are not of mainnet or fuji: it is about the fees before
// Etna, and deprecated.
func getTxFee(none) (any, error) {
	const milli = 1_000_000 // in nAVAX
	return struct {
		Tx            number `json:"txFee"`
		Asset         number `json:"createAssetTxFee"`
		Subnet        number `json:"createSubnetTxFee"`
		Transform     number `json:"transformSubnetTxFee"`
		Blockchain    number `json:"createBlockchainTxFee"`
		Validator     number `json:"addPrimaryNetworkValidatorFee"`
		Delegator     number `json:"addPrimaryNetworkDelegatorFee"`
		SubnetMember  number `json:"addSubnetValidatorFee"`
		SubnetPartner number `json:"addSubnetDelegatorFee"`
	}{milli, milli, 100 * milli, 100 * milli, 100 * milli, 0, 0, milli, milli}, nil
}

func (s *Server) isBootstrapped(args chainArgs) (any, error) {
	if args.Chain == "" {
		return nil, errors.New("argument 'chain' not given")
	}
	id, ok := s.lookup(args.Chain)
	if !ok {
		return nil, fmt.Errorf("there is no chain with alias/ID '%s'", args.Chain)
	}
	return struct {
		IsBootstrapped bool `json:"isBootstrapped"`
	}{s.runs(id)}, nil
}

func (s *Server) peers(args peersArgs) (any, error) {
	validators := s.world.Validators()
	if len(args.NodeIDs) > 0 {
		validators = validators[:0:0]
		for _, id := range args.NodeIDs {
			if v, ok := s.world.Validator(chain.NodeID(id)); ok {
				validators = append(validators, v)
			}
		}
	}
	now, upgrade := time.Now().UTC().Truncate(time.Second), uint64(upgradeUnix)
	if !s.helicon.IsZero() {
		upgrade = uint64(s.helicon.Unix()) // after 1970
	}
	reply := peersReply{Peers: make([]peer, 0, len(validators))}
	for _, v := range validators {
		// The node has not dialled those that only L1s have: it tracks no L1.
		if v.Index == s.index || !s.world.Primary(v.Index) || !s.live.Online(v.Index) {
			continue
		}
		addr := s.live.Address(v.Index)
		reply.Peers = append(reply.Peers, peer{
			IP: addr, PublicIP: addr, NodeID: nodeID(v.NodeID), Version: clientName + s.release(), UpgradeTime: upgrade,
			LastSent: now, LastReceived: now, ObservedUptime: 100, TrackedSubnets: s.tracked(v),
			SupportedACPs: []uint32{}, ObjectedACPs: []uint32{}, Benched: []string{},
		})
	}
	reply.NumPeers = number(len(reply.Peers))
	return reply, nil
}

func (s *Server) tracked(v *world.Validator) []chainID {
	subnets := []chainID{chainID(chain.PrimaryNetworkID)}
	for _, l := range s.world.L1s() {
		for _, m := range l.Members {
			if m.Validator == v {
				subnets = append(subnets, chainID(l.SubnetID))
			}
		}
	}
	return subnets
}
