package ui

// Operator is what only operators see: the server's own work.
type Operator interface{}
