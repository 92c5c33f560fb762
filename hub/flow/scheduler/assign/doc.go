// Package assign selects clusters for an application among those that fit, and divides its replicas among them.
//
// Clusters are scored, and selected so that the application is in as many regions, zones, providers, values of a label and clusters as its
// spread constraints require. Sets of groups are tried in order of preference, the smallest first, and the first that holds the application
// is taken. So at least two regions means two regions, and more only if two do not have enough clusters or capacity. Then the replicas are
// divided among the selected clusters.
package assign
