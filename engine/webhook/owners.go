package webhook

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/goccy/go-json"
)

// handOver makes the webhooks of some clients those of others, as [Config.Owners] says. A
// new owner without a secret gets that of the old one, so that receivers need not change.
func (h *Hooks) handOver(ctx context.Context, hooks map[string]*hook, secrets map[string]string) error {
	ctx, cancel := context.WithTimeout(ctx, commitTime)
	defer cancel()
	for _, k := range hooks {
		from := k.rec.Load().Client
		to := h.cfg.Owners[from]
		if to == "" {
			continue
		}
		if s := secrets[from]; s != "" && secrets[to] == "" {
			if err := h.cfg.Store.Put(ctx, secretKey(to), []byte(s)); err != nil {
				return err
			}
			secrets[to] = s
		}
		r := k.rec.Load().clone()
		r.Client = to
		raw, err := json.Marshal(r)
		if err != nil {
			return err
		}
		if err := h.cfg.Store.Put(ctx, []byte(r.ID), raw); err != nil {
			return err
		}
		k.rec.Store(r)
		h.log.Info("a webhook has another owner", "id", r.ID, "from", from, "to", to)
	}
	return nil
}

// maxNamed bounds the clients that a warning names.
const maxNamed = 5

// warning says which webhooks nobody can reach, and what to do; empty if there are none.
func (h *Hooks) warning() string {
	if h.cfg.Unreachable == nil {
		return ""
	}
	count := make(map[string]int)
	n := 0
	h.mu.Lock()
	for _, k := range h.hooks {
		if client := k.rec.Load().Client; h.cfg.Unreachable(client) {
			count[client]++
			n++
		}
	}
	h.mu.Unlock()
	if n == 0 {
		return ""
	}
	clients := make([]string, 0, len(count))
	for client := range count {
		clients = append(clients, client)
	}
	slices.SortFunc(clients, func(a, b string) int { return cmp.Or(count[b]-count[a], cmp.Compare(a, b)) })
	first := clients[0]
	if more := len(clients) - maxNamed; more > 0 {
		clients = append(clients[:maxNamed], fmt.Sprintf("%d more", more))
	}
	return fmt.Sprintf("webhooks that were made without an API key: %d, by %s. They are delivered as before, but no client can list, change or delete them: "+
		"give them to an API key with --webhooks-owner %s=NAME of the key, or start a server that only its own machine can reach with --limits webhooks-keyless=true",
		n, strings.Join(clients, ", "), first)
}

// hooksMessage is what the health check has to say.
type hooksMessage struct {
	Webhooks int    `json:"webhooks"`
	Warning  string `json:"warning,omitempty"`
}

// Check is a health check. It passes, and warns of webhooks that nobody can reach.
func (h *Hooks) Check(context.Context) (any, error) {
	msg := hooksMessage{Warning: h.warning()}
	h.mu.Lock()
	defer h.mu.Unlock()
	msg.Webhooks = len(h.hooks)
	return msg, nil
}
