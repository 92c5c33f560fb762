// Package cli holds the subcommands of the agent's program: run, join, leave, status and version. Each prints what it
// has to say for people, and returns an error that is one sentence; the program prints it once.
package cli
