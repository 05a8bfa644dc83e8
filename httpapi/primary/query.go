package primary

import (
	"bytes"
	"errors"
	"slices"
	"strconv"

	"quorate/engine/chain"
	"quorate/engine/chain/address"
	"quorate/engine/chain/platform"
	"quorate/engine/primary"
	"quorate/httpapi/door"
	"quorate/httpapi/openapi"
	"quorate/httpapi/view"
)

// Query holds the parameters that only routes of the primary network know.
type Query struct {
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

	validators validatorQuery

	subnetRoom, validationRoom, assetRoom chain.ID
	nodeRoom                              chain.NodeID
}

// ofPrimary returns the parameters that only these routes know.
func ofPrimary(q *door.Query) *Query { return q.Own.(*Query) }

// Canonical is as that of [door.Query].
func (q *Query) Canonical(b []byte) []byte {
	b = append(b, 'p', byte(q.status), door.Bit(q.hasHeight))
	b = strconv.AppendUint(b, q.height, 10)
	b = append(b, door.Bit(q.inactive), door.Bit(q.spent))
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
	return q.validators.canonical(b)
}

// The parameters of the primary network in the contract.
var (
	paramNodeIDs = door.Param{Name: "nodeIds", Doc: "only these nodes", Schema: door.ListOf(door.NodeLike()), Set: func(q *door.Query, v []byte) string {
		return eachListed(v, func(item []byte) string {
			var node chain.NodeID
			if problem := door.SetNode(&node, item); problem != "" {
				return problem
			}
			if slices.Contains(ofPrimary(q).nodes, node) {
				return ""
			}
			if len(ofPrimary(q).nodes) == door.MaxListed {
				return tooMany
			}
			ofPrimary(q).nodes = append(ofPrimary(q).nodes, node)
			return ""
		})
	}}
	paramAddresses       = listedAddresses("addresses")
	paramRewardAddresses = listedAddresses("rewardAddresses")
	paramDelegation      = stakerStatus("delegationStatus", "completed", "active", "pending")
	paramVertexHeight    = door.Param{Name: "vertexHeight", Doc: "the height of the vertices", Schema: door.Whole(), Set: func(q *door.Query, v []byte) string {
		var ok bool
		if ofPrimary(q).height, ok = door.ParseUint(v); !ok {
			return "must be the height of a vertex, a whole number in decimal, not " + door.Excerpt(v)
		}
		ofPrimary(q).hasHeight = true
		return ""
	}}
)

// Those of the calls that only the SDKs know.
var (
	paramValidation = stakerStatus("validationStatus", "completed", "active", "pending", "removed")
	paramSubnetID   = door.Param{Name: "subnetId", Doc: "only those of a subnet", Schema: door.IDLike(), Set: func(q *door.Query, v []byte) string {
		ofPrimary(q).subnet = &ofPrimary(q).subnetRoom
		return door.SetID(ofPrimary(q).subnet, v)
	}}
	paramValidationID = door.Param{Name: "l1ValidationId", Doc: "only those of a validation of an L1", Schema: door.IDLike(), Set: func(q *door.Query, v []byte) string {
		ofPrimary(q).validation = &ofPrimary(q).validationRoom
		return door.SetID(ofPrimary(q).validation, v)
	}}
	paramNodeID = door.Param{Name: "nodeId", Doc: "only those of a node", Schema: door.NodeLike(), Set: func(q *door.Query, v []byte) string {
		ofPrimary(q).node = &ofPrimary(q).nodeRoom
		return door.SetNode(ofPrimary(q).node, v)
	}}
	paramInactive = door.YesNo("includeInactiveL1Validators", "whether those without balance are listed too", false,
		func(q *door.Query, v bool) { ofPrimary(q).inactive = v })
	paramSortBy = door.Choice("sortBy", "the order that there is", "blockIndex", []string{"blockIndex"}, func(*door.Query, string) {})
)

// Those of transactions and outputs.
var (
	// paramTxTypes may be given several times, and each time list several.
	paramTxTypes = door.Param{Name: "txTypes", Repeats: true, Doc: "only transactions of these types", Schema: door.ListOf(&openapi.Schema{Type: "string", Enum: txTypes}), Set: func(q *door.Query, v []byte) string {
		return eachListed(v, func(item []byte) string {
			for _, k := range txTypes {
				if k == string(item) {
					ofPrimary(q).kinds = append(ofPrimary(q).kinds, k)
					return ""
				}
			}
			return "must be a type of transaction such as BaseTx, not " + door.Excerpt(item)
		})
	}}
	paramAssetID = door.Param{Name: "assetId", Doc: "only those of an asset", Schema: door.IDLike(), Set: func(q *door.Query, v []byte) string {
		ofPrimary(q).asset = &ofPrimary(q).assetRoom
		return door.SetID(ofPrimary(q).asset, v)
	}}
	paramMinAmount = door.Param{Name: "minUtxoAmount", Doc: "the least amount in nAVAX", Schema: door.Whole(), Set: func(q *door.Query, v []byte) string {
		var ok bool
		if ofPrimary(q).least, ok = door.ParseUint(v); !ok {
			return "must be an amount in nAVAX, a whole number in decimal, not " + door.Excerpt(v)
		}
		return ""
	}}
	paramSpent          = door.YesNo("includeSpent", "whether spent outputs are listed too", false, func(q *door.Query, v bool) { ofPrimary(q).spent = v })
	paramSortOutputs    = door.Choice("sortBy", "the order that there is", "timestamp", []string{"timestamp"}, func(*door.Query, string) {})
	paramBlockTimestamp = door.Param{Name: "blockTimestamp", Set: func(*door.Query, []byte) string {
		return "is not served here: balances are those after the last block"
	}}
)

// txTypes are the kinds of transactions by the names that the SDKs know, and those for which
// they have none: UNKNOWN chooses all of them.
var txTypes = append([]string{
	"AddValidatorTx", "AddSubnetValidatorTx", "AddDelegatorTx", "CreateChainTx", "CreateSubnetTx", "ImportTx", "ExportTx",
	"AdvanceTimeTx", "RewardValidatorTx", "RemoveSubnetValidatorTx", "TransformSubnetTx", "AddPermissionlessValidatorTx",
	"AddPermissionlessDelegatorTx", "BaseTx", "TransferSubnetOwnershipTx", "ConvertSubnetToL1Tx", "RegisterL1ValidatorTx",
	"SetL1ValidatorWeightTx", "DisableL1ValidatorTx", "IncreaseL1ValidatorBalanceTx", "UNKNOWN", "CreateAssetTx", "OperationTx",
}, platform.KindNames(view.FirstUnnamed)...)

// stakerStatus is a parameter that is one of some states.
func stakerStatus(name string, allowed ...string) door.Param {
	states := map[string]primary.StakerStatus{
		"completed": primary.Completed, "active": primary.Active, "pending": primary.Pending, "removed": primary.Removed,
	}
	return door.Choice(name, "only those of a state", "", allowed, func(q *door.Query, v string) { ofPrimary(q).status = states[v] })
}

func listedAddresses(name string) door.Param {
	item := &openapi.Schema{Type: "string", MinLength: 1, Example: "P-avax18jma8ppw3nhx5r4ap8clazz0dps7rv5ukulre5", Description: "Bech32 of the network, with P- or X- or without; for the C-Chain also hex."}
	return door.Param{Name: name, Doc: "only those of these addresses", Schema: door.ListOf(item), Set: func(q *door.Query, v []byte) string {
		ofPrimary(q).listed, ofPrimary(q).listedAs = v, name
		return ""
	}}
}

const tooMany = "has more than 100 items"

// eachListed calls take with each item of a comma-separated list, and returns what is
// wrong with the first that is: either that or [tooMany].
func eachListed(v []byte, take func(item []byte) string) string {
	for v != nil {
		var item []byte
		item, v, _ = bytes.Cut(v, door.Comma) // v is nil after the last
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
func (q *Query) readAddresses(networkID uint32, hexToo bool) *door.Failure {
	if q.listedAs == "" {
		return nil
	}
	problem := eachListed(q.listed, func(item []byte) string {
		a, err := address.ParseOn(string(item), networkID, "P", "X")
		switch {
		case err == nil:
		case hexToo && door.ParseHex(item, a[:]):
		default:
			return NotAddress(item, networkID, err)
		}
		if slices.Contains(q.addresses, a) {
			return ""
		}
		if len(q.addresses) == door.MaxListed {
			return tooMany
		}
		q.addresses = append(q.addresses, a)
		return ""
	})
	if problem != "" {
		return door.BadRequest(q.listedAs + " " + problem)
	}
	return nil
}

// NotAddress says that a text is no address of the primary network of networkID, which err is
// the reason of.
func NotAddress(item []byte, networkID uint32, err error) string {
	prefix := address.Prefix(networkID)
	text := "must be an address that starts with " + prefix + "1, P-" + prefix + "1 or X-" + prefix + "1, not " + door.Excerpt(item)
	switch {
	case errors.Is(err, address.ErrNetwork):
		text += ", which is of another network"
	case errors.Is(err, address.ErrChain):
		text += ", which is of another chain"
	}
	return text
}
