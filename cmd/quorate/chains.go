package main

import (
	"cmp"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"quorate/engine"
	"quorate/engine/chain"
	"quorate/engine/follow"
	"quorate/engine/ingest"
	"quorate/httpapi"
	"quorate/httpapi/view"
	"quorate/internal/hostport"
)

// chains is the HTTP server's view of the engine's EVM chains.
type chains struct {
	eng *engine.Engine
	// baseURL is where clients reach this server; empty when it serves no chain RPC.
	baseURL string
	// metadata says that the metadata of NFTs are known: they are fetched, or a file has them.
	metadata bool
	// known is what was made for requests so far: it is the same for each.
	known *atomic.Pointer[seenChains]
}

func newChains(eng *engine.Engine, baseURL string, metadata bool) chains {
	return chains{eng, baseURL, metadata, &atomic.Pointer[seenChains]{}}
}

// Chain implements [httpapi.Chains].
func (c chains) Chain(name string) (*httpapi.Chain, bool) {
	s := c.seen()
	if n, err := strconv.ParseUint(name, 10, 64); err == nil {
		if of, ok := s.find(func(e *follow.EVM) bool { return e.Number() == n }); ok {
			return of, true
		} // An alias may be of digits alone.
	}
	id, ok := c.eng.Chains().Lookup(name)
	if !ok {
		return nil, false
	}
	return s.find(func(e *follow.EVM) bool { return e.ID() == id })
}

// Chains implements [httpapi.Chains].
func (c chains) Chains() []*httpapi.Chain { return c.seen().chains }

// seen returns the engine's chains with what clients see of them, which is made
// when there are new ones.
func (c chains) seen() *seenChains {
	list, old := c.eng.EVMs().All(), c.known.Load()
	if old != nil && slices.Equal(old.list, list) {
		return old
	}
	next := &seenChains{list: list}
	for _, e := range list {
		next.chains = append(next.chains, &httpapi.Chain{Chain: e.Index(), Nodes: &evmNodes{EVM: e}, Info: c.info(e)})
	}
	c.known.Store(next)
	return next
}

// seenChains are the engine's chains in its order, and the same as they are served.
type seenChains struct {
	list   []*follow.EVM
	chains []*httpapi.Chain
}

func (s *seenChains) find(is func(*follow.EVM) bool) (*httpapi.Chain, bool) {
	i := slices.IndexFunc(s.list, is)
	if i < 0 {
		return nil, false
	}
	return s.chains[i], true
}

// evmNodes are the nodes of one of them.
type evmNodes struct {
	*follow.EVM
	// sync is what [evmNodes.Syncing] found last: it is asked for each request.
	sync atomic.Pointer[syncState]
}

// syncState is how far a chain's nodes were at a time.
type syncState struct {
	at time.Time
	// begun: there was a block. What is missing below an index is known from its first
	// one on, and sums must not be served as whole before.
	begun  bool
	height uint64
	behind bool
	gaps   []view.Gap
	header string // of the gaps
	// settled is that of [evmNodes.Settled].
	settled string
}

const (
	// syncAge is how long a syncState is good for.
	syncAge = 200 * time.Millisecond
	// maxGapsHeader is about how long the header with the gaps of a chain may be.
	maxGapsHeader = 256
)

// Syncing implements [httpapi.Nodes].
func (c *evmNodes) Syncing() (uint64, bool) {
	s := c.state()
	return s.height, s.behind
}

// Gaps implements [httpapi.Nodes].
func (c *evmNodes) Gaps() ([]view.Gap, string) {
	s := c.state()
	return s.gaps, s.header
}

// Settled implements [httpapi.Nodes].
func (c *evmNodes) Settled() string { return c.state().settled }

// state returns what was found last, or looks again when that is old.
func (c *evmNodes) state() *syncState {
	now := time.Now()
	_, _, begun := c.Index().Cursor()
	if s := c.sync.Load(); s.holds(now, begun) {
		return s
	}
	s := &syncState{at: now, begun: begun}
	s.height, s.behind = c.EVM.Syncing()
	s.setGaps(c.EVM.Gaps(), nil)
	if height, ok := c.EVM.Settled(); ok {
		s.settled = strconv.FormatUint(height, 10)
	}
	c.sync.Store(s)
	return s
}

// holds reports whether it need not be found again.
func (s *syncState) holds(now time.Time, begun bool) bool {
	return s != nil && s.begun == begun && now.Sub(s.at) <= syncAge
}

// setGaps keeps what is missing of a chain, and the header that says so: with when a block
// that cannot be read is of, and what it needs.
func (s *syncState) setGaps(list []follow.Gap, u *ingest.UnreadableError) {
	var header []byte
	for _, g := range list {
		s.gaps = append(s.gaps, view.Gap{Kind: g.Kind, From: g.From, To: g.To, Reason: g.Reason})
		if g.Rows && len(header) < maxGapsHeader {
			if len(header) > 0 {
				header = append(header, ", "...)
			}
			header = fmt.Appendf(header, "%s %d-%d", g.Kind, g.From, g.To)
			if u == nil || g.Kind != follow.GapUnreadable {
				continue
			}
			if !u.Time.IsZero() {
				header = u.Time.UTC().AppendFormat(append(header, "; time="...), time.RFC3339)
			}
			if u.Needs != "" {
				header = fmt.Appendf(header, "; needs=%q", u.Needs)
			}
		}
	}
	s.header = string(header)
}

// info is what clients see of a chain.
func (c chains) info(e *follow.EVM) *view.ChainInfo {
	d := e.Details()
	info := &view.ChainInfo{
		ChainID: strconv.FormatUint(e.Number(), 10),
		Name:    d.Name, Description: d.Description,
		BlockchainID: e.ID().String(), SubnetID: e.Subnet().String(),
		ExplorerURL: d.ExplorerURL, LogoURI: d.LogoURI, WSURL: d.WSURL, Multicall: d.Multicall,
		RPCURL:    d.RPCURL,
		IsTestnet: e.NetworkID() != chain.MainnetID, Private: d.Private, Features: d.Features,
		Token: view.NetworkToken{
			Name: cmp.Or(d.TokenName, "Avalanche"), Symbol: cmp.Or(d.TokenSymbol, "AVAX"),
			Decimals: d.TokenDecimals, LogoURI: d.TokenLogoURI, Description: d.TokenDescription,
		},
	}
	if c.baseURL != "" {
		rpcURL, wsURL := chainURLs(c.baseURL, e.ID().String())
		info.RPCURL = cmp.Or(info.RPCURL, rpcURL)
		if e.HasSocket() {
			info.WSURL = cmp.Or(info.WSURL, wsURL)
		}
	}
	if vm := e.VM(); vm != (chain.ID{}) {
		info.VMID = vm.String()
	}
	if e.Subnet() == chain.PrimaryNetworkID {
		info.Name = cmp.Or(info.Name, "Avalanche C-Chain")
		info.Description = cmp.Or(info.Description, "The contract chain of the Avalanche primary network")
	}
	info.Name = cmp.Or(info.Name, "EVM chain "+info.ChainID)
	if len(info.Features) == 0 && c.metadata {
		info.Features = []string{view.FeatureNFT}
	}
	return info
}

// publicURL returns the address that clients see, and whether it is one.
func publicURL(s string) (string, bool) {
	u, err := url.Parse(s)
	ok := err == nil && u.Hostname() != "" && u.User == nil && (u.Scheme == "http" || u.Scheme == "https")
	if ok && u.Port() != "" {
		_, err = hostport.Port(u.Port())
		ok = err == nil
	}
	return strings.TrimRight(s, "/"), ok
}
