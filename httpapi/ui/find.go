package ui

import "net/http"

func (s *Site) findPages() []Page {
	return []Page{
		{Pattern: "/tx/{hash}", Units: 100, Serve: findTx},
		{Pattern: "/block/{block}", Units: 100, Serve: findBlock},
		{Pattern: "/address/{address}", Units: 20, Serve: findAddress},
	}
}

// maxChainsTried bounds the chains that are asked for one hash.
const maxChainsTried = 64

// found is the list of chains where something is.
type found struct {
	What, Kind string // "Transaction", "tx"
	ID         string
	Chains     []evmChain
	Unindexed  []string
	// None: these are all chains, and the address has no transactions on any.
	None    bool
	Refused []refusal
	Left    int // chains that were not asked
}

// refusal is why a chain could not be asked.
type refusal struct {
	Chain evmChain
	Error *Error
}

// show redirects to the only place, or lists all places.
func (f *found) show(r *Request) error {
	if len(f.Chains) == 1 && len(f.Refused) == 0 && len(f.Unindexed) == 0 {
		return r.Redirect(join("/chain", string(f.Chains[0].ChainID), f.Kind, f.ID))
	}
	if len(f.Chains) == 0 && len(f.Refused) == 0 && len(f.Unindexed) == 0 {
		return errorf(http.StatusNotFound, "%s %s is not known on any chain that is followed here", f.What, short(f.ID))
	}
	return r.Render("found", f.What+" "+short(f.ID), f)
}

func findTx(r *Request) error {
	return findOn(r, &found{What: "Transaction", Kind: "tx", ID: r.Param("hash")}, "transactions")
}

func findBlock(r *Request) error {
	return findOn(r, &found{What: "Block", Kind: "block", ID: r.Param("block")}, "blocks")
}

// findOn asks all chains for what has an ID.
func findOn(r *Request, f *found, list string) error {
	var all struct{ Chains []evmChain }
	if err := r.Get("/v1/chains", &all); err != nil {
		return err
	}
	if n := len(all.Chains); n > maxChainsTried {
		all.Chains, f.Left = all.Chains[:maxChainsTried], n-maxChainsTried
	}
	for _, c := range all.Chains {
		var it struct{}
		refused, err := r.part(c.chainPath(list, f.ID), &it)
		switch {
		case err != nil:
			return err
		case refused == nil:
			f.Chains = append(f.Chains, c)
		case refused.Status == http.StatusBadRequest:
			return refused
		case refused.Status != http.StatusNotFound:
			f.Refused = append(f.Refused, refusal{c, refused})
		}
	}
	return f.show(r)
}

func findAddress(r *Request) error {
	f := found{What: "Address", Kind: "address", ID: r.Param("address")}
	var on struct {
		IndexedChains   []evmChain
		UnindexedChains []string
	}
	if err := r.Get(join("/v1/address", f.ID, "chains"), &on); err != nil {
		return err
	}
	f.Chains, f.Unindexed = on.IndexedChains, on.UnindexedChains
	if len(f.Chains) > 0 {
		return f.show(r)
	}
	// An address without transactions may be looked at all the same, where there is one chain.
	var all struct{ Chains []evmChain }
	if err := r.Get("/v1/chains", &all); err != nil {
		return err
	}
	f.Chains, f.None = all.Chains, true
	return f.show(r)
}
