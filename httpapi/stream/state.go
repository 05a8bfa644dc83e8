package stream

import (
	"maps"
	"slices"
	"strconv"
	"sync"
	"time"

	"quorate/engine/chain"
	"quorate/engine/chain/platform/rules"
	"quorate/engine/events"
	"quorate/engine/primary"
	"quorate/httpapi/door"
	primaryapi "quorate/httpapi/primary"
	"quorate/httpapi/view"
)

// stateStream is the part of a stream that is about something without an order.
type stateStream struct {
	t       *stream
	event   string // its name, also that of the topic
	network string // empty if it is of none
	state   *events.State
	last    *events.Values // what the client has
}

// states are those that are watched, by topic and network. There are few: of the names
// of networks.
type states struct {
	mu   sync.Mutex
	list map[string]*events.State
}

func (l *states) get(name string, read func() (map[string][]byte, error)) *events.State {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.list == nil {
		l.list = make(map[string]*events.State)
	}
	if l.list[name] == nil {
		l.list[name] = events.NewState(stateEvery, read)
	}
	return l.list[name]
}

// openStates finds what a stream watches besides chains.
func (t *stream) openStates(q *door.Query, p *door.Params) *door.Failure {
	if ofStream(q).topics&topicValidators != 0 {
		if t.room.Primary.Networks == nil {
			return door.NotFound("no primary network is followed here")
		}
		var name []byte
		if q.Network != "" {
			name = []byte(q.Network)
		}
		network, of, f := t.room.Primary.Find(name)
		if f != nil {
			return f
		}
		on, ok := of.Chain(primary.PChain)
		if !ok {
			return door.NotFound("the P-Chain of " + network + " is not followed here")
		}
		state := t.room.states.get(eventValidators+"/"+network, func() (map[string][]byte, error) { return readValidators(on) })
		if _, err := state.Now(); err != nil {
			return door.Unavailable("the validators of " + network + " are not known yet")
		}
		t.states = append(t.states, &stateStream{t: t, event: eventValidators, network: network, state: state})
	}
	if ofStream(q).topics&topicHealth != 0 {
		if t.room.Health == nil {
			return door.NotFound("the health of this server is not known")
		}
		all := p.Scope != door.ForClients // who is outside learns yes or no
		name := eventHealth + "/" + strconv.FormatBool(all)
		t.states = append(t.states, &stateStream{t: t, event: eventHealth, state: t.room.states.get(name, func() (map[string][]byte, error) {
			return t.room.readHealth(all), nil
		})})
	}
	return nil
}

// write writes a snapshot, or what has changed. What cannot be read now is told when it
// can.
func (o *stateStream) write() {
	now, err := o.state.Now()
	if err != nil || now == o.last {
		return
	}
	name := o.event
	changed, removed := now.Since(o.last)
	if o.last == nil {
		name = eventSnapshot
	}
	o.t.event(name, false)
	b := view.AppendString(append(o.t.buf, `{"topic":`...), o.event)
	if o.network != "" {
		b = view.AppendString(append(b, `,"network":`...), o.network)
	}
	w := view.Writer{B: append(b, `,"items":{`...)}
	slices.Sort(changed)
	for _, k := range changed {
		w.Comma()
		w.B = append(view.AppendString(w.B, k), ':')
		w.B = append(w.B, now.Items[k]...)
	}
	w.Raw("}")
	if o.last != nil {
		slices.Sort(removed)
		w.Strings("removed", removed)
	}
	o.t.buf = append(w.B, '}')
	o.t.closeEvent()
	o.last = now
}

// readHealth returns the health of the server, and with all of it each check.
func (m *Room) readHealth(all bool) map[string][]byte {
	report := m.Health.Health(nil)
	items := map[string][]byte{"healthy": strconv.AppendBool(nil, report.Healthy)}
	if !all {
		return items
	}
	for name, result := range maps.All(report.Checks) {
		b := strconv.AppendBool([]byte(`{"healthy":`), result.Error == "")
		if result.Error != "" {
			b = view.AppendString(append(b, `,"error":`...), result.Error)
		}
		items["check/"+name] = append(b, '}')
	}
	return items
}

// readValidators returns the validators of the primary network by transaction, and those
// of L1s by validation ID.
func readValidators(on primaryapi.Chain) (map[string][]byte, error) {
	v, err := on.View()
	if err != nil {
		return nil, err
	}
	defer v.Close()
	rows, ok := v.(primaryapi.PlatformView)
	if !ok {
		return nil, primaryapi.ErrKind
	}
	items := make(map[string][]byte)
	page := primary.Page{Limit: 1 << 20}
	_, err = rows.Stakers(&primary.StakerFilter{Subnet: &chain.PrimaryNetworkID, Status: primary.Active}, page, func(k *primary.Staker) bool {
		w := view.Writer{B: []byte(`{`)}
		text := func(name, value string) {
			w.Member(name)
			w.B = view.AppendString(w.B, value)
		}
		number := func(name string, n uint64) {
			w.Member(name)
			w.B = strconv.AppendUint(w.B, n, 10)
		}
		text("nodeId", k.Node.String())
		text("txHash", k.TxID.String())
		text("subnetId", k.Subnet.String())
		text("amountStaked", strconv.FormatUint(k.Weight, 10))
		text("amountDelegated", strconv.FormatUint(k.DelegatedWeight, 10))
		number("startTimestamp", k.Start)
		number("endTimestamp", k.End)
		items[k.TxID.String()] = append(w.B, '}')
		return true
	})
	if err != nil {
		return nil, err
	}
	price := rows.L1Price()
	_, err = rows.L1Validators(&primary.L1Filter{}, page, func(k *primary.L1Validator) bool {
		b := append(append([]byte(`{"validationId":"`), k.ValidationID.String()...), `","nodeId":"`...)
		b = append(append(b, k.Node.String()...), `","subnetId":"`...)
		b = append(append(b, k.Subnet.String()...), `","weight":"`...)
		b = append(strconv.AppendUint(b, k.Weight, 10), '"')
		// It changes, and so is sent, a week, a day and an hour before the balance ends.
		if step := rules.LastingStep(rules.Lasts(k.Balance, price)); step > 0 {
			b = strconv.AppendInt(append(b, `,"lastsLessThan":`...), int64(step/time.Second), 10)
		}
		items[k.ValidationID.String()] = append(b, '}')
		return true
	})
	return items, err
}
