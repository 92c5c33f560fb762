// Package parts divides a FederatedResourceQuota: it makes the Works that bring clusters their parts, and says of what they
// report how much of the whole is used.
package parts
