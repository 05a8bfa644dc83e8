package ui

import (
	"cmp"
	"errors"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-json"

	"quorate/httpapi/shape"
	"quorate/httpapi/ui/plain"
)

func (s *Site) homePages() []Page {
	return []Page{{Pattern: "/", Units: 5, Serve: s.serveHome}}
}

const (
	// maxHomeChains bounds the chains whose heights the first page shows.
	maxHomeChains = 24
	// homeRows is the number of the latest blocks and transactions on it.
	homeRows = 8
)

// home is what the first page shows.
type home struct {
	Version   string
	Health    *homeHealth
	Networks  []homeNetwork
	Chains    []homeChain
	MoreChain int    // chains that are not shown
	Live      string // the chains whose events are shown, separated by commas

	ChainsError *Error
	Blocks      []shape.EVMBlock
	Txs         []evmTx
	// BlocksError and TxsError are why there are none.
	BlocksError, TxsError *Error
	Panels                []operatorPanel // of operators alone
	Try                   tryIt
}

// NameOf is the name of a chain in a list, its number if it has none.
func (d *home) NameOf(id shape.Digits) string {
	for i := range d.Chains {
		if d.Chains[i].ID == string(id) {
			return plain.Text(d.Chains[i].Name, 64)
		}
	}
	return string(id)
}

// homeHealth is what /health says. Only operators get the checks.
type homeHealth struct {
	Up     bool
	Checks []homeCheck
}

type homeCheck struct {
	Name, Error, Timestamp string
	Up                     bool
}

// homeNetwork is a network that is followed.
type homeNetwork struct {
	Name    string
	Stakers shape.NetworkDetails
	Error   *Error
}

// homeChain is a chain with its last block.
type homeChain struct {
	Path, ID, Name, Kind string
	Down                 bool // as far as the list of chains, or a health check, says
	Live                 bool // its blocks are told as events
	Latest               *shape.EVMBlock
	Error                *Error
	Progress             *progress
	Gaps                 string
	Stopped              string // why the index stands still, empty if it does not
}

// Call is the name of the function that a transaction calls, as far as it is known.
func (t *evmTx) Call() string {
	name, _, _ := strings.Cut(t.Method.MethodName, "(")
	return cmp.Or(name, t.Method.MethodHash)
}

// tryIt has commands with addresses of this server and things that are really there.
type tryIt struct{ Base, Chain, Network, WarpTx string }

func (s *Site) serveHome(r *Request) error {
	data, err := s.home[btoi(r.in.Operator)].get(func() (*home, error) { return s.homeOf(r.forAll()) })
	if err != nil {
		return err
	}
	view := *data
	view.Panels, view.Try.Base, view.Version = r.panels(), r.Base(), s.cfg.Version
	return r.Render("home", "", &view)
}

// homeOf asks for all that viewers share.
func (s *Site) homeOf(r *Request) (*home, error) {
	data := &home{Health: homeHealthOf(r)}
	var list shape.Chains
	if err := r.Get("/v1/chains", &list); err != nil && !errors.As(err, &data.ChainsError) {
		return nil, err
	}
	var live []string
	for i := range list.Chains {
		c := &list.Chains[i]
		if i >= maxHomeChains {
			data.MoreChain = len(list.Chains) - maxHomeChains
			break
		}
		h := s.homeChain(r, c)
		if h.Live = len(live) < maxLiveChains; h.Live {
			live = append(live, h.ID)
		}
		data.Chains = append(data.Chains, h)
	}
	data.Live = strings.Join(live, ",")
	if len(live) > 0 {
		data.Try.Chain = live[0]
	}
	for _, name := range []string{"mainnet", "fuji"} {
		if err := data.network(s, r, name); err != nil {
			return nil, err
		}
	}
	data.checkChains()
	return data, data.latest(r)
}

// checkChains has the P- and the X-Chain down whose checks fail: the list of chains does
// not have them. Where several networks are followed, the name of a check does not say to
// which one it belongs.
func (d *home) checkChains() {
	if d.Health == nil || len(d.Networks) != 1 {
		return
	}
	for i := range d.Chains {
		c := &d.Chains[i]
		c.Down = c.Down || slices.ContainsFunc(d.Health.Checks, func(check homeCheck) bool { return check.Name == c.ID && !check.Up })
	}
}

// maxLiveChains is the most that one stream of events takes.
const maxLiveChains = 8

func homeHealthOf(r *Request) *homeHealth {
	var said shape.Health
	a := r.Ask("/health")
	if json.Unmarshal(a.Body, &said) != nil || said.Status == "" {
		return nil
	}
	h := &homeHealth{Up: said.Status == "up"}
	for _, name := range slices.Sorted(maps.Keys(said.Details)) {
		c := said.Details[name]
		h.Checks = append(h.Checks, homeCheck{Name: name, Error: c.Error, Timestamp: c.Timestamp, Up: c.Status == "up"})
	}
	return h
}

// homeChain asks for the last block of an EVM chain.
func (s *Site) homeChain(r *Request, c *shape.Chain) homeChain {
	id := string(c.ChainID)
	h := homeChain{Path: join("/chain", id), ID: id, Name: cmp.Or(c.ChainName, "Chain "+id), Kind: "EVM " + id, Down: c.Status != "OK"}
	h.lastBlock(s, r, join("/v1/chains", id, "blocks"))
	return h
}

// lastBlock asks for the last block of a chain. What is wrong with it is shown in its
// row: one chain must not hide the others.
func (h *homeChain) lastBlock(s *Site, r *Request, path string) {
	path += "?pageSize=1"
	a := r.Ask(path)
	h.Gaps = a.Gaps
	if h.Stopped = stopped(a.Gaps); h.Stopped == "" {
		h.Progress = s.progress.at(h.Path, a.Indexed, a.Height)
	}
	var list shape.EVMBlocks // as far as pages show them, those of the P- and the X-Chain are alike
	if err := a.decode(path, &list); err != nil {
		if !errors.As(err, &h.Error) {
			h.Error = errorf(http.StatusInternalServerError, "the answer cannot be read")
		}
		return
	}
	if len(list.Blocks) > 0 {
		h.Latest = &list.Blocks[0]
	}
}

// network adds a network if it is followed, with its P- and X-Chain.
func (d *home) network(s *Site, r *Request, name string) error {
	base := join("/v1/networks", name)
	n := homeNetwork{Name: name}
	err := r.Get(base, &n.Stakers)
	if err != nil && !errors.As(err, &n.Error) {
		return err
	}
	if n.Error != nil && n.Error.Status == http.StatusNotFound {
		return nil // it is not followed
	}
	d.Networks = append(d.Networks, n)
	if d.Try.Network == "" {
		d.Try.Network = name
	}
	for _, c := range []struct{ id, letter string }{{"p-chain", "P"}, {"x-chain", "X"}} {
		h := homeChain{Path: join("/primary", letterOf(c.id)), ID: c.letter, Name: c.letter + "-Chain", Kind: "primary network"}
		if name != d.Networks[0].Name {
			h.Path += "?network=" + name
		}
		h.lastBlock(s, r, join(base, "blockchains", c.id, "blocks"))
		if h.Error != nil && h.Error.Status == http.StatusNotFound {
			continue // the chain is not followed
		}
		d.Chains = append(d.Chains, h)
	}
	return nil
}

// latest asks for the latest blocks and transactions of all chains, and for a
// transaction with a message that can be signed.
func (d *home) latest(r *Request) error {
	if d.Live == "" {
		return nil
	}
	var blocks shape.EVMBlocks
	var txs struct{ Transactions []evmTx }
	var messages shape.ICMMessages
	size := "?pageSize=" + strconv.Itoa(homeRows)
	var err error
	if d.BlocksError, err = r.part("/v1/blocks"+size, &blocks); err != nil {
		return err
	}
	if d.TxsError, err = r.part("/v1/transactions"+size, &txs); err != nil {
		return err
	}
	if _, err = r.part("/v1/icm/messages?pageSize=1", &messages); err != nil {
		return err
	}
	d.Blocks, d.Txs = blocks.Blocks, txs.Transactions
	if len(messages.Messages) > 0 && messages.Messages[0].SourceTransaction != nil {
		d.Try.WarpTx = string(messages.Messages[0].SourceTransaction.TxHash)
	}
	return nil
}
