package bench

import (
	"testing"
)

// BenchmarkUnread is a page that was not asked for before, of each kind, over
// loopback HTTP: µs/page is the CPU time of the server and of its client, x/bare the
// rate against that of a bare fasthttp handler that answers the same bytes.
func BenchmarkUnread(b *testing.B) { benchmarkUnread(b, newAnswerRig(b)) }

// BenchmarkPrimaryUnread is the same of pages about the primary network.
func BenchmarkPrimaryUnread(b *testing.B) { benchmarkUnread(b, newPrimaryRig(b, primaryBlocks)) }

func benchmarkUnread(b *testing.B, r *answerRig) {
	settle()
	for i := range r.kinds {
		k := &r.kinds[i]
		for _, encoding := range []string{"", "gzip"} {
			b.Run("of="+k.name+"/encoding="+encoding, func(b *testing.B) {
				var cost unreadCost
				for b.Loop() {
					cost = r.unread(b, k, encoding, 5)
				}
				pages := float64(k.pages)
				b.ReportMetric(cost.ours/1e3/pages, "µs/page")
				b.ReportMetric(cost.bare/1e3/pages, "µs/bare")
				b.ReportMetric(cost.bare/cost.ours, "x/bare")
				b.ReportMetric(float64(cost.bytes)/pages, "B/page")
			})
		}
	}
}
