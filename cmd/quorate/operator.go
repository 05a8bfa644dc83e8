package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/goccy/go-json"

	"quorate/aggregator"
	"quorate/aggregator/valset"
	"quorate/engine"
	"quorate/engine/chain"
	"quorate/engine/chain/evm"
	"quorate/engine/chain/warp"
	"quorate/engine/health"
	"quorate/engine/index"
	"quorate/engine/log"
	"quorate/engine/network"
	"quorate/httpapi"
	"quorate/httpapi/limit"
	"quorate/httpapi/sign"
	"quorate/httpapi/ui"
	"quorate/rpc"
)

// operatorWait bounds what a page waits for a message to be checked.
const operatorWait = 20 * time.Second

// operator is what operators' pages see of the engine.
type operator struct {
	eng    *engine.Engine
	chains httpapi.Chains // nil without an index
	ops    ui.Ops         // nil unless the administration is enabled
}

func newOperator(eng *engine.Engine, cfg *httpapi.Config, ext *rpc.Service, logs *log.Logs, admin bool) *operator {
	o := &operator{eng: eng, chains: cfg.Chains}
	if admin {
		o.ops = &ops{eng: eng, ext: ext, logs: logs, limits: cfg.Limits}
	}
	return o
}

// Ops implements [ui.Operator].
func (o *operator) Ops() ui.Ops { return o.ops }

// Networks implements [ui.Signatures].
func (o *operator) Networks() []ui.Network {
	var out []ui.Network
	for _, n := range o.eng.Networks().All() {
		out = append(out, ui.Network{ID: n.ID(), Name: networkTitle(n.ID())})
	}
	return out
}

// Nodes implements [ui.Signatures].
func (o *operator) Nodes(network uint32) []ui.Node {
	n := o.eng.Networks().Get(network)
	if n == nil {
		return nil
	}
	var out []ui.Node
	for _, node := range n.Nodes() {
		out = append(out, ui.Node(node))
	}
	return out
}

// networkTitle is what people call a network.
func networkTitle(id uint32) string {
	switch id {
	case 1:
		return "Mainnet"
	case 5:
		return "Fuji"
	}
	return fmt.Sprintf("Network %d", id)
}

// NameOf implements [ui.Signatures].
func (o *operator) NameOf(id chain.ID) string {
	names, err := o.eng.Chains().Aliases(id.String())
	if err != nil || len(names) == 0 || names[0] == id.String() {
		return ""
	}
	return names[0]
}

// Recent implements [ui.Signatures].
func (o *operator) Recent(network uint32) []ui.Signature {
	n := o.eng.Networks().Get(network)
	if n == nil {
		return nil
	}
	all := n.Aggregator().Recent()
	out := make([]ui.Signature, len(all))
	for i := range all {
		out[i] = signature(network, &all[i])
	}
	return out
}

// Signature implements [ui.Signatures].
func (o *operator) Signature(message chain.ID) (out []ui.Signature) {
	for _, n := range o.eng.Networks().All() {
		for _, d := range n.Aggregator().Details(message) {
			s := signature(n.ID(), &d.Report)
			s.Keyless = d.Keyless
			for i := range d.Votes {
				v := &d.Votes[i]
				s.Votes = append(s.Votes, ui.Vote{
					Nodes: v.NodeIDs, Weight: v.Weight, State: voteStates[v.State], Code: v.Code, Took: v.Took, Quarantined: v.Quarantined,
				})
			}
			out = append(out, s)
		}
	}
	return out
}

var voteStates = [...]string{
	aggregator.VoteUnknown: "unknown", aggregator.VoteSigned: "signed", aggregator.VoteSpare: "spare",
	aggregator.VoteRefused: "refused", aggregator.VoteNotYet: "notYet", aggregator.VoteInvalid: "invalid",
	aggregator.VoteSilent: "silent", aggregator.VoteUnreachable: "unreachable", aggregator.VoteBusy: "busy",
	aggregator.VotePending: "pending", aggregator.VoteNotAsked: "notAsked", aggregator.VoteUnderfunded: "underfunded",
}

var howNames = map[aggregator.How]string{
	aggregator.Collected: "collected", aggregator.Reused: "reused", aggregator.FromDisk: "disk", aggregator.FromMemory: "memory",
}

func signature(network uint32, o *aggregator.Report) ui.Signature {
	s := ui.Signature{
		Network: network, Message: o.Message, SourceChain: o.SourceChain, Unsigned: o.Unsigned, Signed: o.Signed,
		Subnet: o.Subnet, Height: o.Height, Quorum: o.Quorum, Buffer: o.Buffer, Weight: o.Weight, Total: o.Total,
		Signers: o.Signers, Validators: o.Validators, At: o.At, Took: o.Took, How: howNames[o.How], Ahead: o.Ahead,
		Joined: o.Joined, Repeats: o.Repeats, Error: o.Err,
	}
	if o.Kind != 0 {
		s.Failure = o.Kind.String()
	}
	return s
}

// Rates implements [ui.Signatures].
func (o *operator) Rates(network uint32) ui.Rates {
	n := o.eng.Networks().Get(network)
	if n == nil {
		return ui.Rates{}
	}
	r := n.Aggregator().Rates()
	out := ui.Rates{Window: r.Window, Counts: ui.Counts(r.RateCounts), Points: make([]ui.RatePoint, len(r.Points))}
	for i, p := range r.Points {
		out.Points[i] = ui.RatePoint{At: p.At, Counts: ui.Counts(p.RateCounts)}
	}
	return out
}

// TxMessages implements [ui.Signatures].
func (o *operator) TxMessages(hash [32]byte) ([][]byte, error) {
	if o.chains == nil {
		return nil, &ui.Error{Status: http.StatusNotFound, Message: "no chain is indexed here, so transactions are not known"}
	}
	for _, c := range o.chains.Chains() {
		messages, found, err := sign.TxMessages(c, hash)
		switch {
		case errors.Is(err, index.ErrEmpty):
		case err != nil, len(messages) > 0:
			return messages, err
		case found:
			return nil, &ui.Error{Status: http.StatusNotFound, Message: fmt.Sprintf("transaction %s has no warp message", evm.Hash(hash))}
		}
	}
	return nil, &ui.Error{Status: http.StatusNotFound, Message: fmt.Sprintf("transaction %s does not exist or is not indexed yet", evm.Hash(hash))}
}

// Sign implements [ui.Signatures].
func (o *operator) Sign(q *ui.SignQuery) ([]byte, error) {
	msg, err := warp.Parse(q.Message)
	if err != nil {
		return nil, &ui.Error{Status: http.StatusBadRequest, Message: err.Error()}
	}
	n := o.eng.Networks().Get(msg.NetworkID)
	if n == nil {
		return nil, unfollowed(msg)
	}
	ctx, cancel := context.WithTimeout(context.Background(), operatorWait)
	defer cancel()
	res, err := n.Aggregator().Aggregate(ctx, &aggregator.Request{
		Message: q.Message, Quorum: q.Quorum, Buffer: q.Buffer, SigningSubnetID: q.Subnet, PChainHeight: q.Height, Client: "operator's page",
	})
	if err != nil {
		var e *aggregator.Error
		if errors.As(err, &e) {
			return nil, &ui.Error{Status: http.StatusBadRequest, Message: e.Msg}
		}
		return nil, err
	}
	return res.Signed, nil
}

func unfollowed(msg *warp.Unsigned) error {
	return &ui.Error{Status: http.StatusBadRequest, Message: fmt.Sprintf("the message is of network %d, of which no node is followed", msg.NetworkID)}
}

// Verify implements [ui.Signatures].
func (o *operator) Verify(q *ui.VerifyQuery) (*ui.Verdict, error) {
	msg, err := warp.ParseSigned(q.Signed)
	if err != nil {
		return nil, &ui.Error{Status: http.StatusBadRequest, Message: err.Error()}
	}
	n := o.eng.Networks().Get(msg.NetworkID)
	if n == nil {
		return nil, unfollowed(msg.Unsigned)
	}
	ctx, cancel := context.WithTimeout(context.Background(), operatorWait)
	defer cancel()
	set, err := n.SigningSet(ctx, msg.SourceChainID, q.Subnet, q.Height)
	switch {
	case errors.Is(err, valset.ErrUnknownChain):
		return nil, &ui.Error{Status: http.StatusNotFound, Message: fmt.Sprintf("its source chain %s does not exist", msg.SourceChainID)}
	case err != nil:
		return nil, &ui.Error{Status: http.StatusBadGateway, Message: fmt.Sprintf("its validators cannot be found: %v", err)}
	}
	v := &ui.Verdict{Subnet: set.SubnetID, Height: set.Height, Total: set.TotalWeight, Validators: len(set.Validators)}
	if signers, ok := warp.BitsFromSigners(msg.Signers, len(set.Validators)); ok {
		v.Weight, v.Signers = set.Weight(signers), signers.Count()
		for i := range set.Validators {
			of := &set.Validators[i]
			state := "absent"
			if signers.Has(i) {
				state = "signed"
			}
			v.Votes = append(v.Votes, ui.Vote{Nodes: of.NodeIDs, Weight: of.Weight, State: state})
		}
	}
	if err := checkSigned(msg, set, q.Quorum); err != nil {
		v.Invalid = strings.TrimPrefix(err.Error(), errInvalid.Error()+": ")
	}
	return v, nil
}

// Stake implements [ui.Validators].
func (o *operator) Stake(network uint32) []ui.SubnetStake {
	n := o.eng.Networks().Get(network)
	if n == nil {
		return nil
	}
	all, runways := n.Stake(), n.Runways()
	out := make([]ui.SubnetStake, len(all))
	for i := range all {
		out[i] = subnetStake(&all[i])
		for k := range runways {
			if next, ok := runways[k].Next(); ok && runways[k].Subnet == all[i].Subnet {
				out[i].Next = &ui.Lasting{Node: next.NodeID, Left: next.Left}
			}
		}
	}
	return out
}

func subnetStake(s *network.SubnetStake) ui.SubnetStake {
	out := ui.SubnetStake{Subnet: s.Subnet, Height: s.Height, Validators: s.Validators, Connected: s.Connected, Total: s.Total}
	if s.Subnet == chain.PrimaryNetworkID {
		out.Name = "Primary network"
	}
	return out
}

// ValidatorSet implements [ui.Validators].
func (o *operator) ValidatorSet(network uint32, subnet chain.ID) *ui.ValidatorSet {
	n := o.eng.Networks().Get(network)
	if n == nil {
		return nil
	}
	v, ok := n.Validators(subnet)
	if !ok {
		return nil
	}
	// Of a node's validations the one that lasts longest counts, as for signing.
	lasts := map[chain.NodeID]*ui.Lasting{}
	for _, r := range n.Runways() {
		for _, v := range r.Validators {
			if r.Subnet == subnet && (r.Price > 0 || v.Balance == 0) {
				lasts[v.NodeID] = &ui.Lasting{Node: v.NodeID, Left: v.Left}
			}
		}
	}
	out := &ui.ValidatorSet{SubnetStake: subnetStake(&v.SubnetStake), Keyless: v.Keyless, Inactive: v.Inactive}
	for i := range v.Entries {
		of := &v.Entries[i]
		e := ui.ValidatorEntry{Weight: of.Weight, Underfunded: of.Underfunded}
		for k := range of.Nodes {
			d := &of.Nodes[k]
			e.Nodes = append(e.Nodes, ui.ValidatorNode{
				ID: d.NodeID, Lasts: lasts[d.NodeID], Connected: d.Ready, Since: d.Since, AwayFor: d.AwayFor, HasAddress: d.HasAddress, TurnedAway: d.TurnedAway, OnRequest: d.OnRequest,
				Address: d.Address, Version: d.Version, P50: d.P50, P99: d.P99,
				Asked: d.Asked, Answered: d.Answered, Refused: d.Refused, Silent: d.Expired, Invalid: d.Invalid, Violations: d.Violations,
				Unreliable: d.Unreliable, ProbeAt: d.ProbeAt, QuarantinedUntil: d.QuarantinedUntil, Fault: d.Fault,
			})
		}
		out.Entries = append(out.Entries, e)
	}
	return out
}

// ops is what the page of the administration sees.
type ops struct {
	eng    *engine.Engine
	ext    *rpc.Service
	logs   *log.Logs
	limits *limit.Limiter // may be nil
}

// Checks implements [ui.Ops].
func (o *ops) Checks() []ui.Check {
	report := o.eng.Health().Health(nil)
	out := make([]ui.Check, 0, len(report.Checks))
	for name, r := range report.Checks {
		out = append(out, checkResult(name, &r))
	}
	slices.SortFunc(out, func(a, b ui.Check) int { return strings.Compare(a.Name, b.Name) })
	return out
}

func checkResult(name string, r *health.Result) ui.Check {
	return ui.Check{
		Name: name, Error: r.Error, Details: string(r.Message), At: r.Timestamp, Took: r.Duration,
		Failures: r.ContiguousFailures, FailingSince: r.TimeOfFirstFailure,
	}
}

// Log implements [ui.Ops].
func (o *ops) Log(level, logger string, limit int) ([]ui.LogLine, error) {
	least, err := log.ParseLevel(level)
	if err != nil {
		return nil, err
	}
	lines := o.logs.Tail(least, logger, limit)
	out := make([]ui.LogLine, len(lines))
	for i, l := range lines {
		out[i] = ui.LogLine{At: l.At, Level: l.Level.String(), Logger: l.Logger, Text: l.Text}
	}
	return out, nil
}

// Levels implements [ui.Ops].
func (o *ops) Levels() []ui.LoggerLevels {
	var out []ui.LoggerLevels
	for name, pair := range o.logs.Levels() {
		out = append(out, ui.LoggerLevels{Name: name, File: pair.File.String(), Display: pair.Display.String()})
	}
	slices.SortFunc(out, func(a, b ui.LoggerLevels) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// Keys implements [ui.Ops].
func (o *ops) Keys() []ui.KeyUse {
	var out []ui.KeyUse
	for _, k := range o.limits.Keys() {
		out = append(out, ui.KeyUse(k))
	}
	return out
}

// Disk implements [ui.Ops].
func (o *ops) Disk() (*ui.DiskUse, error) {
	u, err := o.eng.Disk().Use()
	if err != nil {
		return nil, err
	}
	out := &ui.DiskUse{Free: u.Free, Total: u.Total, Needed: u.Needed}
	for name, size := range u.Parts {
		out.Parts = append(out.Parts, ui.DiskPart{Name: name, Bytes: size})
	}
	slices.SortFunc(out.Parts, func(a, b ui.DiskPart) int {
		return cmp.Or(cmp.Compare(b.Bytes, a.Bytes), strings.Compare(a.Name, b.Name))
	})
	return out, nil
}

// Call implements [ui.Ops].
func (o *ops) Call(method string, params map[string]string, remote string) (json.RawMessage, error) {
	return o.ext.Administer(method, params, remote)
}
