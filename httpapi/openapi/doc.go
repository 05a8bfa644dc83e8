// Package openapi describes an HTTP interface in the form of OpenAPI 3.0.3, which all
// generators of clients read. Schemas of bodies come from Go types by reflection.
//
// It knows nothing of routes: httpapi fills a [Document] from its table.
package openapi

// Version is that of the form.
const Version = "3.0.3"

// Document describes an interface. Maps are written in the order of their keys, so that
// the same interface has the same bytes.
type Document struct {
	OpenAPI    string                `json:"openapi"`
	Info       Info                  `json:"info"`
	Servers    []Server              `json:"servers,omitempty"`
	Tags       []Tag                 `json:"tags,omitempty"`
	Paths      map[string]Operations `json:"paths"`
	Components Components            `json:"components"`
}

// Info says what the interface is.
type Info struct {
	Title       string `json:"title"`
	Description string `json:"description,omitempty"`
	Version     string `json:"version"`
}

// Server is an address that paths are below.
type Server struct {
	URL string `json:"url"`
}

// Tag is a group of operations.
type Tag struct {
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
}

// Operations are what a path answers, by method in lower case.
type Operations map[string]*Operation

// Operation is a method of a path.
type Operation struct {
	ID          string               `json:"operationId"`
	Tags        []string             `json:"tags,omitempty"`
	Summary     string               `json:"summary"`
	Description string               `json:"description,omitempty"`
	Parameters  []Parameter          `json:"parameters,omitempty"`
	Body        *Body                `json:"requestBody,omitempty"`
	Responses   map[string]*Response `json:"responses"`
	// Security is nil where that of the document counts, which is none.
	Security []map[string][]string `json:"security,omitempty"`
}

// Where parameters are.
const (
	InPath  = "path"
	InQuery = "query"
)

// Parameter is one of a request.
type Parameter struct {
	Name        string  `json:"name"`
	In          string  `json:"in"`
	Description string  `json:"description,omitempty"`
	Required    bool    `json:"required,omitempty"`
	Style       string  `json:"style,omitempty"`
	Explode     *bool   `json:"explode,omitempty"`
	Schema      *Schema `json:"schema"`
}

// Body is that of a request.
type Body struct {
	Required bool             `json:"required"`
	Content  map[string]Media `json:"content"`
}

// Response is an answer.
type Response struct {
	Ref         string            `json:"$ref,omitempty"`
	Description string            `json:"description,omitempty"`
	Headers     map[string]Header `json:"headers,omitempty"`
	Content     map[string]Media  `json:"content,omitempty"`
}

// Header is one of an answer.
type Header struct {
	Description string  `json:"description,omitempty"`
	Schema      *Schema `json:"schema"`
}

// Media is a body of one content type.
type Media struct {
	Schema *Schema `json:"schema"`
}

// Components are what is described once and referred to.
type Components struct {
	Schemas   map[string]*Schema   `json:"schemas,omitempty"`
	Responses map[string]*Response `json:"responses,omitempty"`
	Security  map[string]Security  `json:"securitySchemes,omitempty"`
}

// Security is a way in which clients say who they are.
type Security struct {
	Type        string `json:"type"`
	In          string `json:"in"`
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
}

// Schema is the form of a JSON value. The zero value is that of any.
type Schema struct {
	Ref         string             `json:"$ref,omitempty"`
	Type        string             `json:"type,omitempty"`
	Format      string             `json:"format,omitempty"`
	Description string             `json:"description,omitempty"`
	Nullable    bool               `json:"nullable,omitempty"`
	Pattern     string             `json:"pattern,omitempty"`
	Enum        []string           `json:"enum,omitempty"`
	Minimum     *uint64            `json:"minimum,omitempty"`
	Maximum     *uint64            `json:"maximum,omitempty"`
	MinLength   int                `json:"minLength,omitempty"`
	MinItems    int                `json:"minItems,omitempty"`
	MaxItems    int                `json:"maxItems,omitempty"`
	Default     any                `json:"default,omitempty"`
	Example     any                `json:"example,omitempty"`
	Items       *Schema            `json:"items,omitempty"`
	Properties  map[string]*Schema `json:"properties,omitempty"`
	Required    []string           `json:"required,omitempty"`
	Additional  *Schema            `json:"additionalProperties,omitempty"`
	OneOf       []*Schema          `json:"oneOf,omitempty"`
	AllOf       []*Schema          `json:"allOf,omitempty"`
}
