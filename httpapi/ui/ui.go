package ui

import (
	"fmt"
	"log/slog"
	"slices"
)

// API answers what a program would be answered: GET of a path with its query, in the
// same process. It charges nothing. An operator sees what an operator's listener shows.
type API interface {
	Get(path string, operator bool) Answer
}

// Answer is what the API says.
type Answer struct {
	Status int
	Body   []byte
	// Indexed and Height are how far the index of the chain is and how far the chain,
	// digits, while the index is so far behind that it shows the past; empty if it is
	// not, or not known.
	Indexed, Height string
	// Gaps names the ranges of blocks of which rows are missing or not certain.
	Gaps string
	// Units is what a client would pay for the answer, in compute units.
	Units int
}

// Mode says which pages there are.
type Mode uint8

const (
	// On: all pages, those for operators on their listeners.
	On Mode = iota
	// Explorer: the pages of chains alone, on every listener.
	Explorer
	// Off: no pages.
	Off
)

var modes = [...]string{On: "on", Explorer: "explorer", Off: "off"}

// ParseMode reads the value of --ui.
func ParseMode(text string) (Mode, error) {
	for m, name := range modes {
		if name == text {
			return Mode(m), nil
		}
	}
	return 0, fmt.Errorf("must be on, explorer or off, not %q", text)
}

// String returns the mode as --ui has it.
func (m Mode) String() string { return modes[m] }

// Config says what a [Site] shows.
type Config struct {
	// API is where the data come from. Required.
	API API
	// Mode says which pages there are.
	Mode Mode
	// Operator is what only operators see; nil: operators' pages are not served.
	Operator Operator
	// Logs returns the logs of a transaction of a block, or an [Error]; nil: nobody has them.
	Logs func(chainID, block, tx string) ([]Log, error)
	// Tokens returns tokens of a chain whose names or symbols begin with a text; nil: they
	// are not found by name.
	Tokens func(chainID, text string, limit int) ([]FoundToken, error)
	// KeysRequired reports that clients without an API key see no data.
	KeysRequired bool
	// KeyKnown reports whether an API key is known; nil: there are none.
	KeyKnown func(key string) bool
	// Version is that of the server, shown at the foot of each page.
	Version string
	// Log takes what goes wrong; nil discards it.
	Log *slog.Logger
}

// Page is a line of the table of pages.
type Page struct {
	// Pattern is that of a route, such as /chain/{chain}.
	Pattern string
	// Operator pages are only for operators' listeners.
	Operator bool
	// Open pages need no API key, where the server asks for keys.
	Open bool
	// Units is the price of a request in compute units. What a page asks of the API
	// beyond Discount times as much is charged like a client's requests.
	Units int
	// Serve renders the page, or returns an [Error], which becomes a page of its own.
	Serve func(r *Request) error
	// Post, if not nil, takes what a form sends to the same pattern. Forms of other sites'
	// pages never reach it.
	Post func(r *Request) error
}

// Discount is how much more a page may ask of the API than it costs: there is one
// request to read, and one answer to write and pack.
const Discount = 4

// Site is the set of all pages.
type Site struct {
	cfg   Config
	views *views

	progress paces
	home     [2]shared[home] // as clients see it, and as operators do
	chains   sharedBy[chainPage]
}

// New makes the pages that cfg asks for.
func New(cfg Config) (*Site, error) {
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	all, err := sharedViews()
	if err != nil {
		return nil, fmt.Errorf("ui: %w", err)
	}
	return &Site{cfg: cfg, views: all}, nil
}

// Pages returns the table of the pages that are served.
func (s *Site) Pages() []Page {
	if s.cfg.Mode == Off {
		return nil
	}
	list := slices.Concat(
		s.homePages(),
		s.searchPages(),
		s.filePages(),
		s.evmPages(),
		s.primaryPages(),
		s.consolePages(),
		s.signaturePages(),
		s.validatorPages(),
		s.opsPages(),
		s.keyPages(),
	)
	served := list[:0]
	for _, p := range list {
		if p.Operator && !s.operators() {
			continue
		}
		served = append(served, p)
	}
	return served
}

// operators reports whether there are pages for operators.
func (s *Site) operators() bool { return s.cfg.Mode == On && s.cfg.Operator != nil }
