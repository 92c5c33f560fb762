// Package scale reads what a HorizontalPodAutoscaler scales, and how many replicas of a divided Deployment the members
// made of it.
package scale
