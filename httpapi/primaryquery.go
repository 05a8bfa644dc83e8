package httpapi

import (
	"bytes"
	"errors"
	"slices"
	"strconv"
	"strings"

	"quorate/engine/chain"
	"quorate/engine/chain/address"
	"quorate/engine/primary"
)

// primaryQuery holds the parameters that only routes of the primary network know.
type primaryQuery struct {
	nodes []chain.NodeID // without duplicates
	// listed is a list of addresses as it was sent, and listedAs the name of the
	// parameter. Which addresses are right depends on the network, which the path names.
	listed    []byte
	listedAs  string
	addresses []address.Address // without duplicates
	status    primary.StakerStatus
	height    uint64 // of a vertex
	hasHeight bool
	// subnet, validation and node bound lists; nil if they are not given.
	subnet, validation *chain.ID
	node               *chain.NodeID
	inactive           bool
	// kinds of transactions, all if there are none.
	kinds []string
	// Outputs of at least an amount, of an asset, also spent ones.
	least uint64
	asset *chain.ID
	spent bool

	subnetRoom, validationRoom, assetRoom chain.ID
	nodeRoom                              chain.NodeID
}

// canonical is as that of [query].
func (q *primaryQuery) canonical(b []byte) []byte {
	b = append(b, 'p', byte(q.status), bit(q.hasHeight))
	b = strconv.AppendUint(b, q.height, 10)
	b = append(b, bit(q.inactive), bit(q.spent))
	b = strconv.AppendUint(b, q.least, 10)
	for _, k := range q.kinds {
		b = append(append(b, 'k'), k...)
	}
	if q.asset != nil {
		b = append(append(b, 't'), q.asset[:]...)
	}
	if q.subnet != nil {
		b = append(append(b, 's'), q.subnet[:]...)
	}
	if q.validation != nil {
		b = append(append(b, 'v'), q.validation[:]...)
	}
	if q.node != nil {
		b = append(append(b, 'o'), q.node[:]...)
	}
	for i := range q.nodes {
		b = append(append(b, 'n'), q.nodes[i][:]...)
	}
	for i := range q.addresses {
		b = append(append(b, 'a'), q.addresses[i][:]...)
	}
	return b
}

// The parameters of the primary network in the contract.
var (
	paramNodeIDs = param{"nodeIds", func(q *query, v []byte) string {
		return eachListed(v, func(item []byte) string {
			var node chain.NodeID
			if problem := setNode(&node, item); problem != "" {
				return problem
			}
			if slices.Contains(q.primary.nodes, node) {
				return ""
			}
			if len(q.primary.nodes) == maxListed {
				return tooMany
			}
			q.primary.nodes = append(q.primary.nodes, node)
			return ""
		})
	}}
	paramAddresses       = listedAddresses("addresses")
	paramRewardAddresses = listedAddresses("rewardAddresses")
	paramDelegation      = stakerStatus("delegationStatus", "completed", "active", "pending")
	paramVertexHeight    = param{"vertexHeight", func(q *query, v []byte) string {
		var ok bool
		if q.primary.height, ok = parseUint(v); !ok {
			return "must be the height of a vertex, a whole number in decimal, not " + excerpt(v)
		}
		q.primary.hasHeight = true
		return ""
	}}
)

// Those of the calls that only the SDKs know.
var (
	paramValidation = stakerStatus("validationStatus", "completed", "active", "pending", "removed")
	paramSubnetID   = param{"subnetId", func(q *query, v []byte) string {
		q.primary.subnet = &q.primary.subnetRoom
		return setID(q.primary.subnet, v)
	}}
	paramValidationID = param{"l1ValidationId", func(q *query, v []byte) string {
		q.primary.validation = &q.primary.validationRoom
		return setID(q.primary.validation, v)
	}}
	paramNodeID = param{"nodeId", func(q *query, v []byte) string {
		q.primary.node = &q.primary.nodeRoom
		return setNode(q.primary.node, v)
	}}
	paramInactive = param{"includeInactiveL1Validators", func(q *query, v []byte) string {
		q.primary.inactive = string(v) == "true"
		if !q.primary.inactive && string(v) != "false" {
			return "must be true or false, not " + excerpt(v)
		}
		return ""
	}}
	paramSortBy = param{"sortBy", func(_ *query, v []byte) string {
		if string(v) != "blockIndex" {
			return "must be blockIndex, the only order that there is here, not " + excerpt(v)
		}
		return ""
	}}
)

// Those of transactions and outputs.
var (
	// paramTxTypes may be given several times, and each time list several.
	paramTxTypes = param{"txTypes", func(q *query, v []byte) string {
		return eachListed(v, func(item []byte) string {
			for _, k := range txTypes {
				if k == string(item) {
					q.primary.kinds = append(q.primary.kinds, k)
					return ""
				}
			}
			return "must be a type of transaction such as BaseTx, not " + excerpt(item)
		})
	}}
	paramAssetID = param{"assetId", func(q *query, v []byte) string {
		q.primary.asset = &q.primary.assetRoom
		return setID(q.primary.asset, v)
	}}
	paramMinAmount = param{"minUtxoAmount", func(q *query, v []byte) string {
		var ok bool
		if q.primary.least, ok = parseUint(v); !ok {
			return "must be an amount in nAVAX, a whole number in decimal, not " + excerpt(v)
		}
		return ""
	}}
	paramSpent = param{"includeSpent", func(q *query, v []byte) string {
		q.primary.spent = string(v) == "true"
		if !q.primary.spent && string(v) != "false" {
			return "must be true or false, not " + excerpt(v)
		}
		return ""
	}}
	paramSortOutputs = param{"sortBy", func(_ *query, v []byte) string {
		if string(v) != "timestamp" {
			return "must be timestamp, the only order that there is here, not " + excerpt(v)
		}
		return ""
	}}
	paramBlockTimestamp = param{"blockTimestamp", func(*query, []byte) string {
		return "is not served here: balances are those after the last block"
	}}
)

// txTypes are the kinds of transactions by the names that the SDKs know.
var txTypes = []string{
	"AddValidatorTx", "AddSubnetValidatorTx", "AddDelegatorTx", "CreateChainTx", "CreateSubnetTx", "ImportTx", "ExportTx",
	"AdvanceTimeTx", "RewardValidatorTx", "RemoveSubnetValidatorTx", "TransformSubnetTx", "AddPermissionlessValidatorTx",
	"AddPermissionlessDelegatorTx", "BaseTx", "TransferSubnetOwnershipTx", "ConvertSubnetToL1Tx", "RegisterL1ValidatorTx",
	"SetL1ValidatorWeightTx", "DisableL1ValidatorTx", "IncreaseL1ValidatorBalanceTx", "UNKNOWN", "CreateAssetTx", "OperationTx",
}

func setID(to *chain.ID, v []byte) string {
	id, err := chain.ParseIDHexOrCB58(string(v))
	if err != nil {
		return "must be an ID, 32 bytes in CB58 or hex, not " + excerpt(v)
	}
	*to = id
	return ""
}

func setNode(to *chain.NodeID, v []byte) string {
	id, err := chain.ParseNodeID(string(v))
	if err != nil {
		return "must be a node ID, NodeID- and 20 bytes in CB58, not " + excerpt(v)
	}
	*to = id
	return ""
}

// stakerStatus is a parameter that is one of some states.
func stakerStatus(name string, allowed ...string) param {
	last := len(allowed) - 1
	want := "must be " + strings.Join(allowed[:last], ", ") + " or " + allowed[last] + ", not "
	states := map[string]primary.StakerStatus{
		"completed": primary.Completed, "active": primary.Active, "pending": primary.Pending, "removed": primary.Removed,
	}
	return param{name, func(q *query, v []byte) string {
		if !slices.Contains(allowed, string(v)) {
			return want + excerpt(v)
		}
		q.primary.status = states[string(v)]
		return ""
	}}
}

func listedAddresses(name string) param {
	return param{name, func(q *query, v []byte) string {
		q.primary.listed, q.primary.listedAs = v, name
		return ""
	}}
}

const tooMany = "has more than 100 items"

// eachListed calls take with each item of a comma-separated list, and returns what is
// wrong with the first that is: either that or [tooMany].
func eachListed(v []byte, take func(item []byte) string) string {
	for v != nil {
		var item []byte
		item, v, _ = bytes.Cut(v, comma) // v is nil after the last
		switch problem := take(bytes.TrimSpace(item)); problem {
		case "":
		case tooMany:
			return tooMany
		default:
			return "has an item that " + problem
		}
	}
	return ""
}

// readAddresses reads the list of addresses, those of the P- and the X-Chain of a
// network; where the C-Chain is read also those of its accounts, in hex.
func (q *primaryQuery) readAddresses(networkID uint32, hexToo bool) *failure {
	if q.listedAs == "" {
		return nil
	}
	problem := eachListed(q.listed, func(item []byte) string {
		a, err := address.ParseOn(string(item), networkID, "P", "X")
		switch {
		case err == nil:
		case hexToo && parseHex(item, a[:]):
		default:
			return notPrimaryAddress(item, networkID, err)
		}
		if slices.Contains(q.addresses, a) {
			return ""
		}
		if len(q.addresses) == maxListed {
			return tooMany
		}
		q.addresses = append(q.addresses, a)
		return ""
	})
	if problem != "" {
		return badRequest(q.listedAs + " " + problem)
	}
	return nil
}

func notPrimaryAddress(item []byte, networkID uint32, err error) string {
	prefix := address.Prefix(networkID)
	text := "must be an address that starts with " + prefix + "1, P-" + prefix + "1 or X-" + prefix + "1, not " + excerpt(item)
	switch {
	case errors.Is(err, address.ErrNetwork):
		text += ", which is of another network"
	case errors.Is(err, address.ErrChain):
		text += ", which is of another chain"
	}
	return text
}

// chainKind reads how a path names a chain of the primary network: by alias; false if
// it is none.
func chainKind(name []byte) (primary.Kind, bool) {
	switch string(name) {
	case "p-chain", "P":
		return primary.PChain, true
	case "x-chain", "X":
		return primary.XChain, true
	case "c-chain", "C":
		return primary.CChain, true
	}
	return 0, false
}
