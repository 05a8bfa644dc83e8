package nftmeta

import "time"

const (
	// maxSites bounds the sites that are remembered.
	maxSites = 8192
	// firstPause is how long a site rests after a failure; it doubles up to maxPause.
	firstPause, maxPause = 5 * time.Second, time.Hour
	// gatewayFaster is how much more a gateway takes, which is the operator's own choice.
	gatewayFaster = 4
)

// siteState is what is known of who answers for some hosts.
type siteState struct {
	flying   int
	next     time.Time // when it may be asked again
	failures int       // in a row
}

// sites paces the requests to each site.
type sites struct {
	cfg   *Config
	known map[string]*siteState
	web   int // requests under way but those to the gateway
}

// wait returns how long a site may not be asked, 0 if it may be now. One that is being
// asked as much as it may returns a moment.
func (s *sites) wait(p *place, now time.Time) time.Duration {
	if !p.gateway && s.cfg.ipfs != nil && s.web >= s.cfg.Share {
		return time.Millisecond
	}
	k := s.known[p.site]
	if k == nil {
		if len(s.known) >= maxSites {
			s.forget(now)
		}
		if len(s.known) >= maxSites {
			return time.Second
		}
		return 0
	}
	if wait := k.next.Sub(now); wait > 0 {
		return wait
	}
	if k.flying >= s.most(p) {
		return time.Millisecond
	}
	return 0
}

func (s *sites) most(p *place) int {
	if p.gateway {
		return s.cfg.Share
	}
	return s.cfg.PerSite
}

// forget drops the sites of which there is nothing to remember.
func (s *sites) forget(now time.Time) {
	for name, k := range s.known {
		if k.flying == 0 && now.After(k.next) {
			delete(s.known, name)
		}
	}
}

// begin notes that a site is being asked.
func (s *sites) begin(p *place, now time.Time) {
	k := s.known[p.site]
	if k == nil {
		k = &siteState{}
		s.known[p.site] = k
	}
	k.flying++
	if !p.gateway {
		s.web++
	}
	pause := s.cfg.SitePause
	if p.gateway {
		pause /= gatewayFaster
	}
	k.next = now.Add(pause)
}

// end notes what came of it.
func (s *sites) end(p *place, a *answer, now time.Time) {
	if !p.gateway {
		s.web--
	}
	k := s.known[p.site]
	if k == nil {
		return
	}
	k.flying--
	if !a.faulty {
		k.failures = 0
		return
	}
	k.failures++
	rest := max(a.wait, min(firstPause<<min(k.failures-1, 16), maxPause))
	if at := now.Add(rest); at.After(k.next) {
		k.next = at
	}
}

// resting returns how many sites rest after failures.
func (s *sites) resting(now time.Time) (n int) {
	for _, k := range s.known {
		if k.failures > 0 && k.next.After(now) {
			n++
		}
	}
	return n
}
