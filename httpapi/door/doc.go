// Package door has what all topics of the HTTP interface share: lines of the table of
// routes and how the one of a path is found, the parameters and the body of a request, and
// the form of failures. It knows no topic. A topic hands out its routes; the server in front
// puts them into one table.
package door
