package evmrpc

import (
	"errors"
	"fmt"

	"github.com/goccy/go-json"

	"quorate/devnet/evmchain"
	"quorate/engine/chain/evm"
)

// Bounds of a filter, as coreth has them.
const (
	maxTopics    = 4
	maxAddresses = 1000
)

type filterObject struct {
	BlockHash          *string
	FromBlock, ToBlock *string
	Address            json.RawMessage
	Topics             []json.RawMessage
}

func (h *node) logs(dst []byte, a args) ([]byte, error) {
	var object filterObject
	if err := json.Unmarshal(a[0], &object); err != nil {
		return dst, invalid("invalid argument 0: %v", err)
	}
	f, err := h.filter(&object)
	if err == nil {
		err = h.span(&object, &f)
	}
	if err != nil {
		return dst, err
	}
	dst, complete := h.chain.AppendLogs(dst, f, maxLogAnswer+len(dst), h.view())
	if !complete {
		return dst, fmt.Errorf("query returned more than %d bytes", maxLogAnswer)
	}
	return dst, nil
}

// filter reads what a filter looks for.
func (h *node) filter(o *filterObject) (f evmchain.LogFilter, err error) {
	if len(o.Topics) > maxTopics {
		return f, errors.New("exceed max topics")
	}
	for _, raw := range o.Topics {
		var any []evm.Hash
		if err := each(raw, func(s string) error {
			var topic evm.Hash
			any = append(any, topic)
			return fixed(s, any[len(any)-1][:])
		}); err != nil {
			return f, invalid("invalid argument 0: invalid topic(s)")
		}
		f.Topics = append(f.Topics, any)
	}
	if err := each(o.Address, func(s string) error {
		var addr evm.Address
		f.Addresses = append(f.Addresses, addr)
		return fixed(s, f.Addresses[len(f.Addresses)-1][:])
	}); err != nil {
		return f, invalid("invalid argument 0: invalid address: %v", err)
	}
	if len(f.Addresses) > maxAddresses {
		return f, errors.New("exceed max addresses")
	}
	return f, nil
}

// span sets the heights between which a filter looks.
func (h *node) span(o *filterObject, f *evmchain.LogFilter) (err error) {
	if o.BlockHash != nil {
		if o.FromBlock != nil || o.ToBlock != nil {
			return invalid("invalid argument 0: cannot specify both BlockHash and FromBlock/ToBlock, choose one or the other")
		}
		var hash evm.Hash
		if err := fixed(*o.BlockHash, hash[:]); err != nil {
			return invalid("invalid argument 0: %v", err)
		}
		height, ok := h.byHash(hash)
		if !ok {
			return errors.New("unknown block")
		}
		f.From, f.To = height, height
		return h.executed(height)
	}
	tip := h.latest
	f.From, f.To = tip, tip
	if o.FromBlock != nil {
		if f.From, err = h.number(*o.FromBlock); err != nil {
			return invalid("invalid argument 0: %v", err)
		}
	}
	if o.ToBlock != nil {
		if f.To, err = h.number(*o.ToBlock); err != nil {
			return invalid("invalid argument 0: %v", err)
		}
	}
	switch {
	case f.From > tip:
		return fmt.Errorf("requested from block %d after last accepted block %d", f.From, tip)
	case f.To > tip:
		return fmt.Errorf("requested to block %d after last accepted block %d", f.To, tip)
	case f.To < f.From:
		return fmt.Errorf("begin block %d is greater than end block %d", f.From, f.To)
	case !h.has(f.From) || !h.has(f.To):
		return errNoHeaderAt
	case f.To-f.From >= maxLogBlocks:
		return fmt.Errorf("requested too many blocks from %d to %d, maximum is set to %d", f.From, f.To, maxLogBlocks)
	}
	return nil
}

// each calls f for a string, or for each of a list of strings; for null not at all.
func each(raw json.RawMessage, f func(string) error) error {
	if len(raw) == 0 || string(raw) == "null" {
		return nil
	}
	list := make([]string, 1)
	if raw[0] != '[' {
		if err := json.Unmarshal(raw, &list[0]); err != nil {
			return err
		}
	} else if err := json.Unmarshal(raw, &list); err != nil {
		return err
	}
	for _, s := range list {
		if err := f(s); err != nil {
			return err
		}
	}
	return nil
}
