// Package cli holds the subcommands of the hub's program. Each prints what it has to say
// for people and for pipes, and returns an error that is one sentence; the program prints
// it once.
package cli
