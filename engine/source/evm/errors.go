package evm

import (
	"errors"
	"fmt"
	"strings"

	"quorate/engine/ingest"
	"quorate/engine/source"
)

// Classes of failure. Errors of a [Client] wrap one of these, or the cause of the
// context's end.
var (
	// ErrNotFound: the node does not have the block, because it has not accepted it
	// yet or has it no longer.
	ErrNotFound = ingest.ErrNotFound
	// ErrOtherBlock: the node has another block at that height, or had it a moment ago: the
	// chain goes back, or the node is not where others are.
	ErrOtherBlock = errors.New("the node has another block")
	// ErrNoTrace: the node cannot say what happened inside the block: it has no
	// debug API, or no state of that height, or it gives up on the block.
	ErrNoTrace = errors.New("no trace of the block")
	// ErrUnreachable: no answer in time, or the node cannot serve now. Trying again
	// later may help.
	ErrUnreachable = source.ErrUnreachable
	// ErrBadAnswer: the answer is malformed, contradicts itself or is too long.
	ErrBadAnswer = source.ErrBadAnswer
)

func bad(format string, args ...any) error {
	return fmt.Errorf("%w: %w", ErrBadAnswer, fmt.Errorf(format, args...))
}

// kind is what to do about an error.
type kind uint8

const (
	final    kind = iota // nothing helps
	later                // the same question again, after a pause
	smaller              // ask for less at once
	missing              // there is no such block
	noMethod             // the node does not have the method, or does not give it to us
	noState              // the node has no state of that height
	refused              // the node says no, for another reason
)

// Codes of JSON-RPC errors, as geth and those who follow it give them.
const (
	codeInvalidRequest = -32600
	codeNoMethod       = -32601
	codeTimeout        = -32002
	codeTooLarge       = -32003
	codeLimit          = -32005
)

// kinds are told apart by the text of the refusal, since most have the same
// code. The first that matches counts.
var kinds = []struct {
	kind  kind
	texts []string
}{
	{smaller, []string{"response too large", "batch too large", "too large", "response size", "batch size", "request timed out", "execution timeout", "tracing failed: context"}},
	{later, []string{"rate limit", "too many requests", "try again", "not bootstrapped", "still syncing", "overloaded"}},
	{noState, []string{"historical state", "missing trie node", "state not available", "state is not available", "genesis is not traceable", "missing block", "genesis state is missing"}},
	{noMethod, []string{"does not exist/is not available", "method not found", "method not supported", "not whitelisted", "is not supported", "not allowed"}},
	{missing, []string{"unfinalized", "not found", "unknown block"}},
}

func classify(err error) kind {
	var rpc *source.RPCError
	switch {
	case errors.Is(err, source.ErrTooLong), errors.Is(err, source.ErrTimeout):
		return smaller
	case errors.Is(err, source.ErrUnreachable):
		return later
	case errors.Is(err, ErrNotFound):
		return missing
	case !errors.As(err, &rpc):
		return final
	}
	switch rpc.Code {
	case codeNoMethod:
		return noMethod
	case codeTooLarge, codeTimeout:
		return smaller
	case codeLimit:
		return later
	}
	text := strings.ToLower(rpc.Message)
	for _, k := range kinds {
		for _, t := range k.texts {
			if strings.Contains(text, t) {
				return k.kind
			}
		}
	}
	return refused
}

// outward gives err one of the exported classes.
func outward(err error) error {
	var rpc *source.RPCError
	if err == nil {
		return nil
	}
	switch k := classify(err); {
	case errors.Is(err, ErrNotFound), errors.Is(err, ErrNoTrace), !errors.As(err, &rpc):
		return err
	case k == missing:
		return fmt.Errorf("%w: %w", ErrNotFound, err)
	case k == later, k == smaller:
		return fmt.Errorf("%w: %w", ErrUnreachable, err)
	default:
		return fmt.Errorf("%w: %w", ErrBadAnswer, err)
	}
}
