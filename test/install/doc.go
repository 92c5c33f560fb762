// Package install tests manifests/install and the output of the agent's `--print`: on a real API server that enforces
// restricted pod security, with the flags of the built programs, and with systemd-analyze where there is systemd; and
// the packet filter rule on network namespaces of the kernel.
package install
