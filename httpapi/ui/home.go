package ui

import (
	"encoding/json"
	"errors"
)

func (s *Site) homePages() []Page {
	return []Page{
		{Pattern: "/", Open: true, Units: 1, Serve: serveHome},
	}
}

// home is what the first page shows.
type home struct {
	Health      *healthAnswer
	Chains      []chainAnswer
	ChainsError *Error
}

// healthAnswer is that of /health. Only operators get the details.
type healthAnswer struct {
	Status  string
	Details map[string]struct{ Status, Error, Timestamp string }
}

// chainAnswer is what /v1/chains returns of a chain, as far as pages show it.
type chainAnswer struct {
	ChainID     string `json:"chainId"`
	ChainName   string
	Status      string
	NetworkName string
}

func serveHome(r *Request) error {
	var data home
	var health healthAnswer
	if a := r.Ask("/health"); json.Unmarshal(a.Body, &health) == nil && health.Status != "" {
		data.Health = &health
	}
	var chains struct{ Chains []chainAnswer }
	if err := r.Get("/v1/chains", &chains); err != nil && !errors.As(err, &data.ChainsError) {
		return err
	}
	data.Chains = chains.Chains
	return r.Render("home", "", &data)
}
