package network

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"

	"github.com/goccy/go-json"

	"quorate/aggregator/valset"
	"quorate/engine/chain"
)

// lastSets are the validator sets that were known last, of the primary network and
// of the subnets of followed chains. They are kept in a file of the data folder, so
// that signed messages can be served after a restart while no node answers: a kept
// result is found by its set and checked against it.
type lastSets struct {
	path string

	mu    sync.Mutex // guards what follows
	sets  map[chain.ID]*valset.Set
	saved map[chain.ID][32]byte // digests of those in the file
}

// setForm is a set in the file; keys are in their compressed form.
type setForm struct {
	Subnet  chain.ID     `json:"subnet"`
	Height  uint64       `json:"height"`
	Total   uint64       `json:"total"`
	Members []memberForm `json:"members"`
}

type memberForm struct {
	Key    []byte         `json:"key"`
	Weight uint64         `json:"weight"`
	Nodes  []chain.NodeID `json:"nodes"`
}

// openLastSets reads the file of a network. One that cannot be read is as none:
// it costs results that are not served while the node is down.
func openLastSets(path string) (*lastSets, error) {
	l := &lastSets{path: path, sets: make(map[chain.ID]*valset.Set), saved: make(map[chain.ID][32]byte)}
	raw, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return l, nil
	}
	var forms []setForm
	if err == nil {
		err = json.Unmarshal(raw, &forms)
	}
	if err != nil {
		forms = nil // what stands before the damage does not count
	}
	for i := range forms {
		set, wrong := forms[i].set()
		if wrong != nil {
			err = errors.Join(err, wrong)
			continue
		}
		l.sets[set.SubnetID], l.saved[set.SubnetID] = set, set.Digest
	}
	if err != nil {
		err = fmt.Errorf("validator sets of the last run: %s: %w", path, err)
	}
	return l, err
}

func (f *setForm) set() (*valset.Set, error) {
	var members []valset.Member
	rest := f.Total
	for i := range f.Members {
		m := &f.Members[i]
		if m.Weight > rest {
			return nil, errors.New("the weights are more than their total")
		}
		rest -= m.Weight
		for k, id := range m.Nodes {
			member := valset.Member{NodeID: id, PublicKey: m.Key}
			if k == 0 { // of nodes that share a key one may carry it all
				member.Weight = m.Weight
			}
			members = append(members, member)
		}
	}
	members = append(members, valset.Member{Weight: rest}) // without a key
	return valset.New(f.Subnet, f.Height, members, nil)
}

func formOf(s *valset.Set) setForm {
	f := setForm{Subnet: s.SubnetID, Height: s.Height, Total: s.TotalWeight, Members: make([]memberForm, len(s.Validators))}
	for i := range s.Validators {
		v := &s.Validators[i]
		key := v.Key.Compressed()
		f.Members[i] = memberForm{Key: key[:], Weight: v.Weight, Nodes: v.NodeIDs}
	}
	return f
}

// get is the LastKnown of [aggregator.Config].
func (l *lastSets) get(subnet chain.ID) (*valset.Set, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	set, ok := l.sets[subnet]
	return set, ok
}

// put takes sets as the last known ones, and writes the file if any has changed.
func (l *lastSets) put(sets []*valset.Set) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	changed := false
	for _, s := range sets {
		l.sets[s.SubnetID] = s
		changed = changed || l.saved[s.SubnetID] != s.Digest
	}
	if !changed {
		return nil
	}
	forms := make([]setForm, 0, len(l.sets))
	for _, s := range l.sets {
		forms = append(forms, formOf(s))
	}
	raw, err := json.Marshal(forms)
	if err != nil {
		return err
	}
	tmp := l.path + ".tmp"
	if err := os.WriteFile(tmp, raw, 0o600); err != nil {
		return err
	}
	if err := os.Rename(tmp, l.path); err != nil {
		return err
	}
	for _, s := range l.sets {
		l.saved[s.SubnetID] = s.Digest
	}
	return nil
}

// rememberSets keeps the sets that are known now.
func (n *Network) rememberSets(ctx context.Context) {
	subnets := map[chain.ID]bool{chain.PrimaryNetworkID: true}
	n.mu.Lock()
	for _, c := range n.attached {
		subnets[c.Subnet] = true
	}
	n.mu.Unlock()
	var sets []*valset.Set
	for id := range subnets {
		if set, ok := n.keeper.Current(id); ok {
			sets = append(sets, set)
		}
	}
	err := n.cfg.Room()
	if err == nil {
		err = n.last.put(sets)
	}
	if err != nil && ctx.Err() == nil {
		n.cfg.Log("main").Warn("the validator sets could not be kept for the next start", "network", n.cfg.ID, "err", err)
	}
}
