package ui

import (
	"strings"

	"quorate/httpapi/shape"
)

func (s *Site) icmPages() []Page {
	return []Page{
		{Pattern: "/icm", Units: 40, Serve: serveICMs},
		{Pattern: "/icm/{messageId}", Units: 40, Serve: serveICM},
		{Pattern: "/chain/{chain}/icm", Units: 60, Serve: serveICMs},
	}
}

// icmMessage is an interchain message.
type icmMessage shape.ICMMessage

// Sent returns when the message was first heard of, 0 if that is not known.
func (m icmMessage) Sent() shape.Unix {
	switch {
	case m.SourceTransaction != nil:
		return m.SourceTransaction.Timestamp
	case m.DestinationTransaction != nil:
		return m.DestinationTransaction.Timestamp
	}
	return 0
}

// State returns how far the message is, in words, and the kind of badge for it.
func (m icmMessage) State() map[string]any {
	kind, words := "ok", "delivered"
	switch {
	case m.DestinationTransaction == nil:
		kind, words = "warn", "pending"
	case m.MessageExecutionFailed && !m.MessageExecuted:
		kind, words = "bad", "delivered, execution failed"
	case m.MessageExecutionFailed:
		words = "executed by a retry"
	case m.MessageExecuted:
		words = "executed"
	}
	return map[string]any{"Kind": kind, "Text": words}
}

// SignPath returns where the API answers the signed message, empty if that is not known.
func (m icmMessage) SignPath() string {
	if m.Signature == nil || !strings.HasPrefix(m.Signature.SignedMessagePath, "/v1/") {
		return ""
	}
	return m.Signature.SignedMessagePath
}

// icmsPage is a list of messages, of a chain or of all.
type icmsPage struct {
	Chain          *evmChain // nil: of all chains
	Messages       []icmMessage
	Windows        *shape.ICMWindows
	Refused        *Error
	WindowsRefused *Error
	pager
}

func serveICMs(r *Request) (err error) {
	var p icmsPage
	title, blockchain := "Interchain messages", ""
	if r.Param("chain") != "" {
		if p.Chain, err = r.chain(); err != nil {
			return err
		}
		title, blockchain = title+" of "+p.Chain.Title(), string(p.Chain.PlatformChainID)
	}
	path := r.listed("/v1/icm/messages", allRows, "blockchainId", blockchain)
	next, err := listOf(r, &p.Refused, path, "messages", &p.Messages)
	if err != nil {
		return err
	}
	p.pager = r.pager(path, next)
	if p.Chain == nil {
		var sum shape.ICMSummary
		if p.WindowsRefused, err = r.part("/v2/icm/summary", &sum); err != nil {
			return err
		}
		p.Windows = &sum.Result
	}
	return r.Render("icms", title, &p)
}

// icmPage is what the page of a message shows.
type icmPage struct {
	Operator                    bool // may go to the page that signs
	Message                     icmMessage
	DataBytes                   int
	DataMore                    bool
	SourceCoin, DestinationCoin *shape.NetworkToken // nil: not known
}

func serveICM(r *Request) error {
	p := icmPage{Operator: r.Operator()}
	if err := r.Get(join("/v1/icm/messages", r.Param("messageId")), &p.Message); err != nil {
		return err
	}
	m := &p.Message
	p.DataBytes = max(len(m.Data)-2, 0) / 2
	if len(m.Data) > maxInput {
		m.Data, p.DataMore = m.Data[:maxInput], true
	}
	for _, side := range []struct {
		id   string
		coin **shape.NetworkToken
	}{{m.SourceEVMChainID, &p.SourceCoin}, {m.DestinationEVMChainID, &p.DestinationCoin}} {
		var c evmChain
		if side.id == "" {
			continue
		}
		if refused, err := r.part(join("/v1/chains", side.id), &c); err != nil {
			return err
		} else if refused == nil {
			*side.coin = &c.NetworkToken
		}
	}
	return r.Render("icm", "Message "+short(m.MessageID), &p)
}
