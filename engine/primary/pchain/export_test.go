package pchain

// OpenVersion opens rows as they were of an older version.
var OpenVersion = open
