// Package plot computes what a plot of figures over time is drawn from: one SVG path, and
// the labels of the lines behind it.
//
// The path fills a box of [Width] by [Height] that the page stretches to its own size. So
// the labels are no part of the SVG, where they would be stretched too: rows and columns
// of equal size hold them, and the lines of the grid are the edges of these. Nothing
// here is HTML. The package is pure and imports nothing of ours.
package plot

import (
	"math"
	"strconv"
	"time"
)

// The box of the path, in units of the SVG.
const (
	Width  = 1000
	Height = 240
)

// Rows is how many rows of equal height a plot has: each has the label of its upper edge.
const Rows = 4

// maxColumns is how many columns a plot has at most, each with the label of its left
// edge. More do not fit on a phone.
const maxColumns = 4

// Point is the figure of an interval that begins at a Unix time.
type Point struct {
	Start int64
	Value float64
}

// Options are how figures are drawn.
type Options struct {
	// Bars draws a bar for each point, for figures that are counted. Otherwise a line joins
	// the points.
	Bars bool
	// Whole says that all figures are whole numbers, so that labels are, too.
	Whole bool
	// Hours says that points are so close that labels need the time of day.
	Hours bool
}

// Plot is what is drawn.
type Plot struct {
	// Path is the d of an SVG path: to be filled if Bars is set, else to be stroked.
	Path string
	Bars bool
	// Rows are the labels of the rows' upper edges, the highest first; the lower edge of
	// the last row is 0.
	Rows []string
	// Columns are the labels of the columns' left edges.
	Columns []string
	// Points is how many there are.
	Points int
}

// New returns the plot of points that are in the order of time and at equal distances. It
// is empty if there are none. Figures below 0 or that are no numbers are drawn as 0.
func New(points []Point, o Options) Plot {
	p := Plot{Bars: o.Bars, Points: len(points)}
	if len(points) == 0 {
		return p
	}
	highest := 0.0
	for _, q := range points {
		highest = max(highest, height(q.Value))
	}
	step := nice(highest/Rows, o.Whole)
	for i := range Rows {
		p.Rows = append(p.Rows, Compact(step*float64(Rows-i)))
	}
	p.Columns = columns(points, o.Hours)
	top := step * Rows
	if o.Bars {
		p.Path = bars(points, top)
	} else {
		p.Path = line(points, top)
	}
	return p
}

// height returns a figure as it is drawn.
func height(v float64) float64 {
	if math.IsNaN(v) || math.IsInf(v, 0) || v < 0 {
		return 0
	}
	return v
}

// bars returns a path with a rectangle for each point that is not 0.
func bars(points []Point, top float64) string {
	slot := float64(Width) / float64(len(points))
	wide := slot
	if len(points) <= 200 {
		wide = slot * 0.8
	}
	d := make([]byte, 0, 24*len(points))
	for i, q := range points {
		v := height(q.Value)
		if v == 0 {
			continue
		}
		d = append(d, 'M')
		d = number(d, float64(i)*slot+(slot-wide)/2)
		d = append(d, ' ')
		d = strconv.AppendInt(d, Height, 10)
		d = append(d, 'V')
		d = number(d, level(v, top))
		d = append(d, 'h')
		d = number(d, wide)
		d = append(d, 'V')
		d = strconv.AppendInt(d, Height, 10)
		d = append(d, 'z')
	}
	return string(d)
}

// line returns a path through the middles of the points' slots.
func line(points []Point, top float64) string {
	slot := float64(Width) / float64(len(points))
	d := make([]byte, 0, 14*len(points))
	for i, q := range points {
		op := byte('L')
		if i == 0 {
			op = 'M'
		}
		d = append(d, op)
		d = number(d, (float64(i)+0.5)*slot)
		d = append(d, ' ')
		d = number(d, level(height(q.Value), top))
	}
	if len(points) == 1 { // a line needs two ends
		d = append(d, 'h', '1')
	}
	return string(d)
}

// level returns where a figure is, from the top of the box. What is not 0 is never drawn
// as nothing.
func level(v, top float64) float64 {
	if v == 0 {
		return Height
	}
	return min(Height*(1-v/top), Height-1)
}

// number appends a coordinate with one decimal at most.
func number(d []byte, v float64) []byte {
	return strconv.AppendFloat(d, math.Round(v*10)/10, 'f', -1, 64)
}

// nice returns the least round number that is not below v: the height of a row.
func nice(v float64, whole bool) float64 {
	if v <= 0 || whole && v <= 1 {
		return 1
	}
	unit := math.Pow(10, math.Floor(math.Log10(v)))
	for _, f := range [...]float64{1, 1.5, 2, 2.5, 3, 4, 5, 6, 8} {
		if step := f * unit; step >= v && (!whole || step == math.Trunc(step)) {
			return step
		}
	}
	return 10 * unit
}

// columns returns the labels of the beginnings of up to maxColumns equal parts.
func columns(points []Point, hours bool) []string {
	n := min(maxColumns, len(points))
	labels := make([]string, n)
	form := "2006-01-02"
	if hours {
		form = "01-02 15:04"
	}
	for i := range labels {
		labels[i] = time.Unix(points[i*len(points)/n].Start, 0).UTC().Format(form)
	}
	return labels
}

// Compact writes a figure in few characters: 1.5k, 20M.
func Compact(v float64) string {
	for _, u := range [...]struct {
		of   float64
		name string
	}{{1e12, "T"}, {1e9, "G"}, {1e6, "M"}, {1e3, "k"}} {
		if v >= u.of && v < 1e15 {
			return strconv.FormatFloat(v/u.of, 'g', 4, 64) + u.name
		}
	}
	return strconv.FormatFloat(v, 'g', 4, 64)
}
