package nodeapi

import (
	"fmt"
	"slices"
	"time"

	"github.com/valyala/fasthttp"

	"quorate/engine/chain"
)

// minConnected is the share of stake that a node must be connected to.
const minConnected = 0.8

type check struct {
	Message   any       `json:"message,omitempty"`
	Error     string    `json:"error,omitempty"`
	Timestamp time.Time `json:"timestamp"`
	Duration  int64     `json:"duration"`
}

type healthReply struct {
	Checks  map[string]check `json:"checks"`
	Healthy bool             `json:"healthy"`
}

type connectivity struct {
	Disconnected []string `json:"disconnectedValidators"`
	Percent      float64  `json:"percentConnected"`
}

func (s *Server) healthService() *service {
	report := call(func(none) (any, error) { return s.report(), nil })
	return &service{name: "health", methods: map[string]method{
		"health":    report,
		"readiness": call(func(none) (any, error) { return s.readiness(), nil }),
		"liveness":  call(func(none) (any, error) { return liveness(), nil }),
	}}
}

func (s *Server) getHealth(ctx *fasthttp.RequestCtx) {
	var reply healthReply
	switch string(ctx.Path()) {
	case "/ext/health/liveness":
		reply = liveness()
	case "/ext/health/readiness":
		reply = s.readiness()
	default:
		reply = s.report()
	}
	body, err := encode(reply)
	if err != nil {
		s.log.Error("node API answer", "service", "health", "error", err)
		plain(ctx, fasthttp.StatusInternalServerError, err.Error())
		return
	}
	if !reply.Healthy {
		ctx.SetStatusCode(fasthttp.StatusServiceUnavailable)
	}
	ctx.SetContentType("application/json")
	ctx.SetBody(body)
}

func liveness() healthReply { return healthReply{Checks: map[string]check{}, Healthy: true} }

func (s *Server) readiness() healthReply {
	return healthReply{
		Checks:  map[string]check{"bootstrapped": {Message: []string{}, Timestamp: time.Now().UTC()}},
		Healthy: true,
	}
}

// report checks what a simulated node can lack: connections to enough stake.
func (s *Server) report() healthReply {
	snapshot, err := s.world.At(s.world.Height())
	if err != nil {
		return healthReply{Checks: map[string]check{"P": {Error: err.Error(), Timestamp: time.Now().UTC()}}}
	}
	var total, connected, peers uint64
	net := connectivity{Disconnected: []string{}}
	for _, m := range snapshot.Sets[chain.PrimaryNetworkID] {
		total += m.Weight
		switch {
		case m.Index == 0:
			connected += m.Weight
		case s.live.Online(m.Index):
			connected += m.Weight
			peers++
		default:
			net.Disconnected = append(net.Disconnected, m.NodeID.String())
		}
	}
	slices.Sort(net.Disconnected)
	if total > 0 {
		net.Percent = float64(connected) / float64(total)
	}
	reply := s.readiness()
	c := check{Message: map[string]any{"networking": net}, Timestamp: time.Now().UTC()}
	if net.Percent < minConnected {
		reply.Healthy = false
		c.Error = fmt.Sprintf("not connected to enough stake: connected to %f%%; required at least %f%%",
			100*net.Percent, 100*minConnected)
	}
	for _, alias := range s.checked() {
		reply.Checks[alias] = c
	}
	reply.Checks["network"] = check{Message: map[string]any{"connectedPeers": peers}, Timestamp: c.Timestamp}
	return reply
}

// checked returns the chains that have a check.
func (s *Server) checked() []string {
	if s.primary != nil {
		return []string{"P", "X", "C"}
	}
	return []string{"P", "C"}
}
