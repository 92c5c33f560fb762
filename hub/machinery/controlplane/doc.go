// Command controlplane is a complete Kubernetes API in one executable.
//
// Run as it is, it supervises: it starts etcd, kube-apiserver and the controllers that its profile needs as child
// processes of the same executable, and stops them again. A hub stores templates and runs no pods; a cluster has all
// controllers, a scheduler and KWOK nodes, which makes it a real member without kubelets; for tests and the demo a kubelet can
// be had that answers logs, exec, attach and port-forward without containers.
//
// With the name of a component as its first argument it is that component, and under the name kubectl, or with kubectl
// as its first argument, it is kubectl. The components are processes of their own because their signal handlers and
// their global flags collide within one.
package main
