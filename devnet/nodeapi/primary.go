package nodeapi

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync/atomic"
	"time"

	"github.com/goccy/go-json"
	"github.com/valyala/fasthttp"

	"quorate/devnet/primary"
	"quorate/devnet/world"
	"quorate/engine/chain"
	"quorate/engine/chain/address"
	"quorate/engine/chain/utxo"
)

// PrimaryTraits are what a node lacks, and how it misbehaves, about the P- and the
// X-Chain. The zero value is a good node. What concerns their state only, such as
// balances and validators, is always that of the last block.
type PrimaryTraits struct {
	// NoIndex: the node has no Index API.
	NoIndex bool
	// IndexFrom is the height of the first block in its indices: they were turned on
	// later. Zero means all; vertices are complete or, otherwise, not there.
	IndexFrom uint64
	// Lag is by how many blocks the node is behind.
	Lag uint64
	// Down: the APIs of the two chains and the index answer with an error.
	Down bool
	// Spoilt: a byte of each block and container is wrong.
	Spoilt bool
	// Silent is about how many of 16 requests are not answered but hung up.
	Silent int
	// FutureP and FutureX are the heights from which on the blocks of the P- and the
	// X-Chain are of a form that no release knows, in the chains' own APIs and in the
	// index; 0: none are.
	FutureP, FutureX uint64
	// Upgrades are further ones that the node knows, by the members of info.upgrades, and
	// Version is what it says that it runs; empty: the usual.
	Upgrades map[string]time.Time
	Version  string
}

// primaryAPI answers for the P- and the X-Chain.
type primaryAPI struct {
	*Server
	c      *primary.Chain
	traits atomic.Pointer[PrimaryTraits]
	calls  atomic.Uint64
}

// SetPrimaryTraits changes what the node does about the P- and the X-Chain.
func (s *Server) SetPrimaryTraits(t PrimaryTraits) {
	if s.primary != nil {
		s.primary.traits.Store(&t)
	}
}

// addPrimary adds the services of the P- and the X-Chain with blocks.
func (s *Server) addPrimary(c *primary.Chain) {
	p := &primaryAPI{Server: s, c: c}
	p.traits.Store(&PrimaryTraits{})
	s.primary = p
	for name, m := range p.platformMethods() {
		s.platform.methods[name] = m
	}
	s.info.methods["upgrades"] = call(p.upgrades)
	s.info.methods["getNodeVersion"] = call(p.getNodeVersion)
	s.avm = p.avmService()
	s.indices = map[string]*service{
		"P/block": p.indexService(p.platformContainers, futureP), "X/block": p.indexService(p.avmContainers, futureX),
		"X/vtx":   p.indexService(p.vertices, noFuture),
		"C/block": p.indexService(func() []*primary.Container { return p.indexed(p.c.Core()) }, noFuture),
	}
}

// unwell answers a request in place of the P- or the X-Chain if the node is to
// misbehave; false when it is well.
func (p *primaryAPI) unwell(ctx *fasthttp.RequestCtx, svc *service) bool {
	t := p.traits.Load()
	switch {
	case svc != p.platform && svc != p.avm && svc.name != "index":
		return false
	case t.Down:
		plain(ctx, fasthttp.StatusServiceUnavailable, "API call rejected because chain is not done bootstrapping")
		return true
	case t.NoIndex && svc.name == "index":
		plain(ctx, fasthttp.StatusNotFound, "404 page not found\n")
		return true
	case t.Silent > 0 && p.calls.Add(1)%16 < uint64(t.Silent): // not negative
		ctx.Response.ImmediateHeaderFlush = false
		ctx.HijackSetNoResponse(true)
		ctx.Hijack(func(conn net.Conn) { conn.Close() })
		return true
	}
	return false
}

// spoil returns bytes as the node hands them out.
func (p *primaryAPI) spoil(b []byte) []byte {
	if !p.traits.Load().Spoilt || len(b) == 0 {
		return b
	}
	other := append([]byte(nil), b...)
	other[len(other)/2] ^= 1
	return other
}

// seen returns the containers that the node knows by now.
func (p *primaryAPI) seen(all []*primary.Container) []*primary.Container {
	return all[:max(len(all)-int(min(p.traits.Load().Lag, uint64(len(all)))), 0)] // not negative
}

// text is bytes in an encoding that a client asked for.
func (e encoding) text(b []byte) hexBytes {
	if e == encodingHexN {
		return b
	}
	sum := sha256.Sum256(b)
	return append(b[:len(b):len(b)], sum[sha256.Size-4:]...)
}

// orHex returns the encoding, hex where none was asked for.
func (e encoding) orHex() encoding {
	if e == "" {
		return encodingHex
	}
	return e
}

// errJSON is what this node says where a real one would write JSON of its own types.
var errJSON = errors.New("encoding json is not simulated: use hex")

// The heights from which on a node's blocks are of the future.
func futureP(t *PrimaryTraits) uint64 { return t.FutureP }
func futureX(t *PrimaryTraits) uint64 { return t.FutureX }
func noFuture(*PrimaryTraits) uint64  { return 0 }

// shown returns a container as the node hands it out.
func (p *primaryAPI) shown(c *primary.Container, future func(*PrimaryTraits) uint64) *primary.Container {
	if from := future(p.traits.Load()); from > 0 && c.Height >= from {
		return c.Future()
	}
	return c
}

func (p *primaryAPI) getNodeVersion(none) (any, error) {
	reply, err := p.Server.getNodeVersion(none{})
	if r, ok := reply.(nodeVersionReply); ok && p.traits.Load().Version != "" {
		r.Version = p.traits.Load().Version
		return r, err
	}
	return reply, err
}

func (p *primaryAPI) upgrades(none) (any, error) {
	known := upgradesOf(p.c.Forks(), p.stop())
	for name, at := range p.traits.Load().Upgrades {
		known[name] = at.UTC().Format(time.RFC3339)
	}
	return known, nil
}

func upgradesOf(f primary.Forks, stop chain.ID) map[string]any {
	at := func(unix uint64) string {
		if unix == primary.Never {
			return "9999-12-01T00:00:00Z"
		}
		return rfc3339(unix)
	}
	return map[string]any{
		"apricotPhase1Time": at(f.Genesis), "apricotPhase2Time": at(f.Genesis), "apricotPhase3Time": at(f.Genesis),
		"apricotPhase4Time": at(f.Proposers), "apricotPhase4MinPChainHeight": 0, "apricotPhase5Time": at(f.Apricot5),
		"apricotPhasePre6Time": at(f.Apricot5), "apricotPhase6Time": at(f.Apricot5), "apricotPhasePost6Time": at(f.Apricot5),
		"banffTime": at(f.Banff), "cortinaTime": at(f.Cortina), "cortinaXChainStopVertexID": stop.String(),
		"durangoTime": at(f.Durango), "etnaTime": at(f.Etna), "fortunaTime": at(f.Granite), "graniteTime": at(f.Granite),
		"graniteEpochDuration": int64(primary.EpochDuration), "heliconTime": at(f.Helicon),
	}
}

func (p *primaryAPI) stop() chain.ID {
	vertices := p.c.Vertices()
	return vertices[len(vertices)-1].ID
}

type blockIDArgs struct {
	BlockID  chainID  `json:"blockID"`
	Encoding encoding `json:"encoding"`
}

// block returns a block as bytes.
func (p *primaryAPI) block(raw []byte, e encoding) (any, error) {
	if e = e.orHex(); e == encodingJSON {
		return nil, errJSON
	}
	return blockReply{Block: e.text(p.spoil(raw)), Encoding: e}, nil
}

func (p *primaryAPI) byHeight(first []byte, all []*primary.Container, future func(*PrimaryTraits) uint64, h uint64, e encoding) (any, error) {
	switch all = p.seen(all); {
	case h > uint64(len(all)):
		return nil, fmt.Errorf("couldn't get block at height %d: %w", h, errNotFound)
	case h == 0:
		return p.block(first, e)
	}
	return p.block(p.shown(all[h-1], future).Block, e)
}

func (p *primaryAPI) byID(blockchain chain.ID, first []byte, all []*primary.Container, args blockIDArgs) (any, error) {
	id := chain.ID(args.BlockID)
	if chain.ID(sha256.Sum256(first)) == id {
		return p.block(first, args.Encoding)
	}
	c := p.c.Find(blockchain, id)
	if c == nil || c.BlockID != id || c.Height > uint64(len(p.seen(all))) {
		return nil, fmt.Errorf("couldn't get block with id %s: %w", id, errNotFound)
	}
	return p.block(c.Block, args.Encoding)
}

type txArgs struct {
	TxID     chainID  `json:"txID"`
	Encoding encoding `json:"encoding"`
}

type txReply struct {
	Tx       any      `json:"tx"`
	Encoding encoding `json:"encoding"`
}

// tx returns a transaction as bytes.
func (e encoding) tx(t interface{ Bytes() ([]byte, error) }) (any, error) {
	raw, err := t.Bytes()
	if err != nil {
		return nil, err
	}
	if e = e.orHex(); e == encodingJSON {
		return nil, errJSON
	}
	return txReply{Tx: e.text(raw), Encoding: e}, nil
}

// alias of the chain in addresses.
type alias string

func (a alias) text(addr address.Address) string {
	return addr.OnChain(string(a), address.Prefix(world.NetworkID))
}

func (a alias) owner(o utxo.Owners) owner {
	return owner{Locktime: number(o.Locktime), Threshold: number(o.Threshold), Addresses: a.texts(o.Addresses)}
}

func (a alias) texts(list []address.Address) []string {
	all := make([]string, 0, len(list))
	for _, addr := range list {
		all = append(all, a.text(addr))
	}
	return all
}

// number32 is a number in an argument: as it is or in quotes.
type number32 uint32

// UnmarshalJSON reads both forms.
func (n *number32) UnmarshalJSON(b []byte) error {
	return json.Unmarshal([]byte(strings.Trim(string(b), `"`)), (*uint32)(n))
}
