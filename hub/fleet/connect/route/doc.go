// Package route says what a request to the API of lines is for, by its path. It only thinks.
//
// Paths are split as they came, with their escapes: what comes after clusters/NAME/proxy is the member's to understand.
// A path that means another one when it is cleaned, such as one with `..`, means none here.
package route
