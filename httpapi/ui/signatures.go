package ui

import (
	"bytes"
	"cmp"
	"encoding/hex"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"quorate/engine/chain"
)

func (s *Site) signaturePages() []Page {
	return []Page{
		{Pattern: "/signatures", Operator: true, Units: 1, Serve: serveSignatures},
		{Pattern: "/signatures/message", Operator: true, Units: 1, Serve: serveBox, Post: postBox},
		{Pattern: "/signatures/{messageId}", Operator: true, Units: 1, Serve: serveSignature},
	}
}

// signatures is the page of what became of the last messages.
type signatures struct {
	Networks []choice
	Filters  []choice
	Rates    ratesPanel
	Rows     []signatureRow
	Box      box
}

// choice is a link among others of which one is shown.
type choice struct {
	Title, Href string
	Current     bool
}

// ratesPanel is how many messages were signed lately, and how fast.
type ratesPanel struct {
	Rates
	PerSecondText    string
	P50Text, P99Text string
	Spark            string // path of a line through the points, in a box of 1000 by 100
	Most             uint64 // of one point
}

// signatureRow is a line of the table.
type signatureRow struct {
	Signature
	Source, Destination chainName // the destination is empty where a message does not say it
	SubnetText          string
	Share               stakeShare
	TookText            string
	HowText             string
	OK                  bool
	More                uint64 // further requests
}

// maxSignatureRows is how many messages the page shows.
const maxSignatureRows = 100

var howTexts = map[string]string{
	"collected": "collected", "reused": "made of signatures for another set", "disk": "kept on disk", "memory": "kept in memory",
}

// failureTexts are the reasons of failures.
var failureTexts = map[string]string{
	"bad_request": "bad request", "not_found": "not found", "refused": "refused", "unreachable": "unreachable", "invalid": "invalid signatures",
	"not_yet": "not yet", "keyless": "no keys", "internal": "internal error", "overloaded": "overloaded", "node_failed": "node failed", "stopping": "stopping",
}

// filters are what the table can be restricted to.
var filters = []struct {
	name, title string
	shows       func(s *Signature) bool
}{
	{"", "All", func(*Signature) bool { return true }},
	{"signed", "Signed", func(s *Signature) bool { return s.Failure == "" }},
	{"failed", "Failed", func(s *Signature) bool { return s.Failure != "" }},
	{"collected", "Collected", func(s *Signature) bool { return s.How == "collected" && !s.Ahead }},
	{"ahead", "Signed ahead", func(s *Signature) bool { return s.Ahead && s.Failure == "" }},
	{"kept", "Kept", func(s *Signature) bool {
		return s.How == "disk" || s.How == "memory" || s.How == "reused" || s.Repeats > 0
	}},
	{"joined", "Joined", func(s *Signature) bool { return s.Joined > 0 }},
}

// network returns the network that the query names, by default the first.
func (r *Request) network() (Network, []choice, error) {
	all := r.site.cfg.Operator.Networks()
	if len(all) == 0 {
		return Network{}, nil, errorf(http.StatusServiceUnavailable, "the server is starting: the nodes that it follows have not answered yet")
	}
	at := 0
	if name := r.Query("network"); name != "" {
		at = slices.IndexFunc(all, func(n Network) bool { return strconv.FormatUint(uint64(n.ID), 10) == name })
		if at < 0 {
			return Network{}, nil, errorf(http.StatusNotFound, "no node of that network is followed")
		}
	}
	var tabs []choice
	for i, n := range all {
		tabs = append(tabs, choice{n.Name, r.in.Prefix + r.Path() + "?network=" + strconv.FormatUint(uint64(n.ID), 10), i == at})
	}
	if len(tabs) == 1 {
		tabs = nil
	}
	return all[at], tabs, nil
}

func serveSignatures(r *Request) error {
	network, tabs, err := r.network()
	if err != nil {
		return err
	}
	data := signatures{Networks: tabs, Rates: r.rates(network.ID), Box: box{Quorum: defaultQuorum}}
	show := r.Query("show")
	at := slices.IndexFunc(filters, func(f struct {
		name, title string
		shows       func(s *Signature) bool
	}) bool {
		return f.name == show
	})
	at = max(at, 0)
	for i, f := range filters {
		q := url.Values{"network": {strconv.FormatUint(uint64(network.ID), 10)}}
		if f.name != "" {
			q.Set("show", f.name)
		}
		data.Filters = append(data.Filters, choice{f.title, r.in.Prefix + "/signatures?" + q.Encode(), i == at})
	}
	for _, s := range r.site.cfg.Operator.Recent(network.ID) {
		if filters[at].shows(&s) && len(data.Rows) < maxSignatureRows {
			data.Rows = append(data.Rows, r.site.signatureRow(s))
		}
	}
	return r.Render("signatures", "Signatures", &data)
}

func (s *Site) signatureRow(o Signature) signatureRow {
	row := signatureRow{
		Signature: o, Source: s.chain(o.SourceChain), Share: shareOf(o.Weight, o.Total), TookText: milliseconds(o.Took),
		HowText: howTexts[o.How], OK: o.Failure == "", More: o.Joined + o.Repeats, SubnetText: s.subnet(o.Subnet, o.Total > 0),
	}
	if row.OK && o.Ahead {
		row.HowText = "signed ahead"
		if o.How == "reused" {
			row.HowText += ", reused"
		}
	}
	if !row.OK {
		row.HowText = cmp.Or(failureTexts[o.Failure], "failed")
	}
	if to, ok := destination(o.Unsigned); ok {
		row.Destination = s.chain(to)
	}
	return row
}

func (s *Site) subnet(id chain.ID, known bool) string {
	switch {
	case !known:
		return ""
	case id == chain.PrimaryNetworkID:
		return "Primary network"
	}
	return id.String()
}

// rates returns the panel of a network.
func (r *Request) rates(network uint32) ratesPanel {
	p := ratesPanel{Rates: r.site.cfg.Operator.Rates(network)}
	p.PerSecondText = strconv.FormatFloat(p.PerSecond(), 'f', 2, 64)
	p.P50Text, p.P99Text = milliseconds(p.P50), milliseconds(p.P99)
	for _, at := range p.Points {
		p.Most = max(p.Most, at.Signed())
	}
	if p.Most == 0 || len(p.Points) < 2 {
		return p
	}
	var b strings.Builder
	for i, at := range p.Points {
		b.WriteString([]string{"L", "M"}[btoi(i == 0)])
		b.WriteString(strconv.Itoa(i * 1000 / (len(p.Points) - 1)))
		b.WriteByte(' ')
		b.WriteString(strconv.FormatFloat(98-96*float64(at.Signed())/float64(p.Most), 'f', 1, 64))
	}
	p.Spark = b.String()
	return p
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// signaturePage is the page of one message.
type signaturePage struct {
	Message  *message // nil if its bytes are not remembered
	ID       string
	HexID    string
	Source   chainName
	To       chainName
	Outcomes []outcome
}

// outcome is what became of the message with one set.
type outcome struct {
	signatureRow
	SignedHex string
	Votes     []voteRow
	Sums      []voteSum
}

// voteSum is the stake of all validators of one state.
type voteSum struct {
	voteState
	Count int
	Share stakeShare
}

type voteRow struct {
	Vote
	voteState
	Share    stakeShare
	TookText string
	Why      string
}

// voteState is how a state is shown.
type voteState struct{ Text, Kind string }

var voteStates = map[string]voteState{
	"signed": {"signed", "ok"}, "spare": {"signed, not needed", "ok"}, "refused": {"refused", "bad"}, "notYet": {"refused, may sign later", "warn"},
	"invalid": {"invalid signature", "bad"}, "silent": {"silent", "bad"}, "unreachable": {"not connected", "warn"}, "busy": {"busy", "warn"},
	"pending": {"asked, not waited for", ""}, "notAsked": {"not asked", ""}, "underfunded": {"out of balance", "warn"},
	"unknown": {"not in this result", ""}, "absent": {"did not sign", ""}, "keyless": {"no usable key", "warn"},
}

// voteOrder is the order in which states are summed up.
var voteOrder = []string{"signed", "spare", "refused", "notYet", "invalid", "silent", "unreachable", "busy", "underfunded", "pending", "notAsked", "unknown", "absent", "keyless"}

// refusalTexts are what validators say with a refusal, as far as codes say it of every
// message.
var refusalTexts = map[int32]string{
	0: "an empty answer", -2: "its virtual machine does not sign", -3: "it answers only to validators", -4: "it is throttling",
}

func serveSignature(r *Request) error {
	id, err := readMessageID(r.Param("messageId"))
	if err != nil {
		return err
	}
	data := signaturePage{ID: id.String(), HexID: "0x" + hex.EncodeToString(id[:])}
	all := r.site.cfg.Operator.Signature(id)
	if len(all) == 0 {
		return errorf(http.StatusNotFound, "nothing is remembered of message %s: only the last messages are, and those that were signed not over a restart. Paste it on the page of signatures to have it signed or checked.", id)
	}
	for i := range all {
		o := &all[i]
		one := outcome{signatureRow: r.site.signatureRow(*o)}
		if o.Signed != nil {
			one.SignedHex = hex0x(o.Signed)
		}
		one.Votes, one.Sums = voteRows(o.Votes, o.Total, o.Keyless)
		data.Outcomes = append(data.Outcomes, one)
		data.Source, data.To = one.Source, one.Destination
		if raw := o.Unsigned; data.Message == nil && raw != nil {
			if data.Message, err = takeApart(bytes.Clone(raw)); err != nil {
				return err
			}
		}
	}
	return r.Render("signature", "Message "+short(data.ID), &data)
}

// voteRows prepares votes for the page, the heaviest first.
func voteRows(votes []Vote, total, keyless uint64) ([]voteRow, []voteSum) {
	weights, counts := map[string]uint64{}, map[string]int{}
	rows := make([]voteRow, 0, len(votes))
	for _, v := range votes {
		weights[v.State] += v.Weight
		counts[v.State]++
		row := voteRow{Vote: v, voteState: voteStates[v.State], Share: shareOf(v.Weight, total), TookText: milliseconds(v.Took)}
		var why []string
		if v.State == "refused" || v.State == "notYet" {
			text := refusalTexts[v.Code]
			why = append(why, strings.TrimSuffix("code "+strconv.Itoa(int(v.Code))+": "+text, ": "))
		}
		if v.State == "underfunded" {
			why = append(why, "signs again once its balance is topped up")
		}
		if v.Quarantined {
			why = append(why, "quarantined for an invalid signature")
		}
		row.Why = strings.Join(why, "; ")
		rows = append(rows, row)
	}
	slices.SortStableFunc(rows, func(a, b voteRow) int {
		return cmp.Or(cmp.Compare(b.Weight, a.Weight), cmp.Compare(a.State, b.State))
	})
	if keyless > 0 && len(votes) > 0 {
		weights["keyless"] = keyless
	}
	var sums []voteSum
	for _, state := range voteOrder {
		if w := weights[state]; w > 0 || counts[state] > 0 {
			sums = append(sums, voteSum{voteStates[state], counts[state], shareOf(w, total)})
		}
	}
	return rows, sums
}

// box is where a message is put to be decoded, signed or verified.
type box struct {
	Input, Subnet  string
	Quorum, Buffer int
	Height         uint64
	Error          string
	// Messages are what was found.
	Messages []boxMessage
}

type boxMessage struct {
	*message
	Source, To chainName
	// SignedHex is what was asked to be signed, Error why it was not.
	SignedHex, Error string
	Verdict          *verdict
}

type verdict struct {
	*Verdict
	SubnetText string
	Share      stakeShare
	Votes      []voteRow
	Sums       []voteSum
}

func serveBox(r *Request) error {
	data := box{Input: r.Query("input"), Quorum: defaultQuorum}
	if data.Input != "" {
		data.found(r, "decode")
	}
	return r.Render("message", "Message", &data)
}

func postBox(r *Request) error {
	data := box{Input: r.Form("input"), Subnet: r.Form("subnet"), Quorum: defaultQuorum}
	var err error
	if text := r.Form("quorum"); text != "" {
		if data.Quorum, err = strconv.Atoi(text); err != nil || data.Quorum < 1 || data.Quorum > 100 {
			data.Quorum, data.Error = defaultQuorum, "The quorum must be 1 to 100 percent."
		}
	}
	if text := r.Form("height"); text != "" && data.Error == "" {
		if data.Height, err = strconv.ParseUint(text, 10, 64); err != nil {
			data.Error = "The P-Chain height must be a whole number."
		}
	}
	if data.Error == "" {
		data.found(r, r.Form("do"))
	}
	return r.Render("message", "Message", &data)
}

// found fills in what was put into the box, and does what is asked.
func (b *box) found(r *Request, do string) {
	var subnet *chain.ID
	if b.Subnet != "" {
		id, err := chain.ParseIDHexOrCB58(b.Subnet)
		if err != nil {
			b.Error = "The subnet is not an ID: " + err.Error()
			return
		}
		subnet = &id
	}
	raw, err := b.read(r)
	if err != nil {
		b.Error = r.site.reason(err)
		return
	}
	for _, one := range raw {
		m, err := takeApart(one)
		if err != nil {
			b.Error = r.site.reason(err)
			return
		}
		found := boxMessage{message: m, Source: r.site.chain(m.SourceChain)}
		if m.Teleporter != nil {
			found.To = r.site.chain(m.Teleporter.Destination)
		}
		switch do {
		case "sign":
			r.site.sign(&found, b, subnet)
		case "verify":
			r.site.verify(&found, one, b, subnet)
		}
		b.Messages = append(b.Messages, found)
	}
}

// read returns the messages that the input is, or names: 32 bytes are the hash of a
// transaction, or the ID of a message that is remembered.
func (b *box) read(r *Request) ([][]byte, error) {
	raw, err := readHex(b.Input)
	if err != nil {
		if id, wrong := chain.ParseIDHexOrCB58(b.Input); wrong == nil {
			return r.site.remembered(id)
		}
		return nil, err
	}
	if len(raw) != chain.IDLen {
		return [][]byte{raw}, nil
	}
	messages, err := r.site.cfg.Operator.TxMessages([32]byte(raw))
	if err != nil {
		if known, also := r.site.remembered(chain.ID(raw)); also == nil {
			return known, nil
		}
	}
	return messages, err
}

// remembered returns the bytes of a message by its ID, signed ones first.
func (s *Site) remembered(id chain.ID) ([][]byte, error) {
	for _, o := range s.cfg.Operator.Signature(id) {
		if raw := cmp.Or(string(o.Signed), string(o.Unsigned)); raw != "" {
			return [][]byte{[]byte(raw)}, nil
		}
	}
	return nil, errorf(http.StatusNotFound, "nothing is remembered of message %s", id)
}

// reason returns an error in words for the page; the log has what is none of its business.
func (s *Site) reason(err error) string {
	var e *Error
	if errors.As(err, &e) {
		return e.Message
	}
	s.cfg.Log.Error("an operator's page failed", "err", err)
	return "internal error; the log says more"
}

func (s *Site) sign(m *boxMessage, b *box, subnet *chain.ID) {
	unsigned, err := readHex(m.Unsigned)
	if err == nil {
		var signed []byte
		signed, err = s.cfg.Operator.Sign(&SignQuery{Message: unsigned, Quorum: b.Quorum, Subnet: subnet, Height: b.Height})
		m.SignedHex = hex0x(signed)
	}
	if err != nil {
		m.SignedHex, m.Error = "", s.reason(err)
	}
}

func (s *Site) verify(m *boxMessage, raw []byte, b *box, subnet *chain.ID) {
	if m.Signature == nil {
		m.Error = "This message is not signed: there is no signature to verify. Sign it first."
		return
	}
	v, err := s.cfg.Operator.Verify(&VerifyQuery{Signed: raw, Quorum: b.Quorum, Subnet: subnet, Height: b.Height})
	if err != nil {
		m.Error = s.reason(err)
		return
	}
	m.Verdict = &verdict{Verdict: v, SubnetText: s.subnet(v.Subnet, true), Share: shareOf(v.Weight, v.Total)}
	m.Verdict.Votes, m.Verdict.Sums = voteRows(v.Votes, v.Total, 0)
}
