package webhook

import (
	"context"
	"fmt"
	"net/http"
	"net/url"

	"quorate/engine/outbound"
)

// CheckURL says why nothing can be delivered to an address, as far as it shows.
func CheckURL(text string, private bool) error {
	rules := outbound.Config{Private: private}
	if err := rules.CheckText(text); err != nil {
		return fmt.Errorf("%w: %w", ErrURL, err)
	}
	return nil
}

// resolveURL says why nothing can be delivered to an address, and looks its host up.
func resolveURL(ctx context.Context, text string, private bool) error {
	if err := CheckURL(text, private); err != nil {
		return err
	}
	u, err := url.Parse(text)
	if err == nil {
		err = (&outbound.Config{Private: private}).CheckHost(ctx, u)
	}
	if err != nil {
		return fmt.Errorf("%w: %w", ErrURL, err)
	}
	return nil
}

// newClient returns what delivers. It follows no redirect: its target could be anywhere,
// and was never named by the webhook's owner.
func newClient(cfg *Config) *http.Client {
	return outbound.New(outbound.Config{Private: cfg.Private, Timeout: cfg.Timeout})
}
