// Package kwok plays the kubelets of a cluster: nodes that are ready, pods that run as soon as they are scheduled, and
// jobs that complete at once.
package kwok
