// Package authorizer decides by the RBAC objects of a Kubernetes API what somebody may do, looking only at the bindings
// that name whoever asks.
//
// The authorizer of Kubernetes looks at every ClusterRoleBinding for each request. A hub has one for each of its
// clusters, so that with twice the clusters each request would cost twice as much.
package authorizer
