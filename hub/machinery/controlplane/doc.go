// Command controlplane is a complete Kubernetes API in one executable.
//
// Without a component's name it is the supervisor: it starts etcd, kube-apiserver and the controllers that its profile
// needs as child processes of the same executable, and stops them again. A hub stores templates and runs no pods. A
// cluster has all controllers, a scheduler and KWOK nodes, which makes it a real member without kubelets; for tests and
// the demo there is also a kubelet API that serves logs, exec, attach and port-forward without containers.
//
// With the name of a component as its first argument it is that component. Under the name kubectl, or with kubectl as
// its first argument, it is kubectl. The components are separate processes because their signal handlers and global
// flags would collide in one.
package main
