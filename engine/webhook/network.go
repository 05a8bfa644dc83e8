package webhook

import (
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"quorate/engine/chain"
	"quorate/engine/chain/platform"
	"quorate/engine/primary"
	"quorate/engine/primary/pchain"
	"quorate/engine/primary/xchain"
)

// Network is a primary network that is followed.
type Network struct {
	ID   uint32
	AVAX chain.ID
	// Chain returns the ID of a chain, and its rows' Changed; ok is false if it is not
	// followed.
	Chain func(on primary.Kind) (id chain.ID, changed func() <-chan struct{}, ok bool)
	// Platform and Exchange open the rows of the P- and the X-Chain. They are called for
	// chains that are followed, and their errors wrap [primary.ErrEmpty] where there is no
	// block yet.
	Platform func() (*pchain.View, error)
	Exchange func() (*xchain.View, error)
}

// Writer writes what messages have of the primary network, as the API's answers have it.
type Writer interface {
	// Tx returns a transaction with what it spends and makes.
	Tx(r *Rows, row *primary.TxRow) (*Tx, error)
	Reward(r *Rows, p *primary.Reward) ([]byte, error)
	Balances(r *Rows, sums []Sum) ([]byte, error)
}

// Tx is a transaction of the primary network.
type Tx struct {
	Consumed, Emitted []*primary.Output
	Write             func() ([]byte, error)
}

// Sum is a balance: of an asset, by its name.
type Sum struct {
	Name   string
	Asset  chain.ID
	Amount uint64
	Count  int // outputs
}

// Rows are those of the blocks of a chain, as they were after its last one.
type Rows struct {
	*primary.View
	Network  *Network
	Name     string // that the client has for the network
	On       primary.Kind
	ID       chain.ID
	Platform *pchain.View // nil on the X-Chain
	Exchange *xchain.View // nil on the P-Chain

	writer Writer
	// horizon is the last block whose transactions all have been executed: those of a
	// proposal are when the option is there.
	horizon uint64
}

// Close ends the reading.
func (r *Rows) Close() {
	if r.Exchange != nil {
		r.Exchange.Close()
		return
	}
	r.View.Close()
}

// open opens the rows of a chain. The error wraps [primary.ErrEmpty] where there is no
// block yet.
func (n *Network) open(name string, on primary.Kind, writer Writer) (*Rows, error) {
	r := &Rows{Network: n, Name: name, On: on, writer: writer}
	r.ID, _, _ = n.Chain(on)
	if on == primary.XChain {
		x, err := n.Exchange()
		if err != nil {
			return nil, err
		}
		blocks, ok := x.Blocks()
		if !ok { // vertices are of the past
			x.Close()
			return nil, primary.ErrEmpty
		}
		r.Exchange, r.View = x, blocks
		r.horizon = r.Tip().Height
		return r, nil
	}
	p, err := n.Platform()
	if err != nil {
		return nil, err
	}
	r.Platform, r.View = p, p.View
	r.horizon = r.Tip().Height
	tip, err := r.block(r.horizon)
	if err != nil {
		r.Close()
		return nil, err
	}
	if proposes(tip) {
		if r.horizon == r.First() {
			r.Close()
			return nil, primary.ErrEmpty
		}
		r.horizon--
	}
	return r, nil
}

func proposes(b *primary.BlockInfo) bool {
	return b.Type == platform.ApricotProposal.String() || b.Type == platform.BanffProposal.String()
}

// block returns a block that must be there.
func (r *Rows) block(height uint64) (*primary.BlockInfo, error) {
	b, found, err := r.BlockAt(height)
	if err == nil && !found {
		err = fmt.Errorf("%w: block %d is missing", primary.ErrRow, height)
	}
	return b, err
}

// behind is the position in a list of transactions behind those of a block.
func behind(height uint64) primary.Position {
	return primary.Position(primary.Key(nil).Place(primary.Place{Height: height, Index: math.MaxUint32}))
}

// before is the position in such a list behind the transactions before a block.
func before(height uint64) primary.Position {
	if height == 0 {
		return nil
	}
	return behind(height - 1)
}

// point is how far a webhook of the primary network is: before a block, of whose messages
// the first Taken were taken. Blocks of these chains are final, so it stays good.
type point struct {
	height uint64
	taken  int
	// trail begins the ID of the block before, empty without one: rows of another network
	// of the same name have another one there.
	trail string
}

// String returns the form that is kept.
func (p point) String() string {
	return strconv.FormatUint(p.height, 10) + "." + strconv.Itoa(p.taken) + "." + p.trail
}

var errPoint = errors.New("not a position of the primary network")

func parsePoint(s string) (p point, err error) {
	height, rest, _ := strings.Cut(s, ".")
	taken, trail, ok := strings.Cut(rest, ".")
	if p.height, err = strconv.ParseUint(height, 10, 64); err != nil || !ok {
		return p, errPoint
	}
	if p.taken, err = strconv.Atoi(taken); err != nil || p.taken < 0 {
		return p, errPoint
	}
	p.trail = trail
	return p, nil
}

// pointBefore returns the point before a block.
func (r *Rows) pointBefore(height uint64) (point, error) {
	p := point{height: height}
	if height == 0 || height <= r.First() {
		return p, nil
	}
	b, err := r.block(height - 1)
	if err != nil {
		return p, err
	}
	p.trail = hex.EncodeToString(b.ID[:8])
	return p, nil
}

// Why a webhook cannot go on from its position.
var (
	errStrange = errors.New("the chain that is followed is not the one that it was made for")
	errBelow   = errors.New("the chain's index begins above its position")
)

// has reports whether the rows reach a point, and an error if it is none of theirs.
func (r *Rows) has(p point) (bool, error) {
	if p.height > r.horizon+1 {
		return false, nil // they are being made again
	}
	if first := r.First(); p.height < first {
		return false, errBelow
	} else if p.height == first {
		return true, nil
	}
	q, err := r.pointBefore(p.height)
	if err == nil && q.trail != p.trail {
		err = errStrange
	}
	return err == nil, err
}
