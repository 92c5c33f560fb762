// Package install tries what manifests/install and the agent's `--print` give to operators:
// on a real API server that enforces restricted pod security, with the flags of the built
// programs, and with systemd's own check where there is one; and the rule for a packet filter on networks of the kernel.
package install
