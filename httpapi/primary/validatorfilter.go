package primary

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"quorate/engine/chain"
	"quorate/engine/primary"
	"quorate/httpapi/door"
	"quorate/httpapi/openapi"
)

// validatorQuery bounds a list of validators by what is known of each.
type validatorQuery struct {
	fee, uptime         bounds   // of 1,000,000
	capacity, remaining bounds   // nAVAX, seconds
	parts               []string // of node IDs, any of which is in the ID
}

// bounds are a least and a largest value, if any is given. Who has no value is then out.
type bounds struct {
	given       bool
	least, most uint64
}

func (b *bounds) set(n uint64, most bool) {
	if !b.given {
		*b = bounds{true, 0, math.MaxUint64}
	}
	if most {
		b.most = n
	} else {
		b.least = n
	}
}

// admits reports whether a value, if there is one, is within the bounds.
func (b *bounds) admits(n uint64, known bool) bool {
	return !b.given || known && b.least <= n && n <= b.most
}

func (b *bounds) canonical(to []byte) []byte {
	if !b.given {
		return append(to, '-')
	}
	return strconv.AppendUint(append(strconv.AppendUint(append(to, 'b'), b.least, 10), 'm'), b.most, 10)
}

// empty reports whether all validators are asked for.
func (q *validatorQuery) empty() bool {
	return len(q.parts) == 0 && !q.fee.given && !q.uptime.given && !q.capacity.given && !q.remaining.given
}

// canonical is as that of [door.Query].
func (q *validatorQuery) canonical(b []byte) []byte {
	if q.empty() {
		return b
	}
	for _, of := range []*bounds{&q.fee, &q.uptime, &q.capacity, &q.remaining} {
		b = of.canonical(b)
	}
	for _, part := range q.parts {
		b = append(append(b, 'n'), part...)
	}
	return b
}

// chooses returns what reports whether a validator is one of those asked for, nil for all.
// nodes are those that are named in full, now is the time of the chain.
func (q *validatorQuery) chooses(nodes []chain.NodeID, told *primary.Told, now uint64) func(s *primary.Staker) bool {
	if q.empty() {
		return nil
	}
	return func(s *primary.Staker) bool {
		uptime, seen := told.Uptimes[s.Node]
		capacity, delegable := s.Capacity()
		return q.fee.admits(uint64(s.Fee), len(s.RewardOwners.Addresses) > 0) && // those of permissioned subnets have no delegators
			q.uptime.admits(uint64(uptime), seen && s.Subnet == chain.PrimaryNetworkID && s.Status == primary.Active) &&
			q.capacity.admits(capacity, delegable) && q.remaining.admits(remaining(s, now)) &&
			(len(q.parts) == 0 || slices.Contains(nodes, s.Node) || q.named(s.Node.String()))
	}
}

func (q *validatorQuery) named(node string) bool {
	return slices.ContainsFunc(q.parts, func(part string) bool { return strings.Contains(node, part) })
}

// remaining returns how long a validator still validates, in seconds; false of who does
// not any more.
func remaining(s *primary.Staker, now uint64) (uint64, bool) {
	if s.Status != primary.Active && s.Status != primary.Pending {
		return 0, false
	}
	return s.End - min(s.End, max(now, s.Start)), true
}

// The parameters of validators in the contract.
var (
	// paramNodeParts is paramNodeIDs that also takes parts of them.
	paramNodeParts = door.Param{Name: paramNodeIDs.Name, Doc: "only nodes whose ID is, or has in it, one of these",
		Schema: door.ListOf(door.TextLike("^[A-Za-z0-9-]{1,47}$", "NodeID-7Xhw2")),
		Set: func(q *door.Query, v []byte) string {
			return eachListed(v, func(item []byte) string {
				if len(ofPrimary(q).nodes)+len(ofPrimary(q).validators.parts) == door.MaxListed {
					return tooMany
				}
				var node chain.NodeID
				problem := door.SetNode(&node, item)
				switch {
				case problem == "":
					ofPrimary(q).nodes = append(ofPrimary(q).nodes, node)
				case !nodePart(string(item)):
					return problem + ", nor a part of one"
				default:
					ofPrimary(q).validators.parts = append(ofPrimary(q).validators.parts, string(item))
				}
				return ""
			})
		}}
	validatorBounds = slices.Concat(
		percentBounds("FeePercentage", "delegation fee", func(q *validatorQuery) *bounds { return &q.fee }),
		percentBounds("UptimePerformance", "uptime", func(q *validatorQuery) *bounds { return &q.uptime }),
		wholeBounds("DelegationCapacity", "free capacity for delegations, in nAVAX", func(q *validatorQuery) *bounds { return &q.capacity }),
		wholeBounds("TimeRemaining", "time remaining, in seconds", func(q *validatorQuery) *bounds { return &q.remaining }),
	)
)

// nodeTail is how long a node ID is at least without its prefix: what is so long and is
// none was mistyped, and is no part of one.
const nodeTail = 32

func nodePart(s string) bool {
	tail := strings.TrimPrefix(s, "NodeID-")
	return s != "" && len(tail) < nodeTail && strings.Trim(s, "-0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz") == ""
}

// boundsOf returns min and max of a value. read reads one.
func boundsOf(name, doc string, schema *openapi.Schema, of func(q *validatorQuery) *bounds, read func(v []byte) (uint64, string)) []door.Param {
	one := func(prefix, doc string, most bool) door.Param {
		return door.Param{Name: prefix + name, Doc: doc, Schema: schema, Set: func(q *door.Query, v []byte) string {
			n, problem := read(v)
			if problem == "" {
				of(&ofPrimary(q).validators).set(n, most)
			}
			return problem
		}}
	}
	return []door.Param{one("min", "the least "+doc, false), one("max", "the largest "+doc, true)}
}

func wholeBounds(name, doc string, of func(q *validatorQuery) *bounds) []door.Param {
	return boundsOf(name, doc, door.Whole(), of, func(v []byte) (uint64, string) {
		n, ok := door.ParseUint(v)
		if !ok {
			return 0, "must be a whole number in decimal" + door.Below63(v) + ", not " + door.Excerpt(v)
		}
		return n, ""
	})
}

func percentBounds(name, doc string, of func(q *validatorQuery) *bounds) []door.Param {
	least, most := uint64(0), uint64(100)
	return boundsOf(name, doc+", in percent", &openapi.Schema{Type: "number", Minimum: &least, Maximum: &most}, of, func(v []byte) (uint64, string) {
		share, err := strconv.ParseFloat(string(v), 64)
		if err != nil || strings.Trim(string(v), "0123456789.") != "" || share > float64(most) {
			return 0, "must be a number from 0 to 100, not " + door.Excerpt(v)
		}
		return uint64(math.Round(share * 10_000)), ""
	})
}
