// Package primary holds what is known of the primary network: the blocks of the P-,
// X- and C-Chain as consensus accepted them, and what lists and balances tell of them.
// The types here are plain values for those who read.
package primary
