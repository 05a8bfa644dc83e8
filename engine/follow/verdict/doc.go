// Package verdict finds out what is true of a block where its hash does not say it: nodes
// tell calls and balances, and some lie. A sample is proven by state roots ([Proofs]) or
// asked of a second node ([Lane]); where nodes contradict each other, proofs decide, and
// else the majority. Who told something false is asked last from then on, and what it told
// is asked of others.
package verdict
