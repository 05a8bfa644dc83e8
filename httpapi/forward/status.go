package forward

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/goccy/go-json"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// maxMetrics bounds the metrics of a server in bytes.
const maxMetrics = 64 << 20

// State is how a member of a fleet is.
type State struct {
	// Text is "ready", or else what is wrong; Archive ok, failing, or - for none.
	Text, Archive string
	// Home is yes, no, or away if the member does not reach it.
	Home   string
	Chains []ChainState
	Red    bool
}

// ChainState is how far a chain is.
type ChainState struct {
	Name           string
	Height, Target float64
}

// Ask asks a member how it is, as the servers of its fleet do.
func Ask(ctx context.Context, member string, secret []byte) State {
	s := State{Text: "ready", Archive: "-", Home: "-"}
	_, text, err := askSigned(ctx, member+"/ext/metrics", secret)
	if err == nil {
		err = s.read(text)
	}
	if err != nil {
		s.Text, s.Red = err.Error(), true
		return s
	}
	status, body, err := askSigned(ctx, member+"/ready", secret)
	var ready struct{ Error string }
	switch {
	case err != nil:
		s.Text, s.Red = err.Error(), true
	case status != http.StatusOK && json.Unmarshal(body, &ready) == nil:
		s.Text, s.Red = "not ready: "+ready.Error, true
	}
	return s
}

// read takes what metrics say.
func (s *State) read(text []byte) error {
	parser := expfmt.NewTextParser(model.LegacyValidation)
	found, err := parser.TextToMetricFamilies(bytes.NewReader(text))
	if err != nil {
		return fmt.Errorf("no server of ours: %w", err)
	}
	values := func(name string, take func(value float64, chain string)) {
		for _, m := range found[name].GetMetric() {
			chain := ""
			for _, l := range m.GetLabel() {
				if l.GetName() == "chain" {
					chain = l.GetValue()
				}
			}
			take(m.GetGauge().GetValue(), chain)
		}
	}
	s.Home = "no"
	values("quorate_fleet_home", func(is float64, _ string) {
		if is == 1 {
			s.Home = "yes"
		}
	})
	values("quorate_fleet_home_away", func(is float64, _ string) {
		if is == 1 {
			s.Home, s.Red = "away", true
		}
	})
	values("quorate_depot_failing", func(is float64, _ string) {
		if s.Archive != "failing" {
			s.Archive = "ok"
		}
		if is == 1 {
			s.Archive, s.Red = "failing", true
		}
	})
	heights := map[string]float64{}
	values("quorate_ingest_height", func(h float64, chain string) { heights[chain] = h })
	values("quorate_ingest_target_height", func(h float64, chain string) {
		s.Chains = append(s.Chains, ChainState{chain, heights[chain], h})
	})
	slices.SortFunc(s.Chains, func(a, b ChainState) int { return strings.Compare(a.Name, b.Name) })
	return nil
}

// askSigned sends a request as a server of the fleet does.
func askSigned(ctx context.Context, url string, secret []byte) (status int, body []byte, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return 0, nil, err
	}
	req.Header.Set(Header, Sign(secret, req.Method, req.URL.RequestURI(), "command", "", nil, time.Now()))
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}} // it is asked itself, and no proxy
	resp, err := client.Do(req)
	if err != nil {
		return 0, nil, err
	}
	defer func() { _ = resp.Body.Close() }() // nothing is left to be lost
	body, err = io.ReadAll(io.LimitReader(resp.Body, maxMetrics))
	if resp.StatusCode == http.StatusForbidden || resp.StatusCode == http.StatusNotFound {
		err = fmt.Errorf("it does not take the key of this file: HTTP %d", resp.StatusCode)
	}
	return resp.StatusCode, body, err
}
