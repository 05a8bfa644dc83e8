package evm

import (
	"errors"
	"strconv"

	"quorate/engine/index"
	"quorate/httpapi/door"
	"quorate/httpapi/reply"
	"quorate/httpapi/view"
)

// Request is what requests about EVM chains have. Rooms embed it in theirs.
type Request struct {
	reply.Request
	EVM  *Room
	Open // the chain that is read
	// At is the height that the first page is of, nil for the chain's last block.
	At *uint64
}

// Open is a chain that is open at a height.
type Open struct {
	Chain *Chain
	Info  *view.ChainInfo
	V     *index.View
	// Version is that of what the chain's tokens say of themselves, which V has at least.
	Version uint64
}

// Emptied returns a request that keeps nothing of r but its room.
func (r *Request) Emptied() Request { return Request{Request: r.Request.Emptied(), EVM: r.EVM} }

// Find finds the chain that a path names.
func (r *Request) Find(name []byte) *door.Failure {
	var ok bool
	if r.Chain, ok = r.EVM.Chains.Chain(string(name)); !ok {
		return NoChain(name)
	}
	r.Info = r.Chain.Info
	r.About(r.Chain)
	if settled := r.Chain.Settled(); settled != "" {
		r.Ctx.Response.Header.Set(HeaderSettled, settled)
	}
	return nil
}

// HeaderSettled is the height of the last block whose results are proven, where blocks
// are executed after they were accepted.
const HeaderSettled = "X-Settled-Height"

// NoChain is the answer about a chain that is not followed.
func NoChain(name []byte) *door.Failure {
	return door.NotFound("chain " + door.Excerpt(name) + " is not served here")
}

// Wanted reports whether a chain is of the network that is asked for.
func (r *Request) Wanted(info *view.ChainInfo) bool {
	return r.Q.Network == "" || info.IsTestnet == (r.Q.Network != "mainnet")
}

// Read has run write the body from the chain that was found, as it was at the height of the
// first page, at the height that was asked for, or as it is.
func (r *Request) Read(run func() *door.Failure) *door.Failure {
	if f := r.openView(); f != nil {
		return f
	}
	defer r.V.Close()
	r.W.Currency, r.W.Chain = r.Q.Currency, r.Info
	return r.ReadAll(run)
}

// ReadAll has run write the body from chains that it opens by [Request.OpenAt].
func (r *Request) ReadAll(run func() *door.Failure) *door.Failure {
	r.W.Source = r
	if f := run(); f != nil {
		return f
	}
	if r.Err != nil {
		return r.Unreadable(r.Err)
	}
	return nil
}

// OpenAt opens a chain at its last block, which the answer changes with. One without a block
// is not opened: ok is false.
func (r *Request) OpenAt(chain *Chain) (o Open, ok bool, f *door.Failure) {
	o, err := OpenTip(chain)
	switch {
	case errors.Is(err, index.ErrEmpty):
		return o, false, nil
	case err != nil:
		r.Open = o
		return o, false, r.Unreadable(err)
	}
	r.Mark(reply.Mark{Chain: chain, Tip: o.V.Tip().Hash})
	return o, true, nil
}

// OpenTip opens a chain at its last block.
func OpenTip(chain *Chain) (o Open, err error) {
	o = Open{Chain: chain, Info: chain.Info, Version: chain.TokenVersion()}
	o.V, err = chain.At(nil)
	return o, err
}

// Enter makes a chain the one that is read.
func (r *Request) Enter(o *Open) { r.Open, r.W.Chain = *o, o.Info }

// openView opens the chain at the height of the first page, at the height that
// was asked for, or at its tip.
func (r *Request) openView() (f *door.Failure) {
	at := r.At
	if r.After != nil {
		at = &r.Tip
	} else if at != nil {
		if f = r.AwaitKnown(*at); f != nil {
			return f
		}
	}
	r.Version = r.Chain.TokenVersion()
	v, err := r.Chain.At(at)
	switch {
	case errors.Is(err, index.ErrAbove) && r.After != nil:
		return door.BadRequest("pageToken is not valid: it belongs to a block that is not indexed here")
	case errors.Is(err, index.ErrAbove):
		return r.Absent("block " + strconv.FormatUint(*at, 10) + " does not exist or is not indexed yet")
	case errors.Is(err, index.ErrBelow):
		return r.below(*at)
	case err != nil:
		return r.Unreadable(err)
	}
	r.V, r.Tip = v, v.Tip().Number
	if at == nil {
		r.Mark(reply.Mark{Chain: r.Chain, Tip: v.Tip().Hash})
	}
	return nil
}

// End closes the body of a list; next is the position of its last row, nil on the
// last page.
func (r *Request) End(next []byte, err error) *door.Failure {
	if err != nil {
		return r.Unreadable(err)
	}
	r.W.Raw("]")
	r.NextPage(next, r.Tip)
	r.W.Raw("}")
	return nil
}

// Absent is the answer about something that is not indexed. While the chain's
// node is down it may well exist.
func (r *Request) Absent(message string) *door.Failure {
	if err := r.Chain.Down(); err != nil {
		return r.down(err)
	}
	if f := r.AwaitAll(); f != nil {
		return f
	}
	if height, behind := r.Chain.Syncing(); behind {
		indexed, _, _ := r.Chain.Cursor()
		message += "; chain " + r.Info.ChainID + " is indexed up to block " + strconv.FormatUint(indexed, 10) +
			" of " + strconv.FormatUint(height, 10)
	}
	return door.NotFound(message)
}

// below is the answer about a block below the first one that is indexed.
func (r *Request) below(number uint64) *door.Failure {
	return door.NotFound("block " + strconv.FormatUint(number, 10) +
		" is not indexed: the index of chain " + r.Info.ChainID + " begins above it")
}

func (r *Request) down(err error) *door.Failure {
	r.Log.Debug("chain cannot answer: it is not followed now", "chain", r.Info.ChainID, "err", err)
	return door.Unavailable("chain " + r.Info.ChainID + " cannot answer this now: " + reply.Standstill(err))
}

// Unreadable is the answer when rows could not be read.
func (r *Request) Unreadable(err error) *door.Failure {
	switch {
	case errors.Is(err, index.ErrPosition):
		return door.BadRequest("pageToken is not valid: it belongs to another list")
	case errors.Is(err, index.ErrEmpty):
		if down := r.Chain.Down(); down != nil {
			return r.down(down)
		}
		return door.Unavailable("chain " + r.Info.ChainID + " is not indexed yet: its first block is awaited")
	}
	r.Log.Error("a chain's rows cannot be read", "chain", r.Info.ChainID, "path", door.Excerpt(r.Ctx.Path()), "err", err)
	return door.Internal()
}
