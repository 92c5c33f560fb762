// Package quota adds up what workloads request in all clusters together, and compares it with
// FederatedResourceQuotas.
package quota
