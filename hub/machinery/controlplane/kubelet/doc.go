// Package kubelet serves the part of the kubelet API that kube-apiserver uses for its users: container logs, exec,
// attach and port-forward. No containers run. A container has a directory and a log file; exec runs a program of this
// machine in that directory with the rights of the control plane, so this is for tests and the demo only; attach echoes
// its input; a declared port serves HTTP, or echoes if its name is "echo".
//
// One server acts as the kubelet of all nodes. It listens on a loopback address, and its port is set on the nodes.
package kubelet
