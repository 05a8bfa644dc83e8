package aggregator

import (
	"context"
	"fmt"
	"time"

	"quorate/aggregator/valset"
	"quorate/engine/chain"
	"quorate/engine/chain/warp"
)

// wish is how much of the stake is asked for, in percent.
type wish struct {
	quorum, buffer int
	ahead          bool
}

func (r *Request) wish() wish { return wish{r.Quorum, r.Buffer, r.Ahead} }

// percent is what is tried for.
func (w wish) percent() int { return w.quorum + w.buffer }

// attempt is a request under way, as far as it came.
type attempt struct {
	wish
	req      *Request
	deadline time.Time
	msg      *warp.Unsigned // nil if it is none
	height   uint64         // of set; 0: the proposed one
	set      *valset.Set    // nil if it is not known
	waited   time.Time      // since when it has waited for a collection
	first    bool           // it began that collection
}

// message finds the unsigned message that a request is about, if its shares can be had.
func (a *Aggregator) message(ctx context.Context, req *Request) (*warp.Unsigned, error) {
	if req.Quorum < 0 || req.Buffer < 0 || req.Quorum > 100 || req.Buffer > 100 || req.Quorum+req.Buffer > 100 {
		return nil, &Error{Kind: BadRequest, Msg: fmt.Sprintf(
			"quorum %d%% and buffer %d%% must each be 0 to 100 and together at most 100", req.Quorum, req.Buffer)}
	}
	if len(req.Message) == 0 {
		return a.fromJustification(ctx, req.Justification)
	}
	raw := req.Message
	if inner, ok := warp.UnwrapABI(raw); ok {
		raw = inner
	}
	msg, err := warp.Parse(raw)
	if err != nil {
		text := "message is not an unsigned warp message"
		if signed, err := warp.ParseSigned(raw); err == nil {
			text = fmt.Sprintf("message is signed already; what validators sign are its first %d bytes, without the signature", len(signed.Bytes()))
		}
		return nil, &Error{Kind: BadRequest, Msg: text, Err: err}
	}
	if msg.NetworkID != a.cfg.NetworkID {
		return nil, &Error{Kind: BadRequest, Msg: fmt.Sprintf(
			"message is of network %d, this is network %d", msg.NetworkID, a.cfg.NetworkID)}
	}
	return msg, nil
}

// fromJustification builds the P-Chain message that a justification is for: 32
// bytes name a subnet, whose conversion to an L1 is attested; anything else is
// the protobuf form that names a validation, whose end is attested.
func (a *Aggregator) fromJustification(ctx context.Context, justification []byte) (*warp.Unsigned, error) {
	if len(justification) == 0 {
		return nil, &Error{Kind: BadRequest, Msg: "either message or justification is required"}
	}
	if len(justification) == chain.IDLen {
		subnet := chain.ID(justification)
		conversion, isL1, err := a.sets.ConversionOf(ctx, subnet)
		if err != nil {
			return nil, setError(err, "the justification's subnet "+subnet.String())
		}
		if !isL1 {
			return nil, &Error{Kind: BadRequest, Msg: fmt.Sprintf(
				"justification names subnet %s, which was not converted to an L1", subnet)}
		}
		return warp.SubnetToL1Conversion(a.cfg.NetworkID, conversion)
	}
	validation, err := warp.RegistrationJustification(justification)
	if err != nil {
		return nil, &Error{Kind: BadRequest, Msg: "justification without message is neither a subnet ID nor a validator registration", Err: err}
	}
	return warp.L1ValidatorRegistration(a.cfg.NetworkID, validation, false)
}
