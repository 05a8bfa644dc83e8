package nodeapi

import (
	"errors"
	"fmt"

	"quorate/devnet/world"
	"quorate/engine/chain"
)

// maxCachedSets bounds the cache of validator sets by height.
const maxCachedSets = 32

// vmIDs of the primary network's chains, and of those of L1s.
var (
	evmID   = chain.ID{'e', 'v', 'm'}
	avmID   = chain.ID{'a', 'v', 'm'}
	l1EVMID = chain.ID{'s', 'u', 'b', 'n', 'e', 't', 'e', 'v', 'm'}
)

var errNotFound = errors.New("not found")

type heightReply struct {
	Height number `json:"height"`
}

type setArgs struct {
	Height   height  `json:"height"`
	SubnetID chainID `json:"subnetID"`
}

type subnetArgs struct {
	SubnetID chainID `json:"subnetID"`
}

type blockchainArgs struct {
	BlockchainID chainID `json:"blockchainID"`
}

type statusArgs struct {
	BlockchainID string `json:"blockchainID"`
}

type subnetsArgs struct {
	IDs []chainID `json:"ids"`
}

type subnetReply struct {
	IsPermissioned bool     `json:"isPermissioned"`
	ControlKeys    []string `json:"controlKeys"`
	Threshold      number   `json:"threshold"`
	Locktime       number   `json:"locktime"`
	Transformation chainID  `json:"subnetTransformationTxID"`
	ConversionID   chainID  `json:"conversionID"`
	ManagerChainID chainID  `json:"managerChainID"`
	ManagerAddress hexBytes `json:"managerAddress"`
}

type apiSubnet struct {
	ID          chainID  `json:"id"`
	ControlKeys []string `json:"controlKeys"`
	Threshold   number   `json:"threshold"`
}

type apiBlockchain struct {
	ID       chainID `json:"id"`
	Name     string  `json:"name"`
	SubnetID chainID `json:"subnetID"`
	VMID     chainID `json:"vmID"`
}

func (s *Server) platformService() *service {
	return &service{name: "platform", methods: map[string]method{
		"getHeight":            call(s.getHeight),
		"getProposedHeight":    call(s.getHeight),
		"getBlockByHeight":     call(s.getBlockByHeight),
		"getTimestamp":         call(s.getTimestamp),
		"getStakingAssetID":    call(s.getStakingAssetID),
		"getAllValidatorsAt":   call(s.getAllValidatorsAt),
		"getValidatorsAt":      call(s.getValidatorsAt),
		"getCurrentValidators": call(s.getCurrentValidators),
		"getL1Validator":       call(s.getL1Validator),
		"validatedBy":          call(s.validatedBy),
		"validates":            call(s.validates),
		"getSubnet":            call(s.getSubnet),
		"getSubnets":           call(s.getSubnets),
		"getBlockchains":       call(s.getBlockchains),
		"getBlockchainStatus":  call(s.getBlockchainStatus),
	}}
}

// getHeight also answers for the proposed height: like a local network, this
// one proposes its tip.
func (s *Server) getHeight(none) (any, error) {
	return heightReply{number(s.world.Height())}, nil
}

func (s *Server) getTimestamp(none) (any, error) {
	return struct {
		Timestamp string `json:"timestamp"`
	}{s.world.GenesisTime().Format("2006-01-02T15:04:05Z07:00")}, nil
}

func (s *Server) getStakingAssetID(args subnetArgs) (any, error) {
	if id := chain.ID(args.SubnetID); id != chain.PrimaryNetworkID {
		return nil, fmt.Errorf("failed fetching subnet transformation for %s: %w", id, errNotFound)
	}
	return struct {
		AssetID chainID `json:"assetID"`
	}{chainID(s.world.AssetID())}, nil
}

// at returns the sets at a height argument; what names the sets in the node's error text.
func (s *Server) at(h height, what, detail string) (*world.Snapshot, error) {
	tip := s.world.Height()
	if h == proposed {
		h = height(tip)
	}
	snapshot, err := s.world.At(uint64(h))
	if errors.Is(err, world.ErrHeight) {
		return nil, fmt.Errorf("failed to get %s at %d: failed to fetch validator set at unfinalized height%s: "+
			"current P-chain height (%d) < requested P-Chain height (%d)", what, h, detail, tip, h)
	}
	return snapshot, err
}

func (s *Server) validatedBy(args blockchainArgs) (any, error) {
	subnet, ok := s.subnetOf(chain.ID(args.BlockchainID))
	if !ok {
		return nil, fmt.Errorf("problem retrieving blockchain %q: %w", chain.ID(args.BlockchainID), errNotFound)
	}
	return struct {
		SubnetID chainID `json:"subnetID"`
	}{chainID(subnet)}, nil
}

func (s *Server) validates(args subnetArgs) (any, error) {
	ids := []chainID{}
	if id := chain.ID(args.SubnetID); id == chain.PrimaryNetworkID {
		ids = append(ids, chainID(s.world.CChainID()), chainID(s.world.XChainID()))
	} else if l, ok := s.world.L1(id); ok {
		ids = append(ids, chainID(l.ChainID))
	} else {
		return nil, fmt.Errorf("problem retrieving subnet %q: %w", id, errNotFound)
	}
	return struct {
		BlockchainIDs []chainID `json:"blockchainIDs"`
	}{ids}, nil
}

func (s *Server) getSubnet(args subnetArgs) (any, error) {
	id := chain.ID(args.SubnetID)
	if id == chain.PrimaryNetworkID {
		return nil, errors.New("the primary network isn't a subnet")
	}
	l, ok := s.world.L1(id)
	if !ok {
		return nil, errNotFound
	}
	if !s.world.Converted(l) {
		return subnetReply{IsPermissioned: true, ControlKeys: []string{l.ControlKey}, Threshold: 1}, nil
	}
	return subnetReply{
		ControlKeys: []string{l.ControlKey}, Threshold: 1, ConversionID: chainID(l.ConversionID),
		ManagerChainID: chainID(l.ManagerChainID), ManagerAddress: l.ManagerAddress[:],
	}, nil
}

func (s *Server) getSubnets(args subnetsArgs) (any, error) {
	var reply struct {
		Subnets []apiSubnet `json:"subnets"`
	}
	primary := apiSubnet{ID: chainID(chain.PrimaryNetworkID), ControlKeys: []string{}}
	if len(args.IDs) == 0 {
		for _, l := range s.world.L1s() {
			reply.Subnets = append(reply.Subnets, toSubnet(l))
		}
		reply.Subnets = append(reply.Subnets, primary)
		return reply, nil
	}
	seen := make(map[chainID]bool, len(args.IDs))
	for _, id := range args.IDs {
		if seen[id] {
			continue
		}
		seen[id] = true
		if id == primary.ID {
			reply.Subnets = append(reply.Subnets, primary)
		} else if l, ok := s.world.L1(chain.ID(id)); ok {
			reply.Subnets = append(reply.Subnets, toSubnet(l))
		}
	}
	return reply, nil
}

func toSubnet(l *world.L1) apiSubnet {
	return apiSubnet{ID: chainID(l.SubnetID), ControlKeys: []string{l.ControlKey}, Threshold: 1}
}

func (s *Server) getBlockchains(none) (any, error) {
	all := make([]apiBlockchain, 0, 2+len(s.world.L1s()))
	for _, l := range s.world.L1s() {
		all = append(all, apiBlockchain{
			ID: chainID(l.ChainID), Name: l.Name, SubnetID: chainID(l.SubnetID), VMID: chainID(l1EVMID),
		})
	}
	primary := chainID(chain.PrimaryNetworkID)
	return struct {
		Blockchains []apiBlockchain `json:"blockchains"`
	}{append(all,
		apiBlockchain{ID: chainID(s.world.CChainID()), Name: "C-Chain", SubnetID: primary, VMID: chainID(evmID)},
		apiBlockchain{ID: chainID(s.world.XChainID()), Name: "X-Chain", SubnetID: primary, VMID: chainID(avmID)},
	)}, nil
}

func (s *Server) getBlockchainStatus(args statusArgs) (any, error) {
	type reply struct {
		Status string `json:"status"`
	}
	if args.BlockchainID == "" {
		return nil, errors.New("argument 'blockchainID' not given")
	}
	if id, ok := s.lookup(args.BlockchainID); ok {
		if id == chain.PlatformChainID { // made by no transaction, so the node says this of it
			return reply{"Syncing"}, nil
		}
		return reply{"Validating"}, nil
	}
	id, err := chain.ParseID(args.BlockchainID)
	if err != nil {
		return nil, fmt.Errorf("problem parsing blockchainID %q: %w", args.BlockchainID, err)
	}
	if _, ok := s.subnetOf(id); ok {
		return reply{"Created"}, nil
	}
	return reply{"Unknown"}, nil
}

// proposerService is the service of one blockchain.
func (s *Server) proposerService(blockchain chain.ID) *service {
	return &service{name: "proposervm", methods: map[string]method{
		"getProposedHeight": call(s.getHeight),
		"getCurrentEpoch": call(func(none) (any, error) {
			e := s.world.Epoch(blockchain)
			return struct {
				Number       number `json:"number"`
				StartTime    number `json:"startTime"`
				PChainHeight number `json:"pChainHeight"`
			}{number(e.Number), number(e.Start), number(e.Height)}, nil // times after 1970
		}),
	}}
}
