package archive

import "quorate/engine/metric"

// stats are an archive's metrics.
type stats struct {
	appends        metric.Histogram
	raw, packed    metric.Counter
	sealed, pruned metric.Counter
	damages        metric.Counter
}

func newStats(a *Archive) stats {
	set := a.opts.Metrics
	set.GaugeFunc("quorate_archive_bytes", "Bytes of the archive's files.", func() float64 { return float64(a.Size()) })
	set.GaugeFunc("quorate_archive_first_block", "First block in the archive.", func() float64 {
		h, _, _ := a.First()
		return float64(h)
	})
	set.GaugeFunc("quorate_archive_last_block", "Last block in the archive.", func() float64 {
		h, _, _ := a.Last()
		return float64(h)
	})
	return stats{
		appends: set.Histogram("quorate_archive_append_seconds", "Time until appended blocks are on disk."),
		raw:     set.Counter("quorate_archive_raw_bytes_total", "Bytes of appended blocks before they were packed."),
		packed:  set.Counter("quorate_archive_packed_bytes_total", "Bytes of appended blocks as they were written first."),
		sealed:  set.Counter("quorate_archive_sealed_total", "Segments sealed."),
		pruned:  set.Counter("quorate_archive_pruned_total", "Segments pruned."),
		damages: set.Counter("quorate_archive_damages_total", "Ranges of blocks found damaged."),
	}
}
