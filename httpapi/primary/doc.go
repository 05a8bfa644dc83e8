// Package primary answers about the P-, X- and C-Chain as those of the primary network.
package primary
