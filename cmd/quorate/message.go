package main

import (
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strings"

	"quorate/devnet"
)

const (
	// maxHexInput bounds what is read from standard input, in bytes: no message
	// comes near.
	maxHexInput = 1 << 20
	// stdinArg stands for standard input in place of a hex argument.
	stdinArg = "-"
	// echoLen is how much of a bad argument an error repeats.
	echoLen = 40
)

// hexInput reads bytes from a hex argument, with or without 0x, or from stdin
// when the argument is "-".
func hexInput(what, arg string, stdin io.Reader) ([]byte, error) {
	if arg == stdinArg {
		text, err := io.ReadAll(io.LimitReader(stdin, maxHexInput+1))
		if err != nil {
			return nil, fmt.Errorf("read the %s from standard input: %w", what, err)
		}
		if len(text) > maxHexInput {
			return nil, usageError{fmt.Errorf("more than %d bytes on standard input", maxHexInput)}
		}
		arg = string(text)
	}
	digits := strings.TrimPrefix(strings.TrimSpace(arg), "0x")
	b, err := hex.DecodeString(digits)
	switch {
	case err != nil && len(digits) > echoLen:
		return nil, usageError{fmt.Errorf("the %s %.*q... is not hex: %w", what, echoLen, digits, err)}
	case err != nil:
		return nil, usageError{fmt.Errorf("the %s %q is not hex: %w", what, digits, err)}
	case len(b) == 0:
		return nil, usageError{fmt.Errorf("the %s is empty", what)}
	}
	return b, nil
}

// readFacts reads the signature part of a facts file.
func readFacts(path string) (*devnet.SignatureFacts, error) {
	facts, err := devnet.ReadFacts(path)
	if err != nil {
		return nil, err
	}
	if s := &facts.Signature; s.Message == "" && s.Messages == nil {
		return nil, fmt.Errorf("facts file %s: %w", path, errors.New("it has no member \"signature\""))
	}
	return &facts.Signature, nil
}

// pick returns message number index, or the file's main message for a negative one.
func pick(f *devnet.SignatureFacts, index int) (string, error) {
	if index < 0 {
		return f.Message, nil
	}
	if index >= len(f.Messages) {
		return "", usageError{fmt.Errorf("--index %d: the facts file has %d messages, counted from 0", index, len(f.Messages))}
	}
	return f.Messages[index], nil
}
