package avm

import (
	"context"
	"errors"
	"testing"

	"github.com/goccy/go-json"

	"quorate/engine/chain"
	"quorate/engine/source"
)

// answers returns each method's result from its text; parameters must be as wanted.
type answers map[string]string

var errRefused = &source.RPCError{Code: -32000, Message: "couldn't get block at height 5: not found"}

func (a answers) Call(_ context.Context, path, method string, params, result any) error {
	args, err := json.Marshal(params)
	if err != nil {
		return err
	}
	if params == nil {
		args = nil
	}
	text, ok := a[path+" "+method+string(args)]
	if !ok {
		return errRefused
	}
	if err := json.Unmarshal([]byte(text), result); err != nil {
		return errors.Join(source.ErrBadAnswer, err)
	}
	return nil
}

const (
	getHeight = "/ext/bc/X avm.getHeight"
	getBlock0 = `/ext/bc/X avm.getBlockByHeight{"encoding":"hex","height":"0"}`
	// block0 is the X-Chain's first block on network "local", by avalanchego v1.14.2.
	block0 = `{"block":"0x000000000014054f478489b451cecef53155c24f04f441912cc34487db87f16b13a2f4fec8990000000000000000000000005fcb13d0000000000000000000000000000000000000000000000000000000000000000000000000f11be722","encoding":"hex"}`
)

func TestHead(t *testing.T) {
	t.Parallel()
	want, err := chain.ParseID("2R2UY2pZMQr8nR9ywCdqn97Lp5a6hceqtLXkag6vH7KQSVvmst") // as the node names it
	if err != nil {
		t.Fatal(err)
	}
	tip, err := Head(t.Context(), answers{getHeight: `{"height":"0"}`, getBlock0: block0})
	if err != nil || tip != (Tip{0, want}) {
		t.Errorf("got %+v, %v, want %s", tip, err, want)
	}
}

func TestErrors(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		answers answers
		want    error
	}{
		"no chain":       {answers{}, errRefused},
		"behind":         {answers{getHeight: `{"height":"5"}`}, errRefused},
		"no height":      {answers{getHeight: `{}`}, source.ErrBadAnswer},
		"height":         {answers{getHeight: `{"height":"-1"}`}, source.ErrBadAnswer},
		"no block":       {answers{getHeight: `{"height":"0"}`, getBlock0: `{}`}, source.ErrBadAnswer},
		"wrong checksum": {answers{getHeight: `{"height":"0"}`, getBlock0: `{"block":"0x0000000000003be84959"}`}, source.ErrBadAnswer},
	} {
		if tip, err := Head(t.Context(), tc.answers); !errors.Is(err, tc.want) || tip != (Tip{}) {
			t.Errorf("%s: got %+v, %v, want %v", name, tip, err, tc.want)
		}
	}
}
