// Package verdict finds out what is true of a block where its hash does not say it: nodes
// tell calls and balances, and some lie. A sample is proven by state roots ([Proofs]) or
// asked of a second node ([Lane]); where nodes contradict each other, proofs decide, and
// else the majority. A node that answered falsely is asked last from then on, and what it answered
// is asked of others.
package verdict
