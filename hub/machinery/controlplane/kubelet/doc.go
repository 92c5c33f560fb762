// Package kubelet answers what kube-apiserver asks the kubelets of a cluster for its users: the logs of containers, exec,
// attach and port-forward. No container runs behind it. A container has a directory and a log of its own; exec runs a
// program of this machine in that directory with the rights of the control plane, which is why this is for tests and the
// demo only; attach sends back what it is sent; a port that a pod declares answers HTTP, or echoes if its name is "echo".
//
// One server plays the kubelets of all nodes. It listens on a loopback address, and the nodes tell kube-apiserver its
// port.
package kubelet
