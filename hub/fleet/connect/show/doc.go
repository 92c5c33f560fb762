// Package show renders lines as objects of the API of lines and as tables for kubectl, and what the API has for those
// that discover it. It only thinks.
package show
