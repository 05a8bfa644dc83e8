package primary

import (
	"strconv"
	"strings"
	"time"

	"github.com/holiman/uint256"
	"github.com/valyala/fasthttp"

	"quorate/engine/chain"
	"quorate/engine/primary"
	"quorate/engine/primary/pchain"
	"quorate/httpapi/door"
	"quorate/httpapi/evm"
	"quorate/httpapi/metrics"
	"quorate/httpapi/reply"
	"quorate/httpapi/shape"
)

// supplyRoute is that of the supply of AVAX. Its path names no network: without the
// parameter it is that of mainnet if that is followed, and of the test network otherwise.
func (m *Room) supplyRoute() door.Route {
	return door.Route{
		Method: fasthttp.MethodGet, Pattern: "/v1/avax/supply", Units: door.UnitsMedium,
		Doc: "returns the supply of AVAX, and what it follows from",
		ID:  123, Query: []door.Param{door.ParamNetwork},
		Answer: shape.Supply{}, Refused: []int{fasthttp.StatusNotFound}, Make: m.on(onPlatform, nil, supplyOfAVAX),
	}
}

// supplyOfAVAX is what the supply of AVAX follows from, in nAVAX but for fees, which are in wei.
type supply struct {
	genesis, unlocked    uint64 // what the network began with, and the part without a lock now
	rewards, staked      uint64
	burned               [primary.CChain + 1]uint64 // by transactions of each chain, on the C-Chain by atomic ones
	locked               uint64
	l1Fees               uint64
	fees                 uint256.Int // of the C-Chain's EVM transactions
	updated              uint64      // Unix milliseconds
	all, circulating     uint256.Int // wei
	burnedOnP, burnedOnC uint256.Int // wei
}

// supplyOfAVAX writes the supply of AVAX after the last blocks.
func supplyOfAVAX(c *call) *door.Failure {
	s := &supply{}
	for _, read := range []func(*call) *door.Failure{s.ofStake, s.ofChains, s.ofFees} {
		if f := read(c); f != nil {
			return f
		}
	}
	if !s.sum() {
		return c.missing("the supply of AVAX of " + c.name + " does not follow from the genesis of its P-Chain, but also from that of its C-Chain")
	}
	whole := func(nAVAX uint64) *uint256.Int { return ofNano(nAVAX) }
	c.W.Raw("{")
	for _, m := range []struct {
		name   string
		amount *uint256.Int
	}{
		{"circulatingSupply", &s.circulating},
		{"totalSupply", &s.all},
		{"totalPBurned", &s.burnedOnP},
		{"totalCBurned", &s.burnedOnC},
		{"totalXBurned", whole(s.burned[primary.XChain])},
		{"totalStaked", whole(s.staked)},
		{"totalLocked", whole(s.locked)},
		{"totalRewards", whole(s.rewards)},
		{"genesisUnlock", whole(s.unlocked)},
		{"l1ValidatorFees", whole(s.l1Fees)},
	} {
		c.W.Member(m.name)
		c.W.B = append(appendAVAX(append(c.W.B, '"'), m.amount), '"')
	}
	c.W.Member("lastUpdated")
	c.W.B = time.UnixMilli(int64(s.updated)).UTC().AppendFormat(append(c.W.B, '"'), "2006-01-02T15:04:05.000Z")
	c.W.Raw(`"}`)
	return nil
}

// sum adds up what there is; ok is false if more was burned than is known to have been.
func (s *supply) sum() (ok bool) {
	s.burnedOnP.Add(ofNano(s.burned[primary.PChain]), ofNano(s.l1Fees))
	s.burnedOnC.Add(ofNano(s.burned[primary.CChain]), &s.fees)
	burned := ofNano(s.burned[primary.XChain])
	burned.Add(burned, &s.burnedOnP).Add(burned, &s.burnedOnC)
	made := ofNano(s.rewards)
	s.all.Add(ofNano(s.genesis), made)
	s.circulating.Add(ofNano(s.unlocked), made)
	_, under := s.circulating.SubOverflow(&s.circulating, burned)
	s.all.Sub(&s.all, burned)
	return !under
}

// ofStake reads what the P-Chain alone knows.
func (s *supply) ofStake(c *call) *door.Failure {
	rows, f := platformOf(c)
	if f != nil {
		return f
	}
	var known bool
	if s.genesis, s.unlocked, known = rows.GenesisSupply(); !known {
		return c.missing("the supply of AVAX needs all blocks of " + c.name + " since the genesis, which is not known here (--genesis-file)")
	}
	totals, err := rows.Totals()
	if err != nil {
		return c.unreadable(err)
	}
	s.staked = chain.AddSaturated(totals.Staked, totals.Delegated)
	if err := rows.FeeDays(&pchain.FeeFilter{}, 0, func(d *pchain.FeeDay) bool {
		s.l1Fees = d.Paid
		return false
	}); err != nil {
		return c.unreadable(err)
	}
	s.updated = max(c.rows.Tip().TimeMilli, rows.Time()*1000)
	if s.rewards, known, err = rows.Rewarded(c.network.AVAX()); err != nil {
		return c.unreadable(err)
	} else if !known {
		return c.oldRows(primary.PChain)
	}
	return nil
}

// oldRows is the answer where rows are made again, because those that are there do not
// say what is asked for.
func (c *call) oldRows(k primary.Kind) *door.Failure {
	return c.missing("the rows of the " + k.String() + " of " + c.name + " do not say enough of the supply of AVAX: they are of an older version, " +
		"and being made again, or have too many locks")
}

// ofChains reads what was burned and is locked on each chain.
func (s *supply) ofChains(c *call) *door.Failure {
	asset := c.network.AVAX()
	if asset.IsZero() {
		return c.missing("no node has answered yet which asset of " + c.name + " is AVAX")
	}
	if id := c.network.NetworkID(); id == 1 || id == 5 { // others have begun without vertices
		if rows, err := c.beside(primary.XVertices); err != nil {
			return c.unreadable(err)
		} else if rows == nil {
			return c.missing("the supply of AVAX needs the vertices of the X-Chain of " + c.name + ", which no followed node has")
		}
	}
	platform, f := platformOf(c)
	if f != nil {
		return f
	}
	for _, k := range []primary.Kind{primary.PChain, primary.XChain, primary.CChain} {
		rows, err := c.rows, error(nil)
		if k != primary.PChain {
			rows, err = c.beside(k)
		}
		switch {
		case err != nil:
			return c.unreadable(err)
		case rows == nil:
			return c.missing("the supply of AVAX needs the " + k.String() + " of " + c.name + ", which is not followed here or has no block yet")
		case rows.First() > 1:
			return c.missing("the supply of AVAX needs all blocks of the " + k.String() + " of " + c.name + "; here it begins at block " +
				strconv.FormatUint(rows.First(), 10))
		}
		known, err := rows.BurnedDays(asset, 0, func(d *primary.BurnedDay) bool {
			s.burned[k] = d.Total
			return false
		})
		if err == nil && known && k != primary.CChain { // there it has no outputs
			var locked uint64
			locked, known, err = rows.Locked(asset, platform.Time())
			s.locked += locked
		}
		if err != nil {
			return c.unreadable(err)
		} else if !known {
			return c.oldRows(k)
		}
		s.updated = max(s.updated, rows.Tip().TimeMilli)
	}
	return nil
}

// ofFees reads what the transactions of the C-Chain's EVM have paid: it is burned.
func (s *supply) ofFees(c *call) *door.Failure {
	on, ok := c.network.Chain(primary.CChain)
	if !ok {
		return c.missing("the C-Chain of " + c.name + " is not followed here")
	}
	var of *evm.Chain
	if c.room.EVM != nil {
		of, ok = c.room.EVM.Chain(on.ID().String())
	}
	if of == nil || !ok {
		return c.missing("the supply of AVAX needs the fees of the C-Chain of " + c.name + ", whose transactions are not indexed here")
	}
	_, tip, _ := of.Cursor()
	c.Mark(reply.Mark{Chain: of, Tip: tip}) // before it is read
	wei, all, f := metrics.Fees(&c.Request, of)
	if f == nil && !all {
		return c.missing("the supply of AVAX needs the fees of all blocks of the C-Chain of " + c.name + ", and the index of its transactions begins above the first one")
	}
	s.fees = wei
	return f
}

// ofNano returns an amount of nAVAX in wei.
func ofNano(nAVAX uint64) *uint256.Int {
	return new(uint256.Int).Mul(uint256.NewInt(nAVAX), uint256.NewInt(1e9))
}

// appendAVAX appends an amount in AVAX, without zeros at its end.
func appendAVAX(dst []byte, wei *uint256.Int) []byte {
	const decimals = 18
	text := wei.Dec()
	text = strings.Repeat("0", max(0, decimals+1-len(text))) + text
	dst = append(dst, text[:len(text)-decimals]...)
	if rest := strings.TrimRight(text[len(text)-decimals:], "0"); rest != "" {
		dst = append(append(dst, '.'), rest...)
	}
	return dst
}
