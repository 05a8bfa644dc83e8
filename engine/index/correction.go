package index

// Correction says that what transactions did from a block on turned out to be false, and
// was put right: the blocks are those that they were. Who read their rows before has read
// something false.
type Correction struct {
	Height uint64
	ID     [6]byte // of this correction: of what is true
}

// Correct takes note of all corrections of the chain so far, in their order, before the
// rows are made again that were taken back.
func (c *Chain) Correct(list []Correction) { c.corrections.Store(&list) }

// Corrections returns all corrections of the chain. Do not change the list.
func (c *Chain) Corrections() []Correction {
	if list := c.corrections.Load(); list != nil {
		return *list
	}
	return nil
}

// Corrected returns the last correction before the view was opened.
func (v *View) Corrected() (id [6]byte) {
	if n := len(v.corrections); n > 0 {
		id = v.corrections[n-1].ID
	}
	return id
}

// Corrections returns how many corrections the chain had before the view was opened.
func (v *View) Corrections() int { return len(v.corrections) }
