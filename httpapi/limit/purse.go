package limit

import "time"

// purse is what a client pays from: the bucket of its key, or those of its address and of the
// networks that this is in. The first is its own.
type purse struct {
	buckets [levels]*bucket
	rates   [levels]rate
	n       int
}

func (p *purse) add(b *bucket, r rate) {
	p.buckets[p.n], p.rates[p.n] = b, r
	p.n++
}

// purseOf returns what a client pays from.
func (l *Limiter) purseOf(c Client) (p purse) {
	if c.key != nil {
		p.add(c.key.bucket, c.key.tier.rate)
		return p
	}
	p.add(l.clients.bucket(clientOf(c.addr, 0)), l.rate)
	if c.addr.Is6() && !c.addr.Is4In6() {
		for level := 1; level < levels; level++ {
			p.add(l.clients.bucket(clientOf(c.addr, level)), l.rate.times(networks[level].times))
		}
	}
	return p
}

// burst is what the client may use at once.
func (p *purse) burst() int64 { return p.rates[0].burst }

// take takes units, or says how long until they will be there.
func (p *purse) take(now time.Duration, units int64) (wait time.Duration) {
	for i := range p.n {
		if wait = p.buckets[i].take(now, p.rates[i], units); wait > 0 {
			for j := range i {
				p.buckets[j].owe(now, p.rates[j], -units)
			}
			return wait
		}
	}
	return 0
}

// owe takes units whether they are there or not, or puts some back.
func (p *purse) owe(now time.Duration, units int64) {
	for i := range p.n {
		p.buckets[i].owe(now, p.rates[i], units)
	}
}

// left returns how many units there are, and how long until all of the client's own are back.
func (p *purse) left(now time.Duration) (units int64, reset time.Duration) {
	units, reset = p.buckets[0].left(now, p.rates[0])
	for i := 1; i < p.n; i++ {
		n, _ := p.buckets[i].left(now, p.rates[i])
		units = min(units, n)
	}
	return units, reset
}
