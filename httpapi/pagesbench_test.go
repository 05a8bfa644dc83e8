package httpapi

import (
	"slices"
	"testing"
	"time"

	"quorate/httpapi/door"
	"quorate/httpapi/limit"
	"quorate/httpapi/ui"
)

// BenchmarkPages asks a server with all that is in front of its routes for the first page
// and for /v1/chains in turns, as browsers do. p99-ratio is to stay below 3. It also
// measures what a page costs that is not kept.
func BenchmarkPages(b *testing.B) {
	s := pageServer(b, Config{Limits: newLimiter(b, limit.Config{NoLimit: true})}, ui.On)
	b.Run("home-and-chains", func(b *testing.B) {
		var took [2][]time.Duration
		for b.Loop() {
			for i, path := range []string{"/", "/v1/chains"} {
				begin := time.Now()
				r := visit(s, door.ForClients, "GET", path, "Accept-Encoding", "gzip, deflate, br, zstd")
				took[i] = append(took[i], time.Since(begin))
				if r.StatusCode() != 200 {
					b.Fatal(r.StatusCode())
				}
			}
		}
		var p99 [2]time.Duration
		for i := range took {
			slices.Sort(took[i])
			p99[i] = took[i][len(took[i])*99/100]
		}
		b.ReportMetric(float64(p99[0]), "p99-page-ns")
		b.ReportMetric(float64(p99[1]), "p99-chains-ns")
		b.ReportMetric(float64(p99[0])/float64(p99[1]), "p99-ratio")
	})
	b.Run("home-rendered", func(b *testing.B) {
		page := s.pages.site.Pages()[0]
		for b.Loop() {
			out := s.pages.site.Serve(&page, ui.Input{Path: "/", Base: "http://localhost"})
			if out.Status != 200 {
				b.Fatal(out.Status)
			}
		}
	})
}
