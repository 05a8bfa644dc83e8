package nodeapi

import (
	"bytes"
	"errors"
	"fmt"
	"slices"

	"quorate/devnet/primary"
	"quorate/devnet/world"
	"quorate/engine/chain"
	"quorate/engine/chain/address"
	"quorate/engine/chain/utxo"
)

const maxUTXOs = 1024 // of an answer, and of addresses in a question

type utxoRef struct {
	TxID  chainID `json:"txID"`
	Index uint32  `json:"outputIndex"`
}

type utxoIndex struct {
	Address string `json:"address"`
	UTXO    string `json:"utxo"`
}

type getUTXOsArgs struct {
	Addresses   []string  `json:"addresses"`
	SourceChain string    `json:"sourceChain"`
	Limit       number32  `json:"limit"`
	StartIndex  utxoIndex `json:"startIndex"`
	Encoding    encoding  `json:"encoding"`
}

type getUTXOsReply struct {
	NumFetched number     `json:"numFetched"`
	UTXOs      []hexBytes `json:"utxos"`
	EndIndex   *utxoIndex `json:"endIndex,omitempty"`
	Encoding   encoding   `json:"encoding"`
}

// owned is an output and one of its owners.
type owned struct {
	*utxo.UTXO
	addr address.Address
	id   chain.ID
}

// getUTXOs lists what addresses own on a chain, or what waits for them there to be
// imported from another.
func (p *primaryAPI) getUTXOs(on alias, args getUTXOsArgs) (any, error) {
	addrs, err := p.addresses(on, args.Addresses)
	if err != nil {
		return nil, err
	}
	var after owned
	if i := args.StartIndex; i.Address != "" || i.UTXO != "" {
		if after.addr, err = address.ParseOn(i.Address, world.NetworkID, string(on)); err != nil {
			return nil, fmt.Errorf("couldn't parse start index address %q: %w", i.Address, err)
		}
		if after.id, err = chain.ParseID(i.UTXO); err != nil {
			return nil, fmt.Errorf("couldn't parse start index utxo: %w", err)
		}
	}
	list, err := p.outputs(on, args.SourceChain)
	if err != nil {
		return nil, err
	}
	var all []owned
	for _, u := range list {
		for _, a := range u.Addresses {
			if slices.Contains(addrs, a) {
				all = append(all, owned{u, a, u.Ref.ID()})
			}
		}
	}
	order := func(a, b owned) int {
		if c := bytes.Compare(a.addr[:], b.addr[:]); c != 0 {
			return c
		}
		return bytes.Compare(a.id[:], b.id[:])
	}
	slices.SortFunc(all, order)
	limit := int(args.Limit)
	if limit == 0 || limit > maxUTXOs {
		limit = maxUTXOs
	}
	e := args.Encoding.orHex()
	reply := getUTXOsReply{UTXOs: []hexBytes{}, Encoding: e}
	seen := make(map[chain.ID]bool)
	for _, u := range all {
		if len(reply.UTXOs) == limit || order(u, after) <= 0 && !after.id.IsZero() {
			continue
		}
		after = u
		if seen[u.id] {
			continue
		}
		seen[u.id] = true
		raw, err := u.Bytes(on == "P")
		if err != nil {
			return nil, err
		}
		reply.UTXOs = append(reply.UTXOs, e.text(raw))
	}
	reply.NumFetched = number(len(reply.UTXOs))
	reply.EndIndex = &utxoIndex{on.text(after.addr), after.id.String()}
	return reply, nil
}

func (p *primaryAPI) addresses(on alias, texts []string) (addrs []address.Address, err error) {
	switch {
	case len(texts) == 0:
		return nil, errors.New("no addresses provided")
	case len(texts) > maxUTXOs:
		return nil, fmt.Errorf("number of addresses given, %d, exceeds maximum, %d", len(texts), maxUTXOs)
	}
	for _, text := range texts {
		a, err := address.ParseOn(text, world.NetworkID, string(on))
		if err != nil {
			return nil, fmt.Errorf("couldn't parse address %q: %w", text, err)
		}
		addrs = append(addrs, a)
	}
	return addrs, nil
}

// outputs returns those of a chain, or those that wait for it on another.
func (p *primaryAPI) outputs(on alias, source string) (list []*utxo.UTXO, err error) {
	here, from := chain.PlatformChainID, chain.PlatformChainID
	if on == "X" {
		here, from = p.world.XChainID(), p.world.XChainID()
	}
	if source != "" {
		id, ok := p.lookup(source)
		if !ok {
			return nil, fmt.Errorf("problem parsing source chainID %q: there is no ID with alias %s", source, source)
		}
		from = id
	}
	take := func(id chain.ID, all map[utxo.Ref]*utxo.UTXO, exported map[chain.ID][]utxo.UTXO) {
		switch {
		case from != id:
		case from == here:
			for _, u := range all {
				list = append(list, u)
			}
		default:
			for i := range exported[here] {
				u := exported[here][i]
				list = append(list, &u)
			}
		}
	}
	p.c.Read(func(s *primary.State) { take(chain.PlatformChainID, s.UTXOs, s.Exported) })
	p.c.ReadX(func(x *primary.XState) { take(p.world.XChainID(), x.UTXOs, x.Exported) })
	return list, nil
}
