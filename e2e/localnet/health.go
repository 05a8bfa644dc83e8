package localnet

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"
)

const (
	healthEvery   = 500 * time.Millisecond
	healthReport  = 10 * time.Second
	healthTimeout = 3 * time.Second
	maxHealthBody = 1 << 20
)

// WaitHealthy waits until every running node says that it is healthy. A node
// that ends meanwhile is an error, as is the end of ctx.
func (n *Network) WaitHealthy(ctx context.Context) error {
	return waitHealthy(ctx, n.Nodes, n.cfg.Progress)
}

func waitHealthy(ctx context.Context, nodes []*Node, progress io.Writer) error {
	client := &http.Client{Timeout: healthTimeout}
	defer client.CloseIdleConnections()
	begin, reported := time.Now(), time.Now()
	tick := time.NewTicker(healthEvery)
	defer tick.Stop()
	var sick error
	for {
		if sick = checkHealth(ctx, client, nodes); sick == nil {
			return nil
		}
		if err := ended(nodes); err != nil {
			return err
		}
		if time.Since(reported) >= healthReport {
			reported = time.Now()
			fmt.Fprintf(progress, "localnet: %v waiting, %v\n", time.Since(begin).Round(time.Second), sick)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("the network is not healthy after %v: %w; last: %w",
				time.Since(begin).Round(time.Second), ctx.Err(), sick)
		}
	}
}

// checkHealth asks each running node and says what is wrong with the first sick one.
func checkHealth(ctx context.Context, client *http.Client, nodes []*Node) error {
	healthy := 0
	var first error
	for i, node := range nodes {
		if p, _ := node.state(); p == nil {
			healthy++ // stopped on purpose
			continue
		}
		switch err := health(ctx, client, node.URL+node.healthPath()); {
		case err == nil:
			healthy++
		case first == nil:
			first = fmt.Errorf("node %d: %w", i, err)
		}
	}
	if first != nil {
		return fmt.Errorf("%d of %d nodes healthy; %w", healthy, len(nodes), first)
	}
	return nil
}

// ended finds a node whose process ended by itself.
func ended(nodes []*Node) error {
	for _, node := range nodes {
		p, _ := node.state()
		if p == nil {
			continue
		}
		select {
		case <-p.Done():
			return node.endError(p)
		default:
		}
	}
	return nil
}

// health asks one node at the path of its checks. The error names the checks that fail.
func health(ctx context.Context, client *http.Client, url string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	resp, err := client.Do(req)
	if err != nil {
		return errors.New("does not answer yet")
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxHealthBody))
	if err != nil {
		return fmt.Errorf("read its health: %w", err)
	}
	if resp.StatusCode == http.StatusOK {
		return nil
	}
	return fmt.Errorf("unhealthy: %s", failing(body))
}

// failing lists the checks of a health report that fail.
func failing(body []byte) string {
	var report struct {
		Checks map[string]struct {
			Error string `json:"error"`
		} `json:"checks"`
	}
	if err := json.Unmarshal(body, &report); err != nil {
		return fmt.Sprintf("unreadable report: %v", err)
	}
	var names []string
	for name, check := range report.Checks {
		if check.Error != "" {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}
