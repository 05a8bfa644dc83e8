package primary

import (
	"strconv"

	"quorate/engine/chain"
	"quorate/engine/chain/platform"
	"quorate/engine/primary"
	"quorate/httpapi/door"
)

// readID reads an ID in the path.
func (c *call) readID(name string, to *chain.ID) *door.Failure {
	if problem := door.SetID(to, c.Params.Get(name)); problem != "" {
		return door.BadRequest(name + " " + problem)
	}
	return nil
}

// readNode reads a node ID in the path.
func readNode(c *call) *door.Failure {
	if problem := door.SetNode(&c.node, c.Params.Get("nodeId")); problem != "" {
		return door.BadRequest("nodeId " + problem)
	}
	return nil
}

// networkDetails returns the sums over a network's stakers.
func networkDetails(c *call) *door.Failure {
	rows, f := platformOf(c)
	if f != nil {
		return f
	}
	t, err := rows.Totals()
	if err != nil {
		return c.unreadable(err)
	}
	c.W.NetworkDetails(&t, c.network.Told())
	return nil
}

func readSubnet(c *call) *door.Failure { return c.readID("subnetId", &c.id) }

// subnet is the complete view of a subnet.
func subnet(c *call) *door.Failure {
	rows, f := platformOf(c)
	if f != nil {
		return f
	}
	s, found, err := rows.Subnet(c.id)
	switch {
	case err != nil:
		return c.unreadable(err)
	case !found:
		return c.missing("subnet " + c.id.String() + " does not exist or is not indexed yet")
	}
	c.W.Subnet(s, func() bool { return c.genesis < maxRowGenesis })
	return nil
}

func listBlockchains(c *call) *door.Failure {
	rows, f := platformOf(c)
	if f != nil {
		return f
	}
	c.List("blockchains")
	next, err := rows.Blockchains(c.page(), func(b *primary.Blockchain) bool {
		if !c.Room() || c.genesis >= maxGenesis {
			return false
		}
		c.W.Blockchain(b)
		return true
	})
	return c.finish(next, err, nil)
}

// readBlockchain reads the ID of any blockchain, or the alias of one of the primary
// network.
func readBlockchain(c *call) *door.Failure {
	name := c.Params.Get("blockchainId")
	if k, ok := KindNamed(name); ok {
		on, ok := c.network.Chain(k)
		if !ok {
			return door.NotFound("the " + k.String() + " of " + c.name + " is not followed here")
		}
		c.id = on.ID()
		return nil
	}
	return c.readID("blockchainId", &c.id)
}

func blockchain(c *call) *door.Failure {
	rows, f := platformOf(c)
	if f != nil {
		return f
	}
	b, found, err := rows.Blockchain(c.id)
	switch {
	case err != nil:
		return c.unreadable(err)
	case !found:
		return c.missing("blockchain " + c.id.String() + " does not exist or is not indexed yet")
	}
	c.W.Blockchain(b)
	return nil
}

// listValidators lists the validators of the primary network, of a subnet, or a node.
func listValidators(c *call) *door.Failure {
	rows, f := platformOf(c)
	if f != nil {
		return f
	}
	totals, err := rows.Totals()
	if err != nil {
		return c.unreadable(err)
	}
	q := &c.own
	told := c.network.Told()
	of := primary.StakerFilter{
		Subnet: q.subnet, Nodes: q.nodes, Owners: q.addresses, Status: q.status, Chooses: q.validators.chooses(q.nodes, told, rows.Time()),
	}
	if len(q.validators.parts) > 0 {
		of.Nodes = nil // they are looked for among the others
	}
	if c.node != (chain.NodeID{}) {
		of.Nodes = []chain.NodeID{c.node}
	} else if of.Subnet == nil {
		of.Subnet = &chain.PrimaryNetworkID
	}
	c.List("validators")
	next, err := rows.Stakers(&of, c.page(), fits(c, func(s *primary.Staker) { c.W.Validator(s, &totals, told, c.proof(s), c.removed(s)) }))
	return c.finish(next, err, nil)
}

// proof returns the proof of possession of a validator's key, which is in its
// transaction; nil if that is not known.
func (c *call) proof(s *primary.Staker) []byte {
	if s.BLSKey == nil {
		return nil
	}
	if s.Proof != nil {
		return s.Proof[:]
	}
	row, found, err := c.rows.Tx(s.TxID)
	if err != nil {
		c.Note(err)
	}
	if err != nil || !found {
		return nil
	}
	tx, err := platform.ParseTx(row.Raw)
	if err != nil {
		c.Note(err)
		return nil
	}
	if add, _ := tx.Body.Staking(); add.Signer != nil {
		return add.Signer.ProofOfPossession[:]
	}
	return nil
}

// removed returns when a validator was removed, 0 if it was not.
func (c *call) removed(s *primary.Staker) uint64 {
	if s.Status != primary.Removed || s.RemovedAt > 0 {
		return s.RemovedAt
	}
	row, found, err := c.rows.Tx(s.EndTx)
	if err != nil {
		c.Note(err)
	}
	if err != nil || !found {
		return 0
	}
	return row.Time
}

func listL1Validators(c *call) *door.Failure {
	rows, f := platformOf(c)
	if f != nil {
		return f
	}
	q := &c.own
	of := primary.L1Filter{ValidationID: q.validation, Node: q.node, Subnet: q.subnet, Inactive: q.inactive}
	c.List("validators")
	price := rows.L1Price()
	next, err := rows.L1Validators(&of, c.page(), fits(c, func(v *primary.L1Validator) { c.W.L1Validator(v, price) }))
	return c.finish(next, err, func() { c.W.Height(c.Tip) })
}

func pendingRewards(c *call) *door.Failure {
	rows, f := platformOf(c)
	if f != nil {
		return f
	}
	c.List("pendingRewards")
	of := primary.RewardFilter{Addresses: c.own.addresses, Nodes: c.own.nodes}
	now := rows.Time()
	next, err := rows.PendingRewards(&of, c.page(), fits(c, func(r *primary.Reward) { c.W.PendingReward(r, now) }))
	return c.finish(next, err, nil)
}

// readBlock reads the height or the ID of a block.
func readBlock(c *call) *door.Failure {
	v := c.Params.Get("blockId")
	n, ok := door.ParseUint(v)
	if ok {
		c.number = n
		return nil
	}
	c.hasID = true
	if door.SetID(&c.id, v) != "" {
		return door.BadRequest("blockId must be the height of a block in decimal or its ID, 32 bytes in CB58 or hex, not " + door.Excerpt(v))
	}
	return nil
}

func block(c *call) *door.Failure {
	var b *primary.BlockInfo
	var found bool
	var err error
	text := strconv.FormatUint(c.number, 10)
	if c.hasID {
		text = c.id.String()
		b, found, err = c.rows.Block(c.id)
	} else {
		b, found, err = c.rows.BlockAt(c.number)
	}
	switch {
	case err != nil:
		return c.unreadable(err)
	case !found && !c.hasID && c.number < c.rows.First():
		return door.NotFound("block " + text + " is not indexed: the index of the " + aliasKind(c.kind).String() + " of " + c.name + " begins above it")
	case !found:
		return c.missing("block " + text + " does not exist or is not indexed yet")
	}
	c.W.PrimaryBlock(b)
	return nil
}

// blocksOfNode lists the blocks that a node proposed.
func blocksOfNode(c *call) *door.Failure { return c.blocks(&c.node) }

func latestVertices(c *call) *door.Failure { return c.vertices(nil) }

func readVertex(c *call) *door.Failure { return c.readID("vertexHash", &c.id) }

func vertex(c *call) *door.Failure {
	rows, ok := c.rows.(VertexView)
	if !ok {
		return c.unreadable(ErrKind)
	}
	v, found, err := rows.Vertex(c.id)
	switch {
	case err != nil:
		return c.unreadable(err)
	case !found:
		return c.missing("vertex " + c.id.String() + " does not exist or is not indexed yet")
	}
	c.W.Vertex(v)
	return nil
}
