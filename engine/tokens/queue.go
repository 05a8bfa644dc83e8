package tokens

import (
	"github.com/holiman/uint256"

	"quorate/engine/chain/evm"
	"quorate/engine/index"
)

// task is a question about one URI or one balance.
type task struct {
	token  evm.Address
	kind   index.TransferKind // ERC20 asks for a balance, others for a URI
	id     uint256.Int
	holder evm.Address
	again  bool // ask for the URI though it is known
	// to is the last ID if the task is about all known URIs from id on.
	to *uint256.Int
}

const (
	// maxQueued bounds the tasks that wait, about 80 bytes each. What does not fit
	// is found in the blocks later.
	maxQueued = 1 << 16
	// quantum is how many tasks of a token go out before those of another.
	quantum = 8
)

// queue holds tasks and hands them out from all tokens in turn.
type queue struct {
	turn  []evm.Address // tokens that have tasks, each once
	tasks map[evm.Address][]task
	n     int
}

// push adds a task, and reports whether there was room.
func (q *queue) push(t *task) bool {
	if q.n >= maxQueued {
		return false
	}
	if q.tasks == nil {
		q.tasks = map[evm.Address][]task{}
	}
	list, there := q.tasks[t.token]
	if !there {
		q.turn = append(q.turn, t.token)
	}
	q.tasks[t.token] = append(list, *t)
	q.n++
	return true
}

// pop takes up to limit tasks.
func (q *queue) pop(limit int) (out []task) {
	for len(out) < limit && len(q.turn) > 0 {
		token := q.turn[0]
		q.turn = q.turn[1:]
		list := q.tasks[token]
		n := min(quantum, limit-len(out), len(list))
		out = append(out, list[:n]...)
		q.n -= n
		if list = list[n:]; len(list) > 0 {
			q.tasks[token] = list
			q.turn = append(q.turn, token)
		} else {
			delete(q.tasks, token)
		}
	}
	return out
}
