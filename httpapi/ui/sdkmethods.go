package ui

import (
	_ "embed"
	"fmt"
	"slices"
	"strings"
	"sync"
)

//go:embed sdkmethods.txt
var sdkMethodLines string

// The official SDKs by the names of their packages' last parts.
const (
	avacloud = "avacloud-sdk"
	chainkit = "chainkit"
)

// sdkMethod is the method of the official SDKs that makes the request of an operation.
// Both SDKs call it the same.
type sdkMethod struct {
	name  string // such as data.evm.blocks.get
	only  string // the SDK that alone has it, empty if both have
	pages bool   // it returns pages to iterate over
	bare  bool   // it takes no request
	body  bool   // there is a body
	// bodyAs is the member of the request that is the body, empty if the request is the body.
	bodyAs  string
	without map[string][]string // by SDK, the parameters that it does not know
}

// sdkMethods returns the methods by "METHOD path".
var sdkMethods = sync.OnceValues(func() (map[string]*sdkMethod, error) {
	all := map[string]*sdkMethod{}
	for line := range strings.Lines(sdkMethodLines) {
		f := strings.Fields(line)
		if len(f) == 0 || f[0] == "#" {
			continue
		}
		if len(f) < 3 {
			return nil, fmt.Errorf("sdkmethods.txt: %q has no method", line)
		}
		m := &sdkMethod{name: f[2]}
		for _, option := range f[3:] {
			if err := m.set(option); err != nil {
				return nil, err
			}
		}
		all[f[0]+" "+f[1]] = m
	}
	return all, nil
})

func (m *sdkMethod) set(option string) error {
	name, value, _ := strings.Cut(option, "=")
	switch name {
	case "only":
		m.only = value
	case "pages":
		m.pages = true
	case "bare":
		m.bare = true
	case "body":
		m.body, m.bodyAs = true, value
	case "without":
		sdk, list, _ := strings.Cut(value, ":")
		if m.without == nil {
			m.without = map[string][]string{}
		}
		m.without[sdk] = strings.Split(list, ",")
	default:
		return fmt.Errorf("sdkmethods.txt: option %q is unknown", option)
	}
	return nil
}

// in reports whether an SDK has the method.
func (m *sdkMethod) in(sdk string) bool { return m != nil && (m.only == "" || m.only == sdk) }

// knows reports whether the method of an SDK has a parameter.
func (m *sdkMethod) knows(sdk, param string) bool { return !slices.Contains(m.without[sdk], param) }

// sdkParam returns the name of a parameter in the SDKs, which differ from the API in one.
func sdkParam(name string) string {
	if name == "webhookId" {
		return "id"
	}
	return name
}

// sdkKind says which JavaScript value the SDKs want for a parameter. All that is not
// listed is a string, also lists and the heights of balances.
func sdkKind(name string) string {
	switch name {
	case "pageSize", "startBlock", "endBlock", "startTimestamp", "endTimestamp", "vertexHeight", "minUtxoAmount":
		return "number"
	case "filterSpamTokens", "includeSpent", "includeInactiveL1Validators":
		return "boolean"
	case "txTypes":
		return "list"
	}
	return "string"
}
