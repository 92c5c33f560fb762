// Package authorizer decides by RBAC, looking only at the bindings that name the requesting user.
//
// The Kubernetes authorizer looks at every ClusterRoleBinding for each request. A hub has one for each cluster, so the
// cost of a request would grow in proportion to the clusters.
package authorizer
