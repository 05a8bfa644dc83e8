package openapi

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
)

// AppendLLMs appends what the document describes in the form of https://llmstxt.org: a page of
// Markdown that a language model reads before it writes calls.
func (d *Document) AppendLLMs(dst []byte) []byte {
	b := bytes.NewBuffer(dst)
	fmt.Fprintf(b, "# %s\n\n> %s\n\n", d.Info.Title, d.Info.Description)
	b.WriteString(`- The whole description, with parameters, bodies and errors: [openapi.json](/openapi.json).
- Lists have pages: pass the nextPageToken of an answer as pageToken until it is absent or empty.
- Errors have a message. A 4xx fails again; 429, 502 and 503 come with Retry-After.
- Where a server asks for a key, it goes into the header x-service-api-key.
- Amounts are whole numbers in decimal strings, in the smallest unit; times are Unix seconds.
`)
	byTag := map[string][]string{}
	for path, methods := range d.Paths {
		for method, op := range methods {
			line := fmt.Sprintf("- `%s %s` (%s): %s", strings.ToUpper(method), path, op.ID, op.Summary)
			if names := op.queryNames(); names != "" {
				line += " Query: " + names + "."
			}
			byTag[op.Tags[0]] = append(byTag[op.Tags[0]], line+"\n")
		}
	}
	for _, t := range d.Tags {
		fmt.Fprintf(b, "\n## %s\n\n%s.\n\n", t.Name, t.Description)
		for _, line := range slices.Sorted(slices.Values(byTag[t.Name])) {
			b.WriteString(line)
		}
	}
	return b.Bytes()
}

// queryNames lists the parameters of the query, those that are required first.
func (o *Operation) queryNames() string {
	names := map[bool][]string{}
	for _, p := range o.Parameters {
		if p.In == InQuery {
			names[p.Required] = append(names[p.Required], p.Name)
		}
	}
	for i, name := range names[true] {
		names[true][i] = name + " (required)"
	}
	return strings.Join(slices.Concat(names[true], names[false]), ", ")
}
