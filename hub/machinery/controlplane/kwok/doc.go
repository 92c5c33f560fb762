// Package kwok simulates the kubelets of a cluster: nodes are ready, pods run as soon as they are scheduled, and jobs
// complete at once.
package kwok
