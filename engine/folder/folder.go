// Package folder knows what is in a server's data folder, and works on it while no
// server does.
package folder

import "quorate/engine/primary"

// What is in a data folder.
const (
	IdentityName = "staker.pem"
	AliasesName  = "aliases.json"
	ResultsDir   = "results"
	IndexDir     = "index"
	ArchiveDir   = "archive" // of the chains' archives
)

// PrimaryChain is a chain of a primary network that is followed: Letter is by what the
// network knows it, Name what it is called in logs.
type PrimaryChain struct {
	Kind         primary.Kind
	Letter, Name string
	folder       string
}

// PrimaryChains are all of them, in the order in which they begin: the X-Chain's blocks
// do so behind its vertices.
var PrimaryChains = []PrimaryChain{
	{primary.PChain, "P", "P", "p"},
	{primary.XVertices, "X", "X-vertices", "vertices"},
	{primary.XChain, "X", "X", "x"},
	{primary.CChain, "C", "C-containers", "c"},
}
