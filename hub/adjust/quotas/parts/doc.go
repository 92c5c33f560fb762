// Package parts divides a FederatedResourceQuota: it makes the Works with the clusters' parts, and calculates from
// their reports how much of the quota is used.
package parts
