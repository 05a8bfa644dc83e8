package nftmeta

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"strings"
	"time"

	"github.com/holiman/uint256"

	"quorate/engine/chain"
	"quorate/engine/chain/evm"
	"quorate/engine/index"
	"quorate/engine/metric"
	"quorate/engine/outbound"
)

// Store keeps records; see [quorate/engine/store/results.Operations].
type Store interface {
	Get(key []byte) ([]byte, bool, error)
	Put(ctx context.Context, key, value []byte) error
	Page(prefix, from []byte, f func(key, value []byte)) (next []byte, err error)
	RemoveAll(keys [][]byte) (n int, err error)
}

// View reads a chain's index, as [*index.View] does.
type View interface {
	URITokens(after *evm.Address, limit int) ([]evm.Address, error)
	TokenURIs(token evm.Address, p index.Page) ([]index.NFT, []string, []byte, error)
	TokenURI(token evm.Address, id uint256.Int) (string, bool, error)
	Token(a evm.Address) (index.TokenMeta, bool, error)
	Close()
}

// Chain is a chain that is followed.
type Chain struct {
	ID   chain.ID
	View func() (View, error)
	// Ask has a contract asked for a token's URI again, some time.
	Ask func(token evm.Address, id uint256.Int)
}

// Config says what is fetched. Zero values take the defaults.
type Config struct {
	// On has metadata fetched. Without it nothing else counts.
	On bool

	// Store keeps the records, Chains returns the chains that are followed. Required.
	Store  Store
	Chains func() []Chain

	// Gateway is the address of a gateway to IPFS, to which /ipfs/ and the rest is added.
	// It may be on a private address. Empty: documents in IPFS are not fetched.
	Gateway string
	// HTTP allows http:// besides https://, and Private any port of addresses that are
	// not of the internet.
	HTTP, Private bool
	// Refresh is after how long a document is looked at again, give or take a tenth.
	// Default 7 days.
	Refresh time.Duration
	// Most bounds the records: beyond it old ones are dropped. Default 1,000,000.
	Most int

	// Room returns why nothing can be written to the data folder; nil never does.
	Room    func() error
	Logger  *slog.Logger
	Metrics *metric.Set

	ipfs    *url.URL      // the gateway
	timeout time.Duration // of a fetch, 20 s
}

const (
	// minAge is how old a record is at least before its token is fetched again, whatever
	// asks for it.
	minAge = time.Minute
	// firstRetry is the wait after the first failure; it doubles up to maxRetry.
	firstRetry, maxRetry = 10 * time.Minute, 24 * time.Hour
	// reindexEvery is how often clients may ask for one token.
	reindexEvery = time.Hour
	// maxBytes bounds a document.
	maxBytes = 256 << 10
	// fetches bounds the requests under way to the web, and those to the gateway; perSite
	// those to one site, and sitePause is the time between two.
	fetches, perSite, sitePause = 8, 2, 200 * time.Millisecond
	// maxSites bounds the sites that are remembered, maxQueue the tasks that wait for one,
	// maxWaiting those of all. Urgent ones may be twice as many.
	maxSites, maxQueue, maxWaiting = 16384, 256, 4096
	// firstPause is how long a site rests after a failure; it doubles up to maxPause.
	firstPause, maxPause = 5 * time.Second, time.Hour
	// patience is how long tasks wait for a site that rests.
	patience = 10 * time.Second
	// passEvery is how often the index is gone through for what is due, passSoon how soon
	// after tasks did not fit.
	passEvery, passSoon = 5 * time.Minute, 10 * time.Second
	// rowRate bounds the rows that passes read each second: about 1% of a processor.
	// pageRows are read at once.
	rowRate, pageRows = 2000, 64
	// maxAsked bounds the tokens that clients have asked for, maxChanged those that are to
	// be looked at soon.
	maxAsked, maxChanged = 4096, 4096
	// tick is how often new and changed URIs are looked at, askEvery after how many ticks
	// a contract is asked again for a URI that a client wants.
	tick, askEvery = time.Second, 60
	// commitTime bounds the wait for a commit.
	commitTime = 5 * time.Second
	// cached is how many documents are kept in memory, maxCached how large they are at most.
	cached, maxCached = 8192, 2 << 10
	// maxRedirects is how many redirects are followed.
	maxRedirects = 3
)

// ParseGateway returns why an address is not one of a gateway.
func ParseGateway(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return nil, fmt.Errorf("%q is not of the form https://HOST or http://HOST:PORT", text)
	}
	u.Path = strings.TrimSuffix(strings.TrimSuffix(u.Path, "/"), "/ipfs")
	return u, nil
}

func (c *Config) fill() (err error) {
	if c.Store == nil || c.Chains == nil {
		return errors.New("nftmeta: Store and Chains are required")
	}
	if c.Gateway != "" {
		if c.ipfs, err = ParseGateway(c.Gateway); err != nil {
			return fmt.Errorf("nftmeta: the gateway %w", err)
		}
	}
	c.Refresh, c.Most, c.timeout = cmp.Or(c.Refresh, 7*24*time.Hour), cmp.Or(c.Most, 1_000_000), cmp.Or(c.timeout, 20*time.Second)
	if c.Most < 1 || c.Refresh < 0 {
		return errors.New("nftmeta: bounds must be positive")
	}
	if c.Room == nil {
		c.Room = func() error { return nil }
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.Metrics == nil {
		c.Metrics = metric.NewSet()
	}
	return nil
}

// target is how many records passes make at most: the rest is for new tokens and those that
// clients ask for.
func (c *Config) target() int { return c.Most - max(1, c.Most/20) }

// rules are those of servers that contracts name.
func (c *Config) rules() outbound.Config {
	r := outbound.Config{Private: c.Private, Schemes: []string{"https"}, Redirects: maxRedirects, Timeout: c.timeout, PerHost: perSite}
	if c.HTTP {
		r.Schemes = append(r.Schemes, "http")
	}
	if !c.Private { // what else listens on a host is not for contracts to knock at
		r.Ports = []uint16{443, 80}
	}
	return r
}
