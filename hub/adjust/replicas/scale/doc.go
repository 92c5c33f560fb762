// Package scale reads the target of a HorizontalPodAutoscaler, and counts the replicas that the members gave a divided
// Deployment. It is pure.
package scale
