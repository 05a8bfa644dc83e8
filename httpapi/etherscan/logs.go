package etherscan

import (
	"errors"
	"fmt"
	"strconv"

	"quorate/engine/chain/evm"
	"quorate/engine/history"
	"quorate/httpapi/door"
)

const (
	// maxTopics is how many topics a log has at most, and maxLogPage how many logs a page.
	maxTopics  = 4
	maxLogPage = 1000
	// blocksPerUnit is how many blocks that logs are looked for in cost a unit, as with
	// eth_getLogs.
	blocksPerUnit = 20
)

// wanted says which logs are asked for beside a filter.
type wanted struct {
	topics [maxTopics]*evm.Hash
	or     [maxTopics]bool // with the ones before
	any    bool            // some are
}

// match reports whether a log has the topics.
func (m *wanted) match(l *evm.Log) bool {
	if !m.any {
		return true
	}
	is, first := false, true
	for i, want := range m.topics {
		if want == nil {
			continue
		}
		has := i < len(l.Topics) && l.Topics[i] == *want
		switch {
		case first:
			is, first = has, false
		case m.or[i]:
			is = is || has
		default:
			is = is && has
		}
	}
	return is
}

// getLogs lists the logs of blocks.
func getLogs(c *call) error {
	past := c.chain.Past()
	if past == nil {
		return refusal("The logs of the chain are not at hand")
	}
	page, err := c.number("page", 1)
	if err != nil {
		return err
	}
	offset, err := c.number("offset", maxLogPage)
	if err != nil {
		return err
	}
	if page, offset = max(page, 1), min(max(offset, 1), maxLogPage); page > maxWindow/offset {
		return refusal("Result window is too large, PageNo x Offset size must be less than or equal to 10000")
	}
	f, m, err := c.logFilter()
	if err != nil {
		return err
	}
	c.passed += int(f.To-f.From+1) * rowsPerUnit / blocksPerUnit
	skip, n := (page-1)*offset, uint64(0)
	c.w.Raw("[")
	_, err = past.Logs(c.work, f, func(b *evm.Block, tx *evm.Tx, l *evm.Log) bool {
		if !m.match(l) {
			return true
		}
		if n++; n > skip {
			c.log(b, tx, l)
		}
		return n < skip+offset && len(c.w.B) <= maxAnswer
	})
	switch {
	case errors.Is(err, history.ErrNotArchived):
		return refusal("The blocks are not archived here")
	case err != nil:
		return err
	case n <= skip:
		return none(noRecords)
	}
	c.w.Raw("]")
	return c.room()
}

// logFilter reads which logs are asked for.
func (c *call) logFilter() (f *history.Filter, m *wanted, err error) {
	tip := c.v.Tip().Number
	f, m = &history.Filter{}, &wanted{}
	if f.From, err = c.block("fromBlock", 0); err != nil {
		return f, m, err
	}
	if f.To, err = c.block("toBlock", tip); err != nil {
		return f, m, err
	}
	f.From, f.To = max(min(f.From, tip), c.v.First()), min(f.To, tip)
	if f.To < f.From {
		return f, m, none(noRecords)
	}
	if f.To-f.From >= maxRange {
		return f, m, refusal("At most " + strconv.Itoa(maxRange) + " blocks are looked through: select fewer with fromBlock and toBlock")
	}
	a, err := c.optional("address")
	if a != nil {
		f.Addresses = append(f.Addresses, *a)
	}
	if err != nil {
		return f, m, err
	}
	return f, m, c.topics(f, m)
}

// topics reads the topics that are asked for, and how they go together.
func (c *call) topics(f *history.Filter, m *wanted) error {
	for i := range m.topics {
		text := c.arg(fmt.Sprintf("topic%d", i))
		if text == "" {
			continue
		}
		m.topics[i] = new(evm.Hash)
		if !door.ParseHex([]byte(text), m.topics[i][:]) {
			return refusal(fmt.Sprintf("Invalid topic%d", i))
		}
		for k := range i {
			if c.arg(fmt.Sprintf("topic%d_%d_opr", k, i)) == "or" {
				m.or[i], m.any = true, true
			}
		}
	}
	if m.any {
		return nil
	}
	for i, t := range m.topics {
		if t != nil {
			for len(f.Topics) <= i {
				f.Topics = append(f.Topics, nil)
			}
			f.Topics[i] = append(f.Topics[i], *t)
		}
	}
	return nil
}

// log writes a log, with numbers in hex.
func (c *call) log(b *evm.Block, tx *evm.Tx, l *evm.Log) {
	w := &c.w
	w.open()
	w.address("address", &l.Address)
	w.Member("topics")
	w.Raw("[")
	for i := range l.Topics {
		w.Comma()
		w.Raw(`"` + l.Topics[i].String() + `"`)
	}
	w.Raw("]")
	w.hex("data", l.Data)
	w.hexCount("blockNumber", b.Number)
	w.hex("blockHash", b.Hash[:])
	w.hexCount("timeStamp", b.TimeMilli/1000)
	w.Member("gasPrice")
	w.Raw(`"` + tx.GasPrice.Hex() + `"`)
	w.hexCount("gasUsed", tx.GasUsed)
	w.hexCount("logIndex", uint64(l.Index))
	w.hex("transactionHash", tx.Hash[:])
	w.hexCount("transactionIndex", uint64(tx.Index))
	w.Raw("}")
}
