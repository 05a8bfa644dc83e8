// Package helicon holds whole servers against the recordings of a network that crosses
// the activation of Helicon: what they serve must be what the recordings alone say.
package helicon
