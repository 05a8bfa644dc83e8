package nodeapi

import (
	"errors"
	"fmt"
	"time"

	"quorate/devnet/primary"
	"quorate/engine/chain"
)

// maxRange is how many containers the index returns at a time.
const maxRange = 1024

var errNoneAccepted = errors.New("no containers have been accepted")

type containerReply struct {
	ID        chainID   `json:"id"`
	Bytes     hexBytes  `json:"bytes"`
	Timestamp time.Time `json:"timestamp"`
	Encoding  encoding  `json:"encoding"`
	Index     number    `json:"index"`
}

type containerArgs struct {
	Index    blockHeight `json:"index"`
	ID       chainID     `json:"id"`
	Encoding encoding    `json:"encoding"`
}

type rangeArgs struct {
	Start    blockHeight `json:"startIndex"`
	Count    blockHeight `json:"numToFetch"`
	Encoding encoding    `json:"encoding"`
}

func (p *primaryAPI) platformContainers() []*primary.Container { return p.indexed(p.c.Platform()) }
func (p *primaryAPI) avmContainers() []*primary.Container      { return p.indexed(p.c.AVM()) }

// vertices are all there, or none: before the end of the graph nobody lags.
func (p *primaryAPI) vertices() []*primary.Container {
	if p.traits.Load().IndexFrom > 0 {
		return nil
	}
	return p.c.Vertices()
}

// indexed returns the containers that the node's index has.
func (p *primaryAPI) indexed(all []*primary.Container) []*primary.Container {
	all = p.seen(all)
	return all[min(max(p.traits.Load().IndexFrom, 1)-1, uint64(len(all))):]
}

func (p *primaryAPI) indexService(all func() []*primary.Container, future func(*PrimaryTraits) uint64) *service {
	return &service{name: "index", methods: map[string]method{
		"getLastAccepted": call(func(args containerArgs) (any, error) {
			list := all()
			if len(list) == 0 {
				return nil, errNoneAccepted
			}
			return p.container(list, len(list)-1, future, args.Encoding)
		}),
		"getContainerByIndex": call(func(args containerArgs) (any, error) {
			list := all()
			if uint64(args.Index) >= uint64(len(list)) {
				return nil, fmt.Errorf("no container at index %d", args.Index)
			}
			return p.container(list, int(args.Index), future, args.Encoding) // in the list
		}),
		"getContainerRange": call(func(args rangeArgs) (any, error) { return p.containers(all(), future, args) }),
		"getContainerByID": call(func(args containerArgs) (any, error) {
			list := all()
			i := position(list, chain.ID(args.ID))
			if i < 0 {
				return nil, errNotFound
			}
			return p.container(list, i, future, args.Encoding)
		}),
		"getIndex": call(func(args containerArgs) (any, error) {
			i := position(all(), chain.ID(args.ID))
			if i < 0 {
				return nil, errNotFound
			}
			return struct {
				Index number `json:"index"`
			}{number(i)}, nil // not negative
		}),
		"isAccepted": call(func(args containerArgs) (any, error) {
			return struct {
				IsAccepted bool `json:"isAccepted"`
			}{position(all(), chain.ID(args.ID)) >= 0}, nil
		}),
	}}
}

func position(list []*primary.Container, id chain.ID) int {
	for i, c := range list {
		if c.ID == id {
			return i
		}
	}
	return -1
}

func (p *primaryAPI) containers(list []*primary.Container, future func(*PrimaryTraits) uint64, args rangeArgs) (any, error) {
	start, n := uint64(args.Start), uint64(args.Count)
	switch last := uint64(len(list)); {
	case n == 0 || n > maxRange:
		return nil, fmt.Errorf("numToFetch must be in [1,%d] but is %d", maxRange, n)
	case last == 0:
		return nil, errNoneAccepted
	case start >= last:
		return nil, fmt.Errorf("start index (%d) > last accepted index (%d)", start, last-1)
	default:
		n = min(n, last-start)
	}
	reply := struct {
		Containers []any `json:"containers"`
	}{make([]any, n)}
	for i := range n {
		c, err := p.container(list, int(start+i), future, args.Encoding) // in the list
		if err != nil {
			return nil, err
		}
		reply.Containers[i] = c
	}
	return reply, nil
}

// container returns one as the index does: the time is that of its acceptance.
func (p *primaryAPI) container(list []*primary.Container, i int, future func(*PrimaryTraits) uint64, e encoding) (any, error) {
	if e = e.orHex(); e == encodingJSON {
		return nil, errors.New("unsupported encoding in method")
	}
	c := p.shown(list[i], future)
	return containerReply{
		ID: chainID(c.ID), Bytes: e.text(p.spoil(c.Bytes())), Timestamp: time.Unix(int64(c.Time), 0).UTC(), // after 1970
		Encoding: e, Index: number(i),
	}, nil
}
