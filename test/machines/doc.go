// Package machines tests a hub that runs on several machines: the built programs, on three etcd members with mutual
// TLS, and agents that know several addresses. Processes are killed, stopped and restarted, and keys and the authority
// are rotated. It also tests two hubs as replicas on a Kubernetes API.
package machines
