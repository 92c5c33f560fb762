// Package route parses the paths of requests to the API of lines. It is pure.
//
// Paths are split without unescaping: what follows clusters/NAME/proxy is for the member to interpret. A path that
// changes when it is cleaned, such as one with `..`, is rejected.
package route
