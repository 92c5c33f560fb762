// Package cli holds the subcommands of the agent's program: run, join, leave, operators, status and version, and
// guard, which upgrades the Deployment of an installed agent. Each prints its progress for people and returns an
// error of one sentence, which the program prints once.
package cli
