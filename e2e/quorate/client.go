package quorate

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
)

const (
	// requestTimeout is longer than any answer may take.
	requestTimeout = time.Minute
	maxBody        = 16 << 20
	// pathAggregate is endpoint 1 for the local network, which is served as fuji.
	pathAggregate = "/v1/signatureAggregator/fuji/aggregateSignatures"
	pathDropIn    = "/aggregate-signatures"
	pathMetrics   = "/ext/metrics"
)

// Request is the body of endpoint 1. Absent members have the server's defaults.
type Request struct {
	Message                string `json:"message,omitempty"`
	Justification          string `json:"justification,omitempty"`
	SigningSubnetID        string `json:"signingSubnetId,omitempty"`
	QuorumPercentage       int    `json:"quorumPercentage,omitempty"`
	QuorumPercentageBuffer int    `json:"quorumPercentageBuffer,omitempty"`
	PChainHeight           uint64 `json:"pChainHeight,omitempty"`
	DestinationBlockchain  string `json:"destinationBlockchainId,omitempty"`
}

// dropInRequest is the same in the form of the existing relayer aggregator; all
// members are always sent.
type dropInRequest struct {
	Message                string `json:"message"`
	Justification          string `json:"justification"`
	SigningSubnetID        string `json:"signing-subnet-id"`
	QuorumPercentage       int    `json:"quorum-percentage"`
	QuorumPercentageBuffer int    `json:"quorum-percentage-buffer"`
	PChainHeight           uint64 `json:"pchain-height"`
	DestinationBlockchain  string `json:"destination-blockchain-id,omitempty"`
}

// Answer is the whole answer to one request.
type Answer struct {
	Status int
	Header http.Header
	Body   []byte
	Took   time.Duration // until the body was read
}

// String returns the status and the start of the body.
func (a *Answer) String() string {
	if a == nil {
		return "no answer"
	}
	return fmt.Sprintf("status %d: %.200s", a.Status, a.Body)
}

// A Client speaks to one server over kept connections.
type Client struct {
	url  string
	http *http.Client
}

// NewClient makes a client for the server at url. The caller must call Close.
func NewClient(url string) *Client {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.Proxy = nil
	return &Client{url: url, http: &http.Client{Transport: transport, Timeout: requestTimeout}}
}

// Close closes idle connections.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// Aggregate posts to endpoint 1.
func (c *Client) Aggregate(ctx context.Context, r Request) (*Answer, error) {
	return c.post(ctx, pathAggregate, r)
}

// AggregateDropIn posts the same request in the form of the existing relayer aggregator.
func (c *Client) AggregateDropIn(ctx context.Context, r Request) (*Answer, error) {
	return c.post(ctx, pathDropIn, dropInRequest(r))
}

func (c *Client) post(ctx context.Context, path string, body any) (*Answer, error) {
	b, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}
	return c.Post(ctx, path, b)
}

// Post posts a JSON body to any path.
func (c *Client) Post(ctx context.Context, path string, body []byte) (*Answer, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	return c.do(req)
}

// Get reads any path.
func (c *Client) Get(ctx context.Context, path string) (*Answer, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.url+path, nil)
	if err != nil {
		return nil, err
	}
	return c.do(req)
}

func (c *Client) do(req *http.Request) (*Answer, error) {
	begin := time.Now()
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxBody))
	if err != nil {
		return nil, fmt.Errorf("read the answer to %s %s: %w", req.Method, req.URL.Path, err)
	}
	return &Answer{Status: resp.StatusCode, Header: resp.Header, Body: body, Took: time.Since(begin)}, nil
}

// Signed takes the signed message out of an answer of endpoint 1, which must be 201.
func (a *Answer) Signed() ([]byte, error) {
	return a.member(http.StatusCreated, "signedMessage")
}

// SignedDropIn does the same for the drop-in form, which must be 200.
func (a *Answer) SignedDropIn() ([]byte, error) {
	return a.member(http.StatusOK, "signed-message")
}

// member decodes the hex value of the answer's only member.
func (a *Answer) member(status int, name string) ([]byte, error) {
	if a.Status != status {
		return nil, fmt.Errorf("status %d instead of %d: %s", a.Status, status, a.Body)
	}
	var body map[string]string
	if err := json.Unmarshal(a.Body, &body); err != nil {
		return nil, fmt.Errorf("answer %.200s: %w", a.Body, err)
	}
	value, ok := body[name]
	if !ok || len(body) != 1 {
		return nil, fmt.Errorf("answer has not exactly the member %s: %.200s", name, a.Body)
	}
	b, err := hex.DecodeString(strings.TrimPrefix(value, "0x"))
	if err != nil {
		return nil, fmt.Errorf("member %s: %w", name, err)
	}
	return b, nil
}

// Failure is the documented error body.
type Failure struct {
	Message    string `json:"message"`
	StatusCode int    `json:"statusCode"`
	Error      string `json:"error"`
}

// Failure reads the error body and checks that it repeats the status.
func (a *Answer) Failure() (Failure, error) {
	var f Failure
	d := json.NewDecoder(bytes.NewReader(a.Body))
	d.DisallowUnknownFields()
	if err := d.Decode(&f); err != nil {
		return f, fmt.Errorf("error body %.200s: %w", a.Body, err)
	}
	if a.Status < 400 || f.StatusCode != a.Status || f.Error != http.StatusText(a.Status) || f.Message == "" {
		return f, fmt.Errorf("status %d has error body %s", a.Status, a.Body)
	}
	return f, nil
}

// Metric returns the sum of all series of a metric in /ext/metrics. A metric that is
// not there is an error: a test must not take a renamed one for 0.
func (c *Client) Metric(ctx context.Context, name string) (float64, error) {
	a, err := c.Get(ctx, pathMetrics)
	if err != nil {
		return 0, err
	}
	if a.Status != http.StatusOK {
		return 0, fmt.Errorf("%s: status %d: %.200s", pathMetrics, a.Status, a.Body)
	}
	return sumMetric(string(a.Body), name)
}

// sumMetric adds up the series of a metric in the Prometheus text format.
func sumMetric(text, name string) (float64, error) {
	sum, found := 0.0, false
	for line := range strings.Lines(text) {
		rest, ok := strings.CutPrefix(strings.TrimSpace(line), name)
		if !ok || rest == "" || (rest[0] != ' ' && rest[0] != '{') {
			continue
		}
		value, err := strconv.ParseFloat(rest[strings.LastIndexByte(rest, ' ')+1:], 64)
		if err != nil {
			return 0, fmt.Errorf("metric line %q: %w", line, err)
		}
		sum, found = sum+value, true
	}
	if !found {
		return 0, fmt.Errorf("no metric %s in %s", name, pathMetrics)
	}
	return sum, nil
}
