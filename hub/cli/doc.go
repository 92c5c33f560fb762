// Package cli has the subcommands of the hub's program. Each prints results for people and for pipes, and returns an
// error that is one sentence; the program prints it once.
package cli
