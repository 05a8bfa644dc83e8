package httpapi

import (
	"encoding/hex"
	"strconv"

	"github.com/valyala/fasthttp"

	"quorate/engine/chain/evm"
	"quorate/engine/history"
	"quorate/engine/index"
	"quorate/httpapi/door"
	"quorate/httpapi/ui"
)

// Logs implements [ui.Config.Logs]: the index has no logs, and the API does not return them,
// but the page of a transaction shows them.
func (a inProcess) Logs(chainID, block, tx string) ([]ui.Log, error) {
	var past *history.History
	if a.s.cfg.Chains != nil {
		if c, ok := a.s.cfg.Chains.Chain(chainID); ok {
			past = c.Past()
		}
	}
	number, err := strconv.ParseUint(block, 10, 64)
	var hash evm.Hash
	if err != nil || !door.ParseHex([]byte(tx), hash[:]) || past == nil {
		return nil, &ui.Error{Status: fasthttp.StatusNotFound, Message: "the logs are not at hand"}
	}
	logs, err := past.TxLogs(a.s.work, number, hash)
	if err != nil {
		return nil, &ui.Error{Status: fasthttp.StatusNotFound, Message: err.Error()}
	}
	out := make([]ui.Log, len(logs))
	for i := range logs {
		l := &logs[i]
		out[i] = ui.Log{Index: l.Index, Address: l.Address.String(), Data: "0x" + hex.EncodeToString(l.Data)}
		for _, t := range l.Topics {
			out[i].Topics = append(out[i].Topics, t.String())
		}
	}
	return out, nil
}

// Tokens implements [ui.Config.Tokens].
func (a inProcess) Tokens(chainID, text string, limit int) ([]ui.FoundToken, error) {
	if a.s.cfg.Chains == nil {
		return nil, nil
	}
	c, ok := a.s.cfg.Chains.Chain(chainID)
	if !ok {
		return nil, nil
	}
	list, err := c.FindTokens(text, limit)
	if err != nil {
		return nil, err
	}
	out := make([]ui.FoundToken, len(list))
	for i := range list {
		t := &list[i]
		out[i] = ui.FoundToken{
			Address: t.Token.String(), Name: t.Name, Symbol: t.Symbol,
			Collection: t.Kind == index.ERC721 || t.Kind == index.ERC1155,
		}
	}
	return out, nil
}
