// Package show renders lines as objects of the API of lines and as tables for kubectl, and the discovery documents of
// that API. It is pure.
package show
