// Package machines runs a hub on several machines: the built programs, on three members of an etcd that know each other and the hubs by
// certificates, with agents that know several addresses. Processes are killed, stopped and
// started again, and keys and authority are exchanged. And two hubs as replicas on a Kubernetes API.
package machines
